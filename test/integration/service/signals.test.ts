import { text } from 'node:stream/consumers';
import { expect, test, vi } from 'vitest';
import { NODE_FLAG } from '../../support/node-flag.ts';
import { START } from './service-child.ts';
import { NEVER_MS, requestUnderWay, STOPPING, startUpstreamed } from './upstreamed-child.ts';

// Real processes, and signals as terminals, `timeout` and supervisors send them: to the whole group.

vi.setConfig({ testTimeout: 180_000 });
const server = { shutdownTimeoutMs: NEVER_MS };
const NPM = ['npm', 'start', '--'];
const NODE = [process.execPath, NODE_FLAG, START];

function signalGroup({ child }: Awaited<ReturnType<typeof startUpstreamed>>, signal: NodeJS.Signals): void {
  process.kill(-(child.pid as number), signal);
}

const GROUPS = [
  ...[1, 2, 3].map((time) => ['SIGTERM', 'npm start', time, NPM] as const),
  ...[1, 2, 3].map((time) => ['SIGTERM', 'Node alone', time, NODE] as const),
  ['SIGINT', 'npm start', 1, NPM] as const,
  ['SIGINT', 'Node alone', 1, NODE] as const,
];

test.each(GROUPS)(
  'a %s to the group of %s: a running request is answered, and the exit code is 0 (%i)',
  async (signal, _program, _time, launcher) => {
    await using service = await startUpstreamed({ server, launcher });
    const client = await requestUnderWay(service);
    signalGroup(service, signal);
    signalGroup(service, signal);
    await service.log.line(STOPPING);
    if (signal === 'SIGTERM') signalGroup(service, signal);
    service.release();
    expect(await text(client)).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\{"blockNumber":"2"\}/);
    expect(await service.exitCode()).toBe(0);
  },
);

test('a SIGTERM that is repeated until the process has ended changes nothing', async () => {
  await using service = await startUpstreamed({ server, launcher: NODE });
  const client = await requestUnderWay(service);
  signalGroup(service, 'SIGTERM');
  await service.log.line(STOPPING);
  const repeating = setInterval(() => service.child.kill('SIGTERM'), 1);
  service.release();
  expect(await text(client)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(await service.exitCode()).toBe(0);
  clearInterval(repeating);
});

test('a SIGTERM to npm alone stops the service in good order', async () => {
  await using service = await startUpstreamed({ server, launcher: NPM });
  const client = await requestUnderWay(service);
  service.child.kill('SIGTERM');
  await service.log.line(STOPPING);
  service.release();
  expect(await text(client)).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(await service.exitCode()).toBe(0);
});

test('a SIGINT says how to end at once, and one a second or more later does, with 1', async () => {
  await using service = await startUpstreamed({ server, launcher: NODE });
  const client = await requestUnderWay(service);
  signalGroup(service, 'SIGINT');
  await service.log.line(STOPPING);
  expect(service.log.tail()).toMatch(
    /^stopping after the requests that are running; a Ctrl-C in a second or later ends them$/m,
  );
  // A user who goes on pressing.
  const pressing = setInterval(() => signalGroup(service, 'SIGINT'), 100);
  expect(await text(client).catch(() => '')).toBe('');
  clearInterval(pressing);
  expect(await service.exitCode()).toBe(1);
  expect(service.log.tail()).toMatch(/^ended at once, by a second Ctrl-C$/m);
});
