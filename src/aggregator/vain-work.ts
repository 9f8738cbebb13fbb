import type { Clock } from '../primitives/clock.ts';
import { createLru } from '../primitives/lru.ts';

export interface VainWorkLimits {
  /** So much may come to nothing at once, */
  readonly atOnce: number;
  /** and so much in each second that follows. */
  readonly perSecond: number;
}

/** Of whom something came to nothing in the last seconds; a key is a short text, so a few MB. The oldest is forgotten, and starts anew. */
const MAX_KEYS = 10_000;

/**
 * Work that came to nothing, of each client: a bucket that leaks. Whoever asks for nothing but what cannot be had is refused until some of
 * it is forgiven; those who ask for what can never notice.
 */
export class VainWork {
  readonly #clock: Clock;
  readonly #limits: VainWorkLimits;
  /** When all of it is forgiven. */
  readonly #forgivenMs = createLru<string, number>(MAX_KEYS);

  constructor(clock: Clock, limits: VainWorkLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** @param amount in the unit of the limits; below 0, to take back what was counted */
  count(key: string, amount = 1): void {
    const nowMs = this.#clock.monotonicMs();
    const forgivenMs = Math.max(nowMs, this.#forgivenMs.get(key) ?? nowMs);
    this.#forgivenMs.set(key, forgivenMs + (1_000 * amount) / this.#limits.perSecond);
  }

  /** How much of what is allowed at once is used up; more than 1 where it was overdrawn. */
  usedPart(key: string): number {
    const { atOnce, perSecond } = this.#limits;
    const forgivenMs = this.#forgivenMs.get(key);
    if (forgivenMs === undefined) return 0;
    return Math.max(0, ((forgivenMs - this.#clock.monotonicMs()) * perSecond) / 1_000 / atOnce);
  }
}
