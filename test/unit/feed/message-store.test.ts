import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type ChangeQuery,
  type EmittedMessage,
  endOfBlock,
  type FeedMessage,
  type MessagePosition,
  type MessageQuery,
} from '../../../src/feed/feed-message.ts';
import { type MessageStore, openMessageStore, PRUNE_LIMIT } from '../../../src/feed/message-store.ts';
import { databasePath, MAX_LOG_BYTES } from '../../../src/store/local/sqlite.ts';
import { type BlockchainID, PRIMARY_NETWORK_ID } from '../../../src/warp/ids.ts';
import { blocks, CHAIN, checkpoint, emitted, OTHER_CHAIN, senderNumbered } from './emitted.ts';
import { writeFormat2 } from './format-2.ts';

const FILE = 'feed-messages-1.sqlite';
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

function reopen(): void {
  store[Symbol.dispose]();
  store = open();
}

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
    expect(store.at([message])).toEqual([{ ...message, outcome: { status: 'pending' }, change: 1 }]);
  });

  test('move the watermark also without messages', () => {
    store.append(CHAIN, blocks(10, 10));
    expect(progress()).toEqual({
      chainID: CHAIN,
      storedAfter: endOfBlock(9),
      watermark: checkpoint(10),
      signedThrough: 10,
      confirmed: 9,
      settled: endOfBlock(9),
      removedChange: 0,
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
  let changes: number;

  beforeEach(() => {
    store.append(CHAIN, blocks(10, 13, [first, second]));
    changes = 0;
    store.onChange(() => {
      changes += 1;
    });
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
    expect(changes).toBe(2);
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
    expect(changes).toBe(0);
  });

  test('of a message that retention has removed is dropped', () => {
    store.prune({ beforeMs: 12_000, maxMessages: 10, maxBytes: 1e6 });
    store.setSigned(first, SIGNATURE);
    expect(page()).toEqual(['12.0']);
    expect(changes).toBe(0);
  });
});

describe('changes', () => {
  const messages = [10, 11, 12].map((block) => emitted(block, 0));
  const [first, second, third] = messages as [EmittedMessage, EmittedMessage, EmittedMessage];

  function changed(query: Partial<ChangeQuery> = {}): string[] {
    return store.changes({ after: 0, through: store.lastChange(), limit: 100, ...query }).map(describeChange);
  }

  function describeChange(message: FeedMessage): string {
    return `${message.change}: ${nameOf(message)} ${message.outcome.status}`;
  }

  beforeEach(() => {
    store.append(CHAIN, blocks(10, 12, [first, second]));
  });

  test('number each new message and each change of a status', () => {
    expect(changed()).toEqual(['1: 10.0 pending', '2: 11.0 pending']);
    store.setFailed(first, FAILURE, 100);
    store.setFailed(first, { ...FAILURE, attempts: 2 }, 200);
    store.setSigned(second, SIGNATURE);
    store.insert(CHAIN, 12, 12, [third]);
    expect(changed()).toEqual(['3: 10.0 failed', '4: 11.0 signed', '5: 12.0 pending']);
    store.setSigned(first, SIGNATURE);
    expect(changed({ after: 4 })).toEqual(['5: 12.0 pending', '6: 10.0 signed']);
    expect(store.lastChange()).toBe(6);
  });

  test('are read between two numbers, with filters', () => {
    store.append(OTHER_CHAIN, blocks(10, 10, [emitted(10, 7, { chainID: OTHER_CHAIN, sender: senderNumbered(2) })]));
    store.setSigned(first, SIGNATURE);
    expect(changed({ through: 3 })).toEqual(['2: 11.0 pending', '3: other 10.7 pending']);
    expect(changed({ limit: 1 })).toEqual(['2: 11.0 pending']);
    expect(changed({ chainID: OTHER_CHAIN })).toEqual(['3: other 10.7 pending']);
    expect(changed({ sender: senderNumbered(2) })).toEqual(['3: other 10.7 pending']);
    expect(changed({ status: 'signed' })).toEqual(['4: 10.0 signed']);
    expect(changed({ destinationChainID: OTHER_CHAIN })).toEqual([]);
  });

  test('go on after a restart, also if the last ones were removed', () => {
    const { opening } = store;
    reopen();
    expect(store.opening).not.toBe(opening);
    expect([store.lastChange(), store.hasChanges(opening, 2), store.hasChanges(opening, 3)]).toEqual([2, true, false]);
    store.setSigned(second, SIGNATURE);
    expect(changed({ after: 2 })).toEqual(['3: 11.0 signed']);
    store.prune({ beforeMs: 0, maxMessages: 0, maxBytes: 1e9 });
    const { opening: next } = store;
    reopen();
    // Otherwise no cursor could have read what was removed.
    expect([store.hasChanges(next, 3), store.hasChanges(next, 4), store.lastChange()]).toEqual([true, false, 3]);
    expect(progress()?.removedChange).toBe(3);
  });

  test('have a gap where the position of a chain is moved forward', () => {
    const before = store.lastChange();
    store.moveChain(CHAIN, checkpoint(20));
    expect(progress()).toMatchObject({ storedAfter: endOfBlock(20), removedChange: before + 1 });
    reopen();
    expect(store.lastChange()).toBe(before + 1);
  });

  test('of another store, or after those of a copy that has gone another way, are not there', () => {
    const copy = join(directory, 'copy');
    mkdirSync(copy);
    const database = new DatabaseSync(join(directory, FILE));
    database.exec(`VACUUM INTO '${join(copy, FILE)}'`);
    database.close();
    store.setSigned(first, SIGNATURE);
    const { opening } = store;
    store[Symbol.dispose]();
    store = open(copy);
    for (const message of [second, first]) store.setSigned(message, SIGNATURE);
    expect([2, 3].map((change) => store.hasChanges(opening, change))).toEqual([true, false]);
    expect(store.hasChanges('00', 0)).toBe(false);
  });

  test.each([
    ['pending', 9],
    ['failed', 10],
    ['signed', 12],
    ['failed an hour ago', 12],
  ])('of blocks are settled up to a message that is %s', (kind, block) => {
    if (kind !== 'pending') store.setSigned(first, SIGNATURE);
    if (kind.startsWith('failed')) store.setFailed(second, FAILURE, 100);
    if (kind === 'signed') store.setSigned(second, SIGNATURE);
    if (kind === 'failed an hour ago') {
      const { firstBlock, ...batch } = blocks(13, 13);
      store.append(CHAIN, { ...batch, firstBlock, checkpoint: { ...checkpoint(13), blockTimeMs: 11_000 + 3_600_000 } });
      block = 13;
    }
    expect(progress()?.settled).toEqual(endOfBlock(9));
    store.confirm(CHAIN, blocks(10, progress()?.watermark.blockNumber ?? 0));
    expect(progress()?.settled).toEqual(endOfBlock(block));
  });

  test('that retention has removed are known by their last number', () => {
    store.setSigned(first, SIGNATURE);
    store.prune({ beforeMs: 11_000, maxMessages: 10, maxBytes: 1e6 });
    expect([progress()?.removedChange, progress(OTHER_CHAIN)?.removedChange]).toEqual([3, 0]);
  });

  test('of a file of the version before are those that come', () => {
    const place = mkdtempSync(join(directory, 'format-2-'));
    writeFormat2(place);
    store[Symbol.dispose]();
    store = open(place);
    expect(page()).toEqual(['10.0', 'other 10.0', '11.0', '12.0']);
    const known = store.at([emitted(10, 0), emitted(11, 0), emitted(12, 0)]);
    expect(known.map(({ outcome, change }) => [outcome.status, change])).toEqual([
      ['signed', 0],
      ['failed', 0],
      ['pending', 0],
    ]);
    expect(progress()).toMatchObject({ watermark: checkpoint(12), confirmed: 12, removedChange: 0 });
    store.setSigned(emitted(11, 0), SIGNATURE);
    store.append(CHAIN, blocks(13, 13, [emitted(13, 0)]));
    expect(changed()).toEqual(['1: 11.0 signed', '2: 13.0 pending']);
  });
});

describe('equal reads', () => {
  const [message, later] = [emitted(10, 0), emitted(11, 0)];
  const read = () => ({
    progress: store.progress(),
    changes: store.changes({ after: 0, through: 100, limit: 100 }),
  });

  beforeEach(() => store.append(CHAIN, blocks(10, 10, [message])));

  test('share their result', () => {
    const { progress: before, changes } = read();
    expect(read().progress).toBe(before);
    expect(read().changes).toBe(changes);
    for (const other of [
      { after: 1 },
      { through: 99 },
      { limit: 99 },
      { chainID: CHAIN },
      { status: 'pending' },
    ] as const)
      expect(store.changes({ after: 0, through: 100, limit: 100, ...other })).not.toBe(changes);
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
    expect(store.changes({ after: 0, through: 100, limit: 1 }).map(nameOf)).toEqual(['11.0']);
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

describe('a file that is lost', () => {
  test('because it is damaged is named with what follows for the feed', () => {
    const messages = Array.from({ length: 200 }, (_, index) => emitted(10, index));
    store.append(CHAIN, blocks(10, 10, messages));
    store[Symbol.dispose]();
    const path = join(directory, FILE);
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0x5a, 4_096));
    expect(() => open()).toThrow(/is damaged; .*move it away: .*fromBlock.*replay/);
    rmSync(path);
    store = open();
  });

  test('because it is moved away is not written, until it is there again', () => {
    const [path, elsewhere] = [join(directory, FILE), join(directory, 'moved')];
    renameSync(path, elsewhere);
    expect(() => store.append(CHAIN, blocks(10, 10, []))).toThrow(/was moved away or removed; put it back/);
    writeFileSync(path, '');
    expect(() => store.append(CHAIN, blocks(10, 10, []))).toThrow('another file is in its place');
    renameSync(elsewhere, path);
    store.append(CHAIN, blocks(10, 10, [emitted(10, 0)]));
    expect(page()).toEqual(['10.0']);
  });
});

test('the write-ahead log is short again after another process has read for long', () => {
  const path = join(directory, FILE);
  const [reader, writer] = [new DatabaseSync(path), new DatabaseSync(path)];
  reader.exec('BEGIN; SELECT count(*) FROM messages');
  writer.exec(`CREATE TABLE large (content BLOB); INSERT INTO large VALUES (zeroblob(${MAX_LOG_BYTES}))`);
  const sizeOfLog = (): number => statSync(`${path}-wal`).size;
  expect(sizeOfLog()).toBeGreaterThan(MAX_LOG_BYTES);
  writer.close();
  reader.close();
  for (let block = 10; block < 13; block += 1) store.append(CHAIN, blocks(block, block, [emitted(block, 0)]));
  expect(sizeOfLog()).toBeLessThanOrEqual(MAX_LOG_BYTES);
});

describe('a second reading', () => {
  beforeEach(() => store.append(CHAIN, blocks(10, 14, [emitted(12, 0)])));

  test('adds what was missed to the changes that readers get, and moves the confirmed position', () => {
    const before = store.lastChange();
    expect(store.confirm(CHAIN, blocks(10, 12, [emitted(11, 0), emitted(12, 0)]))).toBe(1);
    expect(store.confirmed(CHAIN)).toEqual({ blockNumber: 12, blockHash: checkpoint(12).blockHash });
    expect(store.changes({ after: before, through: store.lastChange(), limit: 10 }).map(nameOf)).toEqual(['11.0']);
  });

  test.each([
    ['leaves out blocks', 11, 12],
    ['begins again', 9, 12],
    ['is ahead of the first', 10, 15],
  ])('that %s is refused', (_, first, last) => {
    expect(() => store.confirm(CHAIN, blocks(first, last))).toThrow('are not the next to be confirmed');
  });

  test('replaces a message of a block that is no longer on the chain', () => {
    const replaced = emitted(11, 0, { blockHash: `0x${'f'.repeat(64)}` });
    store.insert(CHAIN, 11, 11, [replaced]);
    store.setSigned(replaced, SIGNATURE);
    expect(store.confirm(CHAIN, blocks(10, 12, [emitted(11, 0)]))).toBe(1);
    expect(store.at([replaced])).toMatchObject([
      { blockHash: emitted(11, 0).blockHash, outcome: { status: 'pending' } },
    ]);
    const { messages, bytes } = store.counts();
    store[Symbol.dispose]();
    store = open();
    expect(store.counts()).toMatchObject({ messages, bytes });
  });
});

describe('a position that moves', () => {
  beforeEach(() => {
    store.append(CHAIN, blocks(10, 14, [emitted(12, 0)]));
    store.confirm(CHAIN, blocks(10, 12));
  });

  test('forward leaves out blocks, of which older cursors are expired', () => {
    store.moveChain(CHAIN, checkpoint(20));
    expect(progress()).toMatchObject({ watermark: checkpoint(20), confirmed: 20, storedAfter: endOfBlock(20) });
    expect(store.confirmed(CHAIN)).toEqual({ blockNumber: 20, blockHash: undefined });
  });

  test('back to the confirmed block keeps messages and cursors', () => {
    store.moveChain(CHAIN, checkpoint(12));
    expect(progress()).toMatchObject({ watermark: checkpoint(12), confirmed: 12, storedAfter: endOfBlock(9) });
    expect(page()).toEqual(['12.0']);
  });

  test('back before all that was read begins anew', () => {
    store.moveChain(CHAIN, checkpoint(3));
    expect(progress()).toMatchObject({ watermark: checkpoint(3), confirmed: 3, storedAfter: endOfBlock(3) });
  });
});

describe('retention', () => {
  const keepAll = { beforeMs: 0, maxMessages: 1e6, maxBytes: 1e9 };

  test('counts the bytes of signed messages', () => {
    const [first, second] = [emitted(10, 0), emitted(11, 0)];
    store.append(CHAIN, blocks(10, 11, [first, second]));
    store.setSigned(second, { ...SIGNATURE, signedMessage: new Uint8Array(500) });
    const bytes = first.message.bytes.length + second.message.bytes.length + 500;
    expect(store.counts()).toMatchObject({ messages: 2, bytes });
    expect([bytes, bytes - 1].map((maxBytes) => store.prune({ ...keepAll, maxBytes }))).toEqual([0, 1]);
  });

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
