import { expect, test, vi } from 'vitest';
import { FreshCache, type FreshCacheOptions } from '../../../../src/lib/cache/fresh-cache.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

const SIGNAL = new AbortController().signal;

/** Values count the loads: a1, a2, b3. */
function createHarness(options: Partial<FreshCacheOptions<string, string>> = {}) {
  const clock = new FakeClock();
  const state = { loads: 0, failure: undefined as Error | undefined };
  const cache = new FreshCache<string, string>({
    clock,
    max: 3,
    maxAgeMs: 1_000,
    async load(key) {
      state.loads += 1;
      if (state.failure !== undefined) throw state.failure;
      return `${key}${state.loads}`;
    },
    ...options,
  });
  return { clock, state, cache, get: (key: string) => cache.get(key, SIGNAL) };
}

test('the age of a value starts when the value was loaded; a stale value is loaded again', async () => {
  const { clock, cache, get } = createHarness();
  await clock.advance(500);
  expect(await get('a')).toBe('a1');
  await clock.advance(999);
  expect([cache.peek('a'), await get('a')]).toEqual(['a1', 'a1']);
  await clock.advance(1);
  expect(cache.peek('a')).toBeUndefined();
  expect(await get('a')).toBe('a2');
});

test('the age of a value may depend on the value: 0 disables caching, infinity disables expiry', async () => {
  const { clock, get } = createHarness({
    maxAgeMs: (_, key) => (key === 'never' ? 0 : Number.POSITIVE_INFINITY),
  });
  expect([await get('never'), await get('never')]).toEqual(['never1', 'never2']);
  expect(await get('always')).toBe('always3');
  await clock.advance(1e12);
  expect(await get('always')).toBe('always3');
});

test('loading is repeated after a failure', async () => {
  const { state, get } = createHarness();
  state.failure = new Error('no answer');
  await expect(get('a')).rejects.toBe(state.failure);
  state.failure = undefined;
  expect(await get('a')).toBe('a2');
});

test('loading is aborted when the last caller has left', async () => {
  let given: AbortSignal | undefined;
  const { cache } = createHarness({
    load: (_, signal) => {
      given = signal;
      return new Promise(() => undefined);
    },
  });
  const [first, second] = [new AbortController(), new AbortController()];
  const waits = [first, second].map(({ signal }) => cache.get('a', signal).catch((error: unknown) => error));
  first.abort('one left');
  await settle();
  expect(given?.aborted).toBe(false);
  second.abort('all left');
  expect(await Promise.all(waits)).toEqual(['one left', 'all left']);
  expect(given?.aborted).toBe(true);
  await expect(cache.get('a', AbortSignal.abort('gone before'))).rejects.toBe('gone before');
});

test('undefined is cached too', async () => {
  const load = vi.fn(async () => undefined);
  const cache = new FreshCache<string, undefined>({ clock: new FakeClock(), max: 1, maxAgeMs: 1, load });
  await cache.get('a', SIGNAL);
  await cache.get('a', SIGNAL);
  expect(load).toHaveBeenCalledOnce();
});

test('the bound evicts the least recently used value', async () => {
  const { cache, get } = createHarness();
  for (const key of ['a', 'b', 'c', 'a', 'd']) await get(key);
  expect(cache.size).toBe(3);
  expect(['a', 'b', 'c', 'd'].map((key) => cache.peek(key) !== undefined)).toEqual([true, false, true, true]);
});

test('the bound may be the size of values; a value that exceeds it alone is returned but not cached', async () => {
  const { cache, get } = createHarness({ size: { max: 5, of: (value) => value.length } });
  await get('a');
  await get('bb');
  expect([cache.peek('a'), cache.peek('bb')]).toEqual(['a1', 'bb2']);
  await get('c');
  expect([cache.peek('a'), cache.peek('bb'), cache.peek('c')]).toEqual([undefined, 'bb2', 'c3']);
  expect(await get('long one')).toBe('long one4');
  expect(cache.peek('long one')).toBeUndefined();
});

test('a value that is set is cached like a loaded one, and can be deleted', async () => {
  const { cache, get } = createHarness({ maxAgeMs: (value) => (value === 'not to be kept' ? 0 : 1_000) });
  cache.set('a', 'set');
  expect(await get('a')).toBe('set');
  cache.set('a', 'not to be kept');
  expect(cache.peek('a')).toBeUndefined();
  cache.set('a', 'set');
  cache.delete('a');
  expect(await get('a')).toBe('a1');
});
