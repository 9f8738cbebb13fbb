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
  /** In the order in which they get their turns. Whoever is not done with one is the last again, so that a crowd of messages of one peer holds up nobody. */
  readonly #waiting: { readonly work: Work; readonly number: number }[] = [];
  /** In the order of coming. Each waits for all work with lower numbers. */
  readonly #afterAll: { readonly callback: () => void; readonly number: number }[] = [];
  #nextNumber = 0;
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

  /** There was no room for a message: the work goes on in a later turn. */
  wait(work: Work): void {
    this.#waiting.push({ work, number: this.#takeNumber() });
  }

  /** Calls back when all that has come by now is handled: at once where nothing waits. */
  afterAll(callback: () => void): void {
    if (this.#waiting.length === 0) callback();
    else this.#afterAll.push({ callback, number: this.#takeNumber() });
  }

  #takeNumber(): number {
    this.#nextNumber += 1;
    return this.#nextNumber;
  }

  #begin(): void {
    this.#handled = 0;
    while (this.#handled < MAX_MESSAGES_A_TURN) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      if (!next.work()) this.#waiting.push(next);
    }
    this.#callBack();
  }

  #callBack(): void {
    if (this.#afterAll.length === 0) return;
    const oldest = this.#waiting.reduce((least, { number }) => Math.min(least, number), Number.POSITIVE_INFINITY);
    for (;;) {
      const [first] = this.#afterAll;
      if (first === undefined || first.number > oldest) return;
      this.#afterAll.shift();
      first.callback();
    }
  }
}
