import { createHash } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { Avalanche } from '@avalanche-sdk/chainkit';
import * as errors from '@avalanche-sdk/chainkit/models/errors';
import { bech32 } from '@scure/base';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { shareService } from '../service/shared-service.ts';
import { reply, startStandIn } from './stand-in.ts';
import { ANSWERS, NODE_ID, TX_ID } from './stand-in-records.ts';
import { upstreamSettings } from './upstream-service.ts';

/** The public client of the API, as its users have it but for the address, before the service on the devnet. */

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
/** Needs escapes in a query. */
const PAGE_TOKEN = 'a+b/c=&d?é %2B';

const standIn = await startStandIn();
afterAll(() => standIn[Symbol.asyncDispose]());
standIn.rewrite = rewriteForClient;
const sha256 = createHash('sha256').update(SECRET).digest('hex');
const service = await shareService(12, {
  settings: {
    upstream: upstreamSettings(standIn),
    access: {
      apiKeys: [{ name: 'of the client', sha256, unitsPerMinute: 1_000, routes: ['aggregation', 'data'] }],
      unitsPerMinute: 100,
    },
  },
});
const { primaryNetwork, evm, nfts, signatureAggregator } = new Avalanche({ ...CLIENT, apiKey: SECRET }).data;
const options = { serverURL: service.app.url };
afterEach(() => {
  const arrived = JSON.stringify(standIn.arrivals);
  standIn.behaviour = undefined;
  standIn.arrivals.length = 0;
  if (arrived.includes('secret')) throw new Error("the client's key has reached the upstream");
});

/** The client knows the status by another spelling than the documents, and prices as numbers. */
function rewriteForClient(json: string): string {
  return json
    .replaceAll('"indexed"', '"INDEXED"')
    .replaceAll('"42.42"', '42.42')
    .replace(/(?<="nextPageToken":")[^"]+/, PAGE_TOKEN);
}

/** An answer of the stand-in, as the client should give it. */
function asRead(answer: object): object {
  return JSON.parse(rewriteForClient(JSON.stringify(answer)));
}

/** Sorts the parameters of a target by their names. */
function sorted(target: string): string {
  const url = new URL(target, standIn.baseUrl);
  url.searchParams.sort();
  return url.pathname + url.search;
}

type Pages = PromiseLike<AsyncIterable<{ readonly result: object }>>;

describe('the public client of the API lists both pages of', () => {
  test.each<[operation: keyof typeof ANSWERS, target: string, read: () => Pages]>([
    [
      'listValidators',
      '/v1/networks/fuji/validators?minUptimePerformance=90&pageSize=2&sortBy=timeRemaining&validationStatus=completed',
      () =>
        primaryNetwork.listValidators(
          { pageSize: 2, minUptimePerformance: 90, sortBy: 'timeRemaining', validationStatus: 'completed' },
          options,
        ),
    ],
    [
      'listDelegators',
      `/v1/networks/fuji/delegators?delegationStatus=completed&pageSize=10&rewardAddresses=${ADDRESS}`,
      () => primaryNetwork.listDelegators({ delegationStatus: 'completed', rewardAddresses: ADDRESS }, options),
    ],
    [
      'listBlockchains',
      '/v1/networks/fuji/blockchains?pageSize=10000&sortOrder=asc',
      () => primaryNetwork.listBlockchains({ pageSize: 10_000, sortOrder: 'asc' }, options),
    ],
    [
      'listPrimaryNetworkTransactions',
      `/v1/networks/fuji/blockchains/p-chain/transactions?addresses=${ADDRESS}&pageSize=10&txTypes=AddValidatorTx&txTypes=AddDelegatorTx`,
      () =>
        primaryNetwork.transactions.listLatest(
          { blockchainId: 'p-chain', addresses: ADDRESS, txTypes: ['AddValidatorTx', 'AddDelegatorTx'] },
          options,
        ),
    ],
    [
      'listBlocksOfNode',
      `/v1/networks/fuji/blockchains/p-chain/nodes/${NODE_ID}/blocks?pageSize=1`,
      () => primaryNetwork.blocks.listByNodeId({ blockchainId: 'p-chain', nodeId: NODE_ID, pageSize: 1 }, options),
    ],
    [
      'listVertices',
      '/v1/networks/fuji/blockchains/x-chain/vertices?pageSize=10',
      () => primaryNetwork.vertices.listLatest({ blockchainId: 'x-chain' }, options),
    ],
    [
      'listVerticesByHeight',
      '/v1/networks/fuji/blockchains/x-chain/vertices:listByHeight?pageSize=10&vertexHeight=7',
      () => primaryNetwork.vertices.listByHeight({ blockchainId: 'x-chain', vertexHeight: 7 }, options),
    ],
    [
      'listErc20Transfers',
      `/v1/chains/43114/addresses/${EVM}/transactions:listErc20?endBlock=9&pageSize=10&startBlock=1`,
      () => evm.address.transactions.listErc20({ address: EVM, startBlock: 1, endBlock: 9 }, options),
    ],
    [
      'listInternalTransactions',
      `/v1/chains/43114/addresses/${EVM}/transactions:listInternals?pageSize=10`,
      () => evm.address.transactions.listInternal({ address: EVM }, options),
    ],
    [
      'listTokenTransfers',
      `/v1/chains/43114/tokens/${EVM}/transfers?pageSize=100`,
      () => evm.contracts.listTransfers({ address: EVM, pageSize: 100 }, options),
    ],
    [
      'listNftTokens',
      `/v1/chains/43114/nfts/collections/${EVM}/tokens?pageSize=10`,
      () => nfts.list({ address: EVM }, options),
    ],
  ])('%s', async (operation, target, read) => {
    const pages: object[] = [];
    for await (const { result } of await read()) pages.push(result);
    const { nextPageToken: _, ...last } = asRead(ANSWERS[operation]) as { nextPageToken: string };
    expect(pages).toEqual([asRead(ANSWERS[operation]), last]);
    expect(standIn.arrivals.map((arrival) => sorted(arrival.target))).toEqual(
      [target, `${target}&pageToken=${encodeURIComponent(PAGE_TOKEN)}`].map(sorted),
    );
  });
});

describe('the public client of the API', () => {
  test.each<[operation: keyof typeof ANSWERS, target: string, read: () => PromiseLike<object>]>([
    [
      'listChainIdsOfAddresses',
      `/v1/networks/fuji/addresses:listChainIds?addresses=${ADDRESS}`,
      () => primaryNetwork.getChainIdsForAddresses({ addresses: ADDRESS }, options),
    ],
    [
      'getPrimaryNetworkTransaction',
      `/v1/networks/fuji/blockchains/p-chain/transactions/${TX_ID}`,
      () => primaryNetwork.transactions.get({ blockchainId: 'p-chain', txHash: TX_ID }, options),
    ],
    ['getEvmBlock', `/v1/chains/43114/blocks/${HASH}`, () => evm.blocks.get({ blockId: HASH }, options)],
    [
      'listBlockTransactions',
      '/v1/chains/43114/blocks/339/transactions?pageSize=0',
      () => evm.blocks.listTransactions({ blockId: '339' }, options),
    ],
    [
      'getEvmTransaction',
      `/v1/chains/43114/transactions/${HASH}`,
      () => evm.transactions.get({ txHash: HASH }, options),
    ],
  ])('looks up %s', async (operation, target, read) => {
    const found = await read();
    expect(Object.keys(found).toSorted()).toEqual(Object.keys(ANSWERS[operation]).toSorted());
    // This way round: deep within, the client leaves out what it does not know.
    expect(asRead(ANSWERS[operation])).toMatchObject(found);
    expect(standIn.arrivals.map((arrival) => arrival.target)).toEqual([target]);
  });

  test('triggers a reindex; the error of a second one has the time of the next', async () => {
    const reindex = (tokenId: string) => nfts.reindex({ address: EVM, tokenId }, options);
    await reindex('145');
    const message = 'tokenId is being reindexed, or was within the last hour';
    const again = await expectFailure(reindex('145'), errors.TooManyRequestsError, 429, 'rate_limited', message);
    expect(Number(again.headers.get('retry-after'))).toBeGreaterThan(3_500);
    await reindex('146');
    expect(standIn.arrivals.map(({ method, target, body }) => [method, target, body])).toEqual(
      ['145', '146'].map((id) => ['POST', `/v1/chains/43114/nfts/collections/${EVM}/tokens/${id}:reindex`, '']),
    );
  });

  test('aggregates by message and by transaction: a destination accepts the signed message', async () => {
    const { l1, primary } = service.devnet.subnets;
    const verify = (signedMessage: string, subnetID: string, quorum: number) =>
      service.verify({ status: 201, headers: new Headers(), body: { signedMessage } }, { subnetID, quorum });
    const message = service.devnet.emitMessages(1)[0] as string;
    const signatureAggregatorRequest = { message, quorumPercentage: 80, quorumPercentageBuffer: 20 };
    const { signedMessage } = await signatureAggregator.aggregate({ signatureAggregatorRequest }, options);
    expect(await verify(signedMessage, primary.subnetID, 80)).toMatchObject({ kind: 'valid' });
    // The client knows no parameters of transactions of other EVM chains than the C-Chain.
    const ofTransactions = service.devnet
      .examples('fuji')
      .filter(({ method, path }) => method === 'GET' && !path.includes('?'));
    expect(ofTransactions.length).toBeGreaterThan(0);
    for (const { name, path } of ofTransactions) {
      const txHash = path.split('/').at(-1) as string;
      // A Teleporter message is signed for the destination in it, the L1.
      const { subnetID } = txHash.startsWith('0x') && !name.includes('Teleporter') ? primary : l1;
      const signed = await signatureAggregator.get({ txHash }, options);
      expect({ path, ...(await verify(signed.signedMessage, subnetID, 67)) }).toMatchObject({ path, kind: 'valid' });
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
  const failure = (await request.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  )) as ApiError;
  expect(failure).toBeInstanceOf(type);
  const error = STATUS_CODES[statusCode];
  expect(failure).toMatchObject({ statusCode, error });
  // The client puts a list into a sentence.
  if (Array.isArray(message)) expect(failure.message).toContain(JSON.stringify(message).slice(1, -1));
  else expect(failure).toMatchObject({ message });
  expect(JSON.parse(failure.body)).toEqual({ message, statusCode, error, code });
  return failure;
}

describe('the public client of the API has a typed error', () => {
  const block = (blockId = '1', of = evm) => of.blocks.get({ blockId }, options);

  test('for a parameter that breaks a rule', async () => {
    const message = expect.stringMatching(/^blockId must be /);
    await expectFailure(block('latest'), errors.BadRequestError, 400, 'invalid_request', message);
    const aggregating = signatureAggregator.aggregate({ signatureAggregatorRequest: { message: '0xzz' } }, options);
    const ofBody = expect.stringMatching(/^message /);
    await expectFailure(aggregating, errors.BadRequestError, 400, 'invalid_request', ofBody);
  });

  test('for a key that is not known', async () => {
    const { data } = new Avalanche({ ...CLIENT, apiKey: 'secret of somebody else' });
    const message = 'the API key is not known here; requests without a key are answered too';
    await expectFailure(block('1', data.evm), errors.UnauthorizedError, 401, 'unauthorized', message);
    expect(standIn.arrivals).toEqual([]);
  });

  test('for a transaction that does not exist', async () => {
    const failure = signatureAggregator.get({ txHash: TX_ID }, options);
    await expectFailure(failure, errors.NotFoundError, 404, 'unknown_transaction', expect.stringContaining(TX_ID));
  });

  test.each<[number, new (...args: never[]) => ApiError, string | string[]]>([
    [400, errors.BadRequestError, ['words', 'and more']],
    [401, errors.UnauthorizedError, 'words'],
    [403, errors.ForbiddenError, 'words'],
    [404, errors.NotFoundError, 'words'],
    [429, errors.TooManyRequestsError, 'words'],
    [500, errors.InternalServerError, 'words'],
    [502, errors.BadGatewayError, 'words'],
    [503, errors.ServiceUnavailableError, 'words'],
  ])('for a %s of the upstream', async (status, type, message) => {
    standIn.behaviour = reply(status, { message }, { 'retry-after': '17' });
    const failure = await expectFailure(block(), type, status, 'upstream_error', message);
    expect(failure.headers.get('retry-after')).toBe('17');
  });
});
