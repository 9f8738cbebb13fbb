import type { Clock } from '../../lib/concurrency/clock.ts';

/** Consecutive failures after which the host is suspected to be down. */
export const MAX_FAILURES = 10;
/** About as long as a restart takes. */
export const OPEN_MS = 5_000;

export interface CircuitBreakerOptions {
  readonly clock: Clock;
  /** Sends a request that no client chose; resolves to whether the host answers. Does not reject. */
  readonly probe: () => Promise<boolean>;
  readonly onChange: (isOpen: boolean) => void;
}

type State =
  | { readonly kind: 'closed'; readonly failures: number }
  | { readonly kind: 'open'; readonly untilMs: number }
  | { readonly kind: 'trying' };

/**
 * Circuit breaker for a host. Clients choose the requests and could provoke failures with a chain that does not work. So the circuit
 * opens only if no connection can be made, or if the host does not answer the probe either.
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

  /** Whether requests are rejected, all or all but the trial. */
  get isOpen(): boolean {
    return this.#state.kind !== 'closed';
  }

  /** Returns 0 if the request may be sent, else the milliseconds until a retry. */
  admit(): number {
    switch (this.#state.kind) {
      case 'closed':
        return 0;
      case 'trying':
        return OPEN_MS;
      case 'open': {
        const leftMs = this.#state.untilMs - this.#options.clock.monotonicMs();
        if (leftMs > 0) return leftMs;
        this.#state = { kind: 'trying' };
        return 0;
      }
    }
  }

  /** The host answered, maybe with an error. */
  answered(): void {
    const wasOpen = this.isOpen;
    this.#state = { kind: 'closed', failures: 0 };
    if (wasOpen) this.#options.onChange(false);
  }

  /** No connection to the host could be made. */
  notConnected(): void {
    this.#recordFailure();
    if (this.isOpen || this.#hasFailedTooOften) this.#open();
  }

  /** No answer came over a connection: the host may be down, or only the requested chain. */
  unanswered(): void {
    this.#recordFailure();
    if (this.#state.kind === 'trying' || this.#hasFailedTooOften) void this.#probe();
  }

  /** The request shows nothing about the host: another one may be the trial. */
  abandoned(): void {
    if (this.#state.kind === 'trying') this.#state = { kind: 'open', untilMs: this.#options.clock.monotonicMs() };
  }

  get #hasFailedTooOften(): boolean {
    return this.#state.kind === 'closed' && this.#state.failures >= MAX_FAILURES;
  }

  #recordFailure(): void {
    if (this.#state.kind === 'closed') this.#state = { kind: 'closed', failures: this.#state.failures + 1 };
  }

  #open(): void {
    const wasOpen = this.isOpen;
    const { clock, onChange } = this.#options;
    this.#state = { kind: 'open', untilMs: clock.monotonicMs() + OPEN_MS };
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
