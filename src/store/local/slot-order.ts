const NONE = -1;

/** A list of slots, the least recently used first. */
export interface SlotList {
  first: number;
  last: number;
  size: number;
}

export function emptySlotList(): SlotList {
  return { first: NONE, last: NONE, size: 0 };
}

/** Doubly linked lists of slots. A slot is in one list at most, so two numbers for each slot suffice. */
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

  /** @param list the list that contains the slot */
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
