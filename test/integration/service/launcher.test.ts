import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { followLog } from '../../support/service-log.ts';

const TIMEOUT_MS = 60_000;
const ROOT = join(import.meta.dirname, '../../..');
const START = join(ROOT, 'src/start.js');
const NEWER_NODE = JSON.stringify(join(ROOT, 'src/newer-node.js'));

/** What an older Node does, with one that has `process.execve` and with one that has not. */
const asOlder = (execve: string): string[] => [
  process.execPath,
  '-e',
  `process.execArgv = []; process.execve = ${execve};
  import(${NEWER_NODE}).then(({ runUnder }) => runUnder(process.execPath));`,
  START,
];

/** A service that was started in some way, when it listens. */
async function startBy([program = '', ...args]: readonly string[]) {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'launcher-'));
  opened.defer(() => rm(directory, { recursive: true, force: true }));
  const config = join(directory, 'config.json');
  const networks = { fuji: { pChainApi: [{ baseUrl: 'http://127.0.0.1:1' }] } };
  await writeFile(config, JSON.stringify({ networks, server: { port: 0 } }));
  // A separate process group, so that all of it can be ended.
  const child = spawn(program, [...args, '--config', config], {
    ...{ cwd: ROOT, detached: true },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  opened.defer(() => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // All of it has ended.
    }
  });
  const log = followLog(child);
  const gone = once(child, 'close');
  await log.line('listening');
  const closing = opened.move();
  return {
    /** Process ID of what was started, which may be the parent of the service. */
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    log,
    /** Resolves when all processes that have its standard error are gone. */
    gone,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

test.each([
  ['npm start', ['npm', 'start', '--']],
  ['an older Node that becomes the newer one', asOlder('process.execve')],
  ['an older Node that runs the newer one', asOlder('undefined')],
])(
  'a signal to %s stops the service in good order',
  async (_, command) => {
    await using service = await startBy(command);
    service.kill('SIGTERM');
    await service.log.line('stopping: no more requests are taken');
    expect(await service.gone).toEqual([0, null]);
  },
  TIMEOUT_MS,
);

test.each([
  ['becomes', asOlder('process.execve')],
  ['runs', asOlder('undefined')],
])(
  'an older Node that %s the newer one leaves no service behind when it is killed',
  async (_, command) => {
    await using service = await startBy(command);
    service.kill('SIGKILL');
    expect(await service.gone).toEqual([null, 'SIGKILL']);
  },
  TIMEOUT_MS,
);
