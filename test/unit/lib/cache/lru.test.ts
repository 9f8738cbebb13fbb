import { expect, test } from 'vitest';
import { createLru } from '../../../../src/lib/cache/lru.ts';

test('the least recently used entry is evicted', () => {
  const dropped: [key: string, value: number, reason: string][] = [];
  const cache = createLru<string, number>(2, (value, key, reason) => dropped.push([key, value, reason]));
  cache.set('a', 1).set('b', 2);
  cache.get('a');
  cache.set('c', 3);
  expect(dropped).toEqual([['b', 2, 'evict']]);
  expect([...cache.keys()]).toEqual(['c', 'a']);
});

test('an empty cache allocates no memory for its entries', () => {
  const before = process.memoryUsage();
  const caches = Array.from({ length: 20 }, () => createLru<string, number>(1_000_000));
  const after = process.memoryUsage();
  // Each would take 24 MB.
  expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(50e6);
  expect(caches.map(({ size }) => size)).toEqual(Array.from(caches, () => 0));
});
