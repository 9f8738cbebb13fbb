import { addTo } from '../encoding/counts.ts';

/**
 * A queue that is first in, first out within a key, round robin over the keys of a group, and round robin over groups. Bound: that of
 * its user.
 */
export class FairQueue<Key, Item> {
  /** Groups and their keys, each in the order of service. */
  readonly #groups = new Map<string, Map<Key, Set<Item>>>();
  readonly #sizes = new Map<Key, number>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(key: Key): number {
    return this.#sizes.get(key) ?? 0;
  }

  push(key: Key, item: Item, group = ''): void {
    const keys = this.#groups.get(group) ?? new Map<Key, Set<Item>>();
    if (keys.size === 0) this.#groups.set(group, keys);
    const items = keys.get(key) ?? new Set();
    if (items.size === 0) keys.set(key, items);
    items.add(item);
    this.#count(key, 1);
  }

  /** Returns the keys in the order of service, each with its items. */
  *entries(): Iterable<readonly [Key, Iterable<Item>]> {
    for (const keys of this.#groups.values()) yield* keys;
  }

  /** Removes an item without serving its key. Returns whether it was queued. */
  delete(key: Key, item: Item, group = ''): boolean {
    const keys = this.#groups.get(group);
    const items = keys?.get(key);
    if (items?.delete(item) !== true) return false;
    this.#count(key, -1);
    if (items.size === 0) keys?.delete(key);
    if (keys?.size === 0) this.#groups.delete(group);
    return true;
  }

  /** Removes an item and moves its key and its group behind all others. */
  serve(key: Key, item: Item, group = ''): void {
    this.delete(key, item, group);
    const keys = this.#groups.get(group);
    if (keys === undefined) return;
    moveToEnd(keys, key);
    moveToEnd(this.#groups, group);
  }

  shift(): Item | undefined {
    for (const [group, keys] of this.#groups) {
      for (const [key, items] of keys) {
        for (const item of items) {
          this.serve(key, item, group);
          return item;
        }
      }
    }
    return undefined;
  }

  #count(key: Key, by: 1 | -1): void {
    this.#size += by;
    addTo(this.#sizes, key, by);
  }
}

function moveToEnd<Key, Value>(map: Map<Key, Value>, key: Key): void {
  const value = map.get(key);
  if (value === undefined || map.size === 1) return;
  map.delete(key);
  map.set(key, value);
}
