import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { goBuild } from './network-binaries.ts';

const MODULE_DIR = join(import.meta.dirname, 'reference');
const BINARY = join(import.meta.dirname, '.build', 'reference-signature-aggregator');
const BUILD_TIMEOUT_MS = 15 * 60_000;
const START_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 100;
const MAX_OUTPUT_CHARACTERS = 8_000;

/** The Go aggregator itself. */
export interface Reference extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

export async function buildReference(report: (line: string) => void = console.log): Promise<void> {
  const target = {
    module: MODULE_DIR,
    packagePath: 'github.com/ava-labs/icm-services/signature-aggregator/main',
    output: BINARY,
  };
  await goBuild(target, report, AbortSignal.timeout(BUILD_TIMEOUT_MS));
}

/** Starts it before a network's node API, and returns as soon as it answers. */
export async function startReference(apiUrl: string, trackedSubnetIDs: readonly string[]): Promise<Reference> {
  await using cleanup = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'reference-'));
  cleanup.defer(() => rm(directory, { recursive: true, force: true }));
  const configFile = join(directory, 'config.json');
  const [apiPort, metricsPort] = [await freePort(), await freePort()];
  const api = { 'base-url': apiUrl };
  const config = {
    ...{ 'log-level': 'warn', 'info-api': api, 'p-chain-api': api, 'allow-private-ips': true },
    ...{ 'api-port': apiPort, 'metrics-port': metricsPort, 'tracked-subnet-ids': trackedSubnetIDs },
  };
  await writeFile(configFile, JSON.stringify(config));
  const child = spawn(BINARY, ['--config-file', configFile], { stdio: ['ignore', 'pipe', 'pipe'] });
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

/** The reference takes no port 0. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}
