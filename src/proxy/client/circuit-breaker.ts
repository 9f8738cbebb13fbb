import type { Clock } from '../../lib/concurrency/clock.ts';

export interface CircuitBreakerOptions {
  readonly clock: Clock;
  /** Failures in a row, without one answer between them, after which the host is suspected to be down. */
  readonly maxFailures: number;
  /** How long the circuit stays open before one request may try. */
  readonly openMs: number;
  /** Asks the host a question of our own: true if it answers, whatever it says. Does not reject. */
  readonly probe: () => Promise<boolean>;
  /** Called when the circuit opens, and when it closes again. */
  readonly onChange: (isOpen: boolean) => void;
}

type State =
  | { readonly kind: 'closed'; readonly failures: number }
  | { readonly kind: 'open'; readonly untilMs: number }
  | { readonly kind: 'trying' };

/**
 * Leaves a host alone that is down: nothing is sent for a while, then one request tries.
 *
 * Clients choose what is asked of the host, so a failure that may depend on what was asked does not show that the host is down:
 * anyone could provoke it by asking for a chain that does not work. Two things do show it. Where no connection can be made, nothing
 * was asked yet. And where requests got no answer, the host is asked something that no client chose: a host that answers
 * is up, and a host that does not answer is left alone.
 *
 * Every admitted request must end in one of {@link answered}, {@link notConnected}, {@link unanswered}, {@link abandoned}.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  #state: State = { kind: 'closed', failures: 0 };
  #isProbing = false;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  /** Whether requests are kept away, or all but the one that tries. */
  get isOpen(): boolean {
    return this.#state.kind !== 'closed';
  }

  /** 0 where the request may go, else the milliseconds after which to come again. */
  admit(): number {
    switch (this.#state.kind) {
      case 'closed':
        return 0;
      case 'trying':
        return this.#options.openMs;
      case 'open': {
        const leftMs = this.#state.untilMs - this.#options.clock.monotonicMs();
        if (leftMs > 0) return leftMs;
        this.#state = { kind: 'trying' };
        return 0;
      }
    }
  }

  /** The host answered, be it with an error. */
  answered(): void {
    const wasOpen = this.isOpen;
    this.#state = { kind: 'closed', failures: 0 };
    if (wasOpen) this.#options.onChange(false);
  }

  /** No connection to the host could be made. */
  notConnected(): void {
    if (this.#state.kind !== 'closed' || this.#count() >= this.#options.maxFailures) this.#open();
  }

  /** A connection was made, and no answer came: the host may be down, or only what was asked for. */
  unanswered(): void {
    if (
      this.#state.kind === 'trying' ||
      (this.#state.kind === 'closed' && this.#count() >= this.#options.maxFailures)
    ) {
      void this.#probe();
    }
  }

  /** The request ended without having shown anything of the host: another one may try. */
  abandoned(): void {
    if (this.#state.kind === 'trying') this.#state = { kind: 'open', untilMs: this.#options.clock.monotonicMs() };
  }

  #count(): number {
    const failures = this.#state.kind === 'closed' ? this.#state.failures + 1 : 0;
    this.#state = { kind: 'closed', failures };
    return failures;
  }

  #open(): void {
    const wasOpen = this.isOpen;
    const { clock, openMs, onChange } = this.#options;
    this.#state = { kind: 'open', untilMs: clock.monotonicMs() + openMs };
    if (!wasOpen) onChange(true);
  }

  async #probe(): Promise<void> {
    if (this.#isProbing) return;
    this.#isProbing = true;
    const isUp = await this.#options.probe();
    this.#isProbing = false;
    if (isUp) this.answered();
    else this.#open();
  }
}
