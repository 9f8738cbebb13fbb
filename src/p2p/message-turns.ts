import type { Clock } from '../primitives/clock.ts';

/**
 * Messages handled in one turn of the event loop, over all peers. An answer takes some 30 µs: after a pause of this process hundreds
 * have come, and whoever else waits for the event loop would wait for all of them.
 */
export const MAX_MESSAGES_A_TURN = 32;

/** Goes on with messages that have come: until it is done (true), or until there is no room in this turn any more. */
type Work = () => boolean;

/**
 * Bounds the messages of peers that are handled in one turn of the event loop. What waits is bounded by what sockets have brought: see
 * {@link PacedInbox}.
 */
export class MessageTurns {
  readonly #clock: Pick<Clock, 'afterTurn'>;
  readonly #waiting: Work[] = [];
  /** In this turn. */
  #handled = 0;

  constructor(clock: Pick<Clock, 'afterTurn'>) {
    this.#clock = clock;
  }

  /** Whether one more message may be handled in this turn. */
  take(): boolean {
    if (this.#handled === MAX_MESSAGES_A_TURN) return false;
    this.#handled += 1;
    if (this.#handled === 1) this.#clock.afterTurn(() => this.#begin());
    return true;
  }

  /** There was no room for a message: the work goes on in a later turn, in the order of coming. */
  wait(work: Work): void {
    this.#waiting.push(work);
  }

  /** Calls back when all that has come by now is handled: at once where nothing waits. */
  afterAll(callback: () => void): void {
    if (this.#waiting.length === 0) callback();
    else this.#waiting.push(() => (callback(), true));
  }

  #begin(): void {
    this.#handled = 0;
    for (;;) {
      const [first] = this.#waiting;
      // What is not done stays first.
      if (first === undefined || !first()) return;
      this.#waiting.shift();
    }
  }
}
