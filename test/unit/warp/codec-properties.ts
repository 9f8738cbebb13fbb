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

type Mutation = (bytes: Uint8Array) => Uint8Array;

const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.nat().map((at) => truncate(at)),
  fc.uint8Array({ minLength: 1, maxLength: 40 }).map((tail) => (bytes: Uint8Array) => Uint8Array.of(...bytes, ...tail)),
  fc.nat().map((bit) => flipBit(bit)),
  fc.tuple(fc.nat(), fc.nat(255)).map(([at, value]) => overwrite(at, Uint8Array.of(value))),
  // Critical u32 values of lengths, counts and type IDs, at any position.
  fc
    .tuple(fc.nat(), fc.constantFrom(0, 1, 2, 3, 4, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff))
    .map(([at, value]) => {
      const word = new Uint8Array(4);
      new DataView(word.buffer).setUint32(0, value);
      return overwrite(at, word);
    }),
  fc.tuple(fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 8 })).map(([at, inserted]) => insert(at, inserted)),
  fc.tuple(fc.nat(), fc.integer({ min: 1, max: 8 })).map(([at, length]) => remove(at, length)),
);

/** Encodings with one to three faults; random bytes rarely pass the header. */
export function mutated(encodings: fc.Arbitrary<Uint8Array>): fc.Arbitrary<Uint8Array> {
  return fc
    .tuple(encodings, fc.array(mutation, { minLength: 1, maxLength: 3 }))
    .map(([encoding, mutations]) => mutations.reduce((bytes, mutate) => mutate(bytes), encoding));
}

function truncate(at: number): Mutation {
  return (bytes) => bytes.slice(0, at % (bytes.length + 1));
}

function flipBit(bit: number): Mutation {
  return (bytes) => {
    const result = Uint8Array.from(bytes);
    const at = Math.floor(bit / 8) % Math.max(1, bytes.length);
    if (at < bytes.length) result[at] = (result[at] ?? 0) ^ (1 << (bit % 8));
    return result;
  };
}

function overwrite(at: number, value: Uint8Array): Mutation {
  return (bytes) => {
    if (bytes.length < value.length) return value;
    const result = Uint8Array.from(bytes);
    result.set(value, at % (bytes.length - value.length + 1));
    return result;
  };
}

function insert(at: number, inserted: Uint8Array): Mutation {
  return (bytes) => {
    const from = at % (bytes.length + 1);
    return Uint8Array.of(...bytes.subarray(0, from), ...inserted, ...bytes.subarray(from));
  };
}

function remove(at: number, length: number): Mutation {
  return (bytes) => {
    const from = at % (bytes.length + 1);
    return Uint8Array.of(...bytes.subarray(0, from), ...bytes.subarray(from + length));
  };
}
