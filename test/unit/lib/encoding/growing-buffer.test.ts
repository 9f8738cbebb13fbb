import { expect, test } from 'vitest';
import { GrowingBuffer } from '../../../../src/lib/encoding/growing-buffer.ts';

test('one-byte chunks take at most twice their bytes', () => {
  const buffer = new GrowingBuffer();
  const text = 'ab'.repeat(10_000);
  for (const char of text) {
    buffer.append(Buffer.from(char), Number.POSITIVE_INFINITY);
    expect(buffer.capacity).toBeLessThan(2 * buffer.length + 1);
  }
  expect(buffer.take().toString()).toBe(text);
  expect([buffer.length, buffer.capacity]).toEqual([0, 0]);
});

test('it does not grow beyond the known length', () => {
  const buffer = new GrowingBuffer();
  buffer.append(Buffer.alloc(600), 1_000);
  expect(buffer.capacity).toBe(600);
  expect(buffer.capacityWith(1, 1_000)).toBe(1_000);
  buffer.append(Buffer.alloc(400), 1_000);
  expect([buffer.length, buffer.capacity]).toEqual([1_000, 1_000]);
});
