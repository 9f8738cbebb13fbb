const NONE = -1;

/** Some of the slots, the one used least recently first. */
export interface SlotList {
  first: number;
  last: number;
  size: number;
}

export function emptySlotList(): SlotList {
  return { first: NONE, last: NONE, size: 0 };
}

/** Keeps slots in lists by the order of their use. A slot is in one list at most, so that two numbers for each slot are enough. */
export class SlotOrder {
  readonly #before: number[] = [];
  readonly #after: number[] = [];

  append(list: SlotList, slot: number): void {
    this.#before[slot] = list.last;
    this.#after[slot] = NONE;
    if (list.last === NONE) list.first = slot;
    else this.#after[list.last] = slot;
    list.last = slot;
    list.size += 1;
  }

  /** From the list that has it. */
  remove(list: SlotList, slot: number): void {
    const before = this.#before[slot] ?? NONE;
    const after = this.#after[slot] ?? NONE;
    if (before === NONE) list.first = after;
    else this.#after[before] = after;
    if (after === NONE) list.last = before;
    else this.#before[after] = before;
    list.size -= 1;
  }
}
