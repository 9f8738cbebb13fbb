export interface AdaptiveLimitOptions<Signal extends string> {
  readonly min: number;
  readonly max: number;
  /** First value; the limit grows beyond it only as far as it is used. */
  readonly initial: number;
  /** Longest delay of each signal without congestion. */
  readonly targetMs: Readonly<Record<Signal, number>>;
}

/** Longer than a busy pass of the event loop, short enough to react several times a second. */
const WINDOW_MS = 100;
/** A decrease has its effect when work that started before has ended. */
const COOLDOWN_MS = 300;
const COOLDOWN_WHILE_ABOVE_MS = 2_000;
const DECREASE = 0.6;
const INCREASE = 0.05;
/** Step of small limits. */
const MIN_INCREASE = 0.25;
/** Use above which the limit grows. A fair semaphore gives one key half of the limit, so one client must be enough. */
const USED_PART = 1 / 3;
/** Age of the last observation from which a signal counts as not congested. */
const STALE_MS = 2_000;

interface Window {
  endsMs: number;
  leastMs: number;
  /** Consecutive windows in which every observation was above the target. */
  congested: number;
}

/**
 * A concurrency limit that follows congestion: additive increase, multiplicative decrease. As in CoDel, a signal is congested when even
 * the least delay of a window is above its target, for two windows: bursts and garbage collections end within one. Pure.
 */
export class AdaptiveLimit<Signal extends string> {
  readonly #options: AdaptiveLimitOptions<Signal>;
  readonly #windows = new Map<Signal, Window>();
  #limit: number;
  #decreaseFromMs = Number.NEGATIVE_INFINITY;
  #increaseFromMs = Number.NEGATIVE_INFINITY;

  constructor(options: AdaptiveLimitOptions<Signal>) {
    this.#options = options;
    this.#limit = options.initial;
  }

  /** An integer from `min` to `max`. */
  get value(): number {
    return Math.floor(this.#limit);
  }

  /**
   * @param nowMs monotonic
   * @param inUse current use of the limit
   */
  observe(signal: Signal, delayMs: number, nowMs: number, inUse: number): void {
    const targetMs = this.#options.targetMs[signal];
    const window = this.#windows.get(signal);
    if (window === undefined || nowMs - delayMs >= window.endsMs + STALE_MS) {
      // A delay longer than a window counts as one congested window.
      const congested = delayMs > Math.max(targetMs, WINDOW_MS) ? 1 : 0;
      this.#windows.set(signal, { endsMs: nowMs + WINDOW_MS, leastMs: Number.POSITIVE_INFINITY, congested });
      return;
    }
    window.leastMs = Math.min(window.leastMs, delayMs);
    if (nowMs < window.endsMs) return;
    window.congested = window.leastMs > targetMs ? window.congested + 1 : 0;
    window.leastMs = Number.POSITIVE_INFINITY;
    window.endsMs = nowMs + WINDOW_MS;
    if (window.congested >= 2) this.#decrease(nowMs, inUse);
    else if (window.congested === 0) this.#increase(nowMs, inUse);
  }

  #decrease(nowMs: number, inUse: number): void {
    if (nowMs < this.#decreaseFromMs) return;
    this.#limit = Math.max(this.#options.min, DECREASE * Math.min(this.#limit, inUse));
    this.#decreaseFromMs = nowMs + (inUse > this.#limit ? COOLDOWN_WHILE_ABOVE_MS : COOLDOWN_MS);
  }

  #increase(nowMs: number, inUse: number): void {
    if (nowMs < this.#increaseFromMs) return;
    for (const { congested, endsMs } of this.#windows.values()) if (congested > 0 && nowMs < endsMs + STALE_MS) return;
    const { max, initial } = this.#options;
    const used = Math.max(this.#limit, initial, Math.min(max, inUse / USED_PART));
    this.#limit = Math.min(used, this.#limit + Math.max(MIN_INCREASE, INCREASE * this.#limit));
    this.#increaseFromMs = nowMs + WINDOW_MS;
  }
}
