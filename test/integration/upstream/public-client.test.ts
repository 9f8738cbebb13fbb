import { createHash } from 'node:crypto';
import { Avalanche } from '@avalanche-sdk/chainkit';
import * as errors from '@avalanche-sdk/chainkit/models/errors';
import { bech32 } from '@scure/base';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type RunningService, startService } from '../service/running-service.ts';
import { type StandIn, sendJson, startStandIn } from './stand-in.ts';
import { NODE_ID, TX_ID } from './stand-in-records.ts';
import { upstreamConfig } from './upstream-service.ts';

/** The embedded network's validators take some seconds to be there. */
const TIMEOUT_MS = 30_000;
const KEY = 'key of the client';
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

let service: RunningService;
let standIn: StandIn;
let client: Avalanche;
let options: { serverURL: string };
beforeAll(async () => {
  standIn = await startStandIn();
  // The client knows the status by another spelling than the documents, and prices as numbers.
  standIn.rewrite = (json) => json.replaceAll('"indexed"', '"INDEXED"').replaceAll('"42.42"', '42.42');
  service = await startService(12, {
    settings: {
      upstream: upstreamConfig(standIn),
      apiKeys: [
        {
          name: 'client',
          sha256: createHash('sha256').update(KEY).digest('hex'),
          unitsPerMinute: 1_000,
          routes: ['aggregation', 'data'],
        },
      ],
      rateLimitPerMinute: 100,
    },
  });
  client = new Avalanche({ ...CLIENT, apiKey: KEY });
  options = { serverURL: service.app.url };
}, TIMEOUT_MS);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await standIn[Symbol.asyncDispose]();
});
afterEach(() => {
  standIn.behaviour = undefined;
  standIn.arrivals.length = 0;
});

interface Page {
  readonly result: object;
}

/** Reads to the last page. */
async function pagesOf(pages: Promise<AsyncIterable<Page>>): Promise<object[]> {
  const results: object[] = [];
  for await (const { result } of await pages) results.push(result);
  return results;
}

describe('the public client of the API', { timeout: TIMEOUT_MS }, () => {
  test('lists everything page by page', async () => {
    const { primaryNetwork, evm, nfts } = client.data;
    const lists: readonly (readonly [name: string, pages: Promise<AsyncIterable<Page>>])[] = [
      [
        'validators',
        primaryNetwork.listValidators({ pageSize: 2, minUptimePerformance: 90, sortBy: 'timeRemaining' }, options),
      ],
      ['delegators', primaryNetwork.listDelegators({ delegationStatus: 'active', rewardAddresses: ADDRESS }, options)],
      ['blockchains', primaryNetwork.listBlockchains({ pageSize: 10_000 }, options)],
      [
        'transactions',
        primaryNetwork.transactions.listLatest(
          {
            blockchainId: 'p-chain',
            addresses: ADDRESS,
            txTypes: ['AddValidatorTx', 'AddDelegatorTx'],
            startTimestamp: 1,
          },
          options,
        ),
      ],
      ['blocks', primaryNetwork.blocks.listByNodeId({ blockchainId: 'p-chain', nodeId: NODE_ID }, options)],
      ['vertices', primaryNetwork.vertices.listLatest({ blockchainId: 'x-chain' }, options)],
      ['vertices', primaryNetwork.vertices.listByHeight({ blockchainId: 'x-chain', vertexHeight: 7 }, options)],
      ['transactions', evm.address.transactions.listErc20({ address: EVM, startBlock: 1, endBlock: 9 }, options)],
      ['transactions', evm.address.transactions.listInternal({ address: EVM }, options)],
      ['transfers', evm.contracts.listTransfers({ address: EVM }, options)],
      ['tokens', nfts.list({ address: EVM }, options)],
    ];
    for (const [name, pages] of lists) {
      const read = await pagesOf(pages);
      expect(read).toHaveLength(2);
      for (const page of read) expect(Object.entries(page).find(([field]) => field === name)?.[1]).not.toHaveLength(0);
    }
    expect(standIn.arrivals).toHaveLength(2 * lists.length);
    expect(JSON.stringify(standIn.arrivals)).not.toContain(KEY);
  });

  test('looks single things up', async () => {
    const { primaryNetwork, evm } = client.data;
    expect(await primaryNetwork.getChainIdsForAddresses({ addresses: ADDRESS }, options)).toMatchObject({
      addresses: [{ address: expect.any(String) }],
    });
    expect(await primaryNetwork.transactions.get({ blockchainId: 'p-chain', txHash: TX_ID }, options)).toMatchObject({
      txHash: TX_ID,
    });
    expect(await evm.blocks.get({ blockId: HASH }, options)).toMatchObject({ blockNumber: '339' });
    expect(await evm.blocks.listTransactions({ blockId: '339' }, options)).toMatchObject({
      transactions: [{ txHash: HASH }],
    });
    expect(await evm.transactions.get({ txHash: HASH }, options)).toMatchObject({
      nativeTransaction: { txHash: HASH },
    });
  });

  test('triggers a reindex, and has a typed error for the second within an hour', async () => {
    const request = { address: EVM, tokenId: '145' };
    await client.data.nfts.reindex(request, options);
    await expect(client.data.nfts.reindex(request, options)).rejects.toBeInstanceOf(errors.TooManyRequestsError);
    expect(standIn.arrivals.map(({ target }) => target)).toEqual([
      `/v1/chains/43114/nfts/collections/${EVM}/tokens/145:reindex`,
    ]);
  });

  test('aggregates by POST and GET', async () => {
    const { signatureAggregator } = client.data;
    const message = service.devnet.emitMessages(1)[0] as string;
    const posted = await signatureAggregator.aggregate({ signatureAggregatorRequest: { message } }, options);
    expect(posted.signedMessage).toMatch(/^[0-9a-f]+$/);
    const byHash = service.devnet.examples('fuji').find(({ method }) => method === 'GET');
    const txHash = byHash?.path.split('/').at(-1) ?? '';
    expect((await signatureAggregator.get({ txHash }, options)).signedMessage).toMatch(/^[0-9a-f]+$/);
  });

  test('has a typed error for each status', async () => {
    const block = (blockId = '1', keyed = client) => keyed.data.evm.blocks.get({ blockId }, options);
    await expect(block('latest')).rejects.toMatchObject({ name: 'BadRequestError', statusCode: 400 });
    await expect(block('1', new Avalanche({ ...CLIENT, apiKey: 'unknown' }))).rejects.toBeInstanceOf(
      errors.UnauthorizedError,
    );
    const answers: readonly (readonly [number, new (...args: never[]) => Error])[] = [
      [404, errors.NotFoundError],
      [429, errors.TooManyRequestsError],
      [500, errors.InternalServerError],
      [502, errors.BadGatewayError],
      [503, errors.ServiceUnavailableError],
    ];
    for (const [status, type] of answers) {
      standIn.behaviour = (_request, response) => sendJson(response, status, { message: ['of the upstream'] });
      const failure = block();
      await expect(failure).rejects.toBeInstanceOf(type);
      await expect(failure).rejects.toMatchObject({ message: expect.stringContaining('of the upstream') });
    }
    standIn.behaviour = (request) => request.socket.destroy();
    await expect(block()).rejects.toBeInstanceOf(errors.BadGatewayError);
  });

  test('without a key is limited sooner', async () => {
    const keyless = new Avalanche(CLIENT);
    const block = () => keyless.data.evm.blocks.get({ blockId: '1' }, options);
    const failures: unknown[] = [];
    for (let count = 0; count < 110; count += 1) await block().catch((error: unknown) => failures.push(error));
    expect(failures.length).toBeGreaterThan(0);
    for (const failure of failures) expect(failure).toBeInstanceOf(errors.TooManyRequestsError);
    expect(await client.data.evm.blocks.get({ blockId: '1' }, options)).toMatchObject({ blockNumber: '339' });
  });
});
