import { createClient } from '@redis/client';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Clock, Random } from '../primitives/clock.ts';
import { startDeadline } from '../primitives/deadline.ts';
import type { RedisAddress } from '../primitives/redis-address.ts';
import type { Logger } from '../telemetry/logger.ts';

/** The Redis that replicas share. It may be away at any time, and may come back empty: whoever asks can do without. */
export interface SharedStore extends Disposable {
  /** Undefined where the store is away, or did not answer in time: then nobody waits for it until it is back. */
  ask<Answer>(command: (redis: Redis) => Promise<Answer>): Promise<Answer | undefined>;
}

export interface SharedStoreOptions {
  readonly address: RedisAddress;
  /** Before each key, so that others may use the same database. */
  readonly keyPrefix: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
}

export type Redis = ReturnType<typeof createRedis>;

/** A store on the same network answers within a millisecond; beyond this, going on without it is better than waiting. */
const ANSWER_TIMEOUT_MS = 200;
/** For name, connection, TLS, password and a first command; nobody waits for it. */
const CONNECT_TIMEOUT_MS = 2_000;
/** Pause before the store is tried again, doubled with each further failure: so a store that hangs is left alone for a moment. */
const RECONNECT_BASE_MS = 250;
/** Little enough for one that has come back. */
const RECONNECT_MAX_MS = 5_000;
/** Commands that wait for an answer: what 50,000 a second leave within the time for one. One more fails as a late one does. */
const MAX_COMMANDS_WAITING = 10_000;
/** Tells at once whether scripts run and keys are written: not with the rights of some users, a full memory, or a mere replica. */
const TRY_SCRIPT = "return redis.call('SET', KEYS[1], '', 'PX', 1000)";

type State =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'ready'; readonly redis: Redis }
  | { readonly kind: 'waiting'; readonly cancel: () => void };

/** Returns before the store is connected: until then, and for good where it never is, it is away. */
export function openSharedStore(options: SharedStoreOptions): SharedStore {
  return new RedisSharedStore(options);
}

class RedisSharedStore implements SharedStore {
  readonly #options: SharedStoreOptions;
  readonly #metrics: ReturnType<typeof declareSharedStoreMetrics>;
  readonly #closing = new AbortController();
  #state: State = { kind: 'connecting' };
  /** Since the last answer. */
  #failures = 0;
  #isKnownAway = false;

  constructor(options: SharedStoreOptions) {
    this.#options = options;
    this.#metrics = declareSharedStoreMetrics(options.registry);
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
      // The answer may be there, unread, where the event loop was held up: it is read before the next timer is looked at.
      cancel = clock.after(0, () => this.#lost(redis, `no answer within ${ANSWER_TIMEOUT_MS} ms`));
    });
    try {
      const answer = await command(redis);
      this.#failures = 0;
      this.#metrics.requests.inc({ outcome: 'answered' });
      return answer;
    } catch (error) {
      // All commands in flight fail with a connection; the first of them ends it.
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
      // What speaks another protocol makes an error, and no end.
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

  /** A connection that failed is not used again: the next one starts clean, and finds another server behind the same name. */
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
    const delayMs = Math.min(RECONNECT_BASE_MS * 2 ** this.#failures, RECONNECT_MAX_MS);
    this.#failures += 1;
    // Uneven, so that replicas do not come back all at once.
    const cancel = clock.after(delayMs * (0.5 + random() / 2), () => void this.#connect());
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
    // Ours covers the answer, too.
    commandOptions: { timeout: 0 },
    disableClientInfo: true,
    maintNotifications: 'disabled',
  });
}

/** The library's messages name neither users nor passwords. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Several addresses of one name that all fail make an error without a message.
  return error.message === '' && 'code' in error ? String(error.code) : error.message;
}

function declareSharedStoreMetrics(registry: Registry) {
  const registers = [registry];
  return {
    connected: new Gauge({
      name: 'shared_store_connected',
      help: 'Whether the store that replicas share is connected: 1 or 0',
      registers,
    }),
    requests: new Counter<'outcome'>({
      name: 'shared_store_requests_total',
      help: 'Requests to the store that replicas share: answered, failed, or not even sent while it was away',
      labelNames: ['outcome'],
      registers,
    }),
  };
}
