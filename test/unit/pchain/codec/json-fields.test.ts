import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import {
  readArray,
  readBoolean,
  readHex,
  readObject,
  readString,
  readU32,
  readU64,
} from '../../../../src/pchain/codec/json-fields.ts';

const U64_MAX = 2n ** 64n - 1n;

describe('readU64', () => {
  it('reads decimal strings, numbers and bigints alike', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: U64_MAX }), (value) => {
        expect(readU64(value.toString(), 'weight')).toBe(value);
        expect(readU64(value, 'weight')).toBe(value);
        if (value <= Number.MAX_SAFE_INTEGER) expect(readU64(Number(value), 'weight')).toBe(value);
      }),
    );
  });

  it.each([
    ['one too many', (U64_MAX + 1n).toString()],
    ['a negative string', '-1'],
    ['a negative number', -1],
    ['a negative bigint', -1n],
    ['a bigint too large', U64_MAX + 1n],
    ['a fraction', 1.5],
    ['a number that lost digits', 2 ** 53],
    ['hex', '0x10'],
    ['an exponent', '1e3'],
    ['blanks', ' 1'],
    ['nothing', ''],
    ['a million digits', '9'.repeat(1_000_000)],
    ['null', null],
    ['a missing field', undefined],
    ['a boolean', true],
    ['an array', ['1']],
  ])('refuses %s', (_what, value) => {
    expect(() => readU64(value, 'weight')).toThrow(ParseError);
  });
});

describe('readU32', () => {
  it('accepts 32-bit integers only', () => {
    expect(readU32('4294967295', 'networkID')).toBe(4_294_967_295);
    expect(readU32(1, 'networkID')).toBe(1);
    expect(() => readU32('4294967296', 'networkID')).toThrow(ParseError);
  });
});

describe('readHex', () => {
  it('parses any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(readHex(`0x${bytesToHex(bytes)}`, 'field')).toEqual(bytes);
      }),
    );
  });

  it.each(['', 'ab', '0xa', '0xzz', 7, null])('rejects %j', (value) => {
    expect(() => readHex(value, 'field')).toThrow(ParseError);
  });
});

describe('every reader', () => {
  it('returns a value of its type or throws a ParseError', () => {
    const readers = [readObject, readArray, readString, readBoolean, readU64, readU32, readHex];
    fc.assert(
      fc.property(fc.anything(), fc.constantFrom(...readers), (value, read) => {
        try {
          read(value, 'field');
        } catch (error) {
          expect(error).toBeInstanceOf(ParseError);
        }
      }),
    );
  });

  it('names the field, the expected and the actual type', () => {
    expect(() => readString(undefined, 'subnetID')).toThrow('subnetID: must be a string, is missing');
    expect(() => readObject(null, 'result')).toThrow('result: must be an object, is null');
    expect(() => readObject([], 'result')).toThrow('result: must be an object, is an array');
    expect(() => readArray({}, 'peers')).toThrow('peers: must be an array, is a value of type object');
  });
});
