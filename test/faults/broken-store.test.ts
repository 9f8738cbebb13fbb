import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { followLog } from '../support/service-log.ts';

const ENTRY = join(import.meta.dirname, '..', '..', 'src', 'start.js');
const FILE = 'l1-validations-5.sqlite';
/** Nothing listens there, and nothing has to. */
const NOWHERE = { baseUrl: 'http://127.0.0.1:9' };
const TIMEOUT_MS = 60_000;

function folder(): string {
  const directory = mkdtempSync(join(tmpdir(), 'store-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The service as operators run it, with a store at this path. */
function startProcess(networks: object, storePath: string, [program, ...args]: readonly string[] = [process.execPath]) {
  const config = join(folder(), 'config.json');
  const settings = { networks, server: { port: 0 }, store: { path: storePath }, log: { level: 'info' } };
  writeFileSync(config, JSON.stringify(settings));
  const child = spawn(program!, [...args, ENTRY, '--config', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

test.each<[string, (directory: string) => string]>([
  [
    'a damaged file',
    (directory) => {
      writeFileSync(join(directory, FILE), 'SQLite format 3\0'.padEnd(8_192, '\xff'), 'latin1');
      return directory;
    },
  ],
  [
    'a folder in its place',
    (directory) => {
      mkdirSync(join(directory, FILE));
      return directory;
    },
  ],
])('%s: the process ends with 2, and names the path', { timeout: TIMEOUT_MS }, async (_, prepare) => {
  const path = prepare(folder());
  const child = startProcess({ fuji: { pChainApi: [NOWHERE] } }, path);
  const [written, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect(written).toContain(`store: cannot open the store at ${join(path, FILE)}: `);
  expect(code).toBe(2);
});

test('a disk that is full: the same', { timeout: TIMEOUT_MS }, async () => {
  const path = folder();
  // No file may grow beyond 4 KB, as on a full disk.
  const limited = ['bash', '-c', 'trap "" XFSZ; ulimit -f 4; exec "$0" "$@"', process.execPath];
  const child = startProcess({ fuji: { pChainApi: [NOWHERE] } }, path, limited);
  const [written, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect(written).toContain(`store: cannot open the store at ${join(path, FILE)}: `);
  expect(code).toBe(2);
});

test('a folder of the store that goes while the service runs: SIGTERM ends it with 0', {
  timeout: TIMEOUT_MS,
}, async () => {
  const path = folder();
  const child = startProcess({ local: { embedded: { validators: 5 } } }, path);
  await followLog(child).line('network opened');
  rmSync(path, { recursive: true });
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  expect((await exit)[0]).toBe(0);
});
