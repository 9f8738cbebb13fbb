import { backoffMs } from '../../lib/concurrency/backoff.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';

export interface EndpointHealthLimits {
  /** How long an endpoint is put aside after its first failure; twice as long after each further one. */
  readonly asideBaseMs: number;
  /** The longest time that an endpoint is put aside, so that a recovered one is noticed soon. */
  readonly asideMaxMs: number;
  /** How long one call may try an endpoint that was put aside before others try it too. */
  readonly probeMs: number;
}

/**
 * Decides which of several equal endpoints to ask. The first healthy one in the configured order is preferred. One that failed
 * is put aside for a while, and is then tried by one call before the others follow. Endpoints that are put aside remain the last
 * resort: there is always one to ask.
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

  /** All endpoints, in the order in which to ask them. */
  order(): number[] {
    const now = this.#clock.monotonicMs();
    const available = this.#states.filter((state) => state.asideUntilMs <= now);
    const aside = this.#states.filter((state) => state.asideUntilMs > now);
    return [...available, ...aside.sort((a, b) => a.asideUntilMs - b.asideUntilMs)].map((state) => state.index);
  }

  /** Call it before an endpoint is asked. */
  asked(index: number): void {
    const state = this.#state(index);
    const now = this.#clock.monotonicMs();
    if (state.failures > 0 && state.asideUntilMs <= now) {
      state.isProbed = true;
      state.asideUntilMs = now + this.#limits.probeMs;
    }
  }

  /** The endpoint answered, even if it refused the call. */
  answered(index: number): void {
    const state = this.#state(index);
    state.failures = 0;
    state.asideUntilMs = Number.NEGATIVE_INFINITY;
    state.isProbed = false;
  }

  failed(index: number): void {
    const state = this.#state(index);
    const now = this.#clock.monotonicMs();
    // When an endpoint dies, all calls in flight fail together: they count as one failure.
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
