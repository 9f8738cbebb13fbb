import { bls12_381 } from '@noble/curves/bls12-381.js';
import { hexToBytes } from '@noble/hashes/utils.js';
import { expect, test } from 'vitest';
import { isEncodingOf } from '../../../../src/bls/curve/point-encoding.ts';

const P = bls12_381.fields.Fp.ORDER;
/** x is 1; the encoding's rule asks nothing else of it. */
const uncompressed = (c0: bigint, c1: bigint): Uint8Array =>
  hexToBytes([0n, 1n, c1, c0].map((part) => part.toString(16).padStart(96, '0')).join(''));
const encoded = (isLargerY: boolean): Uint8Array => {
  const bytes = uncompressed(0n, 0n).slice(0, 96);
  bytes[0] = isLargerY ? 0xa0 : 0x80;
  return bytes;
};

test.each([
  [1n, (P - 1n) / 2n, false],
  [1n, (P + 1n) / 2n, true],
  [P - 1n, 1n, false],
  [1n, P - 1n, true],
  // Without an imaginary part the real one decides.
  [(P - 1n) / 2n, 0n, false],
  [(P + 1n) / 2n, 0n, true],
])('of %d + %d u and its negative, the standard says which is the larger', (c0, c1, isLargerY) => {
  expect(isEncodingOf(encoded(isLargerY), uncompressed(c0, c1))).toBe(true);
  expect(isEncodingOf(encoded(!isLargerY), uncompressed(c0, c1))).toBe(false);
});
