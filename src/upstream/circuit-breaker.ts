import type { Clock } from '../primitives/clock.ts';

export interface CircuitBreakerLimits {
  /** Failures without one success between them that open the circuit. */
  readonly maxFailures: number;
  /** How long it stays open before one request may try. */
  readonly openMs: number;
}

type State =
  | { readonly kind: 'closed'; readonly failures: number }
  | { readonly kind: 'open'; readonly untilMs: number }
  | { readonly kind: 'trying' };

/**
 * Leaves an upstream alone that fails: after so many failures in a row nothing is sent for a while, then one request tries,
 * and its outcome decides. Every admitted request must end in one of {@link succeeded}, {@link failed}, {@link abandoned}.
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #limits: CircuitBreakerLimits;
  #state: State = { kind: 'closed', failures: 0 };

  constructor(clock: Clock, limits: CircuitBreakerLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** 0 where the request may go, else the milliseconds after which to come again. */
  admit(): number {
    switch (this.#state.kind) {
      case 'closed':
        return 0;
      case 'trying':
        return this.#limits.openMs;
      case 'open': {
        const leftMs = this.#state.untilMs - this.#clock.monotonicMs();
        if (leftMs > 0) return leftMs;
        this.#state = { kind: 'trying' };
        return 0;
      }
    }
  }

  succeeded(): void {
    this.#state = { kind: 'closed', failures: 0 };
  }

  failed(): void {
    const { maxFailures, openMs } = this.#limits;
    const failures = this.#state.kind === 'closed' ? this.#state.failures + 1 : maxFailures;
    this.#state =
      failures < maxFailures
        ? { kind: 'closed', failures }
        : { kind: 'open', untilMs: this.#clock.monotonicMs() + openMs };
  }

  /** The client left before the upstream had shown anything: another request may try. */
  abandoned(): void {
    if (this.#state.kind === 'trying') this.#state = { kind: 'open', untilMs: this.#clock.monotonicMs() };
  }
}
