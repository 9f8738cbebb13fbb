import { AdaptiveLimit } from '../../lib/concurrency/adaptive-limit.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { type Claim, FairSemaphore, type Permit, SemaphoreRejection } from '../../lib/concurrency/fair-semaphore.ts';
import type { SubnetID } from '../../warp/ids.ts';
import type { AggregatorMetrics } from '../aggregator-metrics.ts';
import type { SubnetPolicy } from '../subnet-policy.ts';
import { overloaded } from './overloaded.ts';

export interface AdmissionOptions {
  readonly clock: Clock;
  readonly metrics: Pick<AggregatorMetrics, 'admissionRefusals' | 'showAdmission'>;
  readonly maxAggregationsInFlight: number;
  readonly subnets: Pick<SubnetPolicy, 'tracked'>;
  readonly queueTimeoutMs: number;
}

export interface AdmissionRequest {
  readonly client: string | undefined;
  /** The subnet whose validators will be asked; undefined until it is resolved. */
  readonly subnetID: SubnetID | undefined;
}

/** A permit to run or to be queued. */
export interface AdmissionPermit extends Disposable {
  /**
   * Exchanges the permit for one to wait until a validator that refused signs.
   *
   * @param bytes that the request keeps while it waits
   * @throws {AggregatorError} if too many requests wait, of this client or of all
   */
  wait(client: string | undefined, bytes: number): void;
  /** Exchanges it for a permit to run. Returns without a permit when the signal aborts. */
  resume(until: AbortSignal): Promise<void>;
}

export interface RunPermit extends Disposable {
  readonly client: string | undefined;
  /** Releases the permit while the aggregation only waits for validators. */
  rest(): void;
  /** Acquires it again. Returns without it when the signal aborts. */
  resume(until: AbortSignal): Promise<void>;
}

/** Four, so that one busy client, which gets half, still leaves two to the next. */
const MIN_RUNNING = 4;
const INITIAL_RUNNING = 8;
/** Delays above these are congestion: a request waits for the event loop and the BLS threads about half a second in all. */
const TARGET_MS = { event_loop: 25, answers: 30, bls_add: 100, bls_aggregate: 100 };

export type DelaySignal = keyof typeof TARGET_MS;
export type ObserveDelay = (signal: DelaySignal, delayMs: number) => void;

/** One client gets two thirds, one subnet 4/5, lookups of unknown subnets half, untracked subnets 3/4. */
const CLIENT_SHARE = 2;
const SUBNET_SHARE = 4;
const UNKNOWN_SUBNET_SHARE = 1;
const UNTRACKED_SHARE = 3;
/** One client gets half of the running permits. */
const RUNNING_CLIENT_SHARE = 1;
/** Queued aggregations of one client per running one: bounds the wait of the last one. */
const QUEUED_PER_PERMIT = 8;
/** 16 distinct messages at 2,000 validators wait for some seconds on two cores, and must not be refused. */
const MIN_QUEUED = 32;
const PROBE_MS = 20;
/**
 * Requests that wait until a transaction is accepted or executed. Each asks two validators up to 2.5 times a second, which takes all of them
 * half a core. One that keeps more bytes counts as several.
 */
const MAX_WAITING = 1_024;
const BYTES_PER_WAITING = 256 * 1024;
/** A lookup of a transaction is several calls of APIs. */
const WAITING_LOOKUP_WEIGHT = 4;
/** One client gets two thirds. */
const WAITING_CLIENT_SHARE = 2;

/** Sheds load by shares of clients and subnets. Equal requests share one permit, and cached answers need none. */
export interface Admission {
  /** Adapts the number of running aggregations to a delay. May be called without its object. */
  readonly observeDelay: ObserveDelay;
  /**
   * Grants a permit to wait until a transaction is accepted.
   *
   * @throws {AggregatorError} if too many requests wait, of this client or of all
   */
  awaitTransaction(client: string | undefined): Permit;
  /**
   * Grants a permit to run or to be queued.
   *
   * @throws {AggregatorError} if too many requests run or wait, of this client and subnet or of all
   */
  admit(request: AdmissionRequest): AdmissionPermit;
  /**
   * Waits for a permit to run. The queue is bounded, because its aggregations are admitted.
   *
   * @throws {AggregatorError} if too many requests of this client wait, or this one waited too long; or the signal's reason
   */
  run(request: AdmissionRequest, signal: AbortSignal): Promise<RunPermit>;
}

export function createAdmission(options: AdmissionOptions): Admission {
  const { clock, metrics, maxAggregationsInFlight: max } = options;
  const adaptive = new AdaptiveLimit({
    min: Math.min(MIN_RUNNING, max),
    max,
    initial: Math.min(INITIAL_RUNNING, max),
    targetMs: TARGET_MS,
  });
  const admitted = new FairSemaphore({ clock, limit: max, keyShare: CLIENT_SHARE });
  const running = new FairSemaphore({
    clock,
    limit: () => adaptive.value,
    keyShare: RUNNING_CLIENT_SHARE,
    maxQueued: Number.POSITIVE_INFINITY,
    maxQueuedPerKey: () => Math.max(MIN_QUEUED, QUEUED_PER_PERMIT * adaptive.value),
    timeoutMs: options.queueTimeoutMs,
  });
  const waiting = new FairSemaphore({ clock, limit: MAX_WAITING, keyShare: WAITING_CLIENT_SHARE });
  let cancelProbe: (() => void) | undefined;
  const waiters = { held: 0 };
  metrics.showAdmission({ admitted, running, waiting: waiters });

  function acquireToWait(client: string | undefined, weight: number): Permit {
    const permit = waiting.tryAcquire({ key: client, weight });
    if (permit === undefined) {
      const text =
        'too many requests, of this client or of all, wait until their transactions are accepted or executed';
      throw overloaded(metrics.admissionRefusals, 'waiting', text);
    }
    waiters.held += 1;
    const release = (): void => {
      waiters.held -= 1;
      permit.release();
    };
    return { release, [Symbol.dispose]: release };
  }

  function claimOf({ client, subnetID }: AdmissionRequest): Claim {
    const { tracked } = options.subnets;
    const isUntracked = tracked.size > 0 && !(subnetID !== undefined && tracked.has(subnetID));
    const subnet = { name: subnetID ?? '', share: subnetID === undefined ? UNKNOWN_SUBNET_SHARE : SUBNET_SHARE };
    return { key: client, groups: isUntracked ? [subnet, UNTRACKED] : [subnet] };
  }

  function probe(): void {
    if (cancelProbe !== undefined) return;
    const dueMs = clock.monotonicMs() + PROBE_MS;
    cancelProbe = clock.after(PROBE_MS, () => {
      cancelProbe = undefined;
      observeDelay('event_loop', clock.monotonicMs() - dueMs);
      probe();
    });
  }

  function observeDelay(signal: DelaySignal, delayMs: number): void {
    adaptive.observe(signal, delayMs, clock.monotonicMs(), running.held);
    running.grantWaiting();
  }

  return {
    observeDelay,

    awaitTransaction: (client: string | undefined): Permit => acquireToWait(client, WAITING_LOOKUP_WEIGHT),

    admit(request: AdmissionRequest): AdmissionPermit {
      const claim = claimOf(request);
      let permit = admitted.tryAcquire(claim);
      if (permit === undefined) {
        const isFull = admitted.held >= admitted.limit;
        const of = isFull ? 'all clients' : 'this client, for this subnet or for subnets that are not tracked,';
        const text = `too many requests of ${of} are running or waiting`;
        throw overloaded(metrics.admissionRefusals, isFull ? 'full' : 'share', text);
      }
      probe();
      const release = (): void => {
        permit?.release();
        permit = undefined;
        if (admitted.held > 0) return;
        cancelProbe?.();
        cancelProbe = undefined;
      };
      let waitPermit: Permit | undefined;
      return {
        wait(client, bytes) {
          waitPermit ??= acquireToWait(client, 1 + Math.floor(bytes / BYTES_PER_WAITING));
          release();
        },
        async resume(until) {
          permit ??= await acquireAgain(admitted, claim, until);
          if (permit !== undefined) probe();
          waitPermit?.release();
          waitPermit = undefined;
        },
        [Symbol.dispose]() {
          release();
          waitPermit?.release();
          waitPermit = undefined;
        },
      };
    },

    async run({ client, subnetID }: AdmissionRequest, signal: AbortSignal): Promise<RunPermit> {
      const claim = { key: client, queueGroup: subnetID };
      let permit: Permit | undefined;
      try {
        permit = await running.acquire(claim, signal);
      } catch (error) {
        if (!(error instanceof SemaphoreRejection)) throw error;
        const isLate = error.message === 'timeout';
        const text = isLate ? 'the request waited too long in the queue' : 'too many requests of this client wait';
        throw overloaded(metrics.admissionRefusals, isLate ? 'late' : 'share', text);
      }
      const rest = (): void => {
        permit?.release();
        permit = undefined;
      };
      const resume = async (until: AbortSignal): Promise<void> => {
        permit ??= await acquireAgain(running, claim, until);
      };
      return { client, rest, resume, [Symbol.dispose]: rest };
    },
  };
}

/** Acquires a permit for work that has begun. Undefined if the signal aborts, or the queue's time is over. */
async function acquireAgain(semaphore: FairSemaphore, claim: Claim, signal: AbortSignal): Promise<Permit | undefined> {
  try {
    return await semaphore.acquire({ ...claim, hasBegun: true }, signal);
  } catch (error) {
    if (!signal.aborted && !(error instanceof SemaphoreRejection)) throw error;
    return undefined;
  }
}

const UNTRACKED = { name: 'untracked', share: UNTRACKED_SHARE };
