import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  endOfBlock,
  type FeedChange,
  type MessagePosition,
  type MessageQuery,
} from '../../../src/feed/feed-message.ts';
import { type MessageStore, openMessageStore, PRUNE_LIMIT } from '../../../src/feed/message-store.ts';
import { databasePath } from '../../../src/store/local/sqlite.ts';
import { type BlockchainID, PRIMARY_NETWORK_ID } from '../../../src/warp/ids.ts';
import { blocks, CHAIN, checkpoint, emitted, OTHER_CHAIN, senderNumbered } from './emitted.ts';

const FAILURE = { code: 'insufficient_weight', reason: 'too few signed', attempts: 1, failedMs: 5 };

const SIGNATURE = {
  signedMessage: Uint8Array.of(1, 2, 3),
  signingSubnetID: PRIMARY_NETWORK_ID,
  pChainHeight: 2n ** 60n,
  signedWeight: 2n ** 63n,
  totalWeight: 2n ** 63n + 1n,
  signedMs: 7,
};

let directory: string;
let store: MessageStore;

function open(place = directory): MessageStore {
  return openMessageStore({ directory: place, networkID: 1 });
}

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'message-store-'));
  store = open();
  for (const chainID of [CHAIN, OTHER_CHAIN]) store.addChain(chainID, checkpoint(9));
});

afterEach(() => {
  store[Symbol.dispose]();
  rmSync(directory, { recursive: true });
});

function page(query: Partial<MessageQuery> = {}): string[] {
  const after = new Map([CHAIN, OTHER_CHAIN].map((chainID) => [chainID, endOfBlock(0)]));
  return store.page({ after, limit: 100, ...query }).map(nameOf);
}

function nameOf({ chainID, blockNumber, logIndex }: MessagePosition): string {
  return `${chainID === CHAIN ? '' : 'other '}${blockNumber}.${logIndex}`;
}

function progress(chainID: BlockchainID = CHAIN) {
  return store.progress().find((chain) => chain.chainID === chainID);
}

describe('blocks', () => {
  test('are stored with their checkpoint, and are there after a restart', () => {
    const message = emitted(10, 3, { destinationChainID: OTHER_CHAIN });
    store.append(CHAIN, blocks(10, 12, [message]));
    store[Symbol.dispose]();
    store = open();
    expect(store.checkpoint(CHAIN)).toEqual(checkpoint(12));
    expect(store.at([message])).toEqual([{ ...message, outcome: { status: 'pending' } }]);
  });

  test('move the watermark also without messages', () => {
    store.append(CHAIN, blocks(10, 10));
    expect(progress()).toEqual({
      chainID: CHAIN,
      storedAfter: endOfBlock(9),
      watermark: checkpoint(10),
      signedThrough: 10,
    });
  });

  test.each([9, 11, 12])('must follow the last one: %i does not', (first) => {
    expect(() => store.append(CHAIN, blocks(first, 12))).toThrow('does not follow block 9');
    expect(progress()?.watermark.blockNumber).toBe(9);
  });

  test('store nothing if one message cannot be stored', () => {
    const broken = emitted(10, 1, { txHash: undefined as unknown as string });
    expect(() => store.append(CHAIN, blocks(10, 10, [emitted(10, 0), broken]))).toThrow('cannot write the store');
    expect(page()).toEqual([]);
    expect(progress()?.watermark.blockNumber).toBe(9);
    expect(store.counts()).toEqual({ messages: 0, bytes: 0, oldestUnsignedMs: undefined });
  });

  test('that are read again add only new messages, and leave the checkpoint', () => {
    store.append(CHAIN, blocks(10, 12, [emitted(11, 0)]));
    expect(store.insert(CHAIN, 5, 11, [emitted(6, 0), emitted(11, 0), emitted(11, 1)])).toBe(2);
    expect(page()).toEqual(['6.0', '11.0', '11.1']);
    expect(progress()).toMatchObject({ storedAfter: endOfBlock(4), watermark: checkpoint(12) });
  });

  test('that are read again below a gap leave the oldest position', () => {
    store.insert(CHAIN, 3, 5, [emitted(4, 0)]);
    expect(progress()?.storedAfter).toEqual(endOfBlock(9));
  });
});

describe('a page', () => {
  beforeEach(() => {
    const ofOther = emitted(10, 5, { chainID: OTHER_CHAIN, sender: senderNumbered(2) });
    store.append(CHAIN, blocks(10, 12, [emitted(12, 0), emitted(10, 9), emitted(10, 10)]));
    store.append(OTHER_CHAIN, blocks(10, 11, [ofOther, { ...ofOther, blockNumber: 11, blockTimeMs: 11_000 }]));
  });

  test('orders by time over chains, by position on each, and goes on after a position', () => {
    const all = ['10.9', '10.10', 'other 10.5', 'other 11.5', '12.0'];
    expect(page()).toEqual(all);
    const after = new Map<BlockchainID, { blockNumber: number; logIndex: number }>([
      [CHAIN, endOfBlock(0)],
      [OTHER_CHAIN, endOfBlock(0)],
    ]);
    const found: string[] = [];
    for (const _ of all) {
      const [message] = store.page({ after, limit: 1 });
      if (message === undefined) break;
      found.push(nameOf(message));
      after.set(message.chainID, message);
    }
    expect(found).toEqual(all);
    expect(store.page({ after, limit: 1 })).toEqual([]);
  });

  test('filters by chain, sender, destination and status', () => {
    expect(page({ after: new Map([[OTHER_CHAIN, endOfBlock(0)]]) })).toEqual(['other 10.5', 'other 11.5']);
    expect(page({ sender: senderNumbered(1) })).toEqual(['10.9', '10.10', '12.0']);
    expect(page({ destinationChainID: OTHER_CHAIN })).toEqual([]);
    store.setSigned(emitted(10, 9), SIGNATURE);
    expect(page({ status: 'signed' })).toEqual(['10.9']);
    expect(page({ status: 'pending', sender: senderNumbered(2) })).toEqual(['other 10.5', 'other 11.5']);
  });

  test('is not needed for one message: its ID finds the last emission', () => {
    const found = store.find(emitted(10, 5, { chainID: OTHER_CHAIN }).message.id);
    expect(found && nameOf(found)).toBe('other 11.5');
    expect(store.find(emitted(1, 1).message.id)).toBeUndefined();
  });
});

describe('an outcome', () => {
  const [first, second] = [emitted(10, 0), emitted(12, 0)];
  let changes: FeedChange[];

  beforeEach(() => {
    store.append(CHAIN, blocks(10, 13, [first, second]));
    changes = [];
    store.onChange((change) => changes.push(change));
  });

  test('is stored, and moves signedThrough up to the first pending message', () => {
    expect(progress()?.signedThrough).toBe(9);
    store.setFailed(second, FAILURE, 100);
    expect(progress()?.signedThrough).toBe(9);
    store.setSigned(first, SIGNATURE);
    expect(progress()?.signedThrough).toBe(13);
    expect(store.at([second, first, emitted(11, 0)]).map(({ outcome }) => outcome)).toEqual([
      { status: 'failed', ...FAILURE },
      { status: 'signed', ...SIGNATURE },
    ]);
    expect(changes.map(({ settled }) => settled && nameOf(settled))).toEqual(['12.0', '10.0']);
  });

  test('makes a failed message due again later, and a signed one never', () => {
    expect(store.due('pending', 1e9, 10).map(nameOf)).toEqual(['10.0', '12.0']);
    store.setFailed(first, FAILURE, 100);
    store.setSigned(second, SIGNATURE);
    expect(store.due('pending', 1e9, 10)).toEqual([]);
    expect([99, 100].map((nowMs) => store.due('failed', nowMs, 10).map(nameOf))).toEqual([[], ['10.0']]);
    expect(store.counts().oldestUnsignedMs).toBe(10_000);
    store.setFailed(second, FAILURE, 100);
    expect(page({ status: 'signed' })).toEqual(['12.0']);
  });

  test('may be postponed, and is pending meanwhile', () => {
    store.postpone(first, 20_000);
    expect([19_999, 20_000].map((nowMs) => store.due('pending', nowMs, 10).map(nameOf))).toEqual([
      ['12.0'],
      ['12.0', '10.0'],
    ]);
    expect(changes).toEqual([]);
  });

  test('of a message that retention has removed is dropped', () => {
    store.prune({ beforeMs: 12_000, maxMessages: 10, maxBytes: 1e6 });
    changes = [];
    store.setSigned(first, SIGNATURE);
    expect(page()).toEqual(['12.0']);
    expect(changes).toEqual([]);
  });
});

describe('equal reads', () => {
  const [message, later] = [emitted(10, 0), emitted(11, 0)];
  const read = () => ({
    progress: store.progress(),
    page: store.page({ after: new Map([[CHAIN, endOfBlock(0)]]), limit: 100 }),
    at: store.at([message]),
  });

  beforeEach(() => store.append(CHAIN, blocks(10, 10, [message])));

  test('share their result', () => {
    const { progress: before, page: messages, at } = read();
    expect(read().progress).toBe(before);
    expect(read().page).toBe(messages);
    expect(read().at).toBe(at);
    expect(store.page({ after: new Map([[CHAIN, endOfBlock(0)]]), limit: 1 })).not.toBe(messages);
  });

  test.each<[string, () => void]>([
    ['blocks', () => store.append(CHAIN, blocks(11, 11, [later]))],
    ['blocks that are read again', () => void store.insert(CHAIN, 5, 6, [emitted(5, 0)])],
    ['a signature', () => store.setSigned(message, SIGNATURE)],
    ['a failure', () => store.setFailed(message, FAILURE, 100)],
    ['retention', () => void store.prune({ beforeMs: 0, maxMessages: 0, maxBytes: 1e6 })],
  ])('see %s', (_, write) => {
    const before = read();
    write();
    const after = read();
    expect(after).not.toEqual(before);
    store[Symbol.dispose]();
    store = open();
    expect(read()).toEqual(after);
  });
});

describe('a file', () => {
  const [bad, good] = [emitted(10, 0), emitted(11, 0)];

  /** Changes a row as a damaged disk, or a version without today's checks, may have left it. */
  function damage(sql: string): void {
    store.append(CHAIN, blocks(10, 11, [bad, good]));
    store[Symbol.dispose]();
    const database = new DatabaseSync(databasePath('feed-messages', { directory, networkID: 1 }));
    database.exec(sql);
    database.close();
    unreadable = [];
    store = openMessageStore({ directory, networkID: 1 }, (position) => unreadable.push(nameOf(position)));
  }
  let unreadable: string[];

  test.each([
    ['message', "message = x'00'"],
    ['outcome', "status = 'failed', outcome = '{'"],
  ])('with a message whose %s cannot be read gives the others, and reports it', (_, change) => {
    damage(`UPDATE messages SET ${change} WHERE block_number = 10`);
    expect(page()).toEqual(['11.0']);
    expect(unreadable).toEqual(['10.0']);
    expect(store.find(bad.message.id)).toBeUndefined();
    expect(store.due('pending', 1e9, 10).map(nameOf)).toEqual(['11.0']);
  });

  test('with times that no answer may have any more is read', () => {
    damage('UPDATE messages SET block_time_ms = 9007199254740991000; UPDATE chains SET block_time_ms = 1e15');
    expect(page()).toEqual(['10.0', '11.0']);
    expect(progress()?.watermark.blockNumber).toBe(11);
    expect(store.prune({ beforeMs: 12_000, maxMessages: 10, maxBytes: 1e6 })).toBe(2);
  });
});

describe('retention', () => {
  const keepAll = { beforeMs: 0, maxMessages: 1e6, maxBytes: 1e9 };

  test.each([
    ['age', { beforeMs: 12_000 }],
    ['number', { maxMessages: 2 }],
    ['bytes', { maxBytes: 2 * emitted(10, 0).message.bytes.length }],
  ])('removes the oldest messages by %s, and moves the oldest position', (_, limit) => {
    store.append(
      CHAIN,
      blocks(
        10,
        14,
        [10, 11, 12, 13].map((block) => emitted(block, 0)),
      ),
    );
    expect(store.prune({ ...keepAll, ...limit })).toBe(2);
    expect(page()).toEqual(['12.0', '13.0']);
    expect(progress()?.storedAfter).toEqual({ blockNumber: 11, logIndex: 0 });
    expect(progress(OTHER_CHAIN)?.storedAfter).toEqual(endOfBlock(9));
    expect(store.prune({ ...keepAll, ...limit })).toBe(0);
  });

  test('removes a bounded number in one call', () => {
    const many = Array.from({ length: PRUNE_LIMIT + 1 }, (__, index) => emitted(10, index));
    store.append(CHAIN, blocks(10, 10, many));
    expect(store.prune({ ...keepAll, maxMessages: 0 })).toBe(PRUNE_LIMIT);
    expect(store.prune({ ...keepAll, maxMessages: 0 })).toBe(1);
    expect(store.counts()).toMatchObject({ messages: 0, bytes: 0 });
  });
});
