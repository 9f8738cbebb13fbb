import { randomBytes } from 'node:crypto';
import { type Clock, sleep } from '../../lib/concurrency/clock.ts';
import { ByteWriter } from '../../lib/encoding/byte-writer.ts';
import { concatBytes, equalBytes } from '../../lib/encoding/bytes.ts';
import { createThrottledWarnings, type ThrottledWarnings } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import type { Seal } from './seal.ts';
import type { SharedValues } from './shared-values.ts';

/**
 * Work that replicas do once between them: the first that asks gets a lease, and the others wait for its outcome. Under one key there
 * is either the lease, renewed while the work goes on, or the outcome. Whoever finds neither, or a lease that its holder has let
 * go, takes over. Where the store is away, each replica does the work itself.
 */
export interface SharedWork {
  /** Rejects with what `work` throws, or the signal's reason. */
  run<Outcome>(key: string, task: SharedTask<Outcome>, signal: AbortSignal): Promise<Outcome>;
}

export interface SharedTask<Outcome> {
  /** How long to wait for others at most, however much they seem to be at it. */
  readonly patienceMs: number;
  /** @param waitedMs time spent with waiting for another replica before */
  work(waitedMs: number): Promise<Outcome>;
  /** What other replicas may have of it; undefined where each has to find out itself. */
  share(outcome: Outcome): SharedOutcome | undefined;
  /** The outcome that another replica has shared; undefined where it is not good here. */
  accept(outcome: Pick<SharedOutcome, 'bytes' | 'isProven'>): Promise<Outcome | undefined>;
  /** How far it is, for those who wait; at most {@link MAX_PROGRESS_BYTES}, or it is not told. */
  progress(): Uint8Array | undefined;
  /** Another replica is at it: called when this is found out, and then whenever it has told how far it is. */
  onProgress(progress: Uint8Array | undefined): void;
}

export interface SharedOutcome {
  readonly bytes: Uint8Array;
  /** How long it is good. What is not proven says so itself under its seal, whatever the store makes of it. */
  readonly ttlMs: number;
  /** Whether whoever reads it can check that it is right. If not, it is shared only under a seal. */
  readonly isProven: boolean;
}

/** A replica that has died, or lost its way to the store, holds the others up for this long. */
export const LEASE_MS = 2_000;
/** Several renewals may be late, and the lease still holds. The first comes early, to tell how the work goes. */
const FIRST_RENEWAL_MS = 100;
const RENEWAL_MS = 400;
/** Pauses between looks at another replica's work; collections take some 100 ms. 256 of them are at most 2,560 commands a second. */
const FIRST_LOOK_MS = 10;
const MAX_LOOK_MS = 100;
/** Room for the states of some thousand validators. */
export const MAX_PROGRESS_BYTES = 32 * 1024;
/** Signed messages have at most some 300 KB. An outcome beyond it is not shared. */
const MAX_VALUE_BYTES = 512 * 1024;
/** Outcomes that are not good are replaced; somebody who keeps planting them cannot keep us from the work. */
const MAX_REFUSED = 3;

/**
 * How much later than its end an outcome still counts that is not proven. Nodes refuse whoever's clock is a minute off, so the clocks
 * of replicas that work differ by no more than twice that. Whoever can write to the store can put a failure back for so long, and
 * not for ever.
 */
const CLOCK_TOLERANCE_MS = 120_000;
/** Unix milliseconds, before what is not proven. */
const TIME_BYTES = 8;

const STALE =
  'the shared store has a failure whose time is over: somebody has put it back there, or the clocks of replicas differ by minutes';
const NONSENSE =
  'the shared store has a value that no replica with our secret has written: is store.sharedSecret the same everywhere?';
const TOKEN_BYTES = 16;
const KIND = { lease: 1, proven: 2, word: 3 } as const;

export interface SharedWorkOptions {
  readonly values: SharedValues;
  readonly seal: Seal;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export function createSharedWork(options: SharedWorkOptions): SharedWork {
  return new LeasedWork(options);
}

/** What is under a key. */
type Found =
  | { readonly kind: 'ours'; readonly token: Uint8Array }
  | { readonly kind: 'theirs'; readonly raw: Uint8Array; readonly progress: Uint8Array | undefined }
  | { readonly kind: 'done'; readonly raw: Uint8Array; readonly bytes: Uint8Array; readonly isProven: boolean }
  | { readonly kind: 'nonsense' | 'stale'; readonly raw: Uint8Array }
  | { readonly kind: 'away' };

class LeasedWork implements SharedWork {
  readonly #options: SharedWorkOptions;
  readonly #runs: ReturnType<typeof declareSharedWorkMetrics>;
  readonly #warn: ThrottledWarnings;

  constructor(options: SharedWorkOptions) {
    this.#options = options;
    this.#runs = declareSharedWorkMetrics(options.metrics);
    this.#warn = createThrottledWarnings(options.logger, options.clock);
  }

  async run<Outcome>(key: string, task: SharedTask<Outcome>, signal: AbortSignal): Promise<Outcome> {
    const { clock } = this.#options;
    const startMs = clock.monotonicMs();
    const waitedMs = (): number => clock.monotonicMs() - startMs;
    /** The lease that was seen last, and since when it has been the same. */
    let seen: { readonly raw: Uint8Array; readonly sinceMs: number } | undefined;
    /** What is to be replaced. */
    let dead: Uint8Array | undefined;
    let refused = 0;
    let lookMs = FIRST_LOOK_MS;
    for (;;) {
      const found = await this.#enter(key, dead);
      dead = undefined;
      if (signal.aborted) {
        if (found.kind === 'ours') this.#release(key, found.token);
        throw signal.reason;
      }
      switch (found.kind) {
        case 'ours':
          this.#runs.inc({ outcome: seen === undefined ? 'ours' : 'taken_over' });
          return this.#workUnderLease(key, found.token, task, waitedMs());
        case 'done': {
          const outcome = await task.accept(found);
          if (outcome !== undefined) {
            this.#runs.inc({ outcome: seen === undefined ? 'found' : 'waited' });
            return outcome;
          }
          dead = found.raw;
          break;
        }
        case 'nonsense':
        case 'stale':
          this.#warn(found.kind, {}, found.kind === 'stale' ? STALE : NONSENSE);
          dead = found.raw;
          break;
        case 'theirs':
          if (seen === undefined || !equalBytes(seen.raw, found.raw)) {
            seen = { raw: found.raw, sinceMs: clock.monotonicMs() };
            task.onProgress(found.progress);
          } else if (clock.monotonicMs() - seen.sinceMs >= LEASE_MS) {
            // The store should have dropped it: perhaps nobody has ever held it.
            dead = found.raw;
          }
          break;
        case 'away':
      }
      if (dead !== undefined) {
        refused += 1;
        this.#runs.inc({ outcome: 'refused' });
        if (refused <= MAX_REFUSED) continue;
      }
      if (found.kind !== 'theirs' || refused > MAX_REFUSED || waitedMs() >= task.patienceMs) {
        this.#runs.inc({ outcome: 'alone' });
        return task.work(waitedMs());
      }
      await sleep(clock, lookMs, signal);
      lookMs = Math.min(MAX_LOOK_MS, 2 * lookMs);
    }
  }

  /** @param dead what may be replaced, though it is there */
  async #enter(key: string, dead: Uint8Array | undefined): Promise<Found> {
    const { values } = this.#options;
    const token = randomBytes(TOKEN_BYTES);
    const value = this.#lease(key, token, 0, undefined);
    const replaced = await values.replace(key, dead, { value, ttlMs: LEASE_MS, maxBytes: MAX_VALUE_BYTES });
    switch (replaced.kind) {
      case 'replaced':
        return { kind: 'ours', token };
      case 'other':
        return this.#read(key, replaced.value);
      case 'away':
        return replaced;
    }
  }

  async #workUnderLease<Outcome>(
    key: string,
    token: Uint8Array,
    task: SharedTask<Outcome>,
    waitedMs: number,
  ): Promise<Outcome> {
    let shared: SharedOutcome | undefined;
    try {
      using _renewing = this.#renew(key, token, task);
      const outcome = await task.work(waitedMs);
      shared = task.share(outcome);
      return outcome;
    } finally {
      // Nobody here waits for it.
      if (shared === undefined) this.#release(key, token);
      else this.#finish(key, token, shared);
    }
  }

  #renew<Outcome>(key: string, token: Uint8Array, task: SharedTask<Outcome>): Disposable {
    const { clock, values, seal } = this.#options;
    let isOver = false;
    let count = 0;
    let cancel = clock.after(FIRST_RENEWAL_MS, () => void renew());
    const renew = async (): Promise<void> => {
      count += 1;
      // Each is another, as this is how others see that somebody is at it.
      const value = this.#lease(key, token, count, seal.isOfSecret ? task.progress() : undefined);
      const replaced = await values.replace(key, token, { value, ttlMs: LEASE_MS, maxBytes: 0 });
      // Another replica has it now, or the outcome. While the store is away there is no lease, and there may be one again.
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

  #finish(key: string, token: Uint8Array, { bytes, ttlMs, isProven }: SharedOutcome): void {
    const { values, seal } = this.#options;
    const value = isProven
      ? this.#value(key, token, KIND.proven, bytes)
      : this.#value(key, token, KIND.word, withEnd(bytes, this.#options.clock.now() + ttlMs));
    if (value.length > MAX_VALUE_BYTES || !(isProven || seal.isOfSecret)) this.#release(key, token);
    // What is proven is good for all, also where the lease was lost.
    else if (isProven) void values.set(key, value, ttlMs);
    else void values.replace(key, token, { value, ttlMs, maxBytes: 0 });
  }

  #release(key: string, token: Uint8Array): void {
    void this.#options.values.replace(key, token, { value: undefined, ttlMs: LEASE_MS, maxBytes: 0 });
  }

  #lease(key: string, token: Uint8Array, count: number, progress: Uint8Array | undefined): Uint8Array {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(count);
    const told = progress === undefined || progress.length > MAX_PROGRESS_BYTES ? new Uint8Array() : progress;
    return this.#value(key, token, KIND.lease, concatBytes(counter, told));
  }

  /** The token stands in front, where a script can compare it; the seal covers it too. */
  #value(key: string, token: Uint8Array, kind: number, payload: Uint8Array): Uint8Array {
    const body = concatBytes(Uint8Array.of(kind), payload);
    return concatBytes(token, this.#options.seal.seal(sealedName(key, token), body));
  }

  #read(key: string, raw: Uint8Array): Found {
    const nonsense: Found = { kind: 'nonsense', raw };
    if (raw.length > MAX_VALUE_BYTES || raw.length < TOKEN_BYTES) return nonsense;
    const { seal } = this.#options;
    const body = seal.open(sealedName(key, raw.subarray(0, TOKEN_BYTES)), raw.subarray(TOKEN_BYTES));
    if (body === undefined) return nonsense;
    switch (body[0]) {
      case KIND.lease: {
        const progress = body.subarray(5);
        return { kind: 'theirs', raw, progress: seal.isOfSecret && progress.length > 0 ? progress : undefined };
      }
      case KIND.word:
        return seal.isOfSecret ? this.#readWord(raw, body.subarray(1)) : nonsense;
      case KIND.proven:
        return { kind: 'done', raw, bytes: body.subarray(1), isProven: true };
      case undefined:
      default:
        return nonsense;
    }
  }

  #readWord(raw: Uint8Array, payload: Uint8Array): Found {
    if (payload.length < TIME_BYTES) return { kind: 'nonsense', raw };
    const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
    const isOver = this.#options.clock.now() >= Number(view.getBigUint64(0)) + CLOCK_TOLERANCE_MS;
    return isOver
      ? { kind: 'stale', raw }
      : { kind: 'done', raw, bytes: payload.subarray(TIME_BYTES), isProven: false };
  }
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

function declareSharedWorkMetrics(metrics: Metrics) {
  return metrics.counter({
    name: 'shared_work_total',
    help:
      'Collections under a store that replicas share: found (another replica has the outcome), waited (for it), ours, taken_over ' +
      '(from a replica that let go), alone (without the store), refused (what was found there is not good; the collection goes on)',
    labels: ['outcome'],
  });
}
