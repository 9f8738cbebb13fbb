import { execFile } from 'node:child_process';
import { mkdir, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { go, goBuild } from './go-build.ts';

export interface NetworkBinaries {
  readonly avalanchego: string;
  /** Holds the subnet-evm plugin under its VM ID. */
  readonly pluginDir: string;
  readonly testnet: string;
  /** The reference node's own directory of well-known keys: `staker1.key`, `staker1.crt`, `signer1.key` and so on. */
  readonly stakingKeysDir: string;
}

/** The version of the protocol between node and plugins that our plugin speaks (avalanchego `version/constants.go`, v1.14.2). */
const PLUGIN_PROTOCOL = 45;
const SUBNET_EVM_ID = 'srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy';

/**
 * Builds the node, its subnet-evm plugin and our own helper. A node of another version and its plugins are taken from the environment, by
 * the names that avalanchego's own tools have for them.
 *
 * @throws {import('./go-build.ts').GoMissingError} if there is no `go` to call
 */
export async function buildNetworkBinaries(): Promise<NetworkBinaries> {
  const { AVALANCHEGO_PATH: givenNode, AVAGO_PLUGIN_DIR: givenPlugins } = process.env;
  if (givenNode !== undefined && givenPlugins === undefined) await requirePluginProtocol(givenNode);
  const folder = await goBuild('go', [
    ...(givenNode === undefined ? ['github.com/ava-labs/avalanchego/main'] : []),
    ...(givenPlugins === undefined ? ['./cmd/subnet-evm'] : []),
    './cmd/testnet',
  ]);
  const moduleDir = (await go('go', ['list', '-m', '-f', '{{.Dir}}', 'github.com/ava-labs/avalanchego'])).trim();
  return {
    avalanchego: givenNode === undefined ? join(folder, 'main') : resolve(givenNode),
    pluginDir: givenPlugins === undefined ? await linkPlugin(folder) : resolve(givenPlugins),
    testnet: join(folder, 'testnet'),
    stakingKeysDir: join(moduleDir, 'staking', 'local'),
  };
}

/** @throws {Error} for a node that would refuse our plugin, and then say only that a VM was not found */
async function requirePluginProtocol(node: string): Promise<void> {
  const { stdout } = await promisify(execFile)(resolve(node), ['--version-json']);
  const { application, rpcchainvm } = JSON.parse(stdout) as { application: string; rpcchainvm: number };
  if (rpcchainvm === PLUGIN_PROTOCOL) return;
  throw new Error(
    `${application} speaks version ${rpcchainvm} of the plugin protocol, our subnet-evm ${PLUGIN_PROTOCOL}: set AVAGO_PLUGIN_DIR to a ` +
      `folder with the subnet-evm of that node, named ${SUBNET_EVM_ID}`,
  );
}

async function linkPlugin(folder: string): Promise<string> {
  const pluginDir = join(folder, 'plugins');
  await rm(pluginDir, { recursive: true, force: true });
  await mkdir(pluginDir);
  await symlink(join(folder, 'subnet-evm'), join(pluginDir, SUBNET_EVM_ID));
  return pluginDir;
}
