import type { Clock } from '../primitives/clock.ts';

/** To go through so many takes some milliseconds, or nearly. */
const MANY_VALIDATORS = 500;

/**
 * Gives each pass over all validators of a large set a turn of the event loop for itself, over all requests: where sixteen requests come at
 * once, their first looks would otherwise be one pass of the loop, sixteen times as long.
 */
export class LongPasses {
  readonly #clock: Pick<Clock, 'afterTurn'>;
  readonly #waiting: (() => void)[] = [];

  constructor(clock: Pick<Clock, 'afterTurn'>) {
    this.#clock = clock;
  }

  /** Resolves when it is this pass's turn; undefined where so few need not wait. */
  turn(validators: number): Promise<void> | undefined {
    if (validators <= MANY_VALIDATORS) return undefined;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) this.#startNext();
    });
  }

  #startNext(): void {
    this.#clock.afterTurn(() => {
      const [first] = this.#waiting;
      this.#waiting.shift();
      if (this.#waiting.length > 0) this.#startNext();
      first?.();
    });
  }
}
