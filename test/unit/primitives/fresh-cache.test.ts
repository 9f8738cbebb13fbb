import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FreshCache } from '../../../src/primitives/fresh-cache.ts';
import { FakeClock } from '../../fake-clock.ts';

const never = new AbortController().signal;

function createCache(maxAgeMs: number | ((value: number) => number), max = 10) {
  const clock = new FakeClock();
  const loads: string[] = [];
  let next = 0;
  const cache = new FreshCache<string, number>({
    clock,
    max,
    maxAgeMs,
    async load(key) {
      loads.push(key);
      next += 1;
      return next;
    },
  });
  return { clock, loads, cache };
}

describe('FreshCache', () => {
  it('asks once for what many want at a time, and again when it has aged', async () => {
    const { clock, loads, cache } = createCache(1_000);
    expect(await Promise.all([cache.get('a', never), cache.get('a', never)])).toEqual([1, 1]);
    await clock.advance(999);
    expect(await cache.get('a', never)).toBe(1);
    await clock.advance(2);
    expect(await cache.get('a', never)).toBe(2);
    expect(loads).toEqual(['a', 'a']);
  });

  it('keeps a value from time 0 on for no longer than its age', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 5_000 }), fc.nat(10_000), async (ageMs, passedMs) => {
        const { clock, cache } = createCache(ageMs);
        await cache.get('a', never);
        await clock.advance(passedMs);
        // The library counts an age as over after it, not at it.
        expect(cache.peek('a')).toBe(passedMs <= ageMs ? 1 : undefined);
      }),
    );
  });

  it('keeps nothing with an age of 0, and everything with one without end', async () => {
    const { clock, loads, cache } = createCache((value) => (value === 1 ? 0 : Number.POSITIVE_INFINITY));
    await cache.get('a', never);
    expect(cache.peek('a')).toBeUndefined();
    await cache.get('a', never);
    await clock.advance(1e12);
    expect(await cache.get('a', never)).toBe(2);
    expect(loads).toHaveLength(2);
  });

  it('does not keep a failure', async () => {
    const clock = new FakeClock();
    let calls = 0;
    const cache = new FreshCache<string, number>({
      clock,
      max: 1,
      maxAgeMs: 1_000,
      async load() {
        calls += 1;
        if (calls === 1) throw new Error('down');
        return calls;
      },
    });
    await expect(cache.get('a', never)).rejects.toThrow('down');
    expect(await cache.get('a', never)).toBe(2);
  });

  it('holds no more than its bound, and drops what was used longest ago', async () => {
    const { cache } = createCache(1_000, 2);
    await cache.get('a', never);
    await cache.get('b', never);
    await cache.get('a', never);
    await cache.get('c', never);
    expect([cache.size, cache.peek('a'), cache.peek('b')]).toEqual([2, 1, undefined]);
  });

  it('rejects at once with the reason of a signal that has aborted', async () => {
    const { cache, loads } = createCache(1_000);
    await expect(cache.get('a', AbortSignal.abort(new Error('left')))).rejects.toThrow('left');
    expect(loads).toEqual([]);
  });
});
