import { createRequire } from 'node:module';
import type { LRUCache } from 'lru-cache';

/** Enough for all that a world has. */
const MAX_ENTRIES = 200;

const original = createRequire(import.meta.url)('lru-cache') as { readonly LRUCache: typeof LRUCache };

class SmallCache<K extends {}, V extends {}> extends original.LRUCache<K, V> {
  constructor(options: LRUCache.Options<K, V, unknown>) {
    super(options.max === undefined ? options : { ...options, max: Math.min(options.max, MAX_ENTRIES) });
  }
}

export { SmallCache as LRUCache };
