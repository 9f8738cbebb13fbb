import { LRUCache } from 'lru-cache';

/**
 * Creates a cache that evicts the least recently used entry beyond `max`. lru-cache's own `max` would allocate memory for all entries at
 * once: 15 MB for the service's empty caches.
 */
export function createLru<Key extends string, Value extends {}>(
  max: number,
  dispose?: LRUCache.Disposer<Key, Value>,
): LRUCache<Key, Value> {
  return new LRUCache({ maxSize: max, sizeCalculation: () => 1, ...(dispose && { dispose }) });
}
