import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Cursor, encodeCursor, MAX_LISTED, parseCursor } from '../../../../src/api/feed/cursor.ts';
import { FeedReader } from '../../../../src/api/feed/feed-reader.ts';
import type { FeedMessage, MessagePosition } from '../../../../src/feed/feed-message.ts';
import { openMessageStore } from '../../../../src/feed/message-store.ts';
import { blocks, CHAIN, checkpoint, emitted, OTHER_CHAIN } from '../../feed/emitted.ts';
import { createStore, fail, SIGNATURE, sign } from './feed-fixture.ts';

const CHAINS = [CHAIN, OTHER_CHAIN];
const ALL = { sourceChainID: undefined, sender: undefined, destinationChainID: undefined, status: undefined };
const LATER = Number.POSITIVE_INFINITY;

function nameOf({ chainID, blockNumber, logIndex, outcome }: FeedMessage): string {
  return `${chainID === CHAIN ? '' : 'other '}${blockNumber}.${logIndex} ${outcome.status}`;
}

function read(reader: FeedReader, nowMs = LATER): string[] {
  return [...reader.read(nowMs, 1_000)].map(nameOf);
}

/** The cursor as a client sends it back. */
function sent(cursor: Cursor): Cursor {
  return parseCursor(encodeCursor(cursor, 'q'), 'q', CHAINS);
}

describe('a reader', () => {
  test('of a cursor first receives what was signed since, then new messages', () => {
    const store = createStore();
    const messages = [10, 11, 12].map((block) => emitted(block, 0));
    store.append(CHAIN, blocks(10, 12, messages));
    const first = new FeedReader({ store, query: ALL, cursor: new Map() });
    expect(read(first)).toEqual(['10.0 pending', '11.0 pending', '12.0 pending']);
    store.append(CHAIN, blocks(13, 13, [emitted(13, 0)]));
    sign(store, ...messages.slice(1));
    const second = new FeedReader({ store, query: ALL, cursor: sent(first.cursor) });
    expect(read(second)).toEqual(['11.0 signed', '12.0 signed', '13.0 pending']);
    expect(read(new FeedReader({ store, query: ALL, cursor: sent(second.cursor) }))).toEqual([]);
  });

  test('receives a pending message once, then as failed, then as signed', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 10, [emitted(10, 0)]));
    const reader = new FeedReader({ store, query: ALL, cursor: new Map() });
    const position = { chainID: CHAIN, blockNumber: 10, logIndex: 0 };
    expect(read(reader)).toEqual(['10.0 pending']);
    fail(store, position);
    reader.settle(position);
    expect(read(reader)).toEqual(['10.0 failed']);
    sign(store, position);
    reader.settle(position);
    expect(read(reader)).toEqual(['10.0 signed']);
    expect(reader.cursor.get(CHAIN)?.unsigned).toEqual([]);
  });

  test('does not receive again what another replica delivered as signed, and has signed before this one', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 10, [emitted(10, 0)]));
    const after = { blockNumber: 10, logIndex: 0 };
    const reader = new FeedReader({ store, query: ALL, cursor: new Map([[CHAIN, { after, unsigned: [] }]]) });
    sign(store, emitted(10, 0));
    reader.settle(emitted(10, 0));
    expect(read(reader)).toEqual([]);
  });

  test('waits some time for a pending message, and reads other chains meanwhile', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 11, [emitted(10, 0), emitted(11, 0)]));
    store.append(OTHER_CHAIN, blocks(10, 10, [emitted(10, 0, { chainID: OTHER_CHAIN })]));
    sign(store, emitted(11, 0), emitted(10, 0, { chainID: OTHER_CHAIN }));
    const reader = new FeedReader({ store, query: ALL, cursor: new Map(), holdMs: 10_000 });
    expect(read(reader, 19_999)).toEqual(['other 10.0 signed']);
    expect(reader.heldUntilMs).toBe(20_000);
    expect(read(reader, 20_000)).toEqual(['10.0 pending', '11.0 signed']);
  });

  test('goes on at once when the awaited message is signed', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 11, [emitted(10, 0), emitted(11, 0)]));
    const reader = new FeedReader({ store, query: ALL, cursor: new Map(), holdMs: 10_000 });
    expect(read(reader, 10_500)).toEqual([]);
    sign(store, emitted(10, 0), emitted(11, 0));
    reader.settle(emitted(10, 0));
    expect(read(reader, 10_500)).toEqual(['10.0 signed', '11.0 signed']);
  });

  test('with a status receives messages when they have it', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 11, [emitted(10, 0), emitted(11, 0)]));
    sign(store, emitted(11, 0));
    const query = { ...ALL, status: 'signed' } as const;
    const first = new FeedReader({ store, query, cursor: new Map() });
    expect(read(first)).toEqual(['11.0 signed']);
    sign(store, emitted(10, 0));
    expect(read(new FeedReader({ store, query, cursor: sent(first.cursor) }))).toEqual(['10.0 signed']);
  });

  test('with more unsigned messages than a cursor lists misses none', () => {
    const store = createStore();
    const count = 3 * MAX_LISTED;
    const messages = Array.from({ length: count }, (_, index) => emitted(10 + index, 0));
    store.append(CHAIN, blocks(10, 9 + count, messages));
    let cursor: Cursor = new Map();
    const missing = new Set(messages.map(({ blockNumber }) => blockNumber));
    const next = (examined: number): void => {
      const reader = new FeedReader({ store, query: ALL, cursor });
      for (const { blockNumber, outcome } of reader.read(LATER, examined)) {
        if (outcome.status === 'signed') missing.delete(blockNumber);
      }
      cursor = sent(reader.cursor);
    };
    next(1_000);
    expect(cursor.get(CHAIN)?.unlisted).toBeDefined();
    for (const message of messages.toReversed()) {
      sign(store, message);
      if (message.blockNumber % 50 === 0) next(120);
    }
    for (let pages = 0; pages < 20; pages += 1) next(120);
    expect([...missing]).toEqual([]);
    expect(cursor.get(CHAIN)?.unlisted).toBeUndefined();
  });

  describe('of a stream, with more unsigned messages than a cursor lists,', () => {
    /** Reads 150 pending messages, of which the first stays so, and returns a resumed reader after 20 that were signed since. */
    function readSome() {
      const store = createStore();
      const messages = Array.from({ length: 150 }, (_, index) => emitted(10 + index, 0));
      store.append(CHAIN, blocks(10, 159, messages));
      const first = new FeedReader({ store, query: ALL, cursor: new Map(), holdMs: 0 });
      expect(read(first)).toHaveLength(150);
      sign(store, ...messages.slice(2, 40));
      const reader = new FeedReader({ store, query: ALL, cursor: sent(first.cursor), holdMs: 0 });
      onTestFinished(store.onChange(({ settled }) => void (settled && reader.settle(settled))));
      const received = [...reader.read(LATER, 20)].map(nameOf);
      return { store, reader, received };
    }

    test('receives one that is signed before the reading again reaches it once', () => {
      const { store, reader, received } = readSome();
      sign(store, emitted(55, 0));
      received.push(...read(reader));
      expect(received.filter((name) => name.startsWith('55.'))).toEqual(['55.0 signed']);
      expect(received).toHaveLength(39);
    });

    test('receives one that is signed between two connections, though the reading again had passed it', () => {
      const { store, reader, received } = readSome();
      expect(received).toContain('12.0 signed');
      sign(store, emitted(11, 0));
      const resumed = new FeedReader({ store, query: ALL, cursor: sent(reader.cursor), holdMs: 0 });
      expect(read(resumed)).toContain('11.0 signed');
    });
  });

  test('that is behind the oldest stored message is expired', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 11, [emitted(10, 0), emitted(11, 0)]));
    const reader = new FeedReader({ store, query: ALL, cursor: new Map() });
    const behind = sent(reader.cursor);
    expect(reader.oldestIfExpired()).toBeUndefined();
    store.prune({ beforeMs: 11_000, maxMessages: 100, maxBytes: 1e9 });
    const expired = new FeedReader({ store, query: ALL, cursor: behind });
    const oldest = expired.oldestIfExpired();
    expect(read(new FeedReader({ store, query: ALL, cursor: sent(oldest ?? new Map()) }))).toEqual(['11.0 pending']);
  });

  test('misses nothing and keeps the order of a chain, however often it is resumed', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('block' as const), chain: fc.nat(1), messages: fc.nat(4) }),
      fc.record({ kind: fc.constantFrom('sign' as const, 'fail' as const), pick: fc.nat() }),
      fc.record({ kind: fc.constant('read' as const), examined: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ kind: fc.constant('resume' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 0, max: 5_000 }), (steps, holdMs) => {
        using store = openMessageStore({ directory: undefined, networkID: 1 });
        for (const chainID of CHAINS) store.addChain(chainID, checkpoint(9));
        const emittedAll: MessagePosition[] = [];
        const height = [9, 9];
        let nowMs = 0;
        let reader = new FeedReader({ store, query: ALL, cursor: new Map(), holdMs });
        using _unsubscribe = { [Symbol.dispose]: store.onChange(({ settled }) => settled && reader.settle(settled)) };
        const firsts: string[] = [];
        const signed = new Set<string>();
        const keyOf = ({ chainID, blockNumber, logIndex }: MessagePosition) => `${chainID} ${blockNumber} ${logIndex}`;
        let sinceResumption = new Set<string>();
        const take = (examined: number): void => {
          for (const message of reader.read(nowMs, examined)) {
            const pair = `${keyOf(message)} ${message.outcome.status}`;
            expect(sinceResumption).not.toContain(pair);
            sinceResumption.add(pair);
            if (!firsts.includes(keyOf(message))) firsts.push(keyOf(message));
            if (message.outcome.status === 'signed') signed.add(keyOf(message));
          }
        };
        for (const each of steps) {
          nowMs += 500;
          if (each.kind === 'block') {
            const chainID = CHAINS[each.chain] ?? CHAIN;
            const block = (height[each.chain] = (height[each.chain] ?? 0) + 1);
            const found = Array.from({ length: each.messages }, (_, index) =>
              emitted(block, index * 2, { chainID, executedMs: nowMs }),
            );
            emittedAll.push(...found);
            store.append(chainID, blocks(block, block, found));
          } else if (each.kind === 'read') take(each.examined);
          else if (each.kind === 'resume') {
            sinceResumption = new Set();
            reader = new FeedReader({ store, query: ALL, cursor: sent(reader.cursor), holdMs });
          } else {
            const picked = emittedAll[each.pick % Math.max(1, emittedAll.length)];
            if (picked !== undefined) (each.kind === 'sign' ? sign : fail)(store, picked);
          }
        }
        nowMs += holdMs + 1;
        take(10_000);
        for (const position of emittedAll) store.setSigned(position, SIGNATURE);
        take(10_000);
        expect(signed).toEqual(new Set(emittedAll.map(keyOf)));
        for (const chain of CHAINS) {
          const ofChain = (keys: readonly string[]) => keys.filter((key) => key.startsWith(chain));
          expect(ofChain(firsts)).toEqual(ofChain(emittedAll.map(keyOf)));
        }
      }),
      { numRuns: 100 },
    );
  });
});
