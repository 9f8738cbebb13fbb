import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { goBuild } from './go-build.ts';
import { findFreePort } from './redis-process.ts';

const START_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 100;
const MAX_OUTPUT_CHARACTERS = 8_000;

/** The Go aggregator itself. */
export interface Reference extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

/** @returns the program */
export async function buildReference(options?: { readonly isOptimized: boolean }): Promise<string> {
  const packages = ['github.com/ava-labs/icm-services/signature-aggregator/main'];
  return join(await goBuild('reference', packages, options), 'main');
}

/** Starts it before a network's node API, and returns as soon as it answers. */
export async function startReference(
  program: string,
  apiUrl: string,
  trackedSubnetIDs: readonly string[],
): Promise<Reference> {
  await using cleanup = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'reference-'));
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  const configFile = join(directory, 'config.json');
  // It takes no port 0.
  const [apiPort, metricsPort] = [await findFreePort(), await findFreePort()];
  const api = { 'base-url': apiUrl };
  const config = {
    'log-level': 'warn',
    'info-api': api,
    'p-chain-api': api,
    'allow-private-ips': true,
    'api-port': apiPort,
    'metrics-port': metricsPort,
    'tracked-subnet-ids': trackedSubnetIDs,
  };
  await writeFile(configFile, JSON.stringify(config));
  const child = spawn(program, ['--config-file', configFile], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-MAX_OUTPUT_CHARACTERS);
    });
  }
  const exited = once(child, 'exit');
  cleanup.defer(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const url = `http://127.0.0.1:${apiPort}`;
  const endMs = performance.now() + START_TIMEOUT_MS;
  while (!(await answers(url))) {
    if (child.exitCode !== null || performance.now() > endMs)
      throw new Error(`the reference did not start:\n${output}`);
    await delay(POLL_INTERVAL_MS);
  }
  const opened = cleanup.move();
  return { url, pid: child.pid ?? 0, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/aggregate-signatures`)).status === 400;
  } catch {
    return false;
  }
}
