import { createClient, createCluster, RESP_TYPES } from '@redis/client';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { HostAndPort } from '../../lib/net/host-and-port.ts';
import type { RedisServers } from '../../lib/net/redis-address.ts';

/** One connection to the servers of a store, destroyed at the first failure. */
export interface RedisLink {
  /** Rejects if a required server is missing. Has no timeout for a silent server. */
  connect(): Promise<void>;
  /** Runs a script with one key, as a cluster requires. Texts in its answer are buffers. */
  run(script: string, key: string, args: readonly (string | Uint8Array)[]): Promise<unknown>;
  destroy(): void;
}

export interface RedisLinkOptions {
  readonly servers: RedisServers;
  /** The prefix of all keys, so that other programs may use the same database. */
  readonly keyPrefix: string;
  readonly connectTimeoutMs: number;
  readonly clock: Clock;
  /** Closes the connection in any state. */
  readonly signal: AbortSignal;
  /** Called, perhaps repeatedly, when the connection breaks. */
  readonly onBroken: (error: unknown) => void;
}

/** Commands waiting for an answer: 50,000 a second for 200 ms. Further ones fail. */
const MAX_COMMANDS_WAITING = 10_000;
/** A key may be redirected while its slot moves. */
const MAX_REDIRECTIONS = 3;

/** The common part of the library's clients. */
interface Scripting {
  eval(script: string, options: { keys: string[]; arguments: (string | Buffer)[] }): Promise<unknown>;
  destroy(): void;
}

/** @throws if no sentinel names a master, or the signal's reason */
export async function openRedisLink(options: RedisLinkOptions): Promise<RedisLink> {
  const { servers } = options;
  switch (servers.kind) {
    case 'single':
      return linkTo(servers, options);
    case 'cluster':
      return linkToCluster(servers.nodes, options);
    case 'sentinel':
      return linkTo(await findMaster(servers, options), options);
  }
}

function linkTo({ host, port }: HostAndPort, options: RedisLinkOptions): RedisLink {
  const client = createClient({
    ...clientOptions(options),
    ...clientCommands,
    socket: socketOptions({ host, port }, options),
    database: options.servers.database,
  });
  client.on('error', options.onBroken);
  return linkOf(client, async () => void (await client.connect()), options);
}

/**
 * Connects every node with keys before the first command. A lost read replica is ignored; a lost node with keys breaks the whole
 * connection until another one replaces it, so that no request waits for a part of the keys.
 */
function linkToCluster(nodes: readonly HostAndPort[], options: RedisLinkOptions): RedisLink {
  const { host: _host, port: _port, ...defaultSocket } = socketOptions({ host: '', port: 0 }, options);
  const cluster = createCluster({
    rootNodes: nodes.map((node) => ({ ...clientOptions(options), socket: socketOptions(node, options) })),
    defaults: { ...clientOptions(options), socket: defaultSocket },
    ...clientCommands,
    maxCommandRedirections: MAX_REDIRECTIONS,
    topologyRefreshOnReconnectionAttemptStrategy: false,
  });
  let isConnected = false;
  // While connecting, the client tries the next node of the list.
  const onError = (error: unknown): void => {
    if (isConnected) options.onBroken(error);
  };
  cluster.on('error', onError).on('node-error', onError);
  return linkOf(
    cluster,
    async () => {
      await cluster.connect();
      isConnected = true;
    },
    options,
  );
}

function linkOf(redis: Scripting, connect: () => Promise<void>, { keyPrefix }: RedisLinkOptions): RedisLink {
  return {
    connect,
    run: (script, key, args) => redis.eval(script, { keys: [keyPrefix + key], arguments: args.map(asArgument) }),
    destroy: () => redis.destroy(),
  };
}

function asArgument(argument: string | Uint8Array): string | Buffer {
  if (typeof argument === 'string') return argument;
  return Buffer.from(argument.buffer, argument.byteOffset, argument.byteLength);
}

/** Asks the sentinels in turn, within the timeout of a connection. */
async function findMaster(
  servers: Extract<RedisServers, { kind: 'sentinel' }>,
  options: RedisLinkOptions,
): Promise<HostAndPort> {
  const { sentinels, master, sentinelPassword } = servers;
  const shareMs = Math.floor(options.connectTimeoutMs / sentinels.length);
  const reasons: string[] = [];
  for (const sentinel of sentinels) {
    options.signal.throwIfAborted();
    // Each gets a share of the time, so that a hanging one does not block the next.
    using deadline = startDeadline(options.clock, shareMs, 'asking a sentinel', options.signal);
    const { signal } = deadline;
    const client = createClient({
      ...commonOptions,
      ...(sentinelPassword !== undefined && { password: sentinelPassword }),
      socket: socketOptions(sentinel, { ...options, signal }),
    });
    const { promise: broken, reject } = Promise.withResolvers<never>();
    broken.catch(() => undefined);
    client.on('error', reject);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    try {
      await Promise.race([client.connect(), broken]);
      const found = await Promise.race([client.sendCommand(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', master]), broken]);
      if (Array.isArray(found)) return { host: String(found[0]), port: Number(found[1]) };
      reasons.push(`knows no master ${master}`);
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    } finally {
      if (client.isOpen) client.destroy();
    }
  }
  options.signal.throwIfAborted();
  throw new Error(`no sentinel names a master: ${reasons.join('; ')}`);
}

const commonOptions = {
  RESP: 2,
  disableOfflineQueue: true,
  commandsQueueMaxLength: MAX_COMMANDS_WAITING,
  disableClientInfo: true,
  maintNotifications: 'disabled',
} as const;

const clientCommands = {
  RESP: 2,
  // SharedStore has its own timeout. Bytes stay bytes.
  commandOptions: { timeout: 0, typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
} as const;

function clientOptions({ servers: { username, password } }: RedisLinkOptions) {
  return {
    ...commonOptions,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  };
}

function socketOptions({ host, port }: HostAndPort, { servers, connectTimeoutMs, signal }: RedisLinkOptions) {
  const common = { host, port, signal, connectTimeout: connectTimeoutMs, reconnectStrategy: false } as const;
  return servers.isTls ? { ...common, tls: true as const } : common;
}
