import { createHash } from 'node:crypto';
import { base58 } from '@scure/base';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import { encodeCb58, parseCb58 } from '../../../src/lib/encoding/cb58.ts';
import { attempt, ParseError } from '../../../src/lib/encoding/parse-error.ts';
import {
  type BlockchainID,
  idBytes,
  idFromBytes,
  nodeIDBytes,
  nodeIDFromBytes,
  parseHexOrCb58Id,
  parseId,
  parseNodeID,
} from '../../../src/warp/ids.ts';
import { readJson } from '../../vectors/vectors.ts';

/** Any UTF-16 code units, lone surrogates too. */
const anyText = fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) });

interface Vector {
  readonly kind: 'id' | 'nodeID' | 'cb58' | 'hexOrCb58';
  readonly text: string;
  readonly hex: string;
  readonly note: string;
}

const parsers = {
  id: (text: string) => idBytes(parseId<BlockchainID>(text, 'ID')),
  nodeID: (text: string) => nodeIDBytes(parseNodeID(text)),
  cb58: (text: string) => parseCb58(text, 'text'),
  hexOrCb58: (text: string) => idBytes(parseHexOrCb58Id<BlockchainID>(text, 'ID')),
};
const encoders = {
  id: (bytes: Uint8Array): string => idFromBytes<BlockchainID>(bytes, 'ID'),
  nodeID: (bytes: Uint8Array): string => nodeIDFromBytes(bytes),
  cb58: encodeCb58,
};

test('valid texts are parsed, and encoded to the same', () => {
  for (const { kind, text, hex, note } of readJson<(Vector & { kind: keyof typeof encoders })[]>('ids-valid.json')) {
    const bytes = parseHex(hex, 'hex');
    expect(parsers[kind](text), note).toEqual(bytes);
    expect(encoders[kind](bytes), note).toBe(text);
    if (kind !== 'id') continue;
    for (const form of [text, hex, `0x${hex}`, hex.toUpperCase(), `0x${hex.toUpperCase()}`]) {
      expect(parseHexOrCb58Id<BlockchainID>(form, 'ID'), note).toBe(text);
    }
  }
});

test('invalid texts are refused', () => {
  for (const { kind, text, note } of readJson<Vector[]>('ids-invalid.json')) {
    expect(() => parsers[kind](text), note).toThrowError(ParseError);
  }
});

test('cb58 ends with the last 4 bytes of the hash', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 36 }), (bytes) => {
      const text = encodeCb58(bytes);
      const checksum = createHash('sha256').update(bytes).digest().subarray(-4);
      expect(text).toBe(base58.encode(Uint8Array.of(...bytes, ...checksum)));
      expect(parseCb58(text, 'text')).toEqual(bytes);
    }),
  );
});

test('any text of cb58 round-trips or is a ParseError', () => {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  const mistyped = fc
    .tuple(fc.uint8Array({ maxLength: 34 }), fc.nat(), fc.constantFrom(...alphabet, '0', 'l'), fc.constantFrom(0, 1))
    .map(([bytes, position, character, insert]) => {
      const text = encodeCb58(bytes);
      const at = position % (text.length + insert);
      return text.slice(0, at) + character + text.slice(at + 1 - insert);
    });
  fc.assert(
    fc.property(fc.oneof(mistyped, fc.string({ unit: fc.constantFrom(...alphabet) }), anyText), (value) => {
      const parsed = attempt(() => parseCb58(value, 'text'));
      expect(parsed instanceof ParseError ? value : encodeCb58(parsed)).toBe(value);
    }),
    { numRuns: 500 },
  );
});

test('IDs have 32 bytes, NodeIDs 20', () => {
  for (const [length, encode] of [
    [32, encoders.id],
    [20, encoders.nodeID],
  ] as const) {
    expect(() => encode(new Uint8Array(length))).not.toThrow();
    for (const other of [0, length - 1, length + 1]) expect(() => encode(new Uint8Array(other))).toThrow(ParseError);
  }
});

test('any text is an ID or a ParseError that names the field', () => {
  const text = fc.oneof(
    anyText,
    fc.string({ unit: fc.constantFrom(...'0123456789abcdefx'), maxLength: 70 }),
    fc.string().map((tail) => `NodeID-${tail}`),
  );
  fc.assert(
    fc.property(text, (value) => {
      for (const kind of ['hexOrCb58', 'id', 'nodeID'] as const) {
        const what = kind === 'nodeID' ? 'NodeID' : 'ID';
        const parsed = attempt(() => parsers[kind](value));
        expect(parsed instanceof ParseError ? parsed.what : what).toBe(what);
      }
    }),
  );
});
