import { backoffMs } from '../../lib/concurrency/backoff.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';

interface EndpointHealthLimits {
  /** Time that an endpoint is put aside after its first failure; it doubles with each further one. */
  readonly asideBaseMs: number;
  readonly asideMaxMs: number;
  /** Time that one call may probe an endpoint before others use it. */
  readonly probeMs: number;
}

/**
 * Orders equal endpoints: healthy ones as configured, then failed ones. A failed endpoint is put aside for a while, and is then probed by
 * one call before others use it.
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

  /** Returns the indices of all endpoints in the order of use. */
  order(): number[] {
    const now = this.#clock.monotonicMs();
    const available = this.#states.filter((state) => state.asideUntilMs <= now);
    const aside = this.#states.filter((state) => state.asideUntilMs > now);
    return [...available, ...aside.sort((a, b) => a.asideUntilMs - b.asideUntilMs)].map((state) => state.index);
  }

  /** Call it before a request. */
  onRequest(index: number): void {
    const state = this.#state(index);
    const now = this.#clock.monotonicMs();
    if (state.failures > 0 && state.asideUntilMs <= now) {
      state.isProbed = true;
      state.asideUntilMs = now + this.#limits.probeMs;
    }
  }

  /** Call it after a response, also after a JSON-RPC error. */
  onResponse(index: number): void {
    const state = this.#state(index);
    state.failures = 0;
    state.asideUntilMs = Number.NEGATIVE_INFINITY;
    state.isProbed = false;
  }

  onFailure(index: number): void {
    const state = this.#state(index);
    const now = this.#clock.monotonicMs();
    // Calls in flight that fail together count as one failure.
    if (state.asideUntilMs > now && !state.isProbed) return;
    state.failures += 1;
    state.isProbed = false;
    const { asideBaseMs: baseMs, asideMaxMs: maxMs } = this.#limits;
    state.asideUntilMs = now + backoffMs(state.failures, { baseMs, maxMs });
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
