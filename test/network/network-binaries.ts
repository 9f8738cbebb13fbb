import { execFile, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** Go is not installed: the one reason for which the tests on a real network may be skipped. */
export class GoMissingError extends Error {
  override readonly name = 'GoMissingError';
}

export interface NetworkBinaries {
  readonly avalanchego: string;
  /** Holds the subnet-evm plugin under its VM ID. */
  readonly pluginDir: string;
  readonly testnet: string;
  /** The reference node's own directory of well-known keys: `staker1.key`, `staker1.crt`, `signer1.key` and so on. */
  readonly stakingKeysDir: string;
}

const SUBNET_EVM_ID = 'srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy';
const MODULE_DIR = join(import.meta.dirname, 'go');
const BUILD_DIR = join(import.meta.dirname, '.build');

/** The first build of the node takes three to four minutes on two busy cores, its downloads half a minute. */
const BUILD_TIMEOUT_MS = 15 * 60_000;
const PROGRESS_INTERVAL_MS = 15_000;
/** How much of a failed build's output goes into the error: the end has the reason. */
const MAX_OUTPUT_CHARACTERS = 8_000;

/**
 * Builds the node, its subnet-evm plugin and our own helper. Go's cache makes every build but the first one quick. A node of another
 * version and its plugins are taken from the environment, by the names that avalanchego's own tools have for them.
 *
 * @throws {GoMissingError} where there is no `go` to call.
 */
export async function buildNetworkBinaries(
  report: (line: string) => void,
  signal: AbortSignal,
): Promise<NetworkBinaries> {
  const { AVALANCHEGO_PATH: givenNode, AVAGO_PLUGIN_DIR: givenPlugins } = process.env;
  const ownPluginDir = join(BUILD_DIR, 'plugins');
  const pluginDir = givenPlugins === undefined ? ownPluginDir : resolve(givenPlugins);
  const binaries = {
    avalanchego: givenNode === undefined ? join(BUILD_DIR, 'avalanchego') : resolve(givenNode),
    pluginDir,
    testnet: join(BUILD_DIR, 'testnet'),
    stakingKeysDir: join(await avalanchegoModuleDir(signal), 'staking', 'local'),
  };
  await mkdir(ownPluginDir, { recursive: true });
  const build = (packagePath: string, output: string): Promise<void> =>
    goBuild({ module: MODULE_DIR, packagePath, output }, report, signal);
  if (givenNode === undefined) await build('github.com/ava-labs/avalanchego/main', binaries.avalanchego);
  if (givenPlugins === undefined) await build('./cmd/subnet-evm', join(pluginDir, SUBNET_EVM_ID));
  await build('./cmd/testnet', binaries.testnet);
  return binaries;
}

/** The first call of Go, and on a fresh machine the download of the module. */
async function avalanchegoModuleDir(signal: AbortSignal): Promise<string> {
  const options = { cwd: MODULE_DIR, signal, timeout: BUILD_TIMEOUT_MS };
  try {
    await promisify(execFile)('go', ['mod', 'download', 'github.com/ava-labs/avalanchego'], options);
    const { stdout } = await promisify(execFile)(
      'go',
      ['list', '-m', '-f', '{{.Dir}}', 'github.com/ava-labs/avalanchego'],
      options,
    );
    return stdout.trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new GoMissingError('Go is not installed: the network of real nodes cannot be built', { cause: error });
    }
    throw error;
  }
}

/** @param target what to build, in the folder of the Go module that has it among its own or its dependencies */
export async function goBuild(
  { module, packagePath, output }: { readonly module: string; readonly packagePath: string; readonly output: string },
  report: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const startedAt = performance.now();
  const elapsed = () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  const go = spawn('go', ['build', '-o', output, packagePath], {
    cwd: module,
    signal,
    timeout: BUILD_TIMEOUT_MS,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [go.stdout, go.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-MAX_OUTPUT_CHARACTERS);
    });
  }
  const progress = setInterval(
    () => report(`building ${packagePath}: ${elapsed()} (the first build takes minutes)`),
    PROGRESS_INTERVAL_MS,
  );
  try {
    const exit = await new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
      go.once('error', reject);
      go.once('close', (code, killedBy) => resolve(code ?? killedBy));
    });
    if (exit !== 0) {
      throw new Error(`go build ${packagePath} ended with ${exit} after ${elapsed()}:\n${said}`);
    }
  } finally {
    clearInterval(progress);
  }
  report(`built ${packagePath} in ${elapsed()}`);
}
