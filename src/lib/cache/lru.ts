import { LRUCache } from 'lru-cache';

/**
 * A cache that drops the least recently used entry where there would be more than `max`. Its memory grows with what it holds:
 * lru-cache's own `max` sets the memory of all entries aside at once, 15 MB for the service's caches while they are empty.
 */
export function createLru<Key extends string, Value extends {}>(
  max: number,
  dispose?: LRUCache.Disposer<Key, Value>,
): LRUCache<Key, Value> {
  return new LRUCache({ maxSize: max, sizeCalculation: () => 1, ...(dispose && { dispose }) });
}
