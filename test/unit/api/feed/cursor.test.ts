import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type ChainCursor,
  type ChainKey,
  type Cursor,
  chainKeyOf,
  encodeCursor,
  MAX_CHAINS,
  MAX_CURSOR_LENGTH,
  parseCursor,
} from '../../../../src/api/feed/cursor.ts';
import { type BlockPosition, comparePositions, LAST_LOG_INDEX } from '../../../../src/feed/feed-message.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { CHAIN, chainNumbered, OTHER_CHAIN } from '../../feed/emitted.ts';

const OPENING = '0123456789abcdef';

const position: fc.Arbitrary<BlockPosition> = fc.record({
  blockNumber: fc.oneof(
    fc.integer({ min: -1, max: 300 }),
    fc.nat(2 ** 31 - 1).map((n) => n * 2 ** 20),
  ),
  logIndex: fc.oneof(fc.nat(300), fc.constant(LAST_LOG_INDEX)),
});

const chainCursor: fc.Arbitrary<ChainCursor> = fc
  .tuple(position, position, fc.boolean())
  .map(([one, other, isRead]) => {
    const [settled, read] = [one, other].toSorted(comparePositions) as [BlockPosition, BlockPosition];
    return isRead ? { settled, read } : { settled };
  });

function cursorOf(...chains: readonly [ChainKey, ChainCursor][]): Cursor {
  return { opening: OPENING, change: 300, chains: new Map(chains) };
}

describe('a cursor', () => {
  test('is the same after encoding and decoding', () => {
    fc.assert(
      fc.property(chainCursor, chainCursor, fc.maxSafeNat(), fc.string(), (one, other, change, query) => {
        const cursor = { ...cursorOf([chainKeyOf(CHAIN), one], [chainKeyOf(OTHER_CHAIN), other]), change };
        const text = encodeCursor(cursor, query);
        expect(text).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(parseCursor(text, query)).toEqual(cursor);
      }),
    );
  });

  test('of another query is refused', () => {
    const text = encodeCursor(cursorOf(), 'one');
    expect(() => parseCursor(text, 'other')).toThrow('after: is a cursor of another query');
  });

  test('of the version before is known, whatever it has', () => {
    const bytes = Buffer.from(encodeCursor(cursorOf(), 'q'), 'base64url');
    bytes[0] = 1;
    expect(parseCursor(bytes.toString('base64url'), 'q')).toBeUndefined();
    expect(() => parseCursor(bytes.toString('base64url'), 'other')).toThrow('another query');
  });

  test('that is malformed is refused, whatever its bytes', () => {
    const chain = { settled: { blockNumber: 300, logIndex: 2 }, read: { blockNumber: 300, logIndex: LAST_LOG_INDEX } };
    const valid = encodeCursor(cursorOf([chainKeyOf(CHAIN), chain]), 'q');
    const bytes = Buffer.from(valid, 'base64url');
    const isRefused = (text: string): boolean => {
      try {
        parseCursor(text, 'q');
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
    const beyond = { settled: chain.settled, read: { blockNumber: 300, logIndex: LAST_LOG_INDEX + 1 } };
    expect(isRefused(encodeCursor(cursorOf([chainKeyOf(CHAIN), beyond]), 'q'))).toBe(true);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (tail) => {
        isRefused(Buffer.concat([bytes.subarray(0, 16), tail]).toString('base64url'));
      }),
    );
  });

  test('of as many chains as it may have is short enough, and has the last ones of more', () => {
    const at = (index: number) => ({ blockNumber: index * 2 ** 33, logIndex: LAST_LOG_INDEX });
    const chains = Array.from({ length: MAX_CHAINS + 2 }, (_, chain): [ChainKey, ChainCursor] => [
      chainKeyOf(chainNumbered(chain)),
      { settled: at(1), read: at(2) },
    ]);
    const text = encodeCursor({ ...cursorOf(...chains), change: Number.MAX_SAFE_INTEGER }, 'q');
    expect(text.length).toBeLessThanOrEqual(MAX_CURSOR_LENGTH);
    expect(parseCursor(text, 'q')?.chains).toEqual(new Map(chains.slice(2)));
  });
});
