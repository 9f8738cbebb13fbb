import type { Clock } from '../primitives/clock.ts';

export interface EndpointHealthLimits {
  /** How long an endpoint is put aside after its first failure; doubled with each further one. */
  readonly asideBaseMs: number;
  /** The longest an endpoint is put aside, so that a recovered one is soon noticed. */
  readonly asideMaxMs: number;
  /** How long one call may try a returning endpoint before others try it too. */
  readonly probeMs: number;
}

/**
 * Which of several equal endpoints to ask. The first healthy one in the configured order is preferred; one that failed
 * is put aside for a bounded while, and is then tried by one call before the others follow. An endpoint that is put
 * aside is still the last resort: as long as there is any endpoint, there is one to ask.
 */
export class EndpointHealth {
  readonly #clock: Clock;
  readonly #limits: EndpointHealthLimits;
  readonly #states: EndpointState[];

  constructor(count: number, clock: Clock, limits: EndpointHealthLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#states = Array.from({ length: count }, (_, index) => ({
      index,
      failures: 0,
      asideUntilMs: Number.NEGATIVE_INFINITY,
      isProbed: false,
    }));
  }

  /** All endpoints, the one to ask first in front. */
  order(): number[] {
    const now = this.#clock.monotonicMs();
    const available = this.#states.filter((state) => state.asideUntilMs <= now);
    const aside = this.#states.filter((state) => state.asideUntilMs > now);
    return [...available, ...aside.sort((a, b) => a.asideUntilMs - b.asideUntilMs)].map((state) => state.index);
  }

  /** To be called before an endpoint is asked. */
  asked(index: number): void {
    const state = this.#state(index);
    const now = this.#clock.monotonicMs();
    if (state.failures > 0 && state.asideUntilMs <= now) {
      state.isProbed = true;
      state.asideUntilMs = now + this.#limits.probeMs;
    }
  }

  /** The endpoint answered, be it with a refusal. */
  answered(index: number): void {
    const state = this.#state(index);
    state.failures = 0;
    state.asideUntilMs = Number.NEGATIVE_INFINITY;
    state.isProbed = false;
  }

  failed(index: number): void {
    const state = this.#state(index);
    const now = this.#clock.monotonicMs();
    // Many calls in flight fail together when an endpoint dies: that is one failure, not many.
    if (state.asideUntilMs > now && !state.isProbed) return;
    state.failures += 1;
    state.isProbed = false;
    state.asideUntilMs = now + Math.min(this.#limits.asideBaseMs * 2 ** (state.failures - 1), this.#limits.asideMaxMs);
  }

  #state(index: number): EndpointState {
    const state = this.#states[index];
    if (state === undefined) throw new RangeError(`no endpoint ${index}`);
    return state;
  }
}

interface EndpointState {
  readonly index: number;
  failures: number;
  asideUntilMs: number;
  isProbed: boolean;
}
