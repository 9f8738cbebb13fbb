import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pollUntil } from './poll-until.ts';
import { killServer, startServer } from './server-process.ts';

/** Another process may have taken the port since it was found free. */
const MAX_STARTS = 5;
/** Milliseconds even where the machine is busy. */
const FREEZE_TIMEOUT_MS = 10_000;

/** Redis as it is run in production, but for its files: nothing of it outlives the test. */
export interface RedisProcess extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** Returns when it stands still: connections are accepted by the system, and nothing is answered. */
  freeze(): Promise<void>;
  thaw(): void;
  kill(): Promise<void>;
  /** Once more on the same port, empty. */
  restart(): Promise<void>;
}

export interface RedisSettings {
  /** Further arguments of the command line. */
  readonly further?: readonly string[];
  /** PEM files; then nothing is served without TLS. */
  readonly tls?: { readonly certificateFile: string; readonly keyFile: string };
  /** Starts a sentinel with this configuration, which it changes. */
  readonly sentinelFile?: string;
}

export async function startRedis(settings: RedisSettings = {}): Promise<RedisProcess> {
  await using opened = new AsyncDisposableStack();
  // A replica writes what its master sends into its folder, and any Redis reads it there when it starts.
  const directory = await mkdtemp(join(tmpdir(), 'redis-'));
  opened.defer(() => rm(directory, { recursive: true, force: true }));
  const started = await startOnFreePort(directory, settings);
  const { port } = started;
  let { child } = started;
  opened.defer(() => killServer(child));
  const closing = opened.move();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    async freeze() {
      child.kill('SIGSTOP');
      // The signal returns before: a thread that runs on another core meanwhile can still answer a request.
      await pollUntil(
        () => threadStates(child.pid as number),
        (states) => states.every((state) => state.startsWith('T')),
        FREEZE_TIMEOUT_MS,
      );
    },
    thaw: () => void child.kill('SIGCONT'),
    kill: () => killServer(child),
    async restart() {
      await rm(join(directory, 'dump.rdb'), { force: true });
      child = await start(port, directory, settings);
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

async function startOnFreePort(directory: string, settings: RedisSettings) {
  for (let attempt = 1; ; attempt += 1) {
    const port = await findFreePort();
    try {
      return { port, child: await start(port, directory, settings) };
    } catch (error) {
      if (attempt === MAX_STARTS) throw error;
    }
  }
}

async function threadStates(pid: number): Promise<string[]> {
  // Prints a line for each thread; `ps` has this flag on Linux only.
  const ofThreads = platform() === 'linux' ? ['-L'] : [];
  const { stdout } = await promisify(execFile)('ps', [...ofThreads, '-o', 'stat=', '-p', String(pid)]);
  return stdout.trim().split('\n');
}

/** Resolves when it takes connections. */
function start(
  port: number,
  directory: string,
  { further = [], tls, sentinelFile }: RedisSettings,
): Promise<ChildProcess> {
  const listening =
    tls === undefined
      ? ['--port', String(port)]
      : [
          '--port',
          '0',
          '--tls-port',
          String(port),
          '--tls-auth-clients',
          'no',
          '--tls-cert-file',
          tls.certificateFile,
          '--tls-key-file',
          tls.keyFile,
        ];
  const kind = sentinelFile === undefined ? ['--save', '', '--appendonly', 'no'] : ['--sentinel'];
  return startServer(
    'redis-server',
    [
      ...(sentinelFile === undefined ? [] : [sentinelFile]),
      '--bind',
      '127.0.0.1',
      ...listening,
      ...kind,
      '--dir',
      directory,
      ...further,
    ],
    /Ready to accept connections|Sentinel ID is/,
  );
}

export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
