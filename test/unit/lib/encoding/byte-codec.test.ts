import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteReader } from '../../../../src/lib/encoding/byte-reader.ts';
import { ByteWriter } from '../../../../src/lib/encoding/byte-writer.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';

type Field =
  | { readonly kind: 'u8' | 'u16' | 'u32'; readonly value: number }
  | { readonly kind: 'u64'; readonly value: bigint }
  | { readonly kind: 'bytes' | 'lengthPrefixed'; readonly value: Uint8Array };

const MAX_U64 = 2n ** 64n - 1n;
const someBytes = fc.uint8Array({ maxLength: 40 });
const field: fc.Arbitrary<Field> = fc.oneof(
  fc.record({ kind: fc.constant('u8' as const), value: fc.nat(0xff) }),
  fc.record({ kind: fc.constant('u16' as const), value: fc.nat(0xffff) }),
  fc.record({ kind: fc.constant('u32' as const), value: fc.nat(0xffff_ffff) }),
  fc.record({ kind: fc.constant('u64' as const), value: fc.bigInt({ min: 0n, max: MAX_U64 }) }),
  fc.record({ kind: fc.constantFrom('bytes' as const, 'lengthPrefixed' as const), value: someBytes }),
);

/** An independent encoder: each integer in a fixed number of hex digits. */
function modelHex({ kind, value }: Field): string {
  if (!(value instanceof Uint8Array)) return value.toString(16).padStart(Number(kind.slice(1)) / 4, '0');
  const length = kind === 'bytes' ? '' : value.length.toString(16).padStart(8, '0');
  return length + Buffer.from(value).toString('hex');
}

function encode(fields: readonly Field[]): Uint8Array {
  const writer = new ByteWriter();
  for (const { kind, value } of fields) writer[kind](value as never);
  return writer.finish();
}

function read(reader: ByteReader, { kind, value }: Field): Field['value'] {
  if (!(value instanceof Uint8Array)) return reader[kind as 'u8']('field');
  return kind === 'bytes' ? reader.bytes(value.length, 'field') : reader.lengthPrefixed(40, 'field');
}

test('values are written big-endian and read back', () => {
  fc.assert(
    fc.property(fc.array(field), fc.nat(8), (fields, offset) => {
      const encoded = encode(fields);
      expect(Buffer.from(encoded).toString('hex')).toBe(fields.map(modelHex).join(''));

      // From the middle of a larger buffer, as a frame in a socket's chunk.
      const chunk = new Uint8Array(offset + encoded.length + 3).fill(0xaa);
      chunk.set(encoded, offset);
      const reader = new ByteReader(chunk.subarray(offset, offset + encoded.length), 'record');
      for (const each of fields) expect(read(reader, each)).toEqual(each.value);
      expect(reader.remaining).toBe(0);
      reader.end();
    }),
  );
});

test('a record that is cut short or has trailing bytes is a ParseError', () => {
  fc.assert(
    fc.property(
      fc.array(field, { minLength: 1 }),
      fc.nat(),
      fc.uint8Array({ minLength: 1, maxLength: 4 }),
      (fields, cut, tail) => {
        const encoded = encode(fields);
        const readAll = (bytes: Uint8Array): void => {
          const reader = new ByteReader(bytes, 'record');
          for (const each of fields) read(reader, each);
          reader.end();
        };
        expect(() => readAll(encoded)).not.toThrow();
        expect(() => readAll(Uint8Array.of(...encoded, ...tail))).toThrowError(`record: ${tail.length} trailing bytes`);
        if (encoded.length > 0) {
          expect(() => readAll(encoded.subarray(0, cut % encoded.length))).toThrowError(ParseError);
        }
      },
    ),
  );
});

test('a length beyond the bound is refused', () => {
  const encoded = new ByteWriter().lengthPrefixed(new Uint8Array(11)).finish();
  expect(new ByteReader(encoded, 'record').lengthPrefixed(11, 'field')).toHaveLength(11);
  expect(() => new ByteReader(encoded, 'record').lengthPrefixed(10, 'field')).toThrowError(
    'record: field has 11 bytes, at most 10 are allowed',
  );
});

test('only codec version 0 and the expected type ID pass', () => {
  fc.assert(
    fc.property(fc.nat(0xffff), fc.nat(0xffff_ffff), (version, typeID) => {
      const reader = new ByteReader(new ByteWriter().u16(version).u32(typeID).finish(), 'record');
      if (version === 0) reader.codecVersion();
      else expect(() => reader.codecVersion()).toThrowError(ParseError);
      expect(() => reader.expectU32((typeID + 1) % 2 ** 32, 'type ID')).toThrowError(ParseError);
    }),
  );
  new ByteReader(new ByteWriter().u32(7).finish(), 'record').expectU32(7, 'type ID');
});

test.each<[string, (writer: ByteWriter) => unknown]>([
  ['u8 of 256', (writer) => writer.u8(256)],
  ['u8 of -1', (writer) => writer.u8(-1)],
  ['u8 of 0.5', (writer) => writer.u8(0.5)],
  ['u16 of 65536', (writer) => writer.u16(0x1_0000)],
  ['u32 of 2^32', (writer) => writer.u32(2 ** 32)],
  ['u32 of NaN', (writer) => writer.u32(Number.NaN)],
  ['u64 of -1', (writer) => writer.u64(-1n)],
  ['u64 of 2^64', (writer) => writer.u64(2n ** 64n)],
  ['31 bytes where 32 belong', (writer) => writer.fixedBytes(new Uint8Array(31), 32)],
  ['33 bytes where 32 belong', (writer) => writer.fixedBytes(new Uint8Array(33), 32)],
])('%s throws a RangeError', (_name, act) => {
  expect(() => act(new ByteWriter())).toThrowError(RangeError);
});

test('a writer takes more parts than a call can have arguments', () => {
  const writer = new ByteWriter();
  for (let count = 0; count < 300_000; count += 1) writer.u8(count % 251);
  const encoded = writer.finish();
  expect(encoded).toHaveLength(300_000);
  expect(encoded[299_999]).toBe(299_999 % 251);
});
