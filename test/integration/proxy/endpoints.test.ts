import { bech32 } from '@scure/base';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ANSWERS, NODE_ID, SUBNET_ID, TX_ID } from './stand-in-records.ts';
import { startUpstreamService, type UpstreamService } from './upstream-service.ts';

function address(prefix: string, fill = 1, length = 20): string {
  return bech32.encode(prefix, bech32.toWords(new Uint8Array(length).fill(fill)));
}

const FUJI = address('fuji');
const AVAX = address('avax');
const EVM = `0x${'aB'.repeat(20)}`;
const HASH = `0x${'0f'.repeat(32)}`;
const IDS = [
  '11111111111111111111111111111111LpoYY',
  '2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM',
  '2JVSBoinj9C2J33VntvzYtVJNZdN2NKiwwKjcumHUWEb5DbBrm',
  '2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5',
  'yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp',
];
const X_IDS = IDS.slice(1, 3);
const MAX_UINT64 = '18446744073709551615';
const txTypes = (count: number) => Array.from({ length: count }, (_, index) => `Kind${index}Tx`);

interface Case {
  readonly operation: keyof typeof ANSWERS;
  /** A target without a query that is good. */
  readonly path: string;
  /** What every good target needs in its query. */
  readonly needed?: string;
  /** Queries that pass. */
  readonly passes?: readonly string[];
  /** Queries that do not, with the parameter to be named. */
  readonly refuses?: readonly (readonly [query: string, name: string])[];
  readonly paths?: readonly string[];
  readonly refusedPaths?: readonly (readonly [path: string, name: string])[];
}

function pageSizes(min: number, max: number): Pick<Case, 'passes' | 'refuses'> {
  const wrong = [min - 1, max + 1, 'x', '', '1.5', '1e1', '0x10', '+1', '%201', '01'];
  return {
    passes: [`pageSize=${min}`, `pageSize=${max}`, 'pageToken=a%2Fb', 'unknown=1&pageToken=x'],
    refuses: [
      ...wrong.map((size) => [`pageSize=${size}`, 'pageSize'] as const),
      ['pageSize=1&pageSize=1', 'pageSize'],
      ['pageSize[]=1000', 'pageSize'],
      ['PageSize=1000', 'pageSize'],
      ['page%53ize=1000000', 'pageSize'],
    ],
  };
}

const SORT: Pick<Case, 'passes' | 'refuses'> = {
  passes: ['sortOrder=asc', 'sortOrder=desc'],
  refuses: [
    ['sortOrder=up', 'sortOrder'],
    ['sortOrder=', 'sortOrder'],
    ['sortOrder=asc&sortOrder=desc', 'sortOrder'],
  ],
};

/** Integers of "0 or more": as many digits as 64 bits have. */
function integers(name: string): Pick<Case, 'passes' | 'refuses'> {
  return {
    passes: ['0', '9007199254740993', MAX_UINT64, '9'.repeat(20)].map((value) => `${name}=${value}`),
    refuses: ['-1', '1'.repeat(21), 'now', '0.0', '1.5', '01', '1e1'].map((value) => [`${name}=${value}`, name]),
  };
}

function blockNumbers(name: string): Pick<Case, 'passes' | 'refuses'> {
  return {
    passes: ['0', '7.0', '9007199254740993', MAX_UINT64, '9'.repeat(20)].map((value) => `${name}=${value}`),
    refuses: ['-1', '1'.repeat(21), 'latest', '0x1', '01', '1e1', '7.'].map((value) => [`${name}=${value}`, name]),
  };
}

/** Values of integers and of fractions. */
function numbers(name: string, ...[min, max]: readonly [number, number]): Pick<Case, 'passes' | 'refuses'> {
  const wrong = [
    min - 1,
    max + 1,
    'now',
    `${max}.000000000000000000001`,
    `${min - 1}.999999999999999999999`,
    '1e1',
    '9.',
  ];
  return {
    passes: [min, max, `${min}.0`, `${min}.5`, `${max}.000`, `${max - 1}.99999999999999999999`].map(
      (value) => `${name}=${value}`,
    ),
    refuses: wrong.map((value) => [`${name}=${value}`, name]),
  };
}

function merge(...parts: readonly Pick<Case, 'passes' | 'refuses'>[]): Pick<Case, 'passes' | 'refuses'> {
  return {
    passes: parts.flatMap(({ passes = [] }) => passes),
    refuses: parts.flatMap(({ refuses = [] }) => refuses),
  };
}

const BLOCK_RANGE = merge(pageSizes(1, 100), blockNumbers('startBlock'), blockNumbers('endBlock'), {
  passes: ['startBlock=1&endBlock=2', 'startBlock=18446744073709551614&endBlock=18446744073709551615'],
  refuses: [
    ['startBlock=18446744073709551615&endBlock=18446744073709551615', 'startBlock'],
    ['startBlock=18446744073709551615&endBlock=18446744073709551614', 'startBlock'],
    ['startBlock=2&endBlock=2', 'startBlock'],
    ['startBlock=3&endBlock=2', 'startBlock'],
  ],
});

function networks(rest: string): Pick<Case, 'paths'> {
  return { paths: ['mainnet', 'fuji', 'testnet'].map((network) => `/v1/networks/${network}${rest}`) };
}

function chains(rest: string, ids: readonly string[]): Pick<Case, 'paths' | 'refusedPaths'> {
  const of = (id: string) => `/v1/networks/fuji/blockchains/${id}${rest}`;
  const others = [...IDS, 'p-chain', 'c-chain', 'P', 'X-Chain', TX_ID].filter((id) => !ids.includes(id));
  const { paths = [] } = networks(`/blockchains/x-chain${rest}`);
  return {
    paths: [...paths, ...ids.map(of)],
    refusedPaths: others.map((id) => [of(id), 'blockchainId'] as const),
  };
}
const ALL_CHAINS = [...IDS, 'p-chain', 'x-chain', 'c-chain'];
const X_CHAINS = [...X_IDS, 'x-chain'];

function evmPaths(of: (chain: string, item: string) => string, good: string[], bad: string[], name: string) {
  const [item = ''] = good;
  return {
    paths: [
      ...['1', '43114', '9'.repeat(20), TX_ID, HASH, HASH.slice(2)].map((chain) => of(chain, item)),
      ...good.map((value) => of('43114', value)),
    ],
    refusedPaths: [
      ...['0', '-1', '1.5', 'fuji', '043114', '9'.repeat(21), TX_ID.slice(1), 'x'.repeat(101), 'x'.repeat(1_000)].map(
        (chain) => [of(chain, item), 'chainId'] as const,
      ),
      ...bad.map((value) => [of('43114', value), name] as const),
    ],
  };
}
const ADDRESSES = [[EVM], ['0x12', EVM.slice(2), `${EVM}0`, AVAX, `0x${'g'.repeat(40)}`, EVM.repeat(20)]] as const;
const BLOCKS = [
  ['339', '0', MAX_UINT64, '9'.repeat(20), HASH],
  ['latest', '-1', '0x1', HASH.slice(2), '007', '1e3', '9'.repeat(21), '9'.repeat(1_000)],
] as const;

const CASES: readonly Case[] = [
  {
    operation: 'listPrimaryNetworkTransactions',
    path: '/v1/networks/fuji/blockchains/p-chain/transactions',
    ...chains('/transactions', ALL_CHAINS),
    ...merge(pageSizes(1, 100), SORT, {
      passes: [
        `addresses=${FUJI}`,
        `addresses=P-${FUJI},X-${address('fuji', 2)},${EVM}`,
        `addresses=${FUJI}&txTypes=AddValidatorTx&txTypes=AddDelegatorTx`,
        `addresses=${FUJI}&txTypes=AddValidatorTx,ConvertSubnetToL1Tx`,
        `addresses=${FUJI}&txTypes=UNKNOWN`,
        // The list of types is open.
        `addresses=${FUJI}&txTypes=AddSomethingNewTx`,
        `addresses=${FUJI}&startTimestamp=0&endTimestamp=${MAX_UINT64}`,
        `addresses=${FUJI}&startTimestamp=${MAX_UINT64}`,
        `addresses=${FUJI}&endTimestamp=0`,
        `addresses=${FUJI}&txTypes=${txTypes(100).join(',')}`,
        `addresses=${FUJI}&txTypes=${txTypes(50).join(',')}&txTypes=${txTypes(50).join(',')}`,
        `l1ValidationId=${TX_ID}`,
        `l1ValidationId=${HASH}`,
      ],
      refuses: [
        [`addresses=${AVAX}`, 'addresses'],
        [`addresses=${FUJI},${AVAX}`, 'addresses'],
        [`addresses=C-${FUJI}`, 'addresses'],
        [`addresses=${FUJI.slice(0, -1)}`, 'addresses'],
        [`addresses=${address('fuji', 1, 19)}`, 'addresses'],
        [`addresses=${address('custom')}`, 'addresses'],
        [`addresses=${FUJI},`, 'addresses'],
        ['addresses=', 'addresses'],
        ['addresses=0x12', 'addresses'],
        ['txTypes=AddValidatorTx', 'txTypes'],
        ['startTimestamp=1', 'startTimestamp'],
        ['endTimestamp=1', 'endTimestamp'],
        [`addresses=${FUJI}&txTypes=Add-Validator`, 'txTypes'],
        [`addresses=${FUJI}&txTypes=${'x'.repeat(65)}`, 'txTypes'],
        [`addresses=${FUJI}&txTypes=`, 'txTypes'],
        [`addresses=${FUJI}&txTypes=${txTypes(101).join(',')}`, 'txTypes'],
        [`addresses=${FUJI}&txTypes=${txTypes(50).join(',')}&txTypes=${txTypes(51).join(',')}`, 'txTypes'],
        [`addresses=${FUJI}&startTimestamp=-1`, 'startTimestamp'],
        [`addresses=${FUJI}&startTimestamp=${'1'.repeat(21)}`, 'startTimestamp'],
        [`addresses=${FUJI}&endTimestamp=-1`, 'endTimestamp'],
        [`addresses=${FUJI}&endTimestamp=${'1'.repeat(21)}`, 'endTimestamp'],
        ['l1ValidationId=x', 'l1ValidationId'],
        ['l1ValidationId=0x12', 'l1ValidationId'],
      ],
    }),
  },
  {
    operation: 'getPrimaryNetworkTransaction',
    path: `/v1/networks/fuji/blockchains/p-chain/transactions/${TX_ID}`,
    ...chains(`/transactions/${TX_ID}`, ALL_CHAINS),
    refusedPaths: [
      ...(chains(`/transactions/${TX_ID}`, ALL_CHAINS).refusedPaths ?? []),
      ['/v1/networks/fuji/blockchains/p-chain/transactions/x', 'txHash'],
      [`/v1/networks/fuji/blockchains/p-chain/transactions/${TX_ID.slice(1)}`, 'txHash'],
      [`/v1/networks/fuji/blockchains/p-chain/transactions/${'1'.repeat(1_000)}`, 'txHash'],
    ],
  },
  {
    operation: 'listBlockchains',
    path: '/v1/networks/mainnet/blockchains',
    ...networks('/blockchains'),
    ...merge(pageSizes(1, 10_000), SORT),
  },
  {
    operation: 'listValidators',
    path: '/v1/networks/mainnet/validators',
    ...networks('/validators'),
    ...merge(
      pageSizes(1, 100),
      SORT,
      numbers('minTimeRemaining', 0, 2_147_483_647),
      numbers('maxTimeRemaining', 0, 2_147_483_647),
      numbers('minFeePercentage', 2, 100),
      numbers('maxFeePercentage', 2, 100),
      numbers('minUptimePerformance', 0, 100),
      numbers('maxUptimePerformance', 0, 100),
      {
        passes: [
          `nodeIds=${NODE_ID},NodeID-1,abc`,
          `nodeIds=a,${'b'.repeat(64)}`,
          ...['blockIndex', 'delegationCapacity', 'timeRemaining', 'uptimePerformance'].map((by) => `sortBy=${by}`),
          `sortBy=delegationFee&subnetId=${SUBNET_ID}`,
          ...['completed', 'active', 'pending', 'removed'].map((status) => `validationStatus=${status}`),
          ...['min', 'max'].flatMap((end) => ['0', '720000000000000000'].map((n) => `${end}DelegationCapacity=${n}`)),
          'minFeePercentage=2.5&maxFeePercentage=2.5',
          'minUptimePerformance=99.99',
          `subnetId=${TX_ID}`,
        ],
        refuses: [
          ['nodeIds=', 'nodeIds'],
          ['nodeIds=a,,b', 'nodeIds'],
          [`nodeIds=a,${'b'.repeat(65)}`, 'nodeIds'],
          ['nodeIds=%3Cscript%3E', 'nodeIds'],
          ['sortBy=weight', 'sortBy'],
          ['sortBy=delegationFee', 'sortBy'],
          [`sortBy=delegationFee&subnetId=${TX_ID}`, 'sortBy'],
          ['validationStatus=done', 'validationStatus'],
          ['minDelegationCapacity=-1', 'minDelegationCapacity'],
          ['minDelegationCapacity=720000000000000001', 'minDelegationCapacity'],
          ['maxDelegationCapacity=720000000000000001', 'maxDelegationCapacity'],
          ['maxDelegationCapacity=1.5', 'maxDelegationCapacity'],
          ['maxDelegationCapacity=-1', 'maxDelegationCapacity'],
          ['minDelegationCapacity=1.5', 'minDelegationCapacity'],
          ['minDelegationCapacity=2&maxDelegationCapacity=1', 'minDelegationCapacity'],
          ['minTimeRemaining=2&maxTimeRemaining=1', 'minTimeRemaining'],
          ['minFeePercentage=1.99', 'minFeePercentage'],
          ['minFeePercentage=50&maxFeePercentage=49.5', 'minFeePercentage'],
          ['maxUptimePerformance=100.01', 'maxUptimePerformance'],
          ['minUptimePerformance=50&maxUptimePerformance=49', 'minUptimePerformance'],
          ['subnetId=x', 'subnetId'],
        ],
      },
    ),
    refusedPaths: [[`/v1/networks/fuji/validators?sortBy=delegationFee&subnetId=${SUBNET_ID}`, 'sortBy']],
  },
  {
    operation: 'listDelegators',
    path: '/v1/networks/mainnet/delegators',
    ...networks('/delegators'),
    ...merge(pageSizes(1, 100), SORT, {
      passes: [
        `rewardAddresses=${AVAX},P-${address('avax', 3)}`,
        ...['completed', 'active', 'pending'].map((status) => `delegationStatus=${status}`),
        `nodeIds=${NODE_ID},${NODE_ID}`,
      ],
      refuses: [
        [`rewardAddresses=${FUJI}`, 'rewardAddresses'],
        ['rewardAddresses=x', 'rewardAddresses'],
        ['delegationStatus=removed', 'delegationStatus'],
        ['nodeIds=x', 'nodeIds'],
      ],
    }),
  },
  {
    operation: 'listVertices',
    path: '/v1/networks/fuji/blockchains/x-chain/vertices',
    ...chains('/vertices', X_CHAINS),
    ...pageSizes(1, 100),
  },
  {
    operation: 'listVerticesByHeight',
    path: '/v1/networks/fuji/blockchains/x-chain/vertices:listByHeight',
    needed: 'vertexHeight=7',
    ...chains('/vertices:listByHeight', X_CHAINS),
    ...merge(pageSizes(1, 100), SORT),
    paths: [
      ...(chains('/vertices:listByHeight', X_CHAINS).paths ?? []).map((path) => `${path}?vertexHeight=7`),
      '/v1/networks/fuji/blockchains/x-chain/vertices:listByHeight?vertexHeight=0',
      '/v1/networks/fuji/blockchains/x-chain/vertices:listByHeight?vertexHeight=18446744073709551615',
    ],
    refusedPaths: [
      ...(chains('/vertices:listByHeight', X_CHAINS).refusedPaths ?? []),
      ...['', '?vertexHeight=', '?vertexHeight=-1', '?vertexHeight=1.5', '?vertexHeight=184467440737095516150'].map(
        (query) => [`/v1/networks/fuji/blockchains/x-chain/vertices:listByHeight${query}`, 'vertexHeight'] as const,
      ),
    ],
  },
  {
    operation: 'listBlocksOfNode',
    path: `/v1/networks/fuji/blockchains/p-chain/nodes/${NODE_ID}/blocks`,
    ...chains(`/nodes/${NODE_ID}/blocks`, ALL_CHAINS),
    ...merge(pageSizes(1, 100), integers('startTimestamp'), integers('endTimestamp')),
    refusedPaths: [
      ...(chains(`/nodes/${NODE_ID}/blocks`, ALL_CHAINS).refusedPaths ?? []),
      [`/v1/networks/fuji/blockchains/p-chain/nodes/${NODE_ID.slice(7)}/blocks`, 'nodeId'],
      [`/v1/networks/fuji/blockchains/p-chain/nodes/${NODE_ID}1/blocks`, 'nodeId'],
      [`/v1/networks/fuji/blockchains/p-chain/nodes/${NODE_ID.repeat(10)}/blocks`, 'nodeId'],
    ],
  },
  {
    operation: 'listChainIdsOfAddresses',
    path: '/v1/networks/fuji/addresses:listChainIds',
    needed: `addresses=${EVM}`,
    ...networks('/addresses:listChainIds'),
    refusedPaths: [
      ...['', '?addresses=', `?addresses=${AVAX}`, '?addresses=1'].map(
        (query) => [`/v1/networks/fuji/addresses:listChainIds${query}`, 'addresses'] as const,
      ),
    ],
  },
  {
    operation: 'listErc20Transfers',
    path: `/v1/chains/43114/addresses/${EVM}/transactions:listErc20`,
    ...evmPaths(
      (chain, item) => `/v1/chains/${chain}/addresses/${item}/transactions:listErc20`,
      [...ADDRESSES[0]],
      [...ADDRESSES[1]],
      'address',
    ),
    ...BLOCK_RANGE,
  },
  {
    operation: 'listInternalTransactions',
    path: `/v1/chains/43114/addresses/${EVM}/transactions:listInternals`,
    ...evmPaths(
      (chain, item) => `/v1/chains/${chain}/addresses/${item}/transactions:listInternals`,
      [...ADDRESSES[0]],
      [...ADDRESSES[1]],
      'address',
    ),
    ...BLOCK_RANGE,
  },
  {
    operation: 'listTokenTransfers',
    path: `/v1/chains/43114/tokens/${EVM}/transfers`,
    ...evmPaths(
      (chain, item) => `/v1/chains/${chain}/tokens/${item}/transfers`,
      [...ADDRESSES[0]],
      [...ADDRESSES[1]],
      'address',
    ),
    ...BLOCK_RANGE,
  },
  {
    operation: 'getEvmBlock',
    path: '/v1/chains/43114/blocks/339',
    ...evmPaths((chain, item) => `/v1/chains/${chain}/blocks/${item}`, [...BLOCKS[0]], [...BLOCKS[1]], 'blockId'),
  },
  {
    operation: 'listBlockTransactions',
    path: '/v1/chains/43114/blocks/339/transactions',
    ...evmPaths(
      (chain, item) => `/v1/chains/${chain}/blocks/${item}/transactions`,
      [...BLOCKS[0]],
      [...BLOCKS[1]],
      'blockId',
    ),
    ...pageSizes(0, 100),
  },
  {
    operation: 'getEvmTransaction',
    path: `/v1/chains/43114/transactions/${HASH}`,
    ...evmPaths(
      (chain, item) => `/v1/chains/${chain}/transactions/${item}`,
      [HASH],
      [TX_ID, '0x1', `${HASH}0`, HASH.repeat(10)],
      'txHash',
    ),
  },
  {
    operation: 'listNftTokens',
    path: `/v1/chains/43114/nfts/collections/${EVM}/tokens`,
    ...evmPaths(
      (chain, item) => `/v1/chains/${chain}/nfts/collections/${item}/tokens`,
      [...ADDRESSES[0]],
      [...ADDRESSES[1]],
      'address',
    ),
    ...pageSizes(1, 100),
  },
  {
    operation: 'getAverageTps',
    path: '/v1/avg_tps/43114',
    paths: ['/v1/avg_tps/1', `/v1/avg_tps/${TX_ID}`, '/v1/avg_tps/43114?pageToken=9'],
    refusedPaths: ['0', 'x', '-1', '1.0'].map((chain) => [`/v1/avg_tps/${chain}`, 'chainId']),
  },
];

let service: UpstreamService;
beforeAll(async () => {
  service = await startUpstreamService();
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
});

describe.each(CASES)(
  '$operation',
  ({ operation, path, needed, passes = [], refuses = [], paths = [], refusedPaths = [] }) => {
    const withQuery = (query: string) =>
      `${path}?${[needed, query].filter((part) => part !== undefined && part !== '').join('&')}`;
    const bare = needed === undefined ? path : `${path}?${needed}`;

    test('passes on every good request and its answer unchanged', async () => {
      const targets = [
        bare,
        ...passes.map(withQuery),
        ...paths.map((other) => (needed === undefined || other.includes('?') ? other : `${other}?${needed}`)),
      ];
      for (const target of targets) {
        const arrived = service.standIn.arrivals.length;
        const { status, body } = await service.get(target);
        expect({ target, status, body }).toMatchObject({ status: 200 });
        const expected: Record<string, unknown> = { ...ANSWERS[operation] };
        if (target.includes('pageToken')) delete expected['nextPageToken'];
        expect(body).toEqual(expected);
        expect(service.standIn.arrivals.slice(arrived).map((arrival) => arrival.target)).toEqual([target]);
      }
    });

    test('rejects values one step outside the limits with a 400 that names the parameter, and passes nothing on', async () => {
      const arrived = service.standIn.arrivals.length;
      const targets = [...refuses.map(([query, name]) => [withQuery(query), name] as const), ...refusedPaths];
      for (const [target, name] of targets) {
        const { status, body } = await service.get(target);
        expect({ target, status, ...body }).toMatchObject({
          target,
          status: 400,
          statusCode: 400,
          error: 'Bad Request',
          code: 'invalid_request',
        });
        expect(`${target}: ${String(body['message'])}`).toMatch(new RegExp(`: ${name} \\S`));
      }
      expect(service.standIn.arrivals).toHaveLength(arrived);
    });
  },
);

test.each(CASES.filter(({ path }) => path.startsWith('/v1/networks/')))(
  '$operation of a network that is not there is 404, as on the routes of aggregation',
  async ({ path }) => {
    const arrived = service.standIn.arrivals.length;
    for (const network of ['devnet', 'Mainnet', 'FUJI', 'x'.repeat(1_000)]) {
      // Whatever else may be wrong.
      const { status, body } = await service.get(`${path.replace(/networks\/\w+/, `networks/${network}`)}?pageSize=x`);
      expect([status, body]).toEqual([
        404,
        {
          message: `network "${network.slice(0, 100)}" is not served here; served: mainnet, fuji, testnet`,
          statusCode: 404,
          error: 'Not Found',
          code: 'unknown_network',
        },
      ]);
    }
    expect(service.standIn.arrivals).toHaveLength(arrived);
  },
);

test.each(CASES)('$operation answers HEAD as GET, without the body', async ({ path, needed }) => {
  const target = needed === undefined ? path : `${path}?${needed}`;
  const got = await service.get(target);
  const head = await fetch(`${service.url}${target}`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  for (const name of ['content-type', 'content-length', 'cache-control']) {
    expect([name, head.headers.get(name)]).toEqual([name, got.headers.get(name)]);
  }
  const wrong = await fetch(`${service.url}${path}?pageSize=x&addresses=x&pageToken=x&pageToken=y`, { method: 'HEAD' });
  const isChecked = !/^(getEvmBlock|getEvmTransaction|getPrimaryNetworkTransaction)$/.test(
    CASES.find((each) => each.path === path)?.operation ?? '',
  );
  expect(wrong.status).toBe(isChecked ? 400 : 200);
});

test('l1ValidationId is a filter of the P-Chain only', async () => {
  const { status, body } = await service.get(
    `/v1/networks/fuji/blockchains/x-chain/transactions?l1ValidationId=${TX_ID}`,
  );
  expect([status, body['message']]).toEqual([400, 'l1ValidationId is a filter of the P-Chain only']);
});

test('every documented route is tested here', () => {
  expect(new Set(CASES.map(({ operation }) => operation))).toEqual(new Set(Object.keys(ANSWERS)));
});
