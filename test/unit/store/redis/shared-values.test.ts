import { expect, test } from 'vitest';
import type { SharedStore } from '../../../../src/store/redis/shared-store.ts';
import { createSharedValues } from '../../../../src/store/redis/shared-values.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createStoreInMemory } from './store-in-memory.ts';

/** Values under `test:`, with the length of each value that the store answered. */
function open() {
  const { store, plant, entries } = createStoreInMemory(new FakeClock());
  const received: number[] = [];
  const measured: SharedStore = {
    ...store,
    async ask(command) {
      const answer = await store.ask(command);
      if (answer instanceof Uint8Array) received.push(answer.length);
      return answer;
    },
  };
  return { values: createSharedValues(measured, 'test:'), plant, entries, received };
}

test('of a value that is longer than its reader allows, one more byte is fetched', async () => {
  const { values, plant, received } = open();
  plant('test:k', new Uint8Array(1_000).fill(1));
  for (const maxBytes of [1_000, 999, 10]) {
    const replacement = { value: Uint8Array.of(2), ttlMs: 1_000, maxBytes };
    expect(await values.replace('k', Uint8Array.of(3), replacement)).toMatchObject({ kind: 'other' });
  }
  expect(received).toEqual([1_000, 1_000, 11]);
});

test('a value is replaced only if it begins with what is expected, or if there is none', async () => {
  const { values, entries } = open();
  const replaceBy = (byte: number, expected?: Uint8Array) =>
    values.replace('k', expected, { value: Uint8Array.of(byte, byte), ttlMs: 1_000, maxBytes: 10 });
  expect(await replaceBy(1)).toEqual({ kind: 'replaced' });
  expect(await replaceBy(2)).toEqual({ kind: 'other', value: Buffer.of(1, 1) });
  expect(await replaceBy(2, Uint8Array.of(2))).toEqual({ kind: 'other', value: Buffer.of(1, 1) });
  expect(await replaceBy(2, Uint8Array.of(1))).toEqual({ kind: 'replaced' });
  expect(await values.replace('k', Uint8Array.of(2), { value: undefined, ttlMs: 1_000, maxBytes: 10 })).toEqual({
    kind: 'replaced',
  });
  expect(entries.size).toBe(0);
});
