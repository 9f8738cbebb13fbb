import type { Clock } from '../primitives/clock.ts';

export interface CircuitBreakerLimits {
  /** Failures without one success between them that open the circuit. */
  readonly maxFailures: number;
  /** Different targets that must be among those that failed: one that always fails says little of the others. */
  readonly minTargets: number;
  /** How long it stays open before one request may try. */
  readonly openMs: number;
}

type State =
  | { readonly kind: 'closed'; readonly failures: number; readonly targets: ReadonlySet<string> }
  | { readonly kind: 'open'; readonly untilMs: number }
  | { readonly kind: 'trying' };

const CLOSED: State = { kind: 'closed', failures: 0, targets: new Set() };

/**
 * Leaves an upstream alone that fails: after so many failures in a row nothing is sent for a while, then one request tries,
 * and its outcome decides. Every admitted request must end in one of {@link succeeded}, {@link failed}, {@link abandoned}.
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #limits: CircuitBreakerLimits;
  #state: State = CLOSED;

  constructor(clock: Clock, limits: CircuitBreakerLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Whether requests are kept away, be it but for the one that tries. */
  get isOpen(): boolean {
    return this.#state.kind !== 'closed';
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
    this.#state = CLOSED;
  }

  /** @param target what was asked for; undefined where the failure is of the upstream as such, whatever it was asked for */
  failed(target: string | undefined): void {
    const { maxFailures, minTargets, openMs } = this.#limits;
    if (this.#state.kind === 'closed') {
      const failures = this.#state.failures + 1;
      // Bounded: as many as it takes, and then no more is learned from them.
      const targets = new Set(this.#state.targets).add(target ?? `failure ${Math.min(failures, maxFailures)}`);
      if (failures < maxFailures || targets.size < minTargets) {
        this.#state = { kind: 'closed', failures, targets };
        return;
      }
    }
    this.#state = { kind: 'open', untilMs: this.#clock.monotonicMs() + openMs };
  }

  /** It ended without having shown anything of the upstream: another request may try. */
  abandoned(): void {
    if (this.#state.kind === 'trying') this.#state = { kind: 'open', untilMs: this.#clock.monotonicMs() };
  }
}
