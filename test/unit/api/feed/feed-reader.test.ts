import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Cursor, chainKeyOf, encodeCursor, parseCursor, START } from '../../../../src/api/feed/cursor.ts';
import { FeedReader, type FeedReaderOptions } from '../../../../src/api/feed/feed-reader.ts';
import {
  endOfBlock,
  type FeedMessage,
  type MessagePosition,
  type MessageReader,
} from '../../../../src/feed/feed-message.ts';
import { openMessageStore } from '../../../../src/feed/message-store.ts';
import { blocks, CHAIN, checkpoint, emitted, OTHER_CHAIN, senderNumbered } from '../../feed/emitted.ts';
import { createStore, fail, SIGNATURE, sign } from './feed-fixture.ts';

const CHAINS = [CHAIN, OTHER_CHAIN];
const ALL = { sourceChainID: undefined, sender: undefined, destinationChainID: undefined, status: undefined };
const LATER = Number.POSITIVE_INFINITY;

function nameOf({ chainID, blockNumber, logIndex, outcome }: FeedMessage): string {
  return `${chainID === CHAIN ? '' : 'other '}${blockNumber}.${logIndex} ${outcome.status}`;
}

function read(reader: FeedReader, nowMs = LATER, max = 10_000): string[] {
  return [...reader.read(nowMs, max)].map(nameOf);
}

/** A reader of a cursor as a client sends it back. */
function resumed(store: MessageReader, cursor: Cursor, options: Partial<FeedReaderOptions> = {}): FeedReader {
  const sent = parseCursor(encodeCursor(cursor, 'q'), 'q');
  return new FeedReader({ store, query: ALL, cursor: sent ?? START, ...options });
}

function started(store: MessageReader, options: Partial<FeedReaderOptions> = {}): FeedReader {
  return resumed(store, START, options);
}

/** Another replica, which has read both chains up to block 9. */
function otherStore() {
  return createStore();
}

describe('a reader', () => {
  test('of a cursor receives what is new and what was signed since, in the order of these changes', () => {
    const store = createStore();
    const messages = [10, 11, 12].map((block) => emitted(block, 0));
    store.append(CHAIN, blocks(10, 12, messages));
    const first = started(store);
    expect(read(first)).toEqual(['10.0 pending', '11.0 pending', '12.0 pending']);
    sign(store, emitted(12, 0));
    store.append(CHAIN, blocks(13, 13, [emitted(13, 0)]));
    sign(store, emitted(11, 0));
    const second = resumed(store, first.cursor);
    expect(read(second)).toEqual(['12.0 signed', '13.0 pending', '11.0 signed']);
    expect(read(resumed(store, second.cursor))).toEqual([]);
  });

  test('receives a pending message once, then as failed, then as signed', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 10, [emitted(10, 0)]));
    const reader = started(store);
    expect(read(reader)).toEqual(['10.0 pending']);
    fail(store, emitted(10, 0));
    expect(read(reader)).toEqual(['10.0 failed']);
    fail(store, emitted(10, 0));
    expect(read(reader)).toEqual([]);
    sign(store, emitted(10, 0));
    expect(read(reader)).toEqual(['10.0 signed']);
  });

  test('receives a message that was found late, in a block that it has passed', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 12, [emitted(12, 0)]));
    const reader = started(store);
    expect(read(reader)).toEqual(['12.0 pending']);
    store.insert(CHAIN, 10, 12, [emitted(11, 0)]);
    expect(read(resumed(store, reader.cursor))).toEqual(['11.0 pending']);
  });

  test('delays pending messages for some time, and no others', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 11, [emitted(10, 0), emitted(11, 0)]));
    store.append(OTHER_CHAIN, blocks(10, 10, [emitted(10, 0, { chainID: OTHER_CHAIN })]));
    sign(store, emitted(11, 0));
    const reader = started(store, { delayMs: 10_000 });
    expect(read(reader, 19_999)).toEqual(['11.0 signed']);
    expect(reader.delayedUntilMs).toBe(20_000);
    sign(store, emitted(10, 0, { chainID: OTHER_CHAIN }));
    expect(read(reader, 19_999)).toEqual(['other 10.0 signed']);
    expect(read(reader, 20_000)).toEqual(['10.0 pending']);
    expect([read(reader, 20_000), reader.delayedUntilMs]).toEqual([[], LATER]);
    sign(store, emitted(10, 0));
    expect(read(reader, 20_000)).toEqual(['10.0 signed']);
  });

  test('that delays a pending message receives it settled after a resumption', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 10, [emitted(10, 0)]));
    const reader = started(store, { delayMs: 10_000 });
    expect(read(reader, 10_000)).toEqual([]);
    sign(store, emitted(10, 0));
    expect(read(resumed(store, reader.cursor, { delayMs: 10_000 }), 10_000)).toEqual(['10.0 signed']);
  });

  test('that asks for pending messages receives them at once', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 10, [emitted(10, 0)]));
    const query = { ...ALL, status: 'pending' } as const;
    expect(read(started(store, { query, delayMs: 10_000 }), 10_000)).toEqual(['10.0 pending']);
  });

  test('with a status receives messages when they have it', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 11, [emitted(10, 0), emitted(11, 0)]));
    sign(store, emitted(11, 0));
    const query = { ...ALL, status: 'signed' } as const;
    const first = started(store, { query });
    expect(read(first)).toEqual(['11.0 signed']);
    sign(store, emitted(10, 0));
    expect(read(resumed(store, first.cursor, { query }))).toEqual(['10.0 signed']);
  });

  test('of a rare sender looks at a bounded number of changes at once', () => {
    const store = createStore();
    const reader = started(store, { query: { ...ALL, sender: senderNumbered(2) } });
    expect(read(reader)).toEqual([]);
    const many = Array.from({ length: 4_000 }, (_, index) => emitted(10, index));
    store.append(CHAIN, blocks(10, 11, [...many, emitted(11, 0, { sender: senderNumbered(2) })]));
    expect([1, 2, 3].map(() => [read(reader), reader.caughtUp.length])).toEqual([
      [[], 0],
      [[], 0],
      [['11.0 pending'], 2],
    ]);
  });

  test('has caught up when it has looked at each message', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 12, [emitted(10, 0), emitted(11, 0), emitted(12, 0)]));
    const reader = started(store);
    expect([read(reader, LATER, 2).length, reader.caughtUp.length]).toEqual([2, 0]);
    expect([read(reader, LATER, 2).length, reader.caughtUp.length]).toEqual([1, 2]);
  });

  test('of a cursor of another store reads on after what was settled there', () => {
    const [store, other] = [createStore(), otherStore()];
    const messages = [10, 11, 12].map((block) => emitted(block, 0));
    for (const each of [store, other]) {
      each.append(CHAIN, blocks(10, 12, messages));
      each.confirm(CHAIN, blocks(10, 12, messages));
    }
    sign(store, emitted(10, 0), emitted(12, 0));
    sign(other, ...messages);
    const reader = started(store);
    expect(read(reader)).toEqual(['10.0 signed', '11.0 pending', '12.0 signed']);
    const moved = resumed(other, reader.cursor);
    expect(read(moved)).toEqual(['11.0 signed', '12.0 signed']);
    expect(read(resumed(other, moved.cursor))).toEqual([]);
  });

  test('that alternates between stores comes to the end of both', () => {
    const stores = [createStore(), otherStore()] as const;
    const messages = Array.from({ length: 40 }, (_, index) => emitted(10 + index, 0));
    for (const each of stores) {
      each.append(CHAIN, blocks(10, 49, messages));
      each.confirm(CHAIN, blocks(10, 49, messages));
      sign(each, ...messages);
    }
    let cursor = START;
    const received: string[] = [];
    for (let page = 0; page < 10; page += 1) {
      const reader = resumed(stores[page % 2 === 0 ? 0 : 1], cursor);
      received.push(...read(reader, LATER, 5));
      cursor = reader.cursor;
    }
    expect(received).toEqual(messages.map(({ blockNumber }) => `${blockNumber}.0 signed`));
  });

  test('that alternates between stores receives what is signed while it is elsewhere', () => {
    const [store, other] = [createStore(), otherStore()];
    for (const each of [store, other]) each.append(CHAIN, blocks(10, 11, [emitted(10, 0), emitted(11, 0)]));
    const first = started(store);
    expect(read(first, LATER, 1)).toEqual(['10.0 pending']);
    sign(store, emitted(10, 0));
    const second = resumed(other, first.cursor);
    expect(read(second, LATER, 1)).toEqual(['10.0 pending']);
    expect(read(resumed(store, second.cursor))).toEqual(['10.0 signed', '11.0 pending']);
  });

  test('receives a message once that changes before it is reached by position', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 11, [emitted(10, 0), emitted(11, 0)]));
    const reader = started(store);
    expect(read(reader, LATER, 1)).toEqual(['10.0 pending']);
    sign(store, emitted(11, 0));
    const { cursor } = reader;
    expect(read(resumed(store, cursor))).toEqual(['11.0 signed']);
    expect(read(resumed(otherStore(), cursor))).toEqual([]);
  });

  test('keeps the position of a chain that the store does not have', () => {
    const store = openMessageStore({ directory: undefined, networkID: 1 });
    onTestFinished(() => store[Symbol.dispose]());
    store.addChain(OTHER_CHAIN, checkpoint(9));
    const settled = endOfBlock(20);
    const reader = resumed(store, {
      ...START,
      opening: '00'.repeat(8),
      chains: new Map([[chainKeyOf(CHAIN), { settled }]]),
    });
    expect(read(reader)).toEqual([]);
    expect(reader.cursor.chains.get(chainKeyOf(CHAIN))?.settled).toEqual(settled);
    // It is read again from a later block than the cursor's: those between them are lost.
    store.addChain(CHAIN, checkpoint(30));
    const next = resumed(store, reader.cursor);
    expect(next.oldestIfExpired()?.chains.get(chainKeyOf(CHAIN))?.settled).toEqual(endOfBlock(30));
  });

  test('that is behind the oldest stored message is expired, and goes on from there', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 11, [emitted(10, 0), emitted(11, 0)]));
    const behind = started(store).cursor;
    const reader = started(store);
    read(reader);
    sign(store, emitted(10, 0));
    expect([resumed(store, behind), resumed(store, reader.cursor)].map((each) => each.oldestIfExpired())).toEqual([
      undefined,
      undefined,
    ]);
    store.prune({ beforeMs: 11_000, maxMessages: 100, maxBytes: 1e9 });
    for (const cursor of [behind, reader.cursor]) {
      const oldest = resumed(store, cursor).oldestIfExpired() ?? START;
      expect(resumed(store, oldest).oldestIfExpired()).toBeUndefined();
      expect(read(resumed(store, oldest))).toEqual(['11.0 pending']);
    }
  });

  test('that has received what was removed is not expired', () => {
    const store = createStore();
    store.append(CHAIN, blocks(10, 11, [emitted(10, 0), emitted(11, 0)]));
    const reader = started(store);
    read(reader);
    store.prune({ beforeMs: 11_000, maxMessages: 100, maxBytes: 1e9 });
    expect(resumed(store, reader.cursor).oldestIfExpired()).toBeUndefined();
  });

  test('misses nothing and receives nothing twice, however often it is resumed, here or at another replica', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('block' as const), chain: fc.nat(1), messages: fc.nat(4) }),
      fc.record({ kind: fc.constantFrom('sign' as const, 'fail' as const), store: fc.nat(1), pick: fc.nat() }),
      fc.record({ kind: fc.constant('read' as const), examined: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ kind: fc.constant('resume' as const) }),
      fc.record({ kind: fc.constant('move' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 0, max: 5_000 }), (steps, delayMs) => {
        using one = openMessageStore({ directory: undefined, networkID: 1 });
        using other = openMessageStore({ directory: undefined, networkID: 1 });
        const stores = [one, other] as const;
        for (const store of stores) for (const chainID of CHAINS) store.addChain(chainID, checkpoint(9));
        const emittedAll: MessagePosition[] = [];
        const height = [9, 9];
        let nowMs = 0;
        let store = 0;
        let reader = started(one, { delayMs });
        const signed = new Set<string>();
        const keyOf = ({ chainID, blockNumber, logIndex }: MessagePosition) => `${chainID} ${blockNumber} ${logIndex}`;
        let sinceMove = new Set<string>();
        const take = (examined: number): void => {
          for (const message of reader.read(nowMs, examined)) {
            const pair = `${keyOf(message)} ${message.outcome.status}`;
            // A resumption forgets which pending messages were delayed, and delivers none of them twice.
            expect(sinceMove).not.toContain(pair);
            sinceMove.add(pair);
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
            for (const replica of stores) replica.append(chainID, blocks(block, block, found));
          } else if (each.kind === 'read') take(each.examined);
          else if (each.kind === 'resume') reader = resumed(stores[store] ?? one, reader.cursor, { delayMs });
          else if (each.kind === 'move') {
            sinceMove = new Set();
            store = 1 - store;
            reader = resumed(stores[store] ?? one, reader.cursor, { delayMs });
          } else {
            const picked = emittedAll[each.pick % Math.max(1, emittedAll.length)];
            if (picked !== undefined) (each.kind === 'sign' ? sign : fail)(stores[each.store] ?? one, picked);
          }
        }
        nowMs += delayMs + 1;
        take(10_000);
        for (const position of emittedAll) for (const replica of stores) replica.setSigned(position, SIGNATURE);
        for (let round = 0; round < 2; round += 1) take(10_000);
        expect(signed).toEqual(new Set(emittedAll.map(keyOf)));
      }),
      { numRuns: 200 },
    );
  });
});
