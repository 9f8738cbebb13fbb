import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startServiceChild } from '../integration/service/service-child.ts';

const TIMEOUT_MS = 60_000;

function folder(): string {
  const directory = mkdtempSync(join(tmpdir(), 'store-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The service as operators run it, with a store at this path. */
function start(networks: object, path: string) {
  return startServiceChild({ networks, server: { port: 0 }, store: { path }, log: { level: 'info' } });
}

test('a damaged file: the process ends with 2, and names the path', { timeout: TIMEOUT_MS }, async () => {
  const path = folder();
  const file = join(path, 'l1-validations-5.sqlite');
  writeFileSync(file, 'SQLite format 3\0'.padEnd(8_192, '\xff'), 'latin1');
  // Nothing listens there, and nothing has to.
  await using service = await start({ fuji: { pChainApi: [{ baseUrl: 'http://127.0.0.1:9' }] } }, path);
  const [code] = await once(service.child, 'close');
  expect(code).toBe(2);
  expect(service.log.tail()).toContain(`store: cannot open the store at ${file}: `);
});

test('a folder that goes while the service runs: SIGTERM ends it with 0', { timeout: TIMEOUT_MS }, async () => {
  const path = folder();
  await using service = await start({ local: { embedded: { validators: 5 } } }, path);
  await service.log.line('network opened');
  rmSync(path, { recursive: true });
  service.child.kill('SIGTERM');
  expect(await service.exitCode()).toBe(0);
});

test('a second service ends with 2 while the first one uses the store; a killed one leaves it', {
  timeout: TIMEOUT_MS,
}, async () => {
  const path = folder();
  const networks = { local: { embedded: { validators: 5 } } };
  await using first = await start(networks, path);
  await first.log.line('network opened');
  await using second = await start(networks, path);
  expect(await second.exitCode()).toBe(2);
  expect(second.log.tail()).toContain(`store: cannot open the store at ${path}: another process uses it; give each`);
  first.child.kill('SIGKILL');
  await first.exitCode();
  await using third = await start(networks, path);
  await third.log.line('network opened');
});
