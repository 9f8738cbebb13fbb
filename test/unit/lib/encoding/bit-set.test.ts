import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeBitSet, parseBitSet } from '../../../../src/lib/encoding/bit-set.ts';

const members = fc.uniqueArray(fc.oneof(fc.nat(70), fc.nat(3000)), { maxLength: 80 });

/** The definition itself: an integer with these bits, written big-endian in the fewest bytes. */
function modelBytes(indices: readonly number[]): Uint8Array {
  const integer = indices.reduce((sum, index) => sum | (1n << BigInt(index)), 0n);
  if (integer === 0n) return new Uint8Array();
  const hex = integer.toString(16);
  return Uint8Array.from(Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex'));
}

test('is the big-endian integer with these bits', () => {
  fc.assert(
    fc.property(members, (indices) => {
      expect(encodeBitSet(indices)).toEqual(modelBytes(indices));
      expect(parseBitSet(modelBytes(indices))).toEqual(indices.toSorted((a, b) => a - b));
    }),
  );
});

test('any bytes are a set that is encoded the same, or padded', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.uint8Array({ maxLength: 40 }).map((tail) => Uint8Array.of(0, ...tail)),
    fc.uint8Array({ maxLength: 40 }).map((tail) => Uint8Array.of(1, ...tail)),
  );
  fc.assert(
    fc.property(bytes, (value) => {
      const parsed = parseBitSet(value);
      if (value[0] === 0) expect(parsed).toBeUndefined();
      else expect(encodeBitSet(parsed ?? [])).toEqual(value);
    }),
  );
});

test.each([[[3, -1]], [[0.5]], [[Number.NaN]], [[Number.POSITIVE_INFINITY]]])('%j cannot be members', (indices) => {
  expect(() => encodeBitSet(indices)).toThrowError(RangeError);
});
