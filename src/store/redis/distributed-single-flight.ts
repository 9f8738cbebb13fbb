import { randomBytes } from 'node:crypto';
import { type Clock, sleep } from '../../lib/concurrency/clock.ts';
import { ByteWriter } from '../../lib/encoding/byte-writer.ts';
import { concatBytes, equalBytes } from '../../lib/encoding/bytes.ts';
import { createThrottledWarnings, type ThrottledWarnings } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { SharedStore } from './shared-store.ts';
import { createSharedValues, type SharedValues } from './shared-values.ts';

/**
 * Single flight over the replicas of one network. The first replica gets a lease and works; the others wait for its outcome. The store has
 * either the lease, renewed during the work, or the outcome under one key. A replica that finds neither, because the work failed, or that
 * finds an expired lease, takes over. Without the store each replica works itself.
 */
export interface DistributedSingleFlight {
  /** Rejects with what `work` throws, or the signal's reason. */
  run<Outcome>(key: string, task: SingleFlightTask<Outcome>, signal: AbortSignal): Promise<Outcome>;
}

export interface SingleFlightTask<Outcome> {
  /** The longest wait for other replicas, even while they renew their lease. */
  patienceMs(): number;
  work(): Promise<Outcome>;
  /** Encodes the outcome for other replicas; undefined if it is not shared. */
  share(outcome: Outcome): SharedOutcome | undefined;
  /** Decodes and verifies an outcome of the store, which any program may have written; undefined rejects it. */
  accept(bytes: Uint8Array): Promise<Outcome | undefined>;
}

export interface SharedOutcome {
  readonly bytes: Uint8Array;
  readonly ttlMs: number;
}

export interface DistributedSingleFlightOptions {
  readonly store: Pick<SharedStore, 'ask'>;
  readonly networkID: number;
  /** Distinguishes private networks with the same ID. */
  readonly networkName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** A replica that died, or lost the store, delays the others for this long. */
export const LEASE_MS = 2_000;
/** The lease survives several late renewals. */
const RENEWAL_MS = 400;
/** Pauses between polls of another replica's work; collections take about 100 ms. 256 of them are at most 2,560 commands a second. */
const FIRST_POLL_MS = 10;
const MAX_POLL_MS = 100;
/** Signed messages have at most about 300 KB. Larger outcomes are not shared. */
const MAX_VALUE_BYTES = 512 * 1024;
/** Limit of replaced values, after which the replica works alone, so that forged values cannot block it. */
const MAX_REJECTED = 3;

/** Raised with each change of the encoding, so that replicas of different versions ignore each other's values. */
const FORMAT = 3;
/** The first byte of a value: a lease, with a random token and a count of renewals, or an outcome. */
const KIND = { lease: 1, outcome: 2 } as const;
const TOKEN_BYTES = 16;
const LEASE_BYTES = 1 + TOKEN_BYTES + 4;

/** The value under a key. */
type Found =
  | { readonly kind: 'ours'; readonly lease: Uint8Array }
  | { readonly kind: 'theirs' | 'unreadable'; readonly raw: Uint8Array }
  | { readonly kind: 'outcome'; readonly raw: Uint8Array; readonly bytes: Uint8Array }
  | { readonly kind: 'away' };

export function createDistributedSingleFlight(options: DistributedSingleFlightOptions): DistributedSingleFlight {
  return new LeasedSingleFlight(options);
}

class LeasedSingleFlight implements DistributedSingleFlight {
  readonly #clock: Clock;
  readonly #values: SharedValues;
  readonly #runs: ReturnType<typeof declareRuns>;
  readonly #warn: ThrottledWarnings;

  constructor({ store, networkID, networkName, clock, logger, metrics }: DistributedSingleFlightOptions) {
    this.#clock = clock;
    this.#values = createSharedValues(store, `v${FORMAT}:${networkID}:${networkName}:`);
    this.#runs = declareRuns(metrics);
    this.#warn = createThrottledWarnings(logger, clock);
  }

  async run<Outcome>(key: string, task: SingleFlightTask<Outcome>, signal: AbortSignal): Promise<Outcome> {
    const startMs = this.#clock.monotonicMs();
    /** The last lease found, and when it last changed. */
    let seen: { readonly raw: Uint8Array; readonly sinceMs: number } | undefined;
    /** The value to replace. */
    let dead: Uint8Array | undefined;
    let rejected = 0;
    let pollMs = FIRST_POLL_MS;
    for (;;) {
      const found = await this.#enter(key, dead);
      dead = undefined;
      if (signal.aborted) {
        if (found.kind === 'ours') this.#release(key, found.lease);
        throw signal.reason;
      }
      switch (found.kind) {
        case 'ours':
          this.#runs.inc({ outcome: seen === undefined ? 'ours' : 'taken_over' });
          return this.#workUnderLease(key, found.lease, task, signal);
        case 'outcome': {
          const outcome = await task.accept(found.bytes);
          if (outcome !== undefined) {
            this.#runs.inc({ outcome: seen === undefined ? 'found' : 'waited' });
            return outcome;
          }
          dead = found.raw;
          break;
        }
        case 'unreadable':
          this.#warn('unreadable', {}, UNREADABLE);
          dead = found.raw;
          break;
        case 'theirs':
          if (seen === undefined || !equalBytes(seen.raw, found.raw)) {
            seen = { raw: found.raw, sinceMs: this.#clock.monotonicMs() };
          } else if (this.#clock.monotonicMs() - seen.sinceMs >= LEASE_MS) {
            // The store should have expired it: it may be forged.
            dead = found.raw;
          }
          break;
        case 'away':
      }
      if (dead !== undefined) {
        rejected += 1;
        this.#runs.inc({ outcome: 'refused' });
        if (rejected <= MAX_REJECTED) continue;
      }
      // No lease to wait for: the store is away, or its values are unusable. Or the wait was too long.
      const isPatienceOver = this.#clock.monotonicMs() - startMs >= task.patienceMs();
      if (found.kind !== 'theirs' || rejected > MAX_REJECTED || isPatienceOver) {
        this.#runs.inc({ outcome: 'alone' });
        return task.work();
      }
      await sleep(this.#clock, pollMs, signal);
      pollMs = Math.min(MAX_POLL_MS, 2 * pollMs);
    }
  }

  /** Takes the lease, or returns what is there. @param dead a value to replace */
  async #enter(key: string, dead: Uint8Array | undefined): Promise<Found> {
    const lease = concatBytes(Uint8Array.of(KIND.lease), randomBytes(TOKEN_BYTES));
    const replacement = { value: encodeLease(lease, 0), ttlMs: LEASE_MS, maxBytes: MAX_VALUE_BYTES };
    const replaced = await this.#values.replace(key, dead, replacement);
    switch (replaced.kind) {
      case 'replaced':
        return { kind: 'ours', lease };
      case 'other':
        return read(replaced.value);
      case 'away':
        return replaced;
    }
  }

  async #workUnderLease<Outcome>(
    key: string,
    lease: Uint8Array,
    task: SingleFlightTask<Outcome>,
    signal: AbortSignal,
  ): Promise<Outcome> {
    let shared: SharedOutcome | undefined;
    using renewing = this.#keepLease(key, lease);
    // At once: when the last caller has left, this process may end before the work does.
    const onAbort = (): void => {
      renewing[Symbol.dispose]();
      this.#release(key, lease);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const outcome = await task.work();
      shared = task.share(outcome);
      return outcome;
    } finally {
      signal.removeEventListener('abort', onAbort);
      renewing[Symbol.dispose]();
      if (shared === undefined || shared.bytes.length >= MAX_VALUE_BYTES) this.#release(key, lease);
      // It proves itself, so it is written even if the lease was lost.
      else void this.#values.set(key, concatBytes(Uint8Array.of(KIND.outcome), shared.bytes), shared.ttlMs);
    }
  }

  #keepLease(key: string, lease: Uint8Array): Disposable {
    let isOver = false;
    let count = 0;
    let cancel = this.#clock.after(RENEWAL_MS, () => void renew());
    const renew = async (): Promise<void> => {
      count += 1;
      const replacement = { value: encodeLease(lease, count), ttlMs: LEASE_MS, maxBytes: 0 };
      const replaced = await this.#values.replace(key, lease, replacement);
      // If another value is there, the lease is lost. If the store is away, the lease may be restored later.
      if (isOver || replaced.kind === 'other') return;
      cancel = this.#clock.after(RENEWAL_MS, () => void renew());
    };
    return {
      [Symbol.dispose]() {
        isOver = true;
        cancel();
      },
    };
  }

  #release(key: string, lease: Uint8Array): void {
    void this.#values.replace(key, lease, { value: undefined, ttlMs: LEASE_MS, maxBytes: 0 });
  }
}

function declareRuns(metrics: Metrics) {
  return metrics.counter({
    name: 'shared_work_total',
    help:
      'Collections with a shared store: found (the message of another replica), waited (for it), ours, taken_over (from a replica that ' +
      'failed or ended), alone (without the store, after too long a wait, or after unusable values), refused (an unusable value was ' +
      'replaced; the collection continues)',
    labels: ['outcome'],
  });
}

const UNREADABLE =
  'the shared store has a value that no replica of this version has written; it is replaced: is store.sharedKeyPrefix used by another program?';

/** @param count makes each renewal distinct: others see that the work continues */
function encodeLease(lease: Uint8Array, count: number): Uint8Array {
  return new ByteWriter().bytes(lease).u32(count).finish();
}

function read(raw: Uint8Array): Found {
  if (raw[0] === KIND.lease && raw.length === LEASE_BYTES) return { kind: 'theirs', raw };
  if (raw[0] === KIND.outcome && raw.length <= MAX_VALUE_BYTES) {
    return { kind: 'outcome', raw, bytes: raw.subarray(1) };
  }
  return { kind: 'unreadable', raw };
}
