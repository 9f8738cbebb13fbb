import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ParseError } from '../../../src/lib/encoding/parse-error.ts';

interface Codec<T> {
  encode(value: T): Uint8Array;
  /** Throws {@link ParseError} and nothing else. */
  parse(bytes: Uint8Array): T;
}

/** Random faults need more runs than values. */
export const MANY_RUNS = { numRuns: 600 };

/**
 * Declares the tests of a codec.
 *
 * @param isCanonical whether each value has one encoding
 */
export function testCodec<T>(codec: Codec<T>, values: fc.Arbitrary<T>, { isCanonical = true } = {}): void {
  test('values round-trip', () => {
    fc.assert(
      fc.property(values, (value) => {
        expect(throughSocket(codec, value)).toEqual(value);
      }),
    );
  });

  test('any bytes are parsed or rejected with a ParseError', () => {
    fc.assert(
      fc.property(hostileBytes(codec, values), (bytes) => {
        const parsed = parseUnlessRejected(codec, bytes);
        if (parsed === undefined) return;
        const encoded = codec.encode(parsed);
        if (isCanonical) expect(encoded).toEqual(bytes);
        else expect(codec.parse(encoded)).toEqual(parsed);
      }),
      MANY_RUNS,
    );
  });
}

/** Parses from the middle of a chunk that is wiped afterwards: bytes that the parser did not copy change. */
function throughSocket<T>({ encode, parse }: Codec<T>, value: T): T {
  const encoded = encode(value);
  const chunk = Buffer.alloc(encoded.length + 10, 0xee);
  chunk.set(encoded, 5);
  const parsed = parse(chunk.subarray(5, 5 + encoded.length));
  chunk.fill(0xdd);
  return parsed;
}

function parseUnlessRejected<T>({ parse }: Codec<T>, bytes: Uint8Array): T | undefined {
  try {
    return parse(bytes);
  } catch (error) {
    if (error instanceof ParseError) return undefined;
    throw error;
  }
}

/** Random bytes and faulty encodings. */
export function hostileBytes<T>({ encode }: Codec<T>, values: fc.Arbitrary<T>): fc.Arbitrary<Uint8Array> {
  return fc.oneof(
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }) },
    { weight: 5, arbitrary: mutated(values.map(encode)) },
  );
}

/** Bytes that another value is read from: critical u32 values of lengths, counts and type IDs, and any. */
const words = fc
  .constantFrom(0, 1, 2, 3, 4, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff)
  .map((value) => Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value));
const someBytes = fc.uint8Array({ minLength: 1, maxLength: 8 });

/** What is put at a place, and how many bytes it replaces; more than there are cut the rest off. */
const fault = fc.record({ at: fc.nat(), inserted: fc.oneof(words, someBytes) }).chain(({ at, inserted }) =>
  fc.oneof(
    fc.constant({ at, inserted, removed: inserted.length }),
    fc.constant({ at, inserted, removed: 0 }),
    fc.constantFrom(1, 2, 4, 1_000_000).map((removed) => ({ at, inserted: new Uint8Array(), removed })),
  ),
);

/** Encodings with one to three faults; random bytes rarely pass the header. */
export function mutated(encodings: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  return fc.tuple(encodings, fc.array(fault, { minLength: 1, maxLength: 3 })).map(([encoding, faults]) =>
    faults.reduce((bytes, { at, inserted, removed }) => {
      const start = at % (bytes.length + 1);
      return Uint8Array.of(...bytes.subarray(0, start), ...inserted, ...bytes.subarray(start + removed));
    }, encoding),
  );
}
