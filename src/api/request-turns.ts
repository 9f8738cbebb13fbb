import type { Clock } from '../primitives/clock.ts';
import { FairLine } from '../primitives/fair-line.ts';

/**
 * Requests that begin in one turn of the event loop. To parse, check and refuse one takes up to half a millisecond, and an
 * aggregation needs some ten turns: with all that 256 connections can bring at once, each of them would take 100 ms.
 */
const MAX_A_TURN = 16;
/**
 * In a turn that took a new connection. libuv takes one a turn, so that where hundreds wait to be taken, short turns are what the last
 * one waits for least.
 */
const MAX_BESIDE_NEW_CONNECTION = 2;

/**
 * Spreads requests that come at once over several turns of the event loop, one of each client after the other, so that one with
 * hundreds of connections holds up nobody else. While few come, each begins at once.
 *
 * Bound: each connection has a bounded number of requests here, and they are a part of those that it has under way.
 */
export class RequestTurns {
  readonly #clock: Clock;
  readonly #waiting = new FairLine<string, () => void>();
  #begun = 0;
  #most = MAX_A_TURN;
  #isNextTurnAwaited = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A new connection was taken in this turn. */
  connectionOpened(): void {
    this.#most = MAX_BESIDE_NEW_CONNECTION;
    this.#awaitNextTurn();
  }

  /** Begins now, before this returns, or in a later turn. */
  run(client: string, begin: () => void): void {
    if (this.#waiting.size === 0 && this.#begun < this.#most) {
      this.#count();
      begin();
      return;
    }
    this.#waiting.push(client, begin);
    this.#awaitNextTurn();
  }

  /** Also where some of them began in earlier turns, as few come: to be told of each turn would take a lone request a tenth of its time. */
  #count(): void {
    this.#begun += 1;
    if (this.#begun >= this.#most / 2) this.#awaitNextTurn();
  }

  #awaitNextTurn(): void {
    if (this.#isNextTurnAwaited) return;
    this.#isNextTurnAwaited = true;
    this.#clock.afterTurn(() => {
      this.#isNextTurnAwaited = false;
      this.#nextTurn();
    });
  }

  #nextTurn(): void {
    const most = this.#most;
    this.#most = MAX_A_TURN;
    this.#begun = 0;
    while (this.#waiting.size > 0) {
      if (this.#begun >= most) return this.#awaitNextTurn();
      const begin = this.#waiting.shift();
      this.#count();
      begin?.();
    }
  }
}
