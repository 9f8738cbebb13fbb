import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { AggregationRequest } from '../../../../src/aggregation/request/aggregation-request.ts';
import { SIGNED_EXAMPLE } from '../../../../src/api/aggregation/signed-message-record.ts';
import { MAX_PAGE } from '../../../../src/api/feed/feed-query.ts';
import type { FeedMessageRecord } from '../../../../src/api/feed/feed-records.ts';
import { type MessageStore, openMessageStore } from '../../../../src/feed/message-store.ts';
import type { Server } from '../../../../src/http/request/http-server.ts';
import { parseHex } from '../../../../src/lib/encoding/bytes.ts';
import { idBytes } from '../../../../src/warp/ids.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { blocks, CHAIN, chainNumbered, checkpoint, emitted, OTHER_CHAIN, senderNumbered } from '../../feed/emitted.ts';
import { CURSORS_OF_FORMAT_2, writeFormat2 } from '../../feed/format-2.ts';
import { expectError, limitedTo, scriptedAggregator } from '../api-fixture.ts';
import { createFeedServer, createStore, fail, MESSAGES_PATH, SIGNATURE, sign } from './feed-fixture.ts';

interface Page {
  readonly messages: readonly FeedMessageRecord[];
  readonly nextCursor: string;
  readonly hasMore: boolean;
  readonly chains: readonly unknown[];
}

let store: MessageStore;
const ranges: unknown[] = [];
const server = await createFeedServer(() => store, {
  access: limitedTo(1_000_000, undefined, { operateWithoutKey: true }),
  async replay(...[chainID, from, to]) {
    ranges.push([chainID, from, to]);
    return { found: 2, added: 1 };
  },
  forget: async () => ({ removed: 3 }),
});

beforeEach(() => {
  store = createStore();
});

afterAll(() => server.close());

async function get(query: Record<string, string> = {}, path = ''): Promise<Page> {
  const response = await server.inject({ url: `${MESSAGES_PATH}${path}`, query });
  expect(response.statusCode, response.body).toBe(200);
  return response.json();
}

/** A server of its own for a test, with the same store. */
async function serverWith(options: Parameters<typeof createFeedServer>[1]): Promise<Server> {
  const own = await createFeedServer(() => store, options);
  onTestFinished(() => own.close());
  return own;
}

function blocksOf({ messages }: Page): (string | number)[][] {
  return messages.map(({ blockNumber, logIndex, status }) => [blockNumber, logIndex, status]);
}

describe('GET messages', () => {
  test('has every field of a message', async () => {
    const message = emitted(10, 3, { destinationChainID: OTHER_CHAIN, executedMs: 10_250 });
    store.append(CHAIN, blocks(10, 12, [message]));
    sign(store, message);
    const { messages, chains, hasMore } = await get();
    expect(messages).toEqual([
      {
        messageId: message.message.id,
        networkId: 1,
        network: 'mainnet',
        sourceBlockchainId: CHAIN,
        payload: expect.objectContaining({ kind: 'AddressedCall' }),
        destinationBlockchainId: OTHER_CHAIN,
        sender: senderNumbered(1),
        blockNumber: 10,
        blockHash: message.blockHash,
        blockTime: 10_000,
        txHash: message.txHash,
        logIndex: 3,
        executedAt: 10_250,
        unsignedMessage: Buffer.from(message.message.bytes).toString('hex'),
        status: 'signed',
        signedMessage: '010203',
        signedAt: SIGNATURE.signedMs,
        signingSubnetId: SIGNATURE.signingSubnetID,
        pChainHeight: 11,
        signedWeight: '80',
        totalWeight: '100',
        quorumPercentage: 80,
      },
    ]);
    const { blockHash, blockTimeMs: blockTime } = checkpoint(12);
    expect(chains).toContainEqual({
      blockchainId: CHAIN,
      watermark: { blockNumber: 12, blockHash, blockTime },
      signedThrough: 12,
      confirmed: 9,
    });
    expect(hasMore).toBe(false);
  });

  test('goes backwards, the newest of all chains first, to the oldest', async () => {
    const [a, b, c, d] = [emitted(10, 0), emitted(10, 2), emitted(13, 1), emitted(14, 0)];
    const other = emitted(12, 0, { chainID: OTHER_CHAIN });
    store.append(CHAIN, blocks(10, 14, [a, b, c, d]));
    store.append(OTHER_CHAIN, blocks(10, 12, [other]));
    sign(store, b, other);
    const pages: (string | number)[][][] = [];
    let page = await get({ before: 'recent', limit: '2' });
    for (; page.hasMore; page = await get({ before: page.nextCursor, limit: '2' })) pages.push(blocksOf(page));
    expect([...pages, blocksOf(page)]).toEqual([
      [
        [14, 0, 'pending'],
        [13, 1, 'pending'],
      ],
      [
        [12, 0, 'signed'],
        [10, 2, 'signed'],
      ],
      [[10, 0, 'pending']],
    ]);
    const signed = await get({ before: 'recent', limit: '1', status: 'signed', sourceBlockchainId: CHAIN });
    expect(blocksOf(signed)).toEqual([[10, 2, 'signed']]);
    expect(signed.chains).toHaveLength(1);
    expect(
      (await get({ before: signed.nextCursor, limit: '1', status: 'signed', sourceBlockchainId: CHAIN })).messages,
    ).toEqual([]);
  });

  test('goes backwards over messages of one time that have no room in a page', async () => {
    const messages = Array.from({ length: 450 }, (_, logIndex) => emitted(10, logIndex));
    store.append(CHAIN, blocks(10, 10, messages));
    const first = await get({ before: 'recent', limit: '300' });
    const second = await get({ before: first.nextCursor, limit: '300' });
    const indices = [...first.messages, ...second.messages].map(({ logIndex }) => logIndex);
    expect(indices).toEqual(messages.map(({ logIndex }) => logIndex).toReversed());
    expect([first.hasMore, second.hasMore]).toEqual([true, false]);
  });

  test('takes no cursor of another direction, and not both directions', async () => {
    const { nextCursor } = await get();
    for (const query of [{ before: nextCursor }, { before: 'x' }]) {
      expectError(await server.inject({ url: MESSAGES_PATH, query }), 400, /^before is no cursor/, 'invalid_request');
    }
    const both = { after: 'recent', before: 'recent' };
    expectError(await server.inject({ url: MESSAGES_PATH, query: both }), 400, /^after and before/, 'invalid_request');
    const older = await get({ before: 'recent' });
    const after = { after: older.nextCursor };
    expectError(
      await server.inject({ url: MESSAGES_PATH, query: after }),
      400,
      /^after is a cursor of/,
      'invalid_request',
    );
  });

  test('goes on after a cursor, and shows what was settled since', async () => {
    const messages = [10, 11, 12].map((block) => emitted(block, 0));
    store.append(CHAIN, blocks(10, 12, messages));
    const first = await get({ limit: '2' });
    expect([blocksOf(first), first.hasMore]).toEqual([
      [
        [10, 0, 'pending'],
        [11, 0, 'pending'],
      ],
      true,
    ]);
    fail(store, messages[0] as never);
    const second = await get({ limit: '2', after: first.nextCursor });
    expect(blocksOf(second)).toEqual([
      [12, 0, 'pending'],
      [10, 0, 'failed'],
    ]);
    expect(second.messages[1]?.failure).toEqual({
      code: 'insufficient_weight',
      message: 'too few signed',
      attempts: 1,
      failedAt: 5,
    });
    expect(blocksOf(await get({ after: second.nextCursor }))).toEqual([]);
  });

  test('filters by chain, sender, destination and status', async () => {
    store.append(
      CHAIN,
      blocks(10, 12, [
        emitted(10, 0, { sender: senderNumbered(0xab) }),
        emitted(11, 0, { destinationChainID: OTHER_CHAIN }),
        emitted(12, 0),
      ]),
    );
    sign(store, emitted(12, 0));
    const found = async (query: Record<string, string>) =>
      (await get(query)).messages.map(({ blockNumber }) => blockNumber);
    expect(await found({ sender: senderNumbered(0xab).toUpperCase().replace('0X', '0x') })).toEqual([10]);
    expect(await found({ destinationBlockchainId: Buffer.from(idBytes(OTHER_CHAIN)).toString('hex') })).toEqual([11]);
    expect(await found({ status: 'signed' })).toEqual([12]);
    expect(await found({ sourceBlockchainId: CHAIN })).toEqual([10, 11, 12]);
    expect(await found({ sourceBlockchainId: OTHER_CHAIN })).toEqual([]);
  });

  test('finds the messages of a transaction, and those that come', async () => {
    const txHash = `0x${'ab'.repeat(32)}`;
    store.append(CHAIN, blocks(10, 11, [emitted(10, 0), emitted(11, 0, { txHash }), emitted(11, 1, { txHash })]));
    const first = await get({ txHash: txHash.toUpperCase().replace('0X', '0x') });
    expect(blocksOf(first)).toEqual([
      [11, 0, 'pending'],
      [11, 1, 'pending'],
    ]);
    sign(store, emitted(10, 0), emitted(11, 1));
    expect(blocksOf(await get({ txHash, after: first.nextCursor }))).toEqual([[11, 1, 'signed']]);
    expect(blocksOf(await get({ txHash: `${txHash.slice(0, -1)}0` }))).toEqual([]);
  });

  test('has access lists on request', async () => {
    const message = emitted(10, 0);
    store.append(CHAIN, blocks(10, 11, [message, emitted(11, 0)]));
    sign(store, message);
    const [signed, pending] = (await get({ include: 'accessList' })).messages;
    const accessList = [
      { address: '0x0200000000000000000000000000000000000005', storageKeys: [`0x010203ff${'0'.repeat(56)}`] },
    ];
    expect([signed?.accessList, pending?.accessList]).toEqual([accessList, undefined]);
    expect(await get({ include: 'accessList' }, `/${message.message.id}`)).toMatchObject({ accessList });
  });

  test('takes the name of the C-Chain on every network', async () => {
    store.append(OTHER_CHAIN, blocks(10, 10, [emitted(10, 0, { chainID: OTHER_CHAIN })]));
    store.append(CHAIN, blocks(10, 10, [emitted(10, 1)]));
    for (const name of ['C', 'c']) {
      expect(blocksOf(await get({ sourceBlockchainId: name }))).toEqual([[10, 0, 'pending']]);
    }
  });

  test('begins with the last messages on request', async () => {
    const messages = Array.from({ length: 300 }, (_, index) => emitted(10 + index, 0));
    store.append(CHAIN, blocks(10, 309, messages));
    const recent = await get({ after: 'recent', limit: String(MAX_PAGE) });
    expect(recent.messages.at(-1)?.blockNumber).toBe(309);
    expect(recent.messages.length).toBeGreaterThan(50);
    expect(recent.messages.length).toBeLessThanOrEqual(100);
  });

  test('refuses wrong parameters', async () => {
    const { nextCursor } = await get();
    const refused = async (query: Record<string, string>, message: RegExp) =>
      void expectError(await server.inject({ url: MESSAGES_PATH, query }), 400, message, 'invalid_request');
    await refused({ after: 'nonsense' }, /^after is not a cursor/);
    await refused({ after: nextCursor, status: 'signed' }, /^after is a cursor of another query/);
    await refused({ sender: '0x12' }, /^sender must be an EVM address/);
    for (const name of ['P', 'X']) {
      await refused({ sourceBlockchainId: name }, /^sourceBlockchainId is no watched chain; watched: /);
    }
    await refused({ txHash: '0x12' }, /^txHash must be the hash of a transaction/);
    await refused({ limit: '1001' }, /^limit must be an integer from 1 to 1000/);
    await refused({ form: '1' }, /^unknown parameter form/);
  });

  test('says that a cursor has expired, with the oldest one', async () => {
    const { nextCursor } = await get();
    store.append(CHAIN, blocks(10, 11, [emitted(10, 0), emitted(11, 0)]));
    store.prune({ beforeMs: 11_000, maxMessages: 100, maxBytes: 1e9 });
    const response = await server.inject({ url: MESSAGES_PATH, query: { after: nextCursor } });
    const details = expectError(response, 410, /removed/, 'cursor_expired') as { oldestCursor: string };
    expect(blocksOf(await get({ after: details.oldestCursor }))).toEqual([[11, 0, 'pending']]);
  });

  test.each(Object.entries(CURSORS_OF_FORMAT_2))(
    'says that a cursor of the version before has expired, with the oldest one: %s',
    async (_, after) => {
      const directory = mkdtempSync(join(tmpdir(), 'format-2-'));
      onTestFinished(() => rmSync(directory, { recursive: true }));
      writeFormat2(directory);
      store = openMessageStore({ directory, networkID: 1 });
      onTestFinished(() => store[Symbol.dispose]());
      const response = await server.inject({ url: MESSAGES_PATH, query: { after } });
      const details = expectError(response, 410, /earlier version/, 'cursor_expired') as { oldestCursor: string };
      const stored = [
        [10, 0, 'signed'],
        [10, 0, 'pending'],
        [11, 0, 'failed'],
        [12, 0, 'pending'],
      ];
      const oldest = await get({ after: details.oldestCursor });
      expect(blocksOf(oldest)).toEqual(stored);
      expect(blocksOf(await get())).toEqual(stored);
      sign(store, emitted(12, 0));
      expect(blocksOf(await get({ after: oldest.nextCursor }))).toEqual([[12, 0, 'signed']]);
    },
  );

  test('ends a page after 1 MiB of messages', async () => {
    const large = Array.from({ length: 60 }, (_, index) =>
      emitted(10, index, { message: createUnsignedMessage(1, CHAIN, new Uint8Array(20_000).fill(index)) }),
    );
    store.append(CHAIN, blocks(10, 10, large));
    const first = await get({ limit: '60' });
    // A message has 42 bytes besides its payload.
    expect([first.messages.length, first.hasMore]).toEqual([Math.ceil(2 ** 20 / 20_042), true]);
    const second = await get({ limit: '60', after: first.nextCursor });
    expect([first.messages.length + second.messages.length, second.hasMore]).toEqual([60, false]);
  });

  test('costs a unit, and one for each hundred messages', async () => {
    store.append(
      CHAIN,
      blocks(
        10,
        10,
        Array.from({ length: 250 }, (_, index) => emitted(10, index)),
      ),
    );
    const limited = await serverWith({ access: limitedTo(100) });
    const remaining = async (limit: number) =>
      Number((await limited.inject({ url: `${MESSAGES_PATH}?limit=${limit}` })).headers['x-ratelimit-remaining']);
    expect(await remaining(99)).toBe(99);
    expect(await remaining(250)).toBe(96);
  });

  test('says how to configure a feed', async () => {
    store = undefined as never;
    for (const path of ['', `/${emitted(1, 1).message.id}`]) {
      const response = await server.inject({ url: `${MESSAGES_PATH}${path}` });
      expectError(response, 404, /networks\.fuji\.feed\.chains/, 'feed_not_configured');
    }
  });
});

test('messages are not read before the feed knows its chains', async () => {
  const own = await serverWith({ isStarting: true });
  for (const path of ['', `/${emitted(1, 1).message.id}`]) {
    const response = await own.inject({ url: `${MESSAGES_PATH}${path}` });
    expectError(response, 503, /does not know all of its chains yet/, 'network_unavailable');
    expect(response.headers['retry-after']).toBe('1');
  }
});

test('messages of a watched chain whose RPC has not answered yet are 503', async () => {
  const unread = chainNumbered(9);
  const own = await serverWith({ watches: (chain) => chain === unread });
  const response = await own.inject({ url: MESSAGES_PATH, query: { sourceBlockchainId: unread } });
  expectError(response, 503, /has read no block of blockchain .* yet/, 'network_unavailable');
  expect(response.headers['retry-after']).toBe('5');
  const other = await own.inject({ url: MESSAGES_PATH, query: { sourceBlockchainId: chainNumbered(8) } });
  expectError(other, 400, /is no watched chain/, 'invalid_request');
});

test('messages of a store that cannot be opened are 503, without its path', async () => {
  const own = await createFeedServer(() => undefined, { storeProblem: 'cannot open the store at /data/feed.sqlite' });
  const response = await own.inject({ url: MESSAGES_PATH });
  expectError(response, 503, /its store cannot be opened/, 'network_unavailable');
  expect(response.body).not.toContain('/data');
  await own.close();
});

describe('GET messages/{messageId}', () => {
  test('finds a message by its ID in cb58 or hex', async () => {
    const message = emitted(10, 3);
    store.append(CHAIN, blocks(10, 10, [message]));
    for (const id of [message.message.id, `0x${Buffer.from(idBytes(message.message.id)).toString('hex')}`]) {
      expect(await get({}, `/${id}`)).toMatchObject({ messageId: message.message.id, status: 'pending' });
    }
    const unknown = await server.inject({ url: `${MESSAGES_PATH}/${CHAIN}` });
    expectError(unknown, 404, /has no message/, 'unknown_message');
    expectError(await server.inject({ url: `${MESSAGES_PATH}/0x12` }), 400, /^messageId/, 'invalid_request');
  });

  test('finds the message of a transaction by its hash, and names those of several', async () => {
    const [one, several] = [`0x${'ab'.repeat(32)}`, `0x${'cd'.repeat(32)}`];
    const messages = [
      emitted(10, 0, { txHash: one }),
      emitted(11, 0, { txHash: several }),
      emitted(11, 1, { txHash: several }),
    ];
    store.append(CHAIN, blocks(10, 11, messages));
    expect(await get({}, `/${one}`)).toMatchObject({ messageId: messages[0]?.message.id, txHash: one });
    const response = await server.inject({ url: `${MESSAGES_PATH}/${several}` });
    const details = expectError(response, 400, new RegExp(`messages\\?txHash=${several}`), 'several_messages');
    expect(details).toMatchObject({ messages: [{ logIndex: 0 }, { logIndex: 1 }], messagesOmitted: 0 });
  });

  test('signs a message again that its destination would refuse', async () => {
    const message = emitted(10, 3);
    store.append(CHAIN, blocks(10, 10, [message]));
    const { aggregator, asked } = scriptedAggregator();
    const verified: unknown[] = [];
    let problem: unknown;
    const verifier = {
      verify: async (request: unknown) => {
        verified.push(request);
        return { problem, warnings: [], epoch: undefined };
      },
    } as never;
    const own = await serverWith({ network: { aggregator, verifier }, access: limitedTo(1_000) });
    const answers = async () => {
      const url = `${MESSAGES_PATH}/${message.message.id}?destinationBlockchainId=${OTHER_CHAIN}`;
      const { headers, ...response } = await own.inject({ url });
      return [
        (response.json() as FeedMessageRecord).signedMessage,
        asked.length,
        Number(headers['x-ratelimit-remaining']),
      ];
    };
    expect(await answers()).toEqual(['ab01ff', 1, 990]);
    expect(asked[0]).toMatchObject({ destinationChainID: OTHER_CHAIN } satisfies Partial<AggregationRequest>);
    store.setSigned(message, { ...SIGNATURE, signedMessage: parseHex(SIGNED_EXAMPLE, 'example') });
    expect(await answers()).toEqual([SIGNED_EXAMPLE, 1, 989]);
    problem = { kind: 'bad signature', text: 'of other validators' };
    expect(await answers()).toEqual(['ab01ff', 2, 979]);
    expect(verified).toHaveLength(2);
  });
});

test('POST messages/{blockchainId}/forget takes an operator', async () => {
  const url = `${MESSAGES_PATH}/${CHAIN}/forget`;
  const here = { method: 'POST', url, headers: { host: 'localhost' } } as const;
  expect((await server.inject(here)).json()).toEqual({ removed: 3 });
  expectError(await (await serverWith({})).inject(here), 403, /^a chain is forgotten for API keys only/, 'forbidden');
});

describe('POST messages/{blockchainId}/replay', () => {
  const url = `${MESSAGES_PATH}/${CHAIN}/replay?fromBlock=3&toBlock=5`;

  test('reads a range of blocks again for the machine of the service, if the configuration allows it', async () => {
    const here = { method: 'POST', url, headers: { host: 'localhost' } } as const;
    expect((await server.inject(here)).json()).toEqual({ found: 2, added: 1 });
    expect(ranges).toEqual([[CHAIN, 3, 5]]);
    const own = await serverWith({});
    expectError(await own.inject(here), 403, /^blocks are read again for API keys only/, 'forbidden');
    const other = await server.inject({ ...here, headers: { host: 'example.org' } });
    expectError(other, 403, /^blocks are read again for the machine of the service only/, 'forbidden');
  });

  test('takes both ends of the range', async () => {
    const response = await server.inject({ method: 'POST', url: url.replace('fromBlock=3&', '') });
    expectError(response, 400, 'fromBlock is missing', 'invalid_request');
  });
});
