import { createHash } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { Avalanche } from '@avalanche-sdk/chainkit';
import * as errors from '@avalanche-sdk/chainkit/models/errors';
import { bech32 } from '@scure/base';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { startService } from '../service/running-service.ts';
import { reply, SILENCE, sendJson, startStandIn } from './stand-in.ts';
import { ANSWERS, NODE_ID, TX_ID } from './stand-in-records.ts';
import { upstreamSettings } from './upstream-service.ts';

/** The public client of the API, as its users have it but for the address, before the service on the devnet. */

/** The devnet's validators take some seconds to be there. */
const TIMEOUT_MS = 30_000;
const EVM = `0x${'ab'.repeat(20)}`;
const HASH = `0x${'ab'.repeat(32)}`;
const ADDRESS = bech32.encode('fuji', bech32.toWords(new Uint8Array(20)));
/** No retries: what is answered is looked at, not waited for. */
const CLIENT = {
  network: 'fuji',
  chainId: '43114',
  enableTelemetry: false,
  retryConfig: { strategy: 'none' },
} as const;

const SECRET = 'secret of the key';

const standIn = await startStandIn();
standIn.rewrite = rewriteForClient;
const service = await startService(12, {
  settings: {
    upstream: upstreamSettings(standIn),
    access: {
      apiKeys: [
        {
          ...{ name: 'of the client', unitsPerMinute: 1_000, routes: ['aggregation', 'data'] },
          sha256: createHash('sha256').update(SECRET).digest('hex'),
        },
      ],
      unitsPerMinute: 100,
    },
  },
});
const { primaryNetwork, evm, nfts, signatureAggregator } = new Avalanche({ ...CLIENT, apiKey: SECRET }).data;
const options = { serverURL: service.app.url };
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await standIn[Symbol.asyncDispose]();
});
afterEach(() => {
  const arrived = JSON.stringify(standIn.arrivals);
  standIn.behaviour = undefined;
  standIn.arrivals.length = 0;
  if (arrived.includes('secret')) throw new Error("the client's key has reached the upstream");
});

/** The client knows the status by another spelling than the documents, and prices as numbers. */
function rewriteForClient(json: string): string {
  return json.replaceAll('"indexed"', '"INDEXED"').replaceAll('"42.42"', '42.42');
}

/** An answer of the stand-in, as the client should give it. */
function asRead(answer: object): unknown {
  return JSON.parse(rewriteForClient(JSON.stringify(answer)));
}

/** The second one needs escapes in a query. */
const PAGE_TOKENS: readonly string[] = ['3d22deea-ea64-4d30-8a1e-c2a353b67e90', 'a+b/c=&d?é %2B'];

/** Serves three pages of a list, which differ in a field of their items. Each but the first needs its token. */
function servePages(answer: object): unknown[] {
  const page = asRead(answer) as Record<string, Record<string, unknown>[]>;
  const [items = '', list = []] = Object.entries(page).find(([, value]) => Array.isArray(value)) ?? [];
  const pages = [...PAGE_TOKENS, undefined].map((nextPageToken, number) => ({
    ...page,
    [items]: list.map((item, index) => ({ ...item, [idOf(item)]: `page ${number}, item ${index}` })),
    nextPageToken,
  }));
  const tokens: readonly (string | null)[] = [null, ...PAGE_TOKENS];
  standIn.behaviour = (_request, response, { target }) => {
    const token = new URL(target, standIn.baseUrl).searchParams.get('pageToken');
    const found = pages[tokens.indexOf(token)];
    if (found === undefined) sendJson(response, 400, { message: `no page ${token}` });
    else sendJson(response, 200, found);
  };
  return JSON.parse(JSON.stringify(pages)) as unknown[];
}

/** The name of a field with text. */
function idOf(item: object): string {
  return Object.entries(item).find(([, value]) => typeof value === 'string')?.[0] ?? '';
}

type Pages = PromiseLike<AsyncIterable<{ readonly result: object }>>;

/** Reads to the last page. */
async function readPages(pages: Pages): Promise<object[]> {
  const results: object[] = [];
  for await (const { result } of await pages) {
    results.push(result);
    // The first page again and again, where the token is lost.
    if (results.length > PAGE_TOKENS.length + 1) throw new Error('more pages than there are');
  }
  return results;
}

/** Lists: how the client reads one, what the upstream answers, and the target without a page token. */
const LISTS: readonly (readonly [read: () => Pages, answer: object, target: string])[] = [
  [
    () =>
      primaryNetwork.listValidators(
        { pageSize: 2, minUptimePerformance: 90, sortBy: 'timeRemaining', validationStatus: 'completed' },
        options,
      ),
    ANSWERS.listValidators,
    '/v1/networks/fuji/validators?minUptimePerformance=90&pageSize=2&sortBy=timeRemaining&validationStatus=completed',
  ],
  [
    () => primaryNetwork.listDelegators({ delegationStatus: 'completed', rewardAddresses: ADDRESS }, options),
    ANSWERS.listDelegators,
    `/v1/networks/fuji/delegators?delegationStatus=completed&pageSize=10&rewardAddresses=${ADDRESS}`,
  ],
  [
    () => primaryNetwork.listBlockchains({ pageSize: 10_000, sortOrder: 'asc' }, options),
    ANSWERS.listBlockchains,
    '/v1/networks/fuji/blockchains?pageSize=10000&sortOrder=asc',
  ],
  [
    () =>
      primaryNetwork.transactions.listLatest(
        {
          blockchainId: 'p-chain',
          addresses: ADDRESS,
          txTypes: ['AddValidatorTx', 'AddDelegatorTx'],
          startTimestamp: 1,
        },
        options,
      ),
    ANSWERS.listPrimaryNetworkTransactions,
    `/v1/networks/fuji/blockchains/p-chain/transactions?addresses=${ADDRESS}&pageSize=10&startTimestamp=1&txTypes=AddValidatorTx&txTypes=AddDelegatorTx`,
  ],
  [
    () => primaryNetwork.blocks.listByNodeId({ blockchainId: 'p-chain', nodeId: NODE_ID, pageSize: 1 }, options),
    ANSWERS.listBlocksOfNode,
    `/v1/networks/fuji/blockchains/p-chain/nodes/${NODE_ID}/blocks?pageSize=1`,
  ],
  [
    () => primaryNetwork.vertices.listLatest({ blockchainId: 'x-chain' }, options),
    ANSWERS.listVertices,
    '/v1/networks/fuji/blockchains/x-chain/vertices?pageSize=10',
  ],
  [
    () => primaryNetwork.vertices.listByHeight({ blockchainId: 'x-chain', vertexHeight: 7 }, options),
    ANSWERS.listVerticesByHeight,
    '/v1/networks/fuji/blockchains/x-chain/vertices:listByHeight?pageSize=10&vertexHeight=7',
  ],
  [
    () => evm.address.transactions.listErc20({ address: EVM, startBlock: 1, endBlock: 9 }, options),
    ANSWERS.listErc20Transfers,
    `/v1/chains/43114/addresses/${EVM}/transactions:listErc20?endBlock=9&pageSize=10&startBlock=1`,
  ],
  [
    () => evm.address.transactions.listInternal({ address: EVM }, options),
    ANSWERS.listInternalTransactions,
    `/v1/chains/43114/addresses/${EVM}/transactions:listInternals?pageSize=10`,
  ],
  [
    () => evm.contracts.listTransfers({ address: EVM, pageSize: 100 }, options),
    ANSWERS.listTokenTransfers,
    `/v1/chains/43114/tokens/${EVM}/transfers?pageSize=100`,
  ],
  [
    () => nfts.list({ address: EVM }, options),
    ANSWERS.listNftTokens,
    `/v1/chains/43114/nfts/collections/${EVM}/tokens?pageSize=10`,
  ],
  // The documents do not have it.
  [
    () => evm.blocks.listLatest({ pageSize: 3 }, options),
    { blocks: [ANSWERS.getEvmBlock] },
    '/v1/chains/43114/blocks?pageSize=3',
  ],
];

/** Sorts the parameters of a target by their names. */
function sorted(target: string): string {
  const url = new URL(target, standIn.baseUrl);
  url.searchParams.sort();
  return url.pathname + url.search;
}

describe('the public client of the API lists, page by page,', { timeout: TIMEOUT_MS }, () => {
  test.each(LISTS.map(([read, answer, target]) => ({ read, answer, target })))(
    '$target',
    async ({ read, answer, target }) => {
      const pages = servePages(answer);
      expect(await readPages(read())).toEqual(pages);
      const tokens = ['', ...PAGE_TOKENS.map((token) => `&pageToken=${encodeURIComponent(token)}`)];
      expect(standIn.arrivals.map((arrival) => [arrival.method, sorted(arrival.target)])).toEqual(
        tokens.map((token) => ['GET', sorted(`${target}${token}`)]),
      );
    },
  );

  test('to the page that fails, whose error is typed as any other', async () => {
    servePages(ANSWERS.listBlockchains);
    const { behaviour = SILENCE } = standIn;
    standIn.behaviour = (...exchange) =>
      (standIn.arrivals.length < 3 ? behaviour : reply(400, { message: 'pageToken has expired' }))(...exchange);
    let read = 0;
    const reading = (async () => {
      const pages = await primaryNetwork.listBlockchains({}, options);
      for await (const _ of pages) read += 1;
    })();
    await expectFailure(reading, errors.BadRequestError, 400, 'upstream_error', 'pageToken has expired');
    expect(read).toBe(2);
  });
});

const asAnswer = (signedMessage: string) => ({ status: 201, headers: new Headers(), body: { signedMessage } });

describe('the public client of the API', { timeout: TIMEOUT_MS }, () => {
  test.each<readonly [name: string, read: () => PromiseLike<object>, sent: object, target: string]>([
    [
      'the chains of an address',
      () => primaryNetwork.getChainIdsForAddresses({ addresses: ADDRESS }, options),
      ANSWERS.listChainIdsOfAddresses,
      `/v1/networks/fuji/addresses:listChainIds?addresses=${ADDRESS}`,
    ],
    [
      'a transaction of the P-Chain',
      () => primaryNetwork.transactions.get({ blockchainId: 'p-chain', txHash: TX_ID }, options),
      ANSWERS.getPrimaryNetworkTransaction,
      `/v1/networks/fuji/blockchains/p-chain/transactions/${TX_ID}`,
    ],
    [
      'a block of an EVM chain',
      () => evm.blocks.get({ blockId: HASH }, options),
      ANSWERS.getEvmBlock,
      `/v1/chains/43114/blocks/${HASH}`,
    ],
    [
      'the transactions of a block',
      () => evm.blocks.listTransactions({ blockId: '339' }, options),
      ANSWERS.listBlockTransactions,
      '/v1/chains/43114/blocks/339/transactions?pageSize=0',
    ],
    [
      'a transaction of an EVM chain',
      () => evm.transactions.get({ txHash: HASH }, options),
      ANSWERS.getEvmTransaction,
      `/v1/chains/43114/transactions/${HASH}`,
    ],
  ])('looks up %s', async (_, read, sent, target) => {
    const found = await read();
    expect(Object.keys(found).toSorted()).toEqual(Object.keys(sent).toSorted());
    // This way round: deep within, the client leaves out what it does not know.
    expect(asRead(sent)).toMatchObject(found);
    expect(standIn.arrivals.map((arrival) => arrival.target)).toEqual([target]);
  });

  test('triggers a reindex; the error of a second one has the time of the next', async () => {
    await nfts.reindex({ address: EVM, tokenId: '145' }, options);
    const again = await expectFailure(
      nfts.reindex({ address: EVM, tokenId: '145' }, options),
      errors.TooManyRequestsError,
      429,
      'rate_limited',
      'tokenId was reindexed within the last hour',
    );
    const retryAfter = Number(again.headers.get('retry-after'));
    expect(retryAfter).toBeGreaterThan(3_600 - TIMEOUT_MS / 1_000);
    expect(retryAfter).toBeLessThanOrEqual(3_600);
    await nfts.reindex({ address: EVM, tokenId: '146' }, options);
    expect(standIn.arrivals.map(({ method, target, body }) => [method, target, body])).toEqual(
      ['145', '146'].map((id) => ['POST', `/v1/chains/43114/nfts/collections/${EVM}/tokens/${id}:reindex`, '']),
    );
  });

  test('aggregates by POST: a destination accepts the message that was sent', async () => {
    const message = service.devnet.emitMessages(1)[0] as string;
    const signatureAggregatorRequest = { message, quorumPercentage: 80, quorumPercentageBuffer: 20 };
    const { signedMessage } = await signatureAggregator.aggregate({ signatureAggregatorRequest }, options);
    expect(signedMessage).toMatch(new RegExp(`^${message.replace(/^0x/, '')}[0-9a-f]+$`));
    const { subnetID } = service.devnet.subnets.primary;
    expect(await service.verify(asAnswer(signedMessage), { subnetID, quorum: 80 })).toMatchObject({
      kind: 'valid',
    });
    expect(standIn.arrivals).toEqual([]);
  });

  test('aggregates by GET: a destination accepts the message of the transaction', async () => {
    // The client knows no parameters of transactions of other EVM chains than the C-Chain.
    const ofTransactions = service.devnet
      .examples('fuji')
      .filter(({ method, path }) => method === 'GET' && !path.includes('?'));
    expect(ofTransactions.length).toBeGreaterThan(0);
    for (const { path } of ofTransactions) {
      const txHash = path.split('/').at(-1) as string;
      const { subnetID } = service.devnet.subnets[txHash.startsWith('0x') ? 'primary' : 'l1'];
      const { signedMessage } = await signatureAggregator.get({ txHash }, options);
      const verification = await service.verify(asAnswer(signedMessage), { subnetID, quorum: 67 });
      expect({ path, ...verification }).toMatchObject({ path, kind: 'valid' });
    }
    expect(standIn.arrivals).toEqual([]);
  });
});

type ApiError = errors.AvalancheError & { readonly error: string };

/** Awaits the failure of a request, which must be of the client's type and have what it is made from; returns it. */
async function expectFailure(
  request: PromiseLike<unknown>,
  type: new (...args: never[]) => ApiError,
  statusCode: number,
  code: string,
  message: unknown,
): Promise<ApiError> {
  const failure = await request.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  expect(failure).toBeInstanceOf(type);
  const error = STATUS_CODES[statusCode];
  expect(failure).toMatchObject({ statusCode, error });
  // The client puts a list into a sentence.
  if (Array.isArray(message)) expect((failure as ApiError).message).toContain(JSON.stringify(message).slice(1, -1));
  else expect(failure).toMatchObject({ message });
  const typed = failure as ApiError;
  expect(JSON.parse(typed.body)).toEqual({ message, statusCode, error, code });
  return typed;
}

describe('the public client of the API has a typed error', { timeout: TIMEOUT_MS }, () => {
  const block = (blockId = '1', of = evm) => of.blocks.get({ blockId }, options);
  const aggregate = (message: string, of = signatureAggregator) =>
    of.aggregate({ signatureAggregatorRequest: { message } }, options);

  test('for a parameter that breaks a rule', async () => {
    const message = expect.stringMatching(/^blockId must be /);
    await expectFailure(block('latest'), errors.BadRequestError, 400, 'invalid_request', message);
    const ofBody = expect.stringMatching(/^message /);
    await expectFailure(aggregate('0xzz'), errors.BadRequestError, 400, 'invalid_request', ofBody);
    expect(standIn.arrivals).toEqual([]);
  });

  test('for a key that is not known', async () => {
    const { data } = new Avalanche({ ...CLIENT, apiKey: 'secret of somebody else' });
    const message = 'the API key is not known here; requests without a key are answered too';
    await expectFailure(block('1', data.evm), errors.UnauthorizedError, 401, 'unauthorized', message);
    await expectFailure(
      aggregate('0x00', data.signatureAggregator),
      errors.UnauthorizedError,
      401,
      'unauthorized',
      message,
    );
    expect(standIn.arrivals).toEqual([]);
  });

  test('for a transaction that does not exist', async () => {
    const failure = signatureAggregator.get({ txHash: TX_ID }, options);
    await expectFailure(failure, errors.NotFoundError, 404, 'unknown_transaction', expect.stringContaining(TX_ID));
  });

  test.each([
    [400, errors.BadRequestError],
    [401, errors.UnauthorizedError],
    [403, errors.ForbiddenError],
    [404, errors.NotFoundError],
    [429, errors.TooManyRequestsError],
    [500, errors.InternalServerError],
    [502, errors.BadGatewayError],
    [503, errors.ServiceUnavailableError],
  ])('for a %s of the upstream, in whichever form it is', async (status, type) => {
    for (const [sent, message] of [
      [{ message: 'words' }, 'words'],
      [{ message: ['words', 'and more'] }, ['words', 'and more']],
      ['<h1>no</h1>', `the upstream answered: ${STATUS_CODES[status]}`],
    ]) {
      standIn.behaviour = reply(status, sent, { 'retry-after': '17' });
      const failure = await expectFailure(block(), type, status, 'upstream_error', message);
      expect(failure.headers.get('retry-after')).toBe('17');
    }
  });
});
