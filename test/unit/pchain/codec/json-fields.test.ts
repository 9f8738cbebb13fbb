import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { attempt, ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import {
  readArray,
  readHex,
  readObject,
  readString,
  readU32,
  readU64,
} from '../../../../src/pchain/codec/json-fields.ts';

const U64_MAX = 2n ** 64n - 1n;

test('integers are decimal strings, numbers or bigints', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: U64_MAX }), (value) => {
      expect([readU64(value.toString(), 'weight'), readU64(value, 'weight')]).toEqual([value, value]);
      if (value <= Number.MAX_SAFE_INTEGER) expect(readU64(Number(value), 'weight')).toBe(value);
    }),
  );
  expect([readU32('4294967295', 'networkID'), readU32(1, 'networkID')]).toEqual([4_294_967_295, 1]);
  expect(() => readU32('4294967296', 'networkID')).toThrow(ParseError);
});

test.each([
  ['one too many', (U64_MAX + 1n).toString()],
  ['a negative string', '-1'],
  ['a negative number', -1],
  ['a bigint too large', U64_MAX + 1n],
  ['a fraction', 1.5],
  ['a number that lost digits', 2 ** 53],
  ['hex', '0x10'],
  ['blanks', ' 1'],
  ['nothing', ''],
  ['a million digits', '9'.repeat(1_000_000)],
  ['a missing field', undefined],
])('%s is no integer', (_what, value) => {
  expect(() => readU64(value, 'weight')).toThrow(ParseError);
});

test('hex has any bytes after 0x', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(readHex(`0x${bytesToHex(bytes)}`, 'field')).toEqual(bytes);
    }),
  );
  for (const value of ['', 'ab', '0xa', '0xzz', 7]) expect(() => readHex(value, 'field')).toThrow(ParseError);
});

test('every reader returns a value of its type or throws a ParseError, which names both types', () => {
  const readers = [readObject, readArray, readString, readU64, readU32, readHex];
  fc.assert(
    fc.property(fc.anything(), fc.constantFrom(...readers), (value, read) => void attempt(() => read(value, 'field'))),
  );
  expect(() => readString(undefined, 'subnetID')).toThrow('subnetID: must be a string, is missing');
  expect(() => readObject(null, 'result')).toThrow('result: must be an object, is null');
  expect(() => readObject([], 'result')).toThrow('result: must be an object, is an array');
  expect(() => readArray({}, 'peers')).toThrow('peers: must be an array, is a value of type object');
});
