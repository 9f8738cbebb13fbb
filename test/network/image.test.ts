import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { followLog } from '../support/service-log.ts';
import { type Image, pathWithNode, runDockerfile } from './dockerfile-steps.ts';
import { findFreePort } from './redis-process.ts';

// Docker's engine is not needed: the steps of the Dockerfile are done in an empty folder, and what they make runs as the image's user,
// who may write nothing of it.

const BUILD_TIMEOUT_MS = 10 * 60_000;
const TIMEOUT_MS = 120_000;
const ARCHITECTURE = { x64: 'amd64', arm64: 'arm64' }[process.arch as 'x64' | 'arm64'];

let image: Image;
/** What a new volume at its place would be. */
let volume: string;

beforeAll(async () => {
  image = await runDockerfile({ TARGETARCH: ARCHITECTURE, VERSION: '1.2.3', REVISION: 'abc' });
  // A read-only root file system, as far as a folder can be one. Root itself may write anyway, and nothing here runs as root.
  await promisify(execFile)('chmod', ['-R', 'a-w', image.root]);
  volume = join(image.root, 'data');
  chmodSync(volume, 0o755);
}, BUILD_TIMEOUT_MS);

afterAll(async () => {
  if (image !== undefined) {
    await promisify(execFile)('chmod', ['-R', 'u+w', image.root]);
    image[Symbol.dispose]();
  }
});

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** A command of the image, as its user. */
function start([command = '', ...args]: readonly string[], env: Record<string, string> = {}) {
  return spawn(command, args, {
    cwd: image.directory,
    env: { ...image.env, PATH: pathWithNode(), ...env },
    ...(isRoot() && image.user),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function exitCode(child: ChildProcess): Promise<number | null> {
  return (await once(child, 'exit'))[0] as number | null;
}

/** The command of the container, where the service is process 1. */
function healthCheck(service: ChildProcess): Promise<number | null> {
  return exitCode(start(image.healthCheck.map((word) => (word === '1' ? String(service.pid) : word))));
}

test('it has the native BLS library of its CPU, no other Node, and a list of just what is in it', () => {
  const read = (file: string): unknown => JSON.parse(readFileSync(join(image.directory, file), 'utf8'));
  const lock = read('node_modules/.package-lock.json') as { packages: Record<string, { version: string }> };
  const installed = Object.entries(lock.packages)
    .filter(([path]) => existsSync(join(image.directory, path)))
    .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')} ${version}`);
  const { components } = read('sbom.cdx.json') as { components: { name: string; version: string }[] };
  expect(new Set(components.map(({ name, version }) => `${name} ${version}`))).toEqual(new Set(installed));
  expect(installed).toContainEqual(expect.stringMatching(`^@chainsafe/blst-linux-${process.arch}-gnu `));
  expect(existsSync(join(image.directory, `node_modules/node-linux-${process.arch}`))).toBe(false);
});

test(
  'it serves, aggregates with the native library, is found healthy at whatever port, and ends at SIGTERM',
  async () => {
    const port = await findFreePort();
    const service = start([...image.entrypoint, '--port', `${port}`, '--validators', '5', '--log-level', 'info'], {
      SIGNATURE_AGGREGATOR_BLS__BACKEND: 'native',
      SIGNATURE_AGGREGATOR_IDENTITY__DIRECTORY: join(volume, 'identity'),
    });
    try {
      service.stdout.resume();
      const log = followLog(service);
      await log.line('listening');
      expect(await healthCheck(service)).toBe(0);

      const local = `http://127.0.0.1:${port}`;
      await untilOk(`${local}/health/ready`);
      const examples = (await untilOk(`${local}/devnet/examples`)) as { body?: object; path: string }[];
      const example = examples.find(({ body }) => body !== undefined);
      const answer = await fetch(`${local}${example?.path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(example?.body),
      });
      expect(answer.status).toBe(201);

      service.kill('SIGTERM');
      expect(await exitCode(service)).toBe(0);
      expect(await healthCheck(service)).toBe(1);
    } finally {
      service.kill('SIGKILL');
    }
  },
  TIMEOUT_MS,
);

/** Asks until the answer is 200; the test's own time limit ends it. */
async function untilOk(url: string): Promise<unknown> {
  for (;;) {
    const response = await fetch(url);
    const body: unknown = await response.json();
    if (response.ok) return body;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
