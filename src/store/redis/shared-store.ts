import { ErrorReply } from '@redis/client';
import { backoffMs } from '../../lib/concurrency/backoff.ts';
import type { Clock, Random } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { RedisServers } from '../../lib/net/redis-address.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { openRedisLink, type RedisLink } from './redis-link.ts';

/** The Redis that replicas share. It may be away at any time and may come back empty, so its users must be able to do without. */
export interface SharedStore extends Disposable {
  /**
   * Undefined if the store is away, or does not answer in time: then nobody waits for it until it is back. Also undefined where
   * somebody has put another kind of value in the place of ours.
   */
  ask<Answer>(command: (redis: Redis) => Promise<Answer>): Promise<Answer | undefined>;
}

export interface SharedStoreOptions {
  readonly servers: RedisServers;
  /** Put before each key, so that others may use the same database. */
  readonly keyPrefix: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Another way to the servers than the client library's. */
  readonly openLink?: typeof openRedisLink;
}

export type Redis = Pick<RedisLink, 'run'>;

/** A store on the same network answers within a millisecond. After this long it is better to go on without it than to wait. */
const ANSWER_TIMEOUT_MS = 200;
/** For name lookup, connection, TLS, password and a first command. Nobody waits for it. */
const CONNECT_TIMEOUT_MS = 2_000;
/** Pauses before the store is tried again: a store that hangs is left alone for a moment, and one that is back is noticed soon. */
const RECONNECT_PAUSES = { baseMs: 250, maxMs: 5_000 };
/** Shows at once whether scripts run and keys can be written: some users may not, and a full or a read-only server cannot. */
const TRY_SCRIPT = "return redis.call('SET', KEYS[1], '', 'PX', 1000)";
/** A server's error for a value of another kind, which no replica has put there. */
const NOT_OURS = /WRONGTYPE/;
/** Keys that are tried in a cluster: so many that hardly a node has none of them. */
const CLUSTER_TRIES = 32;

type State =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'ready'; readonly link: RedisLink }
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
    const { link } = this.#state;
    const { clock } = this.#options;
    const { promise: late, reject: giveUp } = Promise.withResolvers<never>();
    late.catch(() => undefined);
    let cancel = clock.after(ANSWER_TIMEOUT_MS, () => {
      // If the event loop was blocked, the answer may have come and not be read yet. It is read before the next timer runs.
      cancel = clock.after(0, () => giveUp(new Error(`no answer within ${ANSWER_TIMEOUT_MS} ms`)));
    });
    try {
      // The client of a cluster may go on for long with a command whose node is gone.
      const answer = await Promise.race([command(link), late]);
      this.#failures = 0;
      this.#metrics.requests.inc({ outcome: 'answered' });
      return answer;
    } catch (error) {
      // Any other refusal is about all keys: then nothing can be done there.
      const isOfOneKey = error instanceof ErrorReply && NOT_OURS.test(error.message);
      // When a connection fails, all its commands in flight do; the first of them gives it up.
      if (!isOfOneKey) this.#lost(link, reasonOf(error));
      this.#metrics.requests.inc({ outcome: 'failed' });
      return undefined;
    } finally {
      cancel();
    }
  }

  [Symbol.dispose](): void {
    this.#closing.abort(new Error('the service stops'));
    if (this.#state.kind === 'waiting') this.#state.cancel();
    if (this.#state.kind === 'ready') destroy(this.#state.link);
    this.#state = { kind: 'connecting' };
    this.#metrics.connected.set(0);
  }

  async #connect(): Promise<void> {
    const { clock, logger } = this.#options;
    this.#state = { kind: 'connecting' };
    using deadline = startDeadline(clock, CONNECT_TIMEOUT_MS, 'connecting', this.#closing.signal);
    const { promise: broken, reject: fail } = Promise.withResolvers<never>();
    broken.catch(() => undefined);
    deadline.signal.addEventListener('abort', () => fail(deadline.signal.reason), { once: true });
    let link: RedisLink | undefined;
    const onBroken = (error: unknown): void => {
      fail(error);
      if (link !== undefined) this.#lost(link, reasonOf(error));
    };
    try {
      const { signal } = deadline;
      const { openLink = openRedisLink } = this.#options;
      link = await openLink({ ...this.#options, connectTimeoutMs: CONNECT_TIMEOUT_MS, signal, onBroken });
      const tried = this.#tryOut(link);
      // A server that speaks another protocol causes an error event, and the promise of the connection never settles.
      await Promise.race([tried, broken]);
      this.#closing.signal.throwIfAborted();
    } catch (error) {
      if (link !== undefined) destroy(link);
      if (!this.#closing.signal.aborted) this.#wait(reasonOf(deadline.signal.aborted ? deadline.signal.reason : error));
      return;
    }
    this.#state = { kind: 'ready', link };
    this.#metrics.connected.set(1);
    this.#isKnownAway = false;
    logger.info('the shared store is connected');
  }

  async #tryOut(link: RedisLink): Promise<void> {
    await link.connect();
    const tries = this.#options.servers.kind === 'cluster' ? CLUSTER_TRIES : 1;
    await Promise.all(
      Array.from({ length: tries }, (_, index) => link.run(TRY_SCRIPT, index === 0 ? 'try' : `try:${index}`, [])),
    );
  }

  /** A connection that failed is not used again: a new one starts clean, and may find another server behind the same name. */
  #lost(link: RedisLink, reason: string): void {
    if (this.#state.kind !== 'ready' || this.#state.link !== link) return;
    destroy(link);
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

/** One that has never been open, or has closed itself, complains. */
function destroy(link: RedisLink): void {
  try {
    link.destroy();
  } catch {
    // There is nothing left to end.
  }
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
