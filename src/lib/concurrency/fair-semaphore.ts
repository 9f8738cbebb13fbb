import { addTo } from '../encoding/counts.ts';
import type { Clock } from './clock.ts';
import { FairQueue } from './fair-queue.ts';

/** A second dimension of fairness beside the key, such as the subnet of a request. */
export interface Group {
  readonly name: string;
  readonly share: number;
}

export interface Claim {
  /** Client or another owner of work; undefined for internal work, which has no share. */
  readonly key: string | undefined;
  /** In the unit of the limit; 1 by default. A weight above the limit counts as the limit, so that it is granted alone. */
  readonly weight?: number;
  readonly groups?: readonly Group[];
  /** Waiting claims are served round robin over these first, then over keys. */
  readonly queueGroup?: string | undefined;
}

/** Disposing of it again has no effect. */
export interface Permit extends Disposable {
  /** @param part of the weight; the rest by default */
  readonly release: (part?: number) => void;
}

export interface FairSemaphoreOptions {
  readonly clock: Pick<Clock, 'after'>;
  /** Permits, or bytes. Call {@link FairSemaphore.grantWaiting} after it has grown. */
  readonly limit: number | (() => number);
  /**
   * A key holds at most this times the free weight: alone it gets `share / (1 + share)` of the limit. Its first claim is granted whatever
   * its weight (Choudhury and Hahne, "Dynamic queue length thresholds in a shared memory packet switch").
   */
  readonly keyShare: number;
  /** Bound of the waiting claims; 0 by default. */
  readonly maxQueued?: number;
  /** Bound of the waiting claims of one key, and of one group; `maxQueued` by default. */
  readonly maxQueuedPerKey?: () => number;
  readonly timeoutMs?: number;
}

export class SemaphoreRejection extends Error {
  override readonly name = 'SemaphoreRejection';
  override readonly message: 'full' | 'timeout';

  constructor(message: 'full' | 'timeout') {
    super();
    this.message = message;
  }
}

interface Waiter {
  readonly claim: Claim;
  readonly grant: (permit: Permit) => void;
}

const NO_GROUPS: readonly Group[] = [];

/**
 * A semaphore whose permits are shared fairly among keys. Waiting claims are served round robin over keys. A claim whose key or group
 * has its share is passed over; a claim that lacks only free weight blocks the later ones, so that heavy claims do not starve.
 *
 * Bounds: the limit, `maxQueued`, and an entry for each key and group that holds a permit or waits.
 */
export class FairSemaphore {
  readonly #options: FairSemaphoreOptions;
  readonly #queue = new FairQueue<string | undefined, Waiter>();
  readonly #queuedByGroup = new Map<string, number>();
  readonly #heldByKey = new Map<string, number>();
  readonly #heldByGroup = new Map<string, number>();
  #held = 0;

  constructor(options: FairSemaphoreOptions) {
    this.#options = options;
  }

  get limit(): number {
    const { limit } = this.#options;
    return typeof limit === 'number' ? limit : limit();
  }

  get held(): number {
    return this.#held;
  }

  get queued(): number {
    return this.#queue.size;
  }

  heldBy(key: string): number {
    return this.#heldByKey.get(key) ?? 0;
  }

  tryAcquire(claim: Claim): Permit | undefined {
    return this.#obstacle(claim) === undefined ? this.#grant(claim) : undefined;
  }

  /**
   * Grants a permit at once, or resolves when one is free.
   *
   * @throws {SemaphoreRejection}, or the signal's reason
   */
  acquire(claim: Claim, signal?: AbortSignal): Permit | Promise<Permit> {
    signal?.throwIfAborted();
    const permit = this.#queue.size === 0 ? this.tryAcquire(claim) : undefined;
    return permit ?? this.#wait(claim, signal);
  }

  grantWaiting(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#queue.serve(next.claim.key, next, next.claim.queueGroup);
      this.#countQueued(next.claim, -1);
      next.grant(this.#grant(next.claim));
    }
  }

  async #wait(claim: Claim, signal: AbortSignal | undefined): Promise<Permit> {
    const { clock, timeoutMs } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<Permit>();
    const waiter: Waiter = { claim, grant: resolve };
    const mayQueue = this.#mayQueue(claim);
    this.#queue.push(claim.key, waiter, claim.queueGroup);
    this.#countQueued(claim, 1);
    this.grantWaiting();
    const giveUp = (reason: unknown): void => {
      if (!this.#queue.delete(claim.key, waiter, claim.queueGroup)) return;
      this.#countQueued(claim, -1);
      reject(reason);
      // A heavy claim may have blocked lighter ones.
      this.grantWaiting();
    };
    // A claim that may not wait was queued only to be granted at once, in its fair order.
    if (!mayQueue) giveUp(new SemaphoreRejection('full'));
    const onAbort = (): void => giveUp(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const cancelTimeout =
      timeoutMs === undefined ? undefined : clock.after(timeoutMs, () => giveUp(new SemaphoreRejection('timeout')));
    try {
      const permit = await promise;
      if (!signal?.aborted) return permit;
      // Aborted in the tick of the grant.
      permit.release();
      throw signal.reason;
    } finally {
      cancelTimeout?.();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  #next(): Waiter | undefined {
    if (this.#held >= this.limit) return undefined;
    for (const [, waiters] of this.#queue.entries()) {
      for (const waiter of waiters) {
        const obstacle = this.#obstacle(waiter.claim);
        if (obstacle === undefined) return waiter;
        if (obstacle === 'weight') return undefined;
        if (obstacle === 'key share') break;
      }
    }
    return undefined;
  }

  /** Returns what prevents a grant now; undefined if nothing does. */
  #obstacle(claim: Claim): 'key share' | 'group share' | 'weight' | undefined {
    const { key, groups = NO_GROUPS } = claim;
    const free = this.limit - this.#held;
    const weight = this.#weightOf(claim);
    if (key !== undefined && !isWithinShare(this.heldBy(key), weight, this.#options.keyShare, free)) return 'key share';
    for (const { name, share } of groups) {
      if (!isWithinShare(this.#heldByGroup.get(name) ?? 0, weight, share, free)) return 'group share';
    }
    return weight > free ? 'weight' : undefined;
  }

  #grant(claim: Claim): Permit {
    let left = this.#weightOf(claim);
    this.#countHeld(claim, left);
    const release = (part = left): void => {
      if (left === 0) return;
      left -= part;
      this.#countHeld(claim, -part);
      if (this.#queue.size > 0) this.grantWaiting();
    };
    return { release, [Symbol.dispose]: () => release() };
  }

  #weightOf({ weight = 1 }: Claim): number {
    return weight === 1 ? 1 : Math.min(weight, this.limit);
  }

  #mayQueue({ key, groups = NO_GROUPS }: Claim): boolean {
    const { maxQueued = 0, maxQueuedPerKey } = this.#options;
    if (this.#queue.size >= maxQueued) return false;
    const maxPerKey = maxQueuedPerKey?.() ?? maxQueued;
    return (
      (key === undefined || this.#queue.sizeOf(key) < maxPerKey) &&
      groups.every(({ name }) => (this.#queuedByGroup.get(name) ?? 0) < maxPerKey)
    );
  }

  #countHeld({ key, groups = NO_GROUPS }: Claim, weight: number): void {
    this.#held += weight;
    if (key !== undefined) addTo(this.#heldByKey, key, weight);
    for (const { name } of groups) addTo(this.#heldByGroup, name, weight);
  }

  #countQueued({ groups = NO_GROUPS }: Claim, by: 1 | -1): void {
    for (const { name } of groups) addTo(this.#queuedByGroup, name, by);
  }
}

/** Returns whether the last permit of the weight would be granted to a claim that acquired them one by one. */
function isWithinShare(held: number, weight: number, share: number, free: number): boolean {
  return held === 0 || held + weight - 1 < share * (free - weight + 1);
}
