/** Reads server-sent events from pieces of text: each is an event's kind and its data. Comments and other fields are skipped. */
export class EventLines {
  #rest = '';
  #kind = '';
  #data: string[] = [];

  /** @returns the events that this piece completes */
  push(piece: string): { readonly kind: string; readonly data: string }[] {
    const lines = (this.#rest + piece).split('\n');
    this.#rest = lines.pop() ?? '';
    const events: { kind: string; data: string }[] = [];
    for (const raw of lines) {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line === '') {
        if (this.#data.length > 0) events.push({ kind: this.#kind || 'message', data: this.#data.join('\n') });
        this.#kind = '';
        this.#data = [];
        continue;
      }
      const colon = line.indexOf(':');
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (field === 'event') this.#kind = value;
      if (field === 'data') this.#data.push(value);
    }
    return events;
  }
}
