import { ErrorReply } from '@redis/client';
import { backoffMs } from '../../lib/concurrency/backoff.ts';
import type { Clock, Random } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { RedisServers } from '../../lib/net/redis-address.ts';
import { describeTransportError } from '../../lib/net/transport-error.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { openRedisLink, type RedisLink } from './redis-link.ts';

/**
 * The Redis that replicas share. It may be away at any time and return empty: its users must work without it. `src/store` keeps what
 * outlives a request: `local/` in memory and SQLite, and `redis/` for all replicas. It decides nothing about signatures.
 */
export interface SharedStore extends Disposable {
  /**
   * Returns undefined if the store is away or does not answer within 200 ms; the store then counts as away until it is connected again.
   * Also undefined if the key has a value of another Redis type.
   */
  ask<Answer>(command: (redis: Redis) => Promise<Answer>): Promise<Answer | undefined>;
}

export interface SharedStoreOptions {
  readonly servers: RedisServers;
  /** The prefix of all keys, so that other programs may use the same database. */
  readonly keyPrefix: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Replaces the client library in tests. */
  readonly openLink?: typeof openRedisLink;
}

export type Redis = Pick<RedisLink, 'run'>;

/** A store on the same network answers within a millisecond. */
const ANSWER_TIMEOUT_MS = 200;
/** For name lookup, connection, TLS, password and a first command. No request waits for it. */
const CONNECT_TIMEOUT_MS = 2_000;
/** Pauses before reconnecting. */
const RECONNECT_PAUSES = { baseMs: 250, maxMs: 5_000 };
/** Checks that scripts run and keys can be written: rights may be missing, and a server may be full or read-only. */
const PROBE_SCRIPT = "return redis.call('SET', KEYS[1], '', 'PX', 1000)";
/** The server's error for a value of another type, which no replica has written. */
const WRONG_TYPE = /WRONGTYPE/;
/** Keys probed in a cluster: enough that nearly every node has one of them. */
const CLUSTER_PROBES = 32;

type LinkState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'ready'; readonly link: RedisLink }
  | { readonly kind: 'waiting'; readonly cancel: () => void };

/** Returns before the store is connected; until then it counts as away. */
export function openSharedStore(options: SharedStoreOptions): SharedStore {
  const { clock, logger, openLink = openRedisLink, random } = options;
  const closing = new AbortController();
  let state: LinkState = { kind: 'connecting' };
  /** Consecutive failures since the last answer. */
  let failures = 0;
  let isKnownAway = false;
  const metrics = declareSharedStoreMetrics(options.metrics);
  void connect();

  async function ask<Answer>(command: (redis: Redis) => Promise<Answer>): Promise<Answer | undefined> {
    if (state.kind !== 'ready') {
      metrics.requests.inc({ outcome: 'away' });
      return undefined;
    }
    const { link } = state;
    const { promise: late, reject: giveUp } = Promise.withResolvers<never>();
    late.catch(() => undefined);
    let cancel = clock.after(ANSWER_TIMEOUT_MS, () => {
      // After a blocked event loop the answer may be received but unread; it is read before the next timer runs.
      cancel = clock.after(0, () => giveUp(new Error(`no answer within ${ANSWER_TIMEOUT_MS} ms`)));
    });
    try {
      // The client of a cluster may retry a command of a lost node for long.
      const answer = await Promise.race([command(link), late]);
      failures = 0;
      metrics.requests.inc({ outcome: 'answered' });
      return answer;
    } catch (error) {
      // All other errors concern all keys.
      const isOfOneKey = error instanceof ErrorReply && WRONG_TYPE.test(error.message);
      // When a connection fails, so do all its commands; the first one drops it.
      if (!isOfOneKey) lost(link, describeTransportError(error));
      metrics.requests.inc({ outcome: 'failed' });
      return undefined;
    } finally {
      cancel();
    }
  }

  async function connect(): Promise<void> {
    state = { kind: 'connecting' };
    using deadline = startDeadline(clock, CONNECT_TIMEOUT_MS, 'connecting', closing.signal);
    const { promise: broken, reject: fail } = Promise.withResolvers<never>();
    broken.catch(() => undefined);
    deadline.signal.addEventListener('abort', () => fail(deadline.signal.reason), { once: true });
    let link: RedisLink | undefined;
    const onBroken = (error: unknown): void => {
      fail(error);
      if (link !== undefined) lost(link, describeTransportError(error));
    };
    try {
      const { signal } = deadline;
      link = await openLink({ ...options, connectTimeoutMs: CONNECT_TIMEOUT_MS, signal, onBroken });
      const probed = probe(link);
      // A server that speaks another protocol causes an error event, and the promise of the connection never settles.
      await Promise.race([probed, broken]);
      closing.signal.throwIfAborted();
    } catch (error) {
      if (link !== undefined) destroy(link);
      if (!closing.signal.aborted)
        wait(describeTransportError(deadline.signal.aborted ? deadline.signal.reason : error));
      return;
    }
    state = { kind: 'ready', link };
    metrics.connected.set(1);
    isKnownAway = false;
    logger.info('the shared store is connected');
  }

  async function probe(link: RedisLink): Promise<void> {
    await link.connect();
    const probes = options.servers.kind === 'cluster' ? CLUSTER_PROBES : 1;
    await Promise.all(
      Array.from({ length: probes }, (_, index) => link.run(PROBE_SCRIPT, index === 0 ? 'try' : `try:${index}`, [])),
    );
  }

  /** Replaces a failed connection: a new one may reach another server of the same name. */
  function lost(link: RedisLink, reason: string): void {
    if (state.kind !== 'ready' || state.link !== link) return;
    destroy(link);
    metrics.connected.set(0);
    wait(reason);
  }

  function wait(reason: string): void {
    if (!isKnownAway) logger.warn({ reason }, 'the shared store is away: this replica continues alone');
    isKnownAway = true;
    failures += 1;
    const pauseMs = backoffMs(failures, RECONNECT_PAUSES, random);
    const cancel = clock.after(pauseMs, () => void connect());
    state = { kind: 'waiting', cancel };
  }

  return {
    ask,
    [Symbol.dispose](): void {
      closing.abort(new Error('the service stops'));
      if (state.kind === 'waiting') state.cancel();
      if (state.kind === 'ready') destroy(state.link);
      state = { kind: 'connecting' };
      metrics.connected.set(0);
    },
  };
}

/** Ignores the error of a link that was never open or is closed already. */
function destroy(link: RedisLink): void {
  try {
    link.destroy();
  } catch {
    // Closed already.
  }
}

function declareSharedStoreMetrics(metrics: Metrics) {
  return {
    connected: metrics.gauge({
      name: 'shared_store_connected',
      help: 'Whether the store that replicas share is connected: 1 or 0',
    }),
    requests: metrics.counter({
      name: 'shared_store_requests_total',
      help: 'Requests to the store that replicas share: answered, failed, or away (not sent)',
      labels: ['outcome'],
    }),
  };
}
