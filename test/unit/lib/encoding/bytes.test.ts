import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  bytesToHex,
  compareBytes,
  copyBytes,
  copyStart,
  equalBytes,
  parseHex,
} from '../../../../src/lib/encoding/bytes.ts';
import { collectGarbage } from '../../../support/collect-garbage.ts';

const bytes = fc.uint8Array({ maxLength: 100 });
/** Any UTF-16 code unit, lone surrogates too. */
const utf16 = fc.nat(0xffff).map((unit) => String.fromCharCode(unit));

test('hex round-trips with and without its prefix, in any case', () => {
  fc.assert(
    fc.property(bytes, (value) => {
      const hex = Buffer.from(value).toString('hex');
      expect(bytesToHex(value)).toBe(hex);
      for (const text of [hex, `0x${hex}`, hex.toUpperCase(), `0x${hex.toUpperCase()}`]) {
        expect(parseHex(text, 'field')).toEqual(value);
      }
    }),
  );
});

test('any text is hex that is written back the same except for prefix and case, or a ParseError', () => {
  const nearlyHex = fc.string({
    unit: fc.constantFrom(...'0123456789abcdefABCDEF', 'x', 'X', 'g', ' ', '\n', '-', '٣'),
  });
  fc.assert(
    fc.property(
      fc.oneof(
        nearlyHex,
        nearlyHex.map((text) => `0x${text}`),
        fc.string({ unit: utf16 }),
      ),
      (text) => {
        let parsed: Uint8Array;
        try {
          parsed = parseHex(text, 'field');
        } catch (error) {
          expect(error).toMatchObject({ name: 'ParseError', what: 'field' });
          return;
        }
        expect(bytesToHex(parsed)).toBe(text.replace(/^0x/, '').toLowerCase());
      },
    ),
    { numRuns: 500 },
  );
});

test('the order is lexicographic', () => {
  fc.assert(
    fc.property(bytes, bytes, (a, b) => {
      const [hexA, hexB] = [bytesToHex(a), bytesToHex(b)];
      expect(Math.sign(compareBytes(a, b))).toBe(hexA < hexB ? -1 : hexA > hexB ? 1 : 0);
      expect(equalBytes(a, b)).toBe(hexA === hexB);
      expect(equalBytes(a, Uint8Array.from(a))).toBe(true);
    }),
  );
});

test('a copy shares no memory with a Buffer', () => {
  const socketChunk = Buffer.from([1, 2, 3, 4]);
  const copy = copyBytes(socketChunk.subarray(1, 3));
  socketChunk.fill(0xff);
  expect(copy).toEqual(Uint8Array.of(2, 3));
  expect(copy.buffer.byteLength).toBe(2);
});

test('the start of a text has its first characters', () => {
  expect(copyStart('short', 512)).toBe('short');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat({ max: 40 }), (text, length) => {
      expect(copyStart(text, length)).toBe(text.slice(0, length));
    }),
  );
  const cut = copyStart('ab\u{1F980}', 3);
  expect(cut).toBe('ab\ud83e');
});

test('the start of a text does not retain the rest in memory', () => {
  const heap = (): number => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = heap();
  const starts = Array.from({ length: 200 }, () => copyStart(Buffer.alloc(250_000, 'x').toString('latin1'), 512));
  // 50 MB if each whole text is retained.
  expect(heap() - before).toBeLessThan(10e6);
  expect(starts).toHaveLength(200);
});
