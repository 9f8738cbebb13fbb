import { createHash } from 'node:crypto';
import { base58 } from '@scure/base';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import { encodeCb58, parseCb58 } from '../../../src/lib/encoding/cb58.ts';
import { ParseError } from '../../../src/lib/encoding/parse-error.ts';
import {
  type BlockchainID,
  idBytes,
  idFromBytes,
  nodeIDBytes,
  nodeIDFromBytes,
  nodeIDFromCertificate,
  parseHexOrCb58Id,
  parseId,
  parseNodeID,
} from '../../../src/warp/ids.ts';
import { readJson, readPeerTranscript } from '../../vectors/vectors.ts';

/** Any UTF-16 code unit, lone surrogates too. */
const utf16 = fc.nat(0xffff).map((unit) => String.fromCharCode(unit));

interface ValidText {
  readonly kind: 'id' | 'nodeID' | 'cb58';
  readonly text: string;
  readonly hex: string;
  readonly note: string;
}
interface InvalidText {
  readonly kind: 'id' | 'nodeID' | 'cb58' | 'hexOrCb58';
  readonly text: string;
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

describe('vectors', () => {
  const valid = readJson<ValidText[]>('ids-valid.json');
  const invalid = readJson<InvalidText[]>('ids-invalid.json');

  test.each(valid)('$kind $text ($note)', ({ kind, text, hex }) => {
    const bytes = parseHex(hex, 'hex');
    expect(parsers[kind](text)).toEqual(bytes);
    expect(encoders[kind](bytes)).toBe(text);
  });

  test.each(valid.filter(({ kind }) => kind === 'id'))('$text as hex or cb58', ({ text, hex }) => {
    for (const form of [text, hex, `0x${hex}`, hex.toUpperCase(), `0x${hex.toUpperCase()}`]) {
      expect(parseHexOrCb58Id<BlockchainID>(form, 'ID')).toBe(text);
    }
  });

  test.each(invalid.map((vector, index) => ({ ...vector, index })))(
    '#$index: invalid $kind: $note',
    ({ kind, text }) => {
      expect(() => parsers[kind](text)).toThrowError(ParseError);
    },
  );
});

describe('cb58', () => {
  /** A second implementation with Node's hash and base58. */
  function model(bytes: Uint8Array): string {
    const checksum = createHash('sha256').update(bytes).digest().subarray(-4);
    return base58.encode(Uint8Array.of(...bytes, ...checksum));
  }

  test('ends with the last 4 bytes of the hash', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 36 }), (bytes) => {
        const text = encodeCb58(bytes);
        expect(text).toBe(model(bytes));
        expect(parseCb58(text, 'text')).toEqual(bytes);
      }),
    );
  });

  test('any text round-trips or is a ParseError', () => {
    const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
    const mistyped = fc
      .tuple(fc.uint8Array({ maxLength: 34 }), fc.nat(), fc.constantFrom(...alphabet, '0', 'l'), fc.constantFrom(0, 1))
      .map(([bytes, position, character, insert]) => {
        const text = encodeCb58(bytes);
        const at = position % (text.length + insert);
        return text.slice(0, at) + character + text.slice(at + 1 - insert);
      });
    const text = fc.oneof(mistyped, fc.string({ unit: fc.constantFrom(...alphabet) }), fc.string({ unit: utf16 }));
    fc.assert(
      fc.property(text, (value) => {
        let parsed: Uint8Array;
        try {
          parsed = parseCb58(value, 'text');
        } catch (error) {
          expect(error).toBeInstanceOf(ParseError);
          return;
        }
        expect(encodeCb58(parsed)).toBe(value);
      }),
      { numRuns: 500 },
    );
  });

  test('names the problem', () => {
    expect(() => parseCb58('', 'SubnetID')).toThrowError('SubnetID: is too short for cb58');
    expect(() => parseCb58('0', 'SubnetID')).toThrowError('SubnetID: is not cb58');
    expect(() => parseCb58('45PJLM', 'SubnetID')).toThrowError('SubnetID: has a wrong cb58 checksum');
  });
});

describe('IDs', () => {
  test('have 32 bytes, NodeIDs 20', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        for (const [length, encode] of [
          [32, encoders.id],
          [20, encoders.nodeID],
        ] as const) {
          if (bytes.length === length) expect(() => encode(bytes)).not.toThrow();
          else expect(() => encode(bytes)).toThrowError(ParseError);
        }
      }),
    );
  });

  test('round-trip in each form', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        const id = idFromBytes<BlockchainID>(bytes, 'ID');
        expect(idBytes(id)).toEqual(bytes);
        expect(parseId<BlockchainID>(id, 'ID')).toBe(id);
        expect(parseHexOrCb58Id<BlockchainID>(id, 'ID')).toBe(id);
        expect(parseHexOrCb58Id<BlockchainID>(Buffer.from(bytes).toString('hex'), 'ID')).toBe(id);
        const nodeID = nodeIDFromBytes(bytes.subarray(12));
        expect(nodeID.startsWith('NodeID-')).toBe(true);
        expect(nodeIDBytes(nodeID)).toEqual(bytes.subarray(12));
        expect(parseNodeID(nodeID)).toBe(nodeID);
      }),
    );
  });

  test('any text is an ID or a ParseError that names the field', () => {
    const text = fc.oneof(
      fc.string({ unit: utf16 }),
      fc.string({ unit: fc.constantFrom(...'0123456789abcdefx'), maxLength: 70 }),
      fc.string().map((tail) => `NodeID-${tail}`),
    );
    fc.assert(
      fc.property(text, (value) => {
        for (const [parse, what] of [
          [parsers.hexOrCb58, 'ID'],
          [parsers.id, 'ID'],
          [parsers.nodeID, 'NodeID'],
        ] as const) {
          try {
            parse(value);
          } catch (error) {
            expect(error).toBeInstanceOf(ParseError);
            expect(error).toMatchObject({ what });
          }
        }
      }),
    );
  });

  test('a NodeID is the hash of the certificate', () => {
    const { serverCertificate, clientCertificate, peerNodeID, myNodeID } = readPeerTranscript();
    expect(nodeIDFromCertificate(serverCertificate)).toBe(peerNodeID);
    expect(nodeIDFromCertificate(clientCertificate)).toBe(myNodeID);
  });
});
