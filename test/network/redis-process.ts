import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { awaitStopped } from './await-stopped.ts';
import { killServer, startServer } from './server-process.ts';

/** Another process may have taken the port since it was found free. */
const MAX_STARTS = 5;

/** Redis as it is run in production, but for its files: nothing of it outlives the test. */
export interface RedisProcess extends AsyncDisposable {
  readonly port: number;
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
  for (let attempt = 1; ; attempt += 1) {
    const port = await findFreePort();
    await using opened = new AsyncDisposableStack();
    // A replica writes what its master sends into its folder, and any Redis reads it there when it starts.
    const directory = await mkdtemp(join(tmpdir(), 'redis-'));
    opened.defer(() => rm(directory, { recursive: true }));
    try {
      const child = await start(port, directory, settings);
      opened.move();
      return new RunningRedis({ port, directory, settings, child });
    } catch (error) {
      if (attempt === MAX_STARTS) throw error;
    }
  }
}

class RunningRedis implements RedisProcess {
  readonly port: number;
  readonly #directory: string;
  readonly #settings: RedisSettings;
  #child: ChildProcess;

  constructor(running: { port: number; directory: string; settings: RedisSettings; child: ChildProcess }) {
    this.port = running.port;
    this.#directory = running.directory;
    this.#settings = running.settings;
    this.#child = running.child;
  }

  async freeze(): Promise<void> {
    this.#child.kill('SIGSTOP');
    await awaitStopped(this.#child.pid as number, { wholeGroup: false });
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  kill(): Promise<void> {
    return killServer(this.#child);
  }

  async restart(): Promise<void> {
    await rm(join(this.#directory, 'dump.rdb'), { force: true });
    this.#child = await start(this.port, this.#directory, this.#settings);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await rm(this.#directory, { recursive: true, force: true });
  }
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
          ...['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no'],
          ...['--tls-cert-file', tls.certificateFile, '--tls-key-file', tls.keyFile],
        ];
  const kind = sentinelFile === undefined ? ['--save', '', '--appendonly', 'no'] : ['--sentinel'];
  return startServer(
    'redis-server',
    [
      ...(sentinelFile === undefined ? [] : [sentinelFile]),
      ...['--bind', '127.0.0.1', ...listening, ...kind, '--dir', directory, ...further],
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
