import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE_FLAG } from '../../support/node-flag.ts';
import { followLog } from '../../support/service-log.ts';

const ROOT = join(import.meta.dirname, '../../..');
export const START = join(ROOT, 'src/start.js');

export type ServiceChild = Awaited<ReturnType<typeof startServiceChild>>;

/**
 * The service as operators run it: a process with a configuration file, which can be replaced.
 *
 * @param launcher a command that may start further processes, which are ended with it; by default, Node starts the service
 */
export async function startServiceChild(
  config: object,
  nodeFlags: readonly string[] = [],
  launcher?: readonly string[],
) {
  const [program = '', ...args] = launcher ?? [process.execPath, NODE_FLAG, ...nodeFlags, START];
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'service-'));
  opened.defer(() => rm(directory, { recursive: true, force: true }));
  const file = join(directory, 'config.json');
  await writeFile(file, JSON.stringify(config));
  const child = spawn(program, [...args, '--config', file], {
    cwd: ROOT,
    detached: launcher !== undefined,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exit = once(child, 'exit');
  opened.defer(async () => {
    if (launcher === undefined) child.kill('SIGKILL');
    else endGroup(child.pid as number);
    await exit;
  });
  const log = followLog(child);
  const url = async (): Promise<string> => (await log.line('listening'))['url'] as string;
  const closing = opened.move();
  return {
    child,
    log,
    url,
    exitCode: async () => (await exit)[0] as number | null,
    write: (text: string) => writeFile(file, text),
    async connect(): Promise<Socket> {
      const { port } = new URL(await url());
      const socket = connect(Number(port), '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    },
    async get(path: string, headers: Record<string, string> = {}) {
      const response = await fetch(`${await url()}${path}`, { headers });
      const text = await response.text();
      return { status: response.status, text, json: () => JSON.parse(text) as Record<string, unknown> };
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

function endGroup(processID: number): void {
  try {
    process.kill(-processID, 'SIGKILL');
  } catch {
    // All of it has ended.
  }
}
