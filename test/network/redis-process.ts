import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { awaitStopped } from './await-stopped.ts';

/** Unlike Go, which builds for minutes, it is installed in seconds: so the tests fail, and are not skipped, where it is missing. */
class RedisMissingError extends Error {
  override readonly name = 'RedisMissingError';

  constructor(cause: unknown) {
    super(
      'redis-server is not installed, and what replicas share is tested on it: apt-get install redis-server, or brew install redis',
      { cause },
    );
  }
}

/** A tenth of a second where the machine is not busy. */
const START_TIMEOUT_MS = 10_000;
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

/** @throws {RedisMissingError} */
export async function startRedis(settings: RedisSettings = {}): Promise<RedisProcess> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await findFreePort();
    await using opened = new AsyncDisposableStack();
    // A replica writes what its master sends into its folder, and any Redis reads it there when it starts.
    const directory = await mkdtemp(join(tmpdir(), 'redis-'));
    opened.defer(() => rm(directory, { recursive: true }));
    const started = await start(port, directory, settings);
    if (!(started instanceof Error)) {
      opened.move();
      return new RunningRedis({ port, directory, settings, child: started });
    }
    if (attempt === MAX_STARTS) throw started;
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

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    // Ends one that stands still, too.
    this.#child.kill('SIGKILL');
    await ended;
  }

  async restart(): Promise<void> {
    await rm(join(this.#directory, 'dump.rdb'), { force: true });
    const started = await start(this.port, this.#directory, this.#settings);
    if (started instanceof Error) throw started;
    this.#child = started;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/** Resolves when it takes connections, or with an error where it ended before. */
async function start(
  port: number,
  directory: string,
  { further = [], tls, sentinelFile }: RedisSettings,
): Promise<ChildProcess | Error> {
  const listening =
    tls === undefined
      ? ['--port', String(port)]
      : [
          ...['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no'],
          ...['--tls-cert-file', tls.certificateFile, '--tls-key-file', tls.keyFile],
        ];
  const kind = sentinelFile === undefined ? ['--save', '', '--appendonly', 'no'] : ['--sentinel'];
  const child = spawn(
    'redis-server',
    [
      ...(sentinelFile === undefined ? [] : [sentinelFile]),
      ...['--bind', '127.0.0.1', ...listening, ...kind, '--dir', directory, ...further],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const { promise, resolve, reject } = Promise.withResolvers<ChildProcess | Error>();
  const said: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    said.push(line);
    if (line.includes('Ready to accept connections') || line.includes('Sentinel ID is')) resolve(child);
  });
  child.once('error', (error) =>
    reject('code' in error && error.code === 'ENOENT' ? new RedisMissingError(error) : error),
  );
  child.once('exit', (code) => resolve(new Error(`redis-server ended with ${code}:\n${said.join('\n')}`)));
  const timer = setTimeout(() => {
    child.kill('SIGKILL');
    reject(new Error(`redis-server did not start within ${START_TIMEOUT_MS} ms:\n${said.join('\n')}`));
  }, START_TIMEOUT_MS);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
