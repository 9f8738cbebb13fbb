/**
 * What waits, of one client after the other: of each in the order of coming, and whoever's turn it was stands behind all others. So a
 * client with hundreds of things holds up another one's for one of them.
 *
 * Bound: that of those who push.
 */
export class FairLine<Client, Item> {
  /** The next one to have a turn first. */
  readonly #ofClients = new Map<Client, Item[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(client: Client, item: Item): void {
    const ofClient = this.#ofClients.get(client);
    if (ofClient === undefined) this.#ofClients.set(client, [item]);
    else ofClient.push(item);
    this.#size += 1;
  }

  /** What {@link shift} will take. */
  get next(): Item | undefined {
    return this.nextOf(() => true)?.item;
  }

  /** The first one in line of a client that may have a turn. */
  nextOf(
    mayHave: (client: Client, item: Item) => boolean,
  ): { readonly client: Client; readonly item: Item } | undefined {
    for (const [client, [item]] of this.#ofClients) {
      if (item !== undefined && mayHave(client, item)) return { client, item };
    }
    return undefined;
  }

  shift(): Item | undefined {
    const [first] = this.#ofClients.keys();
    return this.#ofClients.size === 0 ? undefined : this.shiftOf(first as Client);
  }

  /** The first one of this client. */
  shiftOf(client: Client): Item | undefined {
    const ofClient = this.#ofClients.get(client);
    if (ofClient === undefined) return undefined;
    const item = ofClient.shift();
    this.#size -= 1;
    this.#ofClients.delete(client);
    if (ofClient.length > 0) this.#ofClients.set(client, ofClient);
    return item;
  }
}
