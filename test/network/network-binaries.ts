import { mkdir, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { go, goBuild } from './go-build.ts';

export interface NetworkBinaries {
  readonly avalanchego: string;
  /** Holds the subnet-evm plugin under its VM ID. */
  readonly pluginDir: string;
  readonly testnet: string;
  /** The reference node's own directory of well-known keys: `staker1.key`, `staker1.crt`, `signer1.key` and so on. */
  readonly stakingKeysDir: string;
}

const SUBNET_EVM_ID = 'srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy';

/**
 * Builds the node, its subnet-evm plugin and our own helper. A node of another version and its plugins are taken from the environment, by
 * the names that avalanchego's own tools have for them.
 *
 * @throws {import('./go-build.ts').GoMissingError} if there is no `go` to call
 */
export async function buildNetworkBinaries(): Promise<NetworkBinaries> {
  const { AVALANCHEGO_PATH: givenNode, AVAGO_PLUGIN_DIR: givenPlugins } = process.env;
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

async function linkPlugin(folder: string): Promise<string> {
  const pluginDir = join(folder, 'plugins');
  await rm(pluginDir, { recursive: true, force: true });
  await mkdir(pluginDir);
  await symlink(join(folder, 'subnet-evm'), join(pluginDir, SUBNET_EVM_ID));
  return pluginDir;
}
