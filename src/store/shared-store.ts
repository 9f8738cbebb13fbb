import { createClient } from '@redis/client';
import { backoffMs } from '../primitives/backoff.ts';
import type { Clock, Random } from '../primitives/clock.ts';
import { startDeadline } from '../primitives/deadline.ts';
import type { RedisAddress } from '../primitives/redis-address.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';

/** The Redis that replicas share. It may be away at any time and may come back empty, so its users must be able to do without. */
export interface SharedStore extends Disposable {
  /** Undefined if the store is away, or does not answer in time: then nobody waits for it until it is back. */
  ask<Answer>(command: (redis: Redis) => Promise<Answer>): Promise<Answer | undefined>;
}

export interface SharedStoreOptions {
  readonly address: RedisAddress;
  /** Put before each key, so that others may use the same database. */
  readonly keyPrefix: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export type Redis = ReturnType<typeof createRedis>;

/** A store on the same network answers within a millisecond. After this long it is better to go on without it than to wait. */
const ANSWER_TIMEOUT_MS = 200;
/** For name lookup, connection, TLS, password and a first command. Nobody waits for it. */
const CONNECT_TIMEOUT_MS = 2_000;
/** Pauses before the store is tried again: a store that hangs is left alone for a moment, and one that is back is noticed soon. */
const RECONNECT_PAUSES = { baseMs: 250, maxMs: 5_000 };
/** Commands that wait for an answer: as many as 50,000 a second make in {@link ANSWER_TIMEOUT_MS}. One more fails as a late one does. */
const MAX_COMMANDS_WAITING = 10_000;
/** Shows at once whether scripts run and keys can be written: some users may not, and a full or a read-only server cannot. */
const TRY_SCRIPT = "return redis.call('SET', KEYS[1], '', 'PX', 1000)";

type State =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'ready'; readonly redis: Redis }
  | { readonly kind: 'waiting'; readonly cancel: () => void };

/** Returns before the store is connected: until then the store is away, and if it never connects it stays away. */
export function openSharedStore(options: SharedStoreOptions): SharedStore {
  return new RedisSharedStore(options);
}

class RedisSharedStore implements SharedStore {
  readonly #options: SharedStoreOptions;
  readonly #metrics: ReturnType<typeof declareSharedStoreMetrics>;
  readonly #closing = new AbortController();
  #state: State = { kind: 'connecting' };
  /** In a row, since the last answer. */
  #failures = 0;
  #isKnownAway = false;

  constructor(options: SharedStoreOptions) {
    this.#options = options;
    this.#metrics = declareSharedStoreMetrics(options.metrics);
    void this.#connect();
  }

  async ask<Answer>(command: (redis: Redis) => Promise<Answer>): Promise<Answer | undefined> {
    if (this.#state.kind !== 'ready') {
      this.#metrics.requests.inc({ outcome: 'away' });
      return undefined;
    }
    const { redis } = this.#state;
    const { clock } = this.#options;
    let cancel = clock.after(ANSWER_TIMEOUT_MS, () => {
      // If the event loop was blocked, the answer may have come and not be read yet. It is read before the next timer runs.
      cancel = clock.after(0, () => this.#lost(redis, `no answer within ${ANSWER_TIMEOUT_MS} ms`));
    });
    try {
      const answer = await command(redis);
      this.#failures = 0;
      this.#metrics.requests.inc({ outcome: 'answered' });
      return answer;
    } catch (error) {
      // When a connection fails, all its commands in flight do; the first of them gives it up.
      this.#lost(redis, reasonOf(error));
      this.#metrics.requests.inc({ outcome: 'failed' });
      return undefined;
    } finally {
      cancel();
    }
  }

  [Symbol.dispose](): void {
    this.#closing.abort(new Error('the service stops'));
    if (this.#state.kind === 'waiting') this.#state.cancel();
    if (this.#state.kind === 'ready') this.#state.redis.destroy();
    this.#state = { kind: 'connecting' };
    this.#metrics.connected.set(0);
  }

  async #connect(): Promise<void> {
    const { clock, logger } = this.#options;
    this.#state = { kind: 'connecting' };
    using deadline = startDeadline(clock, CONNECT_TIMEOUT_MS, 'connecting', this.#closing.signal);
    const redis = createRedis(this.#options, deadline.signal);
    const { promise: broken, reject: fail } = Promise.withResolvers<never>();
    redis.on('error', (error) => {
      fail(error);
      this.#lost(redis, reasonOf(error));
    });
    try {
      const tried = redis.connect().then(() => redis.eval(TRY_SCRIPT, { keys: ['try'] }));
      // A server that speaks another protocol causes an error event, and the promise of the connection never settles.
      await Promise.race([tried, broken]);
    } catch (error) {
      redis.destroy();
      if (!this.#closing.signal.aborted) this.#wait(reasonOf(deadline.signal.aborted ? deadline.signal.reason : error));
      return;
    }
    this.#state = { kind: 'ready', redis };
    this.#metrics.connected.set(1);
    this.#isKnownAway = false;
    logger.info('the shared store is connected');
  }

  /** A connection that failed is not used again: a new one starts clean, and may find another server behind the same name. */
  #lost(redis: Redis, reason: string): void {
    if (this.#state.kind !== 'ready' || this.#state.redis !== redis) return;
    redis.destroy();
    this.#metrics.connected.set(0);
    this.#wait(reason);
  }

  #wait(reason: string): void {
    const { clock, logger, random } = this.#options;
    if (!this.#isKnownAway) logger.warn({ reason }, 'the shared store is away: this replica goes on alone');
    this.#isKnownAway = true;
    this.#failures += 1;
    const pauseMs = backoffMs(this.#failures, RECONNECT_PAUSES, random);
    const cancel = clock.after(pauseMs, () => void this.#connect());
    this.#state = { kind: 'waiting', cancel };
  }
}

/** @param signal ends the connection, however far it has come */
function createRedis({ address, keyPrefix }: SharedStoreOptions, signal: AbortSignal) {
  const { host, port, isTls, username, password, database } = address;
  const common = { host, port, signal, connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false } as const;
  return createClient({
    socket: isTls ? { ...common, tls: true } : common,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    database,
    keyPrefix,
    RESP: 2,
    disableOfflineQueue: true,
    commandsQueueMaxLength: MAX_COMMANDS_WAITING,
    // Our own timeout covers the answer as well.
    commandOptions: { timeout: 0 },
    disableClientInfo: true,
    maintNotifications: 'disabled',
  });
}

/** The library's messages name neither users nor passwords. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // If all addresses of a name fail, the error has a code but no message.
  return error.message === '' && 'code' in error ? String(error.code) : error.message;
}

function declareSharedStoreMetrics(metrics: Metrics) {
  return {
    connected: metrics.gauge({
      name: 'shared_store_connected',
      help: 'Whether the store that replicas share is connected: 1 or 0',
    }),
    requests: metrics.counter({
      name: 'shared_store_requests_total',
      help: 'Requests to the store that replicas share: answered, failed, or not even sent while it was away',
      labels: ['outcome'],
    }),
  };
}
