import { randomBytes } from 'node:crypto';
import { type Clock, sleep } from '../../lib/concurrency/clock.ts';
import { ByteWriter } from '../../lib/encoding/byte-writer.ts';
import { concatBytes, equalBytes } from '../../lib/encoding/bytes.ts';
import { createThrottledWarnings } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Seal } from './seal.ts';
import type { SharedValues } from './shared-values.ts';

export type DistributedSingleFlight = ReturnType<typeof createDistributedSingleFlight>;

export interface SingleFlightTask<Outcome> {
  /** The longest wait for another replica, even while it renews its lease. */
  patienceMs(): number;
  /** @param waitedMs time spent waiting for another replica */
  work(waitedMs: number): Promise<Outcome>;
  /** Encodes the outcome for other replicas; undefined if it must not be shared. */
  share(outcome: Outcome): SharedOutcome | undefined;
  /** Decodes the outcome of another replica; undefined rejects it. */
  accept(outcome: Pick<SharedOutcome, 'bytes' | 'isProven'>): Promise<Outcome | undefined>;
  /** Encodes the progress for waiting replicas; dropped above {@link MAX_PROGRESS_BYTES}. */
  progress(): Uint8Array | undefined;
  /** Called when another replica is found to hold the lease, and at each of its progress updates. */
  onProgress(progress: Uint8Array | undefined): void;
}

export interface SharedOutcome {
  readonly bytes: Uint8Array;
  /** The lifetime. Unproven outcomes also have their end under the seal, independent of the store. */
  readonly ttlMs: number;
  /** Whether readers can verify it. If not, it is shared only under a seal. */
  readonly isProven: boolean;
}

/** A replica that died, or lost the store, delays the others for this long. */
export const LEASE_MS = 2_000;
/** The lease survives several late renewals. The first is early, to publish progress. */
const FIRST_RENEWAL_MS = 100;
const RENEWAL_MS = 400;
/** Pauses between polls of another replica's work; collections take about 100 ms. 256 of them are at most 2,560 commands a second. */
const FIRST_POLL_MS = 10;
const MAX_POLL_MS = 100;
/** The states of several thousand validators. */
export const MAX_PROGRESS_BYTES = 32 * 1024;
/** Signed messages have at most about 300 KB. Larger outcomes are not shared. */
const MAX_VALUE_BYTES = 512 * 1024;
/** Limit of replaced values, after which the replica works alone, so that forged values cannot block it. */
const MAX_REJECTED = 3;

/**
 * How long after its end an unproven outcome is still accepted. Nodes reject peers whose clock is off by a minute, so clocks of working
 * replicas differ by at most two. An attacker with write access to the store can replay a failure only for this long.
 */
const CLOCK_TOLERANCE_MS = 120_000;
/** The end of an unproven outcome in Unix milliseconds, before its bytes. */
const TIME_BYTES = 8;

const STALE = 'the shared store has an expired failure: it was replayed, or the clocks of replicas differ by minutes';
const FORGED =
  'the shared store has a value that no replica with our secret has written: is store.sharedSecret the same everywhere?';
const TOKEN_BYTES = 16;
const KIND = { lease: 1, proven: 2, unproven: 3 } as const;

export interface DistributedSingleFlightOptions {
  readonly values: SharedValues;
  readonly seal: Seal;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** The value under a key. */
type Found =
  | { readonly kind: 'ours'; readonly token: Uint8Array }
  | { readonly kind: 'theirs'; readonly raw: Uint8Array; readonly progress: Uint8Array | undefined }
  | { readonly kind: 'done'; readonly raw: Uint8Array; readonly bytes: Uint8Array; readonly isProven: boolean }
  | { readonly kind: 'forged' | 'stale'; readonly raw: Uint8Array }
  | { readonly kind: 'away' };

/**
 * Single flight over replicas: the first one gets a lease and works, the others wait for its outcome. The store has either the lease,
 * renewed during the work, or the outcome under one key. A replica that finds neither, or an expired lease, takes over. Without the
 * store each replica works itself.
 */
export function createDistributedSingleFlight(options: DistributedSingleFlightOptions) {
  const { clock, values, seal } = options;
  const runs = options.metrics.counter({
    name: 'shared_work_total',
    help:
      'Collections with a shared store: found (the outcome of another replica), waited (for it), ours, taken_over (an expired lease), ' +
      'alone (without the store, after too long a wait, or after unusable values), refused (an unusable value was replaced; the collection ' +
      'continues)',
    labels: ['outcome'],
  });
  const warn = createThrottledWarnings(options.logger, clock);

  /** Rejects with what `work` throws, or the signal's reason. */
  async function run<Outcome>(key: string, task: SingleFlightTask<Outcome>, signal: AbortSignal): Promise<Outcome> {
    const startMs = clock.monotonicMs();
    const waitedMs = (): number => clock.monotonicMs() - startMs;
    /** The last lease found, and when it last changed. */
    let seen: { readonly raw: Uint8Array; readonly sinceMs: number } | undefined;
    /** The value to replace. */
    let dead: Uint8Array | undefined;
    let rejected = 0;
    let pollMs = FIRST_POLL_MS;
    for (;;) {
      const found = await enter(key, dead);
      dead = undefined;
      if (signal.aborted) {
        if (found.kind === 'ours') release(key, found.token);
        throw signal.reason;
      }
      switch (found.kind) {
        case 'ours':
          runs.inc({ outcome: seen === undefined ? 'ours' : 'taken_over' });
          return workUnderLease(key, found.token, task, waitedMs());
        case 'done': {
          const outcome = await task.accept(found);
          if (outcome !== undefined) {
            runs.inc({ outcome: seen === undefined ? 'found' : 'waited' });
            return outcome;
          }
          dead = found.raw;
          break;
        }
        case 'forged':
        case 'stale':
          warn(found.kind, {}, found.kind === 'stale' ? STALE : FORGED);
          dead = found.raw;
          break;
        case 'theirs':
          if (seen === undefined || !equalBytes(seen.raw, found.raw)) {
            seen = { raw: found.raw, sinceMs: clock.monotonicMs() };
            task.onProgress(found.progress);
          } else if (clock.monotonicMs() - seen.sinceMs >= LEASE_MS) {
            // The store should have expired it: it may be forged.
            dead = found.raw;
          }
          break;
        case 'away':
      }
      if (dead !== undefined) {
        rejected += 1;
        runs.inc({ outcome: 'refused' });
        if (rejected <= MAX_REJECTED) continue;
      }
      // No lease to wait for: the store is away, or its values are unusable. Or the wait was too long.
      if (found.kind !== 'theirs' || rejected > MAX_REJECTED || waitedMs() >= task.patienceMs()) {
        runs.inc({ outcome: 'alone' });
        return task.work(waitedMs());
      }
      await sleep(clock, pollMs, signal);
      pollMs = Math.min(MAX_POLL_MS, 2 * pollMs);
    }
  }

  /** @param dead a value to replace */
  async function enter(key: string, dead: Uint8Array | undefined): Promise<Found> {
    const token = randomBytes(TOKEN_BYTES);
    const value = encodeLease(key, token, 0, undefined);
    const replaced = await values.replace(key, dead, { value, ttlMs: LEASE_MS, maxBytes: MAX_VALUE_BYTES });
    switch (replaced.kind) {
      case 'replaced':
        return { kind: 'ours', token };
      case 'other':
        return read(key, replaced.value);
      case 'away':
        return replaced;
    }
  }

  async function workUnderLease<Outcome>(
    key: string,
    token: Uint8Array,
    task: SingleFlightTask<Outcome>,
    waitedMs: number,
  ): Promise<Outcome> {
    let shared: SharedOutcome | undefined;
    try {
      using _renewing = keepLease(key, token, task);
      const outcome = await task.work(waitedMs);
      shared = task.share(outcome);
      return outcome;
    } finally {
      if (shared === undefined) release(key, token);
      else finish(key, token, shared);
    }
  }

  function keepLease<Outcome>(key: string, token: Uint8Array, task: SingleFlightTask<Outcome>): Disposable {
    let isOver = false;
    let count = 0;
    let cancel = clock.after(FIRST_RENEWAL_MS, () => void renew());
    const renew = async (): Promise<void> => {
      count += 1;
      // The counter makes each renewal distinct: others see that the work continues.
      const value = encodeLease(key, token, count, seal.isOfSecret ? task.progress() : undefined);
      const replaced = await values.replace(key, token, { value, ttlMs: LEASE_MS, maxBytes: 0 });
      // If another value is there, the lease is lost. If the store is away, the lease may be restored later.
      if (isOver || replaced.kind === 'other') return;
      cancel = clock.after(RENEWAL_MS, () => void renew());
    };
    return {
      [Symbol.dispose]() {
        isOver = true;
        cancel();
      },
    };
  }

  function finish(key: string, token: Uint8Array, { bytes, ttlMs, isProven }: SharedOutcome): void {
    const value = isProven
      ? encodeValue(key, token, KIND.proven, bytes)
      : encodeValue(key, token, KIND.unproven, withEnd(bytes, clock.now() + ttlMs));
    if (value.length > MAX_VALUE_BYTES || !(isProven || seal.isOfSecret)) release(key, token);
    // A proven outcome is valid even if the lease was lost.
    else if (isProven) void values.set(key, value, ttlMs);
    else void values.replace(key, token, { value, ttlMs, maxBytes: 0 });
  }

  function release(key: string, token: Uint8Array): void {
    void values.replace(key, token, { value: undefined, ttlMs: LEASE_MS, maxBytes: 0 });
  }

  function encodeLease(key: string, token: Uint8Array, count: number, progress: Uint8Array | undefined): Uint8Array {
    const payload = new ByteWriter().u32(count);
    if (progress !== undefined && progress.length <= MAX_PROGRESS_BYTES) payload.bytes(progress);
    return encodeValue(key, token, KIND.lease, payload.finish());
  }

  /** The token is a prefix, which a script can compare; the seal covers it too. */
  function encodeValue(key: string, token: Uint8Array, kind: number, payload: Uint8Array): Uint8Array {
    const body = concatBytes(Uint8Array.of(kind), payload);
    return concatBytes(token, seal.seal(sealedName(key, token), body));
  }

  function read(key: string, raw: Uint8Array): Found {
    const forged: Found = { kind: 'forged', raw };
    if (raw.length > MAX_VALUE_BYTES || raw.length < TOKEN_BYTES) return forged;
    const body = seal.open(sealedName(key, raw.subarray(0, TOKEN_BYTES)), raw.subarray(TOKEN_BYTES));
    if (body === undefined) return forged;
    switch (body[0]) {
      case KIND.lease: {
        const progress = body.subarray(5);
        return { kind: 'theirs', raw, progress: seal.isOfSecret && progress.length > 0 ? progress : undefined };
      }
      case KIND.unproven:
        return seal.isOfSecret ? readUnproven(raw, body.subarray(1)) : forged;
      case KIND.proven:
        return { kind: 'done', raw, bytes: body.subarray(1), isProven: true };
      case undefined:
      default:
        return forged;
    }
  }

  function readUnproven(raw: Uint8Array, payload: Uint8Array): Found {
    if (payload.length < TIME_BYTES) return { kind: 'forged', raw };
    const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
    const isExpired = clock.now() >= Number(view.getBigUint64(0)) + CLOCK_TOLERANCE_MS;
    return isExpired
      ? { kind: 'stale', raw }
      : { kind: 'done', raw, bytes: payload.subarray(TIME_BYTES), isProven: false };
  }

  return { run };
}

function withEnd(bytes: Uint8Array, endMs: number): Uint8Array {
  return new ByteWriter()
    .u64(BigInt(Math.ceil(endMs)))
    .bytes(bytes)
    .finish();
}

function sealedName(key: string, token: Uint8Array): string {
  return `${key} ${Buffer.from(token).toString('hex')}`;
}
