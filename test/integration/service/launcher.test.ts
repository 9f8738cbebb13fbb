import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { START, startServiceChild } from './service-child.ts';

vi.setConfig({ testTimeout: 60_000 });

const NEWER_NODE = JSON.stringify(join(import.meta.dirname, '../../../src/newer-node.js'));

/** What an older Node does, with one that has `process.execve` and with one that has not. */
const asOlder = (execve: string): string[] => [
  process.execPath,
  '-e',
  `process.execArgv = []; process.execve = ${execve};
  import(${NEWER_NODE}).then(({ runUnder }) => runUnder(process.execPath));`,
  START,
];

const networks = { fuji: { pChainApi: [{ baseUrl: 'http://127.0.0.1:1' }] } };

async function startBy(command: readonly string[]) {
  const service = await startServiceChild({ networks, server: { port: 0 } }, [], command);
  await service.log.line('listening');
  // When all processes that have its standard error are gone.
  return { ...service, gone: once(service.child, 'close') };
}

const STARTS = [
  ['npm start', ['npm', 'start', '--']],
  ['an older Node that becomes the newer one', asOlder('process.execve')],
  ['an older Node that runs the newer one', asOlder('undefined')],
] as const;

test.each(STARTS)('a signal to %s stops the service in good order', async (_, command) => {
  await using service = await startBy(command);
  service.child.kill('SIGTERM');
  await service.log.line('stopping: no more requests are taken');
  expect(await service.gone).toEqual([0, null]);
});

test.each(STARTS.slice(1))('%s leaves no service behind when it is killed', async (_, command) => {
  await using service = await startBy(command);
  service.child.kill('SIGKILL');
  expect(await service.gone).toEqual([null, 'SIGKILL']);
});
