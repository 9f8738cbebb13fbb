import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ChainCursor,
  type Cursor,
  encodeCursor,
  listedPerChain,
  MAX_CHAINS,
  MAX_CURSOR_LENGTH,
  parseCursor,
  type UnsignedPosition,
} from '../../../../src/api/feed/cursor.ts';
import { type BlockPosition, comparePositions, LAST_LOG_INDEX } from '../../../../src/feed/feed-message.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import type { BlockchainID } from '../../../../src/warp/ids.ts';
import { CHAIN, chainNumbered, OTHER_CHAIN } from '../../feed/emitted.ts';

const position: fc.Arbitrary<BlockPosition> = fc.record({
  blockNumber: fc.oneof(
    fc.integer({ min: -1, max: 300 }),
    fc.nat(2 ** 31 - 1).map((n) => n * 2 ** 20),
  ),
  logIndex: fc.oneof(fc.nat(300), fc.constant(LAST_LOG_INDEX)),
});

const chainCursor: fc.Arbitrary<ChainCursor> = fc
  .tuple(fc.array(position, { minLength: 4, maxLength: 12 }), fc.boolean(), fc.infiniteStream(fc.boolean()))
  .map(([positions, hasUnlisted, failed]) => {
    const sorted = positions.toSorted(comparePositions);
    const after = sorted.pop() as BlockPosition;
    const [start, read, end] = sorted.splice(0, 3) as [BlockPosition, BlockPosition, BlockPosition];
    const unsigned: UnsignedPosition[] = sorted.map((each) => ({ ...each, isFailed: failed.next().value as boolean }));
    return hasUnlisted ? { after, unsigned, unlisted: { start, read, end } } : { after, unsigned };
  });

describe('a cursor', () => {
  test('is the same after encoding and decoding', () => {
    fc.assert(
      fc.property(chainCursor, chainCursor, fc.string(), (one, other, query) => {
        const cursor: Cursor = new Map([
          [CHAIN, one],
          [OTHER_CHAIN, other],
        ]);
        const text = encodeCursor(cursor, query);
        expect(text).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(parseCursor(text, query, [CHAIN, OTHER_CHAIN])).toEqual(cursor);
      }),
    );
  });

  test('leaves out chains that are no longer stored', () => {
    const chain = { after: { blockNumber: 3, logIndex: 2 }, unsigned: [] };
    const cursor = new Map<BlockchainID, ChainCursor>([
      [CHAIN, chain],
      [OTHER_CHAIN, chain],
    ]);
    expect(parseCursor(encodeCursor(cursor, 'q'), 'q', [OTHER_CHAIN])).toEqual(new Map([[OTHER_CHAIN, chain]]));
  });

  test('of another query is refused', () => {
    const text = encodeCursor(new Map(), 'one');
    expect(() => parseCursor(text, 'other', [])).toThrow('after: is a cursor of another query');
  });

  test('that is malformed is refused, whatever its bytes', () => {
    const valid = encodeCursor(new Map([[CHAIN, { after: { blockNumber: 300, logIndex: 2 }, unsigned: [] }]]), 'q');
    const bytes = Buffer.from(valid, 'base64url');
    const isRefused = (text: string): boolean => {
      try {
        parseCursor(text, 'q', [CHAIN]);
        return false;
      } catch (error) {
        expect(error).toBeInstanceOf(ParseError);
        return true;
      }
    };
    expect(['', '!', `${valid}=`, `${valid}AA`, 'A'.repeat(MAX_CURSOR_LENGTH + 4)].every(isRefused)).toBe(true);
    for (let length = 0; length < bytes.length; length += 1) {
      expect(isRefused(bytes.subarray(0, length).toString('base64url'))).toBe(true);
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (tail) => {
        isRefused(Buffer.concat([bytes.subarray(0, 8), tail]).toString('base64url'));
      }),
    );
  });

  test('of as many chains and messages as it may have is short enough', () => {
    const far = 2 ** 33;
    const longest = (chains: number) =>
      new Map(
        Array.from({ length: chains }, (_, chain) => {
          const at = (index: number) => ({ blockNumber: (index + 1) * far, logIndex: 100_000 });
          const count = listedPerChain(chains);
          const unsigned = Array.from({ length: count }, (_each, index) => ({ ...at(index + 3), isFailed: true }));
          const cursor = { after: at(count + 4), unsigned, unlisted: { start: at(0), read: at(1), end: at(2) } };
          return [chainNumbered(chain), cursor];
        }),
      );
    for (const chains of [1, 2, MAX_CHAINS]) {
      expect(encodeCursor(longest(chains), 'q').length).toBeLessThanOrEqual(MAX_CURSOR_LENGTH);
    }
  });
});
