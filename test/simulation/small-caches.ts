import type { LRUCache } from 'lru-cache';

/** Enough for all that a world has. */
const MAX_ENTRIES = 200;

/**
 * For `vi.mock('lru-cache', smallCaches)`: the library makes room for all entries of a cache when the cache is made. For the many thousands
 * that a service may keep, that takes ten times as long as all the rest of a simulation.
 */
export async function smallCaches(importOriginal: () => Promise<{ LRUCache: typeof LRUCache }>) {
  const original = await importOriginal();
  class SmallCache<K extends {}, V extends {}> extends original.LRUCache<K, V> {
    constructor(options: LRUCache.Options<K, V, unknown>) {
      super(options.max === undefined ? options : { ...options, max: Math.min(options.max, MAX_ENTRIES) });
    }
  }
  return { ...original, LRUCache: SmallCache };
}
