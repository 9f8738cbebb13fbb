import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { accessListOf, packPredicate } from '../../../../src/pchain/codec/access-list.ts';
import { readCase } from '../../../vectors/vectors.ts';

/** Those of avalanchego v1.14.2, `vms/evm/predicate/predicate_test.go`. */
test.each([
  ['', `ff${'00'.repeat(31)}`],
  ['0x42', `42ff${'00'.repeat(30)}`],
  ['00'.repeat(31), `${'00'.repeat(31)}ff`],
  ['00'.repeat(32), `${'00'.repeat(32)}ff${'00'.repeat(31)}`],
  [
    '00010203040506071011121314151617202122232425262730313233343536374041424344454647',
    `00010203040506071011121314151617202122232425262730313233343536374041424344454647ff${'00'.repeat(23)}`,
  ],
])('the predicate of %j', (message, predicate) => {
  expect(packPredicate(message)).toBe(predicate);
});

test('the access list of a message of the C-Chain of a real network', () => {
  const signed = readCase('c_warp_0').signed!.signedMessage;
  const [entry, ...others] = accessListOf(bytesToHex(signed));
  expect(others).toEqual([]);
  expect(entry?.address).toBe('0x0200000000000000000000000000000000000005');
  expect(entry?.storageKeys).toHaveLength(Math.floor(signed.length / 32) + 1);
  expect(entry?.storageKeys[0]).toBe('0x000000003039ee488204088eaba3d3c0c5e26d7a2892677f8d6181ef31848708');
  expect(entry?.storageKeys.at(-1)).toMatch(/^0x[0-9a-f]{64}$/);
});

test('the message can be got back from the storage keys', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (message) => {
      const keys = accessListOf(bytesToHex(message)).flatMap(({ storageKeys }) => storageKeys);
      expect(keys.every((key) => /^0x[0-9a-f]{64}$/.test(key))).toBe(true);
      const packed = keys.map((key) => key.slice(2)).join('');
      expect(packed.replace(/(?:00)*$/, '')).toBe(`${bytesToHex(message)}ff`);
    }),
  );
});
