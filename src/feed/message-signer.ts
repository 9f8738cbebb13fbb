import { AggregatorError } from '../aggregation/aggregator-error.ts';
import type { Aggregator } from '../aggregation/stages/aggregator.ts';
import { backoffMs } from '../lib/concurrency/backoff.ts';
import { type Clock, sleep } from '../lib/concurrency/clock.ts';
import { createWakeUp } from '../lib/concurrency/wake-up.ts';
import { StoreError } from '../store/local/sqlite.ts';
import { createThrottledWarnings } from '../telemetry/log-throttle.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { BlockchainID } from '../warp/ids.ts';
import type { FeedMessage } from './feed-message.ts';
import type { FeedMetrics } from './feed-metrics.ts';
import type { MessageStore } from './message-store.ts';

export interface MessageSignerOptions {
  readonly store: Pick<MessageStore, 'hasten' | 'due' | 'setSigned' | 'setFailed' | 'postpone' | 'onChange'>;
  readonly aggregator: Aggregator;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: FeedMetrics;
  /** Percent of weight for messages of a chain that name no destination; undefined: the default of requests. */
  readonly quorumOf: (chainID: BlockchainID) => bigint | undefined;
}

/** Client of the concurrency limit and of penalties; clients of the API have the name of a key or an address. */
const CLIENT = 'feed';
/** First attempts and, separately, later ones, so that messages that nobody signs delay no other. */
const MAX_IN_FLIGHT = { pending: 32, failed: 8 } as const;
const STATUSES = ['pending', 'failed'] as const;
const LOOK_INTERVAL_MS = 1_000;
/** The aggregation itself waits for the execution of the block, so failures last. */
const RETRIES = { baseMs: 5_000, maxMs: 3_600_000 };
/** While too little weight is connected, no validator was asked, so a retry costs nothing. */
const UNCONNECTED_RETRIES = { baseMs: 5_000, maxMs: 15_000 };
/** Time after the start in which messages wait for connections to validators. */
const CONNECTING_MS = 60_000;
/** The service itself cannot sign now, which says nothing about the message. */
const PASSING: ReadonlySet<string> = new Set(['overloaded', 'network_unavailable']);
const POSTPONED_MS = 1_000;
/** The longest time that a validator asks for: until a registration of the P-Chain has expired. */
const MAX_DELAY_MS = 24 * 3_600_000;
const INTERNAL_ERROR = {
  code: 'internal_error',
  message: "an error that is not the message's; the log has it",
} as const;
const NO_JUSTIFICATION = new Uint8Array();

interface SigningFailure {
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs?: number | undefined;
}

/** Signs stored messages: new ones at once, failed ones less and less often until retention removes them. */
export function startMessageSigner(options: MessageSignerOptions): AsyncDisposable {
  const { store, aggregator, clock, logger, metrics, quorumOf } = options;
  const startedMs = clock.monotonicMs();
  const stopping = new AbortController();
  const wakeUp = createWakeUp(clock);
  const inFlight = { pending: new Map<string, Promise<void>>(), failed: new Map<string, Promise<void>>() };
  const warn = createThrottledWarnings(logger, clock);

  async function sign(message: FeedMessage): Promise<void> {
    const { chainID, destinationChainID, executedMs, outcome } = message;
    const subject = { kind: 'message', message: message.message, justification: NO_JUSTIFICATION } as const;
    const quorumNum = destinationChainID === undefined ? quorumOf(chainID) : undefined;
    try {
      const waiter = { signal: stopping.signal, client: CLIENT, isBackground: true };
      const result = await aggregator.aggregate({ subject, quorumNum, followsTeleporter: true }, waiter);
      const signedMs = clock.now();
      const { signedMessage, signingSubnetID, pChainHeight, signedWeight, totalWeight } = result;
      store.setSigned(message, { signedMessage, signingSubnetID, pChainHeight, signedWeight, totalWeight, signedMs });
      metrics.countSigned(chainID, Math.max(0, signedMs - executedMs) / 1_000);
    } catch (error) {
      if (stopping.signal.aborted) return;
      if (error instanceof StoreError) throw error;
      const { code, message: reason, retryAfterMs = 0 } = asFailure(error, message);
      const nowMs = clock.now();
      const isUnconnected = code === 'not_connected';
      if (outcome.status === 'pending' && isUnconnected && clock.monotonicMs() - startedMs < CONNECTING_MS) {
        store.postpone(message, nowMs + POSTPONED_MS);
        return;
      }
      if (outcome.status === 'pending' && PASSING.has(code)) {
        store.postpone(message, nowMs + Math.max(POSTPONED_MS, retryAfterMs));
        return;
      }
      const attempts = outcome.status === 'failed' ? outcome.attempts + 1 : 1;
      const pauseMs = backoffMs(attempts, isUnconnected ? UNCONNECTED_RETRIES : RETRIES);
      const nextMs = nowMs + Math.max(retryAfterMs, pauseMs);
      store.setFailed(message, { code, reason, attempts, failedMs: nowMs }, nextMs);
      metrics.countFailed(chainID);
    }
  }

  function asFailure(error: unknown, { message }: FeedMessage): SigningFailure {
    if (error instanceof AggregatorError) return error;
    logger.error({ err: error, messageId: message.id }, 'a message of the feed was not signed because of a bug');
    return INTERNAL_ERROR;
  }

  async function signLogged(key: string, message: FeedMessage, running: Map<string, Promise<void>>): Promise<void> {
    try {
      await sign(message);
    } catch (error) {
      // The disk may be full: the message is due again.
      warn('store', { err: error }, 'the feed cannot store a signature');
      await sleep(clock, POSTPONED_MS, stopping.signal).catch(() => undefined);
    } finally {
      running.delete(key);
      wakeUp.wake();
    }
  }

  function startDue(): void {
    for (const status of STATUSES) {
      const running = inFlight[status];
      const max = MAX_IN_FLIGHT[status];
      if (running.size === max) continue;
      for (const message of store.due(status, clock.now(), max)) {
        const key = `${message.chainID} ${message.blockNumber} ${message.logIndex}`;
        if (running.size === max) break;
        if (!running.has(key)) running.set(key, signLogged(key, message, running));
      }
    }
  }

  /** Messages that were delayed while the clock was ahead would not be tried for long. */
  function hasten(): void {
    const nowMs = clock.now();
    try {
      store.hasten(nowMs, nowMs + MAX_DELAY_MS);
    } catch (error) {
      warn('store', { err: error }, 'the feed cannot read its messages');
    }
  }

  async function run(): Promise<void> {
    hasten();
    while (!stopping.signal.aborted) {
      try {
        startDue();
      } catch (error) {
        warn('store', { err: error }, 'the feed cannot read its messages');
      }
      await wakeUp.next(clock.monotonicMs() + LOOK_INTERVAL_MS);
    }
  }

  const unsubscribe = store.onChange(wakeUp.wake);
  const working = run();
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort(new Error('the service stops'));
      unsubscribe();
      wakeUp.wake();
      await working;
      await Promise.all([...inFlight.pending.values(), ...inFlight.failed.values()]);
    },
  };
}
