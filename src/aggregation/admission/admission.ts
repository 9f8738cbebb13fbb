import { AdaptiveLimit } from '../../lib/concurrency/adaptive-limit.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { DeadlineExceeded, startDeadline } from '../../lib/concurrency/deadline.ts';
import { type Claim, FairSemaphore, type Permit } from '../../lib/concurrency/fair-semaphore.ts';
import type { SubnetID } from '../../warp/ids.ts';
import type { AggregationLimits } from '../aggregation-limits.ts';
import type { AggregatorMetrics } from '../aggregator-metrics.ts';
import type { SubnetPolicy } from '../subnet-policy.ts';
import type { JobPermit } from './job-permit.ts';
import { overloaded } from './overloaded.ts';

export interface AdmissionOptions {
  readonly clock: Clock;
  readonly metrics: Pick<AggregatorMetrics, 'admissionRefusals' | 'showAdmission'>;
  readonly subnets: Pick<SubnetPolicy, 'tracked'>;
  /** A request waits in the queue for its `requestTimeoutMs` at most. */
  readonly limits: Pick<AggregationLimits, 'maxAggregationsInFlight' | 'requestTimeoutMs'>;
}

export interface AdmissionRequest {
  readonly client: string | undefined;
  /** The subnet whose validators will be asked; undefined until it is resolved. */
  readonly subnetID: SubnetID | undefined;
}

/** A caller's place in the queue, and the permits that it gets there. Disposing of it releases them; it can acquire others afterwards. */
export interface Place extends Disposable {
  /**
   * Waits, fairly over clients and subnets, for the permits of a job. No effect while it has them.
   *
   * @throws {AggregatorError} if the queue has too many bytes, of this client or of all, or the wait takes too long; or the signal's reason
   */
  acquire(...until: readonly AbortSignal[]): Promise<void>;
  /** Hands the permits to a job. */
  move(): JobPermit;
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
/** Bytes of the requests in the queue: some 10,000 of 1 KB. One client gets two thirds. */
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;
/** What a request keeps besides its message and justification. */
const REQUEST_BYTES = 4 * 1024;
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

/**
 * Decides which work begins. Jobs and lookups hold a permit of `admitted`, in shares of clients and subnets; a job holds one of `running`
 * too while it takes CPU. Work that has begun waits apart from work that has not, so that no client's queue delays it.
 */
export interface Admission {
  /** Adapts the number of running jobs to a delay. May be called without its object. */
  readonly observeDelay: ObserveDelay;
  /** @param bytes of the message and its justification */
  placeFor(request: AdmissionRequest, bytes: number): Place;
  /**
   * Grants a permit for a lookup, at once.
   *
   * @throws {AggregatorError} if too many lookups and jobs run, of this client or of all
   */
  lookUp(request: AdmissionRequest): Permit;
  /**
   * Grants a permit to wait until a transaction is accepted.
   *
   * @throws {AggregatorError} if too many requests wait, of this client or of all
   */
  awaitTransaction(client: string | undefined): Permit;
}

export function createAdmission(options: AdmissionOptions): Admission {
  const { clock, metrics, limits } = options;
  const { maxAggregationsInFlight: max } = limits;
  const refuse = overloaded.bind(undefined, metrics.admissionRefusals);
  const adaptive = new AdaptiveLimit({
    min: Math.min(MIN_RUNNING, max),
    max,
    initial: Math.min(INITIAL_RUNNING, max),
    targetMs: TARGET_MS,
  });
  const unboundedQueue = { maxQueued: Number.POSITIVE_INFINITY };
  const admitted = new FairSemaphore({ clock, limit: max, keyShare: CLIENT_SHARE, ...unboundedQueue });
  const running = new FairSemaphore({
    clock,
    limit: () => adaptive.value,
    keyShare: RUNNING_CLIENT_SHARE,
    ...unboundedQueue,
  });
  /** Bounds the queues of both. */
  const queuedBytes = new FairSemaphore({ clock, limit: MAX_QUEUED_BYTES, keyShare: CLIENT_SHARE });
  const waiting = new FairSemaphore({ clock, limit: MAX_WAITING, keyShare: WAITING_CLIENT_SHARE });
  const waiters = { held: 0 };
  let cancelProbe: (() => void) | undefined;
  metrics.showAdmission({ admitted, running, waiting: waiters });

  function acquireToWait(client: string | undefined, weight: number): Permit {
    const permit = waiting.tryAcquire({ key: client, weight });
    if (permit === undefined) {
      throw refuse(
        'waiting',
        'too many requests, of this client or of all, wait until their transactions are accepted or executed',
      );
    }
    waiters.held += 1;
    return releasing(permit, () => {
      waiters.held -= 1;
    });
  }

  function claimOf({ client, subnetID }: AdmissionRequest): Claim {
    const { tracked } = options.subnets;
    const isUntracked = tracked.size > 0 && !(subnetID !== undefined && tracked.has(subnetID));
    const subnet = { name: subnetID ?? '', share: subnetID === undefined ? UNKNOWN_SUBNET_SHARE : SUBNET_SHARE };
    return { key: client, groups: isUntracked ? [subnet, UNTRACKED] : [subnet], queueGroup: subnetID };
  }

  async function admit(claim: Claim, until: AbortSignal): Promise<Permit> {
    const permit = await admitted.acquire(claim, until);
    probe();
    return releasing(permit, endProbe);
  }

  function endProbe(): void {
    if (admitted.held > 0) return;
    cancelProbe?.();
    cancelProbe = undefined;
  }

  /** Observes the delay of the event loop, while something is admitted. */
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

  async function acquirePermits(
    request: AdmissionRequest,
    bytes: number,
    until: readonly AbortSignal[],
  ): Promise<JobPermit> {
    const { client, subnetID } = request;
    using room = queuedBytes.tryAcquire({ key: client, weight: REQUEST_BYTES + bytes });
    if (room === undefined) throw refuse('share', 'too many bytes of this client, or of all, wait in the queue');
    using deadline = startDeadline(clock, limits.requestTimeoutMs, 'waiting in the queue', ...until);
    try {
      using held = new DisposableStack();
      const permit = held.use(await admit(claimOf(request), deadline.signal));
      const cpu = held.use(await running.acquire({ key: client, queueGroup: subnetID }, deadline.signal));
      held.move();
      return permitOf(client, permit, cpu);
    } catch (error) {
      if (!(error instanceof DeadlineExceeded)) throw error;
      throw refuse('late', 'the request waited too long in the queue');
    }
  }

  function permitOf(client: string | undefined, first: Permit, firstCpu: Permit): JobPermit {
    let permit: Permit | undefined = first;
    let cpu: Permit | undefined = firstCpu;
    let wait: Permit | undefined;
    const release = (): void => {
      cpu?.release();
      permit?.release();
      cpu = undefined;
      permit = undefined;
    };
    return {
      rest() {
        cpu?.release();
        cpu = undefined;
      },
      suspend(bytes) {
        wait ??= acquireToWait(client, 1 + Math.floor(bytes / BYTES_PER_WAITING));
        release();
      },
      async resume(until) {
        try {
          permit ??= await admit({ key: undefined }, until);
          cpu ??= await running.acquire({ key: client, queueGroup: BEGUN }, until);
        } catch (error) {
          if (!until.aborted) throw error;
        }
        wait?.release();
        wait = undefined;
      },
      [Symbol.dispose]() {
        release();
        wait?.release();
        wait = undefined;
      },
    };
  }

  return {
    observeDelay,
    awaitTransaction: (client) => acquireToWait(client, WAITING_LOOKUP_WEIGHT),
    lookUp(request) {
      const permit = admitted.tryAcquire(claimOf(request));
      if (permit !== undefined) return releasing(permit, endProbe);
      const isFull = admitted.held >= admitted.limit;
      const of = isFull ? 'all clients' : 'this client, for this subnet or for subnets that are not tracked,';
      throw refuse(isFull ? 'full' : 'share', `too many requests of ${of} are running or waiting`);
    },
    placeFor(request, bytes) {
      let permit: JobPermit | undefined;
      return {
        async acquire(...until) {
          permit ??= await acquirePermits(request, bytes, until);
        },
        move() {
          if (permit === undefined) throw new Error('a job begins without a permit');
          const moved = permit;
          permit = undefined;
          return moved;
        },
        [Symbol.dispose]() {
          permit?.[Symbol.dispose]();
          permit = undefined;
        },
      };
    },
  };
}

function releasing(permit: Permit, onRelease: () => void): Permit {
  let isReleased = false;
  const release = (): void => {
    if (isReleased) return;
    isReleased = true;
    permit.release();
    onRelease();
  };
  return { release, [Symbol.dispose]: release };
}

const UNTRACKED = { name: 'untracked', share: UNTRACKED_SHARE };
/** Work that has begun waits in a queue of its own, because equal requests of other clients wait for it too. Its client's share holds. */
const BEGUN = 'begun';
