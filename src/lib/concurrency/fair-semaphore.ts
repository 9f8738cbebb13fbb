import { addTo } from '../encoding/counts.ts';
import type { Clock } from './clock.ts';
import { FairQueue } from './fair-queue.ts';

/** A second dimension of fairness beside the key, such as the chain that a client asks about. */
export interface Group {
  readonly name: string;
  /** As {@link FairSemaphoreOptions.keyShare}. */
  readonly share: number;
}

export interface Claim {
  /** The client, or another owner of work; undefined for internal work, which has no cap. */
  readonly key: string | undefined;
  /** In the unit of the limit: 1 by default. A weight above the limit counts as the limit, so that it is granted alone. */
  readonly weight?: number;
  readonly groups?: readonly Group[];
  /** Waiting claims are served round robin over these first, then over keys. */
  readonly queueGroup?: string | undefined;
  /** Waits even where the queue is full: for work that has begun. */
  readonly hasBegun?: boolean;
}

/** Disposing of it a second time does nothing. */
export interface Permit extends Disposable {
  /** @param part of the weight; all that is left by default */
  readonly release: (part?: number) => void;
}

export interface FairSemaphoreOptions {
  readonly clock: Pick<Clock, 'after'>;
  /** Permits, or bytes. Call {@link FairSemaphore.grantWaiting} after it has grown. */
  readonly limit: number | (() => number);
  /**
   * A key holds at most this times what stays free: alone it gets `share / (1 + share)` of the limit, and the rest stays for other
   * keys. Its first claim is granted whatever its weight (Choudhury and Hahne, "Dynamic queue length thresholds in a shared memory packet switch").
   */
  readonly keyShare: number;
  /** Claims that may wait; none by default. */
  readonly maxQueued?: number;
  /** Of one key, and of one group; as many as of all by default. */
  readonly maxQueuedPerKey?: () => number;
  /** The longest that a claim waits. */
  readonly timeoutMs?: number;
}

/** No permit was granted. */
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

/**
 * A semaphore whose permits are shared fairly among keys. Waiting claims are served round robin over keys. A claim whose key or group
 * has its share is passed over; a claim that lacks only free weight holds up the later ones, so that heavy claims do not starve.
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

  /** Grants a permit if one is free for the claim now. */
  tryAcquire(claim: Claim): Permit | undefined {
    const free = this.limit - this.#held;
    if (this.#weightOf(claim) > free || !this.#isKeyWithinShare(claim, free)) return undefined;
    return this.#areGroupsWithinShare(claim, free) ? this.#grant(claim) : undefined;
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

  /** Serves waiting claims, as far as permits are free. */
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
    const hasPlace = this.#hasPlace(claim);
    this.#queue.push(claim.key, waiter, claim.queueGroup);
    this.#countQueued(claim, 1);
    this.grantWaiting();
    const giveUp = (reason: unknown): void => {
      if (!this.#queue.delete(claim.key, waiter, claim.queueGroup)) return;
      this.#countQueued(claim, -1);
      reject(reason);
      // A heavy claim that is given up no longer holds up lighter ones.
      this.grantWaiting();
    };
    if (!hasPlace) giveUp(new SemaphoreRejection('full'));
    const onAbort = (): void => giveUp(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const cancelTimeout =
      timeoutMs === undefined ? undefined : clock.after(timeoutMs, () => giveUp(new SemaphoreRejection('timeout')));
    try {
      const permit = await promise;
      if (!signal?.aborted) return permit;
      // It was aborted in the tick of its grant.
      permit.release();
      throw signal.reason;
    } finally {
      cancelTimeout?.();
      signal?.removeEventListener('abort', onAbort);
    }
  }

  #next(): Waiter | undefined {
    const free = this.limit - this.#held;
    if (free <= 0) return undefined;
    for (const [, waiters] of this.#queue.entries()) {
      for (const waiter of waiters) {
        if (!this.#isKeyWithinShare(waiter.claim, free)) break;
        if (!this.#areGroupsWithinShare(waiter.claim, free)) continue;
        return this.#weightOf(waiter.claim) <= free ? waiter : undefined;
      }
    }
    return undefined;
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

  #isKeyWithinShare(claim: Claim, free: number): boolean {
    const { keyShare } = this.#options;
    return claim.key === undefined || isWithinShare(this.heldBy(claim.key), this.#weightOf(claim), keyShare, free);
  }

  #areGroupsWithinShare(claim: Claim, free: number): boolean {
    const { groups } = claim;
    if (groups === undefined) return true;
    const weight = this.#weightOf(claim);
    return groups.every(({ name, share }) => isWithinShare(this.#heldByGroup.get(name) ?? 0, weight, share, free));
  }

  #hasPlace({ key, groups = NO_GROUPS, hasBegun = false }: Claim): boolean {
    const { maxQueued = 0, maxQueuedPerKey } = this.#options;
    if (hasBegun) return true;
    if (this.#queue.size >= maxQueued) return false;
    const ofKey = maxQueuedPerKey?.() ?? maxQueued;
    return (
      (key === undefined || this.#queue.sizeOf(key) < ofKey) &&
      groups.every(({ name }) => (this.#queuedByGroup.get(name) ?? 0) < ofKey)
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

const NO_GROUPS: readonly Group[] = [];

/** Whether the last permit of the weight would still be granted to a claim that takes them one by one. */
function isWithinShare(held: number, weight: number, share: number, free: number): boolean {
  return held === 0 || held + weight - 1 < share * (free - weight + 1);
}
