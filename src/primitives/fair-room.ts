import { addTo } from './counts.ts';

/**
 * Room that clients share fairly: none takes more than is left, so one alone has half of it, and somebody new always finds some. What
 * has all of the room to itself may take it as a whole. Pure. Bound: an entry for each client that has taken some.
 */
export class FairRoom {
  readonly #max: number;
  readonly #byClient = new Map<string, number>();
  #used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * @param client undefined where nobody said: then only what is left counts
   * @returns what gives it back, once; undefined where there is no room
   */
  take(client: string | undefined, amount: number): (() => void) | undefined {
    const left = this.#max - this.#used - amount;
    const ofClient = client === undefined ? 0 : (this.#byClient.get(client) ?? 0);
    if (left < 0 || (ofClient > 0 && ofClient + amount > left)) return undefined;
    this.#count(client, amount);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#count(client, -amount);
    };
  }

  #count(client: string | undefined, by: number): void {
    this.#used += by;
    if (client !== undefined) addTo(this.#byClient, client, by);
  }
}
