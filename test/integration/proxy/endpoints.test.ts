import { bech32 } from '@scure/base';
import { describe, expect, test } from 'vitest';
import { UPSTREAM_ENDPOINTS } from '../../../src/proxy/catalogue/upstream-endpoints.ts';
import { shareUpstreamService } from './shared-service.ts';
import { ANSWERS, NODE_ID, SUBNET_ID, TX_ID } from './stand-in-records.ts';

function address(prefix: string, fill = 1, length = 20): string {
  return bech32.encode(prefix, bech32.toWords(new Uint8Array(length).fill(fill)));
}

const FUJI = address('fuji');
const AVAX = address('avax');
const EVM = `0x${'aB'.repeat(20)}`;
const HASH = `0x${'0f'.repeat(32)}`;
const X_IDS = [
  '2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM',
  '2JVSBoinj9C2J33VntvzYtVJNZdN2NKiwwKjcumHUWEb5DbBrm',
];
const OTHER_IDS = [
  '11111111111111111111111111111111LpoYY',
  '2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5',
  'yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp',
];
/** Times and block numbers are integers that JSON holds exactly. */
const MAX = Number.MAX_SAFE_INTEGER;

interface Query {
  readonly good?: readonly string[];
  /** Keyed by the parameter that the error names. */
  readonly bad?: Readonly<Record<string, readonly string[]>>;
}

interface Case {
  readonly operation: keyof typeof ANSWERS;
  /** Good paths, the first with all queries. Each may have the query that it needs. */
  readonly paths: readonly string[];
  readonly badPaths?: Readonly<Record<string, readonly string[]>>;
  readonly queries?: readonly Query[];
}

function page(min: number, max: number): Query {
  const wrong = [min - 1, max + 1, '', '1.5', '1e1', '0x10', '01', '1&pageSize=1'].map((size) => `pageSize=${size}`);
  return {
    good: [`pageSize=${min}`, `pageSize=${max}`, 'pageToken=a%2Fb'],
    bad: { pageSize: [...wrong, 'pageSize[]=1000', 'PageSize=1000', 'page%53ize=1000000'] },
  };
}

function values(name: string, good: readonly (string | number)[], bad: readonly (string | number)[]): Query {
  return { good: good.map((value) => `${name}=${value}`), bad: { [name]: bad.map((value) => `${name}=${value}`) } };
}

const PAGE = page(1, 100);
const SORT = values('sortOrder', ['asc', 'desc'], ['up', '', 'asc&sortOrder=desc']);
const integer = (name: string) => values(name, [0, MAX], [-1, '9007199254740992', '1'.repeat(21), '1.5']);
const block = (name: string) => values(name, [0, '7.0', MAX], [-1, '9007199254740992', '1'.repeat(21), 'latest']);
const share = (name: string, min: number, max: number) =>
  values(name, [min, max, `${max - 1}.9999999999999999999`], [min - 1, `${max}.00000000000000000001`]);
const RANGE: Query = {
  good: ['startBlock=9007199254740990&endBlock=9007199254740991'],
  bad: { startBlock: ['startBlock=2&endBlock=2', 'startBlock=9007199254740991&endBlock=9007199254740990'] },
};

/** Paths with each chain of the primary network, or of the X-Chain only. */
function ofChains(rest: string, { onlyX = false } = {}): Pick<Case, 'paths' | 'badPaths'> {
  const of = (chain: string) => `/v1/networks/fuji/blockchains/${chain}${rest}`;
  const others = ['p-chain', 'c-chain', ...OTHER_IDS];
  const networks = ['fuji', 'mainnet', 'testnet'].map((name) => `/v1/networks/${name}/blockchains/x-chain${rest}`);
  return {
    paths: [...networks, ...[...X_IDS, ...(onlyX ? [] : others)].map(of)],
    badPaths: { blockchainId: ['P', 'X-Chain', TX_ID, ...(onlyX ? others : [])].map(of) },
  };
}

function ofNetworks(rest: string): Pick<Case, 'paths'> {
  return { paths: ['mainnet', 'fuji', 'testnet'].map((network) => `/v1/networks/${network}${rest}`) };
}

/** Paths with EVM chains and one more parameter. */
function ofEvm(
  name: string,
  good: readonly string[],
  bad: readonly string[],
  path: (chain: string, item: string) => string,
) {
  const [item = ''] = good;
  const wrong = ['0', '-1', '1.5', 'fuji', '043114', '9'.repeat(21), TX_ID.slice(1), 'x'.repeat(1_000)];
  return {
    paths: [
      ...good.map((value) => path('43114', value)),
      ...['1', '9'.repeat(20), TX_ID, HASH, HASH.slice(2)].map((chain) => path(chain, item)),
    ],
    badPaths: { chainId: wrong.map((chain) => path(chain, item)), [name]: bad.map((value) => path('43114', value)) },
  };
}

const BAD_ADDRESSES = ['0x12', EVM.slice(2), `${EVM}0`, AVAX, `0x${'g'.repeat(40)}`];
const BLOCKS = ['339', '0', '18446744073709551615', HASH];
const BAD_BLOCKS = ['latest', '-1', '0x1', HASH.slice(2), '007', '1e3', '9'.repeat(21)];
const TYPES = Array.from({ length: 101 }, (_, index) => `Kind${index}Tx`);

const CASES: readonly Case[] = [
  {
    operation: 'listPrimaryNetworkTransactions',
    ...ofChains('/transactions'),
    paths: ['/v1/networks/fuji/blockchains/p-chain/transactions', ...ofChains('/transactions').paths],
    queries: [
      PAGE,
      SORT,
      {
        good: [
          `addresses=P-${FUJI},X-${address('fuji', 2)},${EVM}`,
          // The list of types is open.
          `addresses=${FUJI}&txTypes=AddValidatorTx,AddSomethingNewTx&txTypes=UNKNOWN`,
          `addresses=${FUJI}&txTypes=${TYPES.slice(1).join(',')}`,
          `addresses=${FUJI}&startTimestamp=0&endTimestamp=${MAX}`,
          ...[TX_ID, HASH].map((id) => `l1ValidationId=${id}`),
        ],
        bad: {
          addresses: [
            AVAX,
            `${FUJI},${AVAX}`,
            `C-${FUJI}`,
            FUJI.slice(0, -1),
            address('fuji', 1, 19),
            `${FUJI},`,
            '',
          ].map((list) => `addresses=${list}`),
          txTypes: [
            'txTypes=AddValidatorTx',
            ...['Add-Validator', 'x'.repeat(65), '', TYPES.join(','), `a&txTypes=${TYPES.slice(1).join(',')}`].map(
              (types) => `addresses=${FUJI}&txTypes=${types}`,
            ),
          ],
          startTimestamp: ['startTimestamp=1', `addresses=${FUJI}&startTimestamp=-1`],
          endTimestamp: ['endTimestamp=1', `addresses=${FUJI}&endTimestamp=${'1'.repeat(21)}`],
          l1ValidationId: ['l1ValidationId=x', 'l1ValidationId=0x12'],
        },
      },
    ],
  },
  {
    operation: 'getPrimaryNetworkTransaction',
    ...ofChains(`/transactions/${TX_ID}`),
    badPaths: {
      ...ofChains(`/transactions/${TX_ID}`).badPaths,
      txHash: ['x', TX_ID.slice(1)].map((id) => `/v1/networks/fuji/blockchains/p-chain/transactions/${id}`),
    },
  },
  { operation: 'listBlockchains', ...ofNetworks('/blockchains'), queries: [page(1, 10_000), SORT] },
  {
    operation: 'listValidators',
    ...ofNetworks('/validators'),
    badPaths: { sortBy: [`/v1/networks/fuji/validators?sortBy=delegationFee&subnetId=${SUBNET_ID}`] },
    queries: [
      PAGE,
      SORT,
      ...['minTimeRemaining', 'maxTimeRemaining'].map((name) => share(name, 0, 2_147_483_647)),
      ...['minFeePercentage', 'maxFeePercentage'].map((name) => share(name, 2, 100)),
      ...['minUptimePerformance', 'maxUptimePerformance'].map((name) => share(name, 0, 100)),
      ...['minDelegationCapacity', 'maxDelegationCapacity'].map((name) =>
        values(name, [0, '720000000000000000'], [-1, 1.5, '720000000000000001']),
      ),
      values('nodeIds', [`${NODE_ID},NodeID-1,abc`], ['', 'a,,b', 'b'.repeat(65), '%3Cscript%3E']),
      values(
        'sortBy',
        [
          'blockIndex',
          'delegationCapacity',
          'timeRemaining',
          'uptimePerformance',
          `delegationFee&subnetId=${SUBNET_ID}`,
        ],
        ['weight', 'delegationFee', `delegationFee&subnetId=${TX_ID}`],
      ),
      values('validationStatus', ['completed', 'active', 'pending', 'removed'], ['done']),
      values('subnetId', [TX_ID], ['x']),
      ...['DelegationCapacity', 'TimeRemaining', 'FeePercentage', 'UptimePerformance'].map((name) => ({
        good: [`min${name}=50&max${name}=50`],
        bad: { [`min${name}`]: [`min${name}=50&max${name}=49`] },
      })),
    ],
  },
  {
    operation: 'listDelegators',
    ...ofNetworks('/delegators'),
    queries: [
      PAGE,
      SORT,
      values('rewardAddresses', [`${AVAX},P-${address('avax', 3)}`], [FUJI, 'x']),
      values('delegationStatus', ['completed', 'active', 'pending'], ['removed']),
      values('nodeIds', [`${NODE_ID},${NODE_ID}`], ['x']),
    ],
  },
  { operation: 'listVertices', ...ofChains('/vertices', { onlyX: true }), queries: [PAGE] },
  {
    operation: 'listVerticesByHeight',
    ...ofChains('/vertices:listByHeight?vertexHeight=7', { onlyX: true }),
    badPaths: {
      ...ofChains('/vertices:listByHeight', { onlyX: true }).badPaths,
      vertexHeight: ['', '?vertexHeight=', '?vertexHeight=-1', '?vertexHeight=1.5'].map(
        (query) => `/v1/networks/fuji/blockchains/x-chain/vertices:listByHeight${query}`,
      ),
    },
    queries: [PAGE, SORT],
  },
  {
    operation: 'listBlocksOfNode',
    ...ofChains(`/nodes/${NODE_ID}/blocks`),
    badPaths: {
      nodeId: [NODE_ID.slice(7), `${NODE_ID}1`].map((id) => `/v1/networks/fuji/blockchains/p-chain/nodes/${id}/blocks`),
    },
    queries: [PAGE, integer('startTimestamp'), integer('endTimestamp')],
  },
  {
    operation: 'listChainIdsOfAddresses',
    ...ofNetworks(`/addresses:listChainIds?addresses=${EVM}`),
    badPaths: {
      addresses: ['', '?addresses=', `?addresses=${AVAX}`].map(
        (query) => `/v1/networks/fuji/addresses:listChainIds${query}`,
      ),
    },
  },
  ...(
    [
      ['listErc20Transfers', 'addresses', 'transactions:listErc20'],
      ['listInternalTransactions', 'addresses', 'transactions:listInternals'],
      ['listTokenTransfers', 'tokens', 'transfers'],
    ] as const
  ).map(([operation, kind, list]) => ({
    operation,
    ...ofEvm('address', [EVM], BAD_ADDRESSES, (chain, item) => `/v1/chains/${chain}/${kind}/${item}/${list}`),
    queries: [PAGE, block('startBlock'), block('endBlock'), RANGE],
  })),
  {
    operation: 'getEvmBlock',
    ...ofEvm('blockId', BLOCKS, BAD_BLOCKS, (chain, item) => `/v1/chains/${chain}/blocks/${item}`),
  },
  {
    operation: 'listBlockTransactions',
    ...ofEvm('blockId', BLOCKS, BAD_BLOCKS, (chain, item) => `/v1/chains/${chain}/blocks/${item}/transactions`),
    queries: [page(0, 100)],
  },
  {
    operation: 'getEvmTransaction',
    ...ofEvm('txHash', [HASH], [TX_ID, '0x1', `${HASH}0`], (chain, item) => `/v1/chains/${chain}/transactions/${item}`),
  },
  {
    operation: 'listNftTokens',
    ...ofEvm('address', [EVM], BAD_ADDRESSES, (chain, item) => `/v1/chains/${chain}/nfts/collections/${item}/tokens`),
    queries: [PAGE],
  },
  {
    operation: 'getAverageTps',
    paths: ['/v1/avg_tps/1', `/v1/avg_tps/${TX_ID}`, '/v1/avg_tps/43114?pageToken=9'],
    badPaths: { chainId: ['0', 'x', '-1', '1.0'].map((chain) => `/v1/avg_tps/${chain}`) },
  },
];

const service = await shareUpstreamService();
const { standIn } = service;

describe.each(CASES)('$operation', ({ operation, paths, badPaths = {}, queries = [] }) => {
  const [first = ''] = paths;
  const withQuery = (query: string) => `${first}${first.includes('?') ? '&' : '?'}${query}`;

  test('passes on every good request and its answer unchanged', async () => {
    for (const target of [...paths, ...queries.flatMap(({ good = [] }) => good.map(withQuery))]) {
      standIn.arrivals.length = 0;
      const { status, body } = await service.get(target);
      const expected: Record<string, unknown> = { ...ANSWERS[operation] };
      if (target.includes('pageToken')) delete expected['nextPageToken'];
      expect({ target, status, body }).toEqual({ target, status: 200, body: expected });
      expect(standIn.arrivals.map((arrival) => arrival.target)).toEqual([target]);
    }
  });

  test('rejects values outside the limits with a 400 that names the parameter, and passes nothing on', async () => {
    const ofQueries = queries.flatMap(({ bad = {} }) =>
      Object.entries(bad).map(([name, all]) => [name, all.map(withQuery)] as const),
    );
    for (const [name, targets] of [...Object.entries(badPaths), ...ofQueries]) {
      for (const target of targets) {
        const { status, body } = await service.get(target);
        expect([target, status, body['code']]).toEqual([target, 400, 'invalid_request']);
        expect(`${target}: ${String(body['message'])}`).toMatch(new RegExp(`: ${name} \\S`));
      }
    }
    expect(standIn.arrivals).toEqual([]);
  });
});

test.each(UPSTREAM_ENDPOINTS.map((each) => [each.operationId, Object.keys(each.query.properties as object)] as const))(
  '%s takes its own parameters and passes others on, sortOrder too where it has none',
  async (operationId, known) => {
    const { paths: [path = ''] = [] } = CASES.find(({ operation }) => operation === operationId) ?? {};
    const others = ['sortOrder', 'pageSize', 'unknown', 'maxPageSize', 'page-size'].filter(
      (name) => !known.includes(name),
    );
    for (const name of others) {
      const target = `${path}${path.includes('?') ? '&' : '?'}${name}=1`;
      expect((await service.get(target)).status).toBe(200);
      expect(standIn.arrivals.at(-1)?.target).toBe(target);
    }
  },
);

test('an unknown network is 404, as on the routes of aggregation, whatever else may be wrong', async () => {
  for (const path of CASES.map(({ paths }) => paths[0] ?? '').filter((each) => each.startsWith('/v1/networks/'))) {
    for (const network of ['devnet', 'Mainnet', 'x'.repeat(1_000)]) {
      const { status, body } = await service.get(`${path.replace(/networks\/\w+/, `networks/${network}`)}?pageSize=x`);
      const message = `network "${network.slice(0, 100)}" is not served here; served: mainnet, fuji, testnet`;
      expect([status, body]).toEqual([404, { message, statusCode: 404, error: 'Not Found', code: 'unknown_network' }]);
    }
  }
  expect(standIn.arrivals).toEqual([]);
});

test('every documented route and parameter is tested here', () => {
  for (const { operationId, query } of UPSTREAM_ENDPOINTS) {
    const tested = JSON.stringify(CASES.find(({ operation }) => operation === operationId));
    for (const name of Object.keys(query.properties as object))
      expect([operationId, tested]).toMatchObject([operationId, expect.stringContaining(`${name}=`)]);
  }
});
