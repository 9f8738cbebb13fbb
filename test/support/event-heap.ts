interface Entry<Event> {
  readonly event: Event;
  /** Order of insertion, which decides between two that are due at the same time. */
  readonly order: number;
}

/** Events by the time at which they are due, for virtual clocks with thousands of them: a binary heap. */
export class EventHeap<Event extends { readonly dueMs: number }> {
  readonly #entries: Entry<Event>[] = [];
  #added = 0;

  get first(): Event | undefined {
    return this.#entries[0]?.event;
  }

  add(event: Event): void {
    const entries = this.#entries;
    const entry = { event, order: this.#added };
    this.#added += 1;
    let at = entries.length;
    entries.push(entry);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (isSooner(entries[parent] as Entry<Event>, entry)) break;
      entries[at] = entries[parent] as Entry<Event>;
      at = parent;
    }
    entries[at] = entry;
  }

  /** @returns {@link first}, which is not there any more */
  takeFirst(): Event | undefined {
    const entries = this.#entries;
    const { first } = this;
    const last = entries.pop();
    if (last === undefined || entries.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= entries.length) break;
      const right = entries[child + 1];
      if (right !== undefined && isSooner(right, entries[child] as Entry<Event>)) child += 1;
      if (isSooner(last, entries[child] as Entry<Event>)) break;
      entries[at] = entries[child] as Entry<Event>;
      at = child;
    }
    entries[at] = last;
    return first;
  }
}

function isSooner<Event extends { readonly dueMs: number }>(a: Entry<Event>, b: Entry<Event>): boolean {
  return a.event.dueMs < b.event.dueMs || (a.event.dueMs === b.event.dueMs && a.order < b.order);
}
