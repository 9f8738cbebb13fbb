import { type TObject, type TSchema, Type } from 'typebox';
import { P_CHAIN_ID, PRIMARY_NETWORK_ID, parseHexOrCb58Id } from '../primitives/ids.ts';
import { ParseError } from '../primitives/parse-error.ts';
import type { CachePolicy } from '../upstream/response-cache.ts';
import type { Parameters } from './check-parameters.ts';
import * as records from './data-api-records.ts';
import { findForeignAddress, PATH_NETWORKS, type PathNetwork } from './parameter-formats.ts';

/** One documented endpoint of an upstream: what is checked at the edge, and what the OpenAPI document says of it. */
export interface UpstreamEndpointDefinition {
  readonly method: 'GET' | 'POST';
  /** In Fastify's form: `::` is a colon. */
  readonly path: string;
  readonly service: 'data API' | 'metrics service';
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly params: TObject;
  readonly query: TObject;
  /**
   * What no schema of a single parameter says: the parameter and the problem, in words that go after its name; each has been
   * checked by its schema before.
   */
  readonly findConflict?: (parameters: Parameters) => readonly [name: string, problem: string] | undefined;
  readonly response: TSchema;
  readonly cache?: CachePolicy;
  /** Multiple of the configured time limit. */
  readonly patience?: number;
}

/** Lists may be this old: validators and blocks change with each block, every second or two. */
const LIST: CachePolicy = { freshMs: 3_000 };
/** A registered blockchain stays; a new one is not waited for by the second. */
const SLOW_LIST: CachePolicy = { freshMs: 30_000 };
/** The longest list of all, with the genesis of each blockchain, takes its time. */
const LONG_LIST_PATIENCE = 3;

function oneOf(values: readonly string[], description?: string) {
  return Type.Enum([...values], { type: 'string', ...(description !== undefined && { description }) });
}

const network = oneOf(PATH_NETWORKS, 'testnet is an old name of fuji');

const X_CHAIN_IDS = [
  '2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM',
  '2JVSBoinj9C2J33VntvzYtVJNZdN2NKiwwKjcumHUWEb5DbBrm',
];
const C_CHAIN_IDS = [
  '2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5',
  'yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp',
];
const blockchainId = oneOf(
  ['p-chain', 'x-chain', 'c-chain', P_CHAIN_ID, ...X_CHAIN_IDS, ...C_CHAIN_IDS],
  'Alias or ID of a chain of the primary network',
);
const xChainId = oneOf(['x-chain', ...X_CHAIN_IDS], 'Alias or ID of the X-Chain');

const chainId = Type.String({ format: 'evm-chain-id', description: 'Number of an EVM chain, or ID of its blockchain' });
const evmAddress = Type.String({ format: 'evm-address' });
const blockId = Type.String({ format: 'evm-block-id', description: 'Number or hash of a block' });

const pageToken = Type.Optional(Type.String({ description: '`nextPageToken` of the page before' }));
const sortOrder = Type.Optional(oneOf(['asc', 'desc'], 'By timestamp, or by sortBy'));
const timestamp = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Unix time' });
const timeRange = {
  startTimestamp: Type.Optional({ ...timestamp, description: 'Unix time after which items are' }),
  endTimestamp: Type.Optional({ ...timestamp, description: 'Unix time before which items are' }),
};
const addresses = Type.String({
  format: 'address-list',
  minLength: 1,
  description:
    'Addresses with commas between: avax1… on mainnet and fuji1… on fuji, with P- or X- before it or not, or 0x… for atomic transactions of the C-Chain',
});

function paged(defaultSize: number, minimum: number, maximum: number) {
  return { pageToken, pageSize: Type.Optional(Type.Integer({ minimum, maximum, default: defaultSize })) };
}

const blockRange = {
  startBlock: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'First block; the default is genesis' }),
  ),
  endBlock: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The block after the last one; the default is to go on to the latest',
    }),
  ),
};

const capacity = Type.Optional(
  Type.String({ format: 'delegation-capacity', description: 'In the smallest unit, from 0 to 720000000000000000' }),
);
const seconds = Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647, description: 'Seconds' }));
/** Not declared as defaults: a form that filled them in would exclude those validations, too. */
const fee = { minimum: 2, maximum: 100 };
const uptime = { minimum: 0, maximum: 100, description: 'Percent' };

const NETWORK_PATH = '/v1/networks/:network';
const CHAIN_PATH = '/v1/chains/:chainId';
const PRIMARY = 'Primary network';
const EVM = 'EVM chains';
const ITEM: CachePolicy = { freshMs: 3_000, isImmutable: (body) => hasText(body, 'blockHash') };

export const UPSTREAM_ENDPOINTS: readonly UpstreamEndpointDefinition[] = [
  {
    method: 'GET',
    path: `${NETWORK_PATH}/blockchains/:blockchainId/transactions`,
    service: 'data API',
    operationId: 'listPrimaryNetworkTransactions',
    tag: PRIMARY,
    summary: 'Latest transactions of a chain of the primary network',
    params: Type.Object({ network, blockchainId }),
    query: Type.Object({
      ...paged(10, 1, 100),
      sortOrder,
      addresses: Type.Optional(addresses),
      l1ValidationId: Type.Optional(
        Type.String({
          format: 'primary-network-id',
          description: 'Only on the P-Chain: transactions of an L1 validation',
        }),
      ),
      txTypes: Type.Optional(
        Type.Array(Type.String({ format: 'transaction-type' }), { maxItems: 100, description: 'Only with addresses' }),
      ),
      startTimestamp: Type.Optional({
        ...timestamp,
        description: 'Unix time after which items are; only with addresses',
      }),
      endTimestamp: Type.Optional({
        ...timestamp,
        description: 'Unix time before which items are; only with addresses',
      }),
    }),
    findConflict: (parameters) =>
      findForeign(parameters, 'addresses') ??
      findMissingAddresses(parameters) ??
      (parameters['l1ValidationId'] !== undefined && !['p-chain', P_CHAIN_ID].includes(one(parameters, 'blockchainId'))
        ? ['l1ValidationId', 'is a filter of the P-Chain only']
        : undefined),
    response: records.PrimaryNetworkTransactions,
    cache: LIST,
  },
  {
    method: 'GET',
    path: `${NETWORK_PATH}/blockchains/:blockchainId/transactions/:txHash`,
    service: 'data API',
    operationId: 'getPrimaryNetworkTransaction',
    tag: PRIMARY,
    summary: 'One transaction of the primary network',
    params: Type.Object({
      network,
      blockchainId,
      txHash: Type.String({ format: 'primary-network-id', description: 'In cb58 or hex' }),
    }),
    query: Type.Object({}),
    response: records.PrimaryNetworkTransaction,
    cache: ITEM,
  },
  {
    method: 'GET',
    path: `${NETWORK_PATH}/blockchains`,
    service: 'data API',
    operationId: 'listBlockchains',
    tag: PRIMARY,
    summary: 'All registered blockchains',
    params: Type.Object({ network }),
    query: Type.Object({ ...paged(100, 1, 10_000), sortOrder }),
    response: records.Blockchains,
    cache: SLOW_LIST,
    patience: LONG_LIST_PATIENCE,
  },
  {
    method: 'GET',
    path: `${NETWORK_PATH}/validators`,
    service: 'data API',
    operationId: 'listValidators',
    tag: PRIMARY,
    summary: 'Validators of the primary network and of subnets',
    params: Type.Object({ network }),
    query: Type.Object({
      ...paged(10, 1, 100),
      sortOrder,
      nodeIds: Type.Optional(
        Type.String({ format: 'node-id-part-list', description: 'NodeIDs or parts of them, with commas between' }),
      ),
      sortBy: Type.Optional(
        oneOf(
          ['blockIndex', 'delegationCapacity', 'timeRemaining', 'delegationFee', 'uptimePerformance'],
          "delegationFee only on mainnet and with subnetId the primary network's",
        ),
      ),
      validationStatus: Type.Optional(oneOf(['completed', 'active', 'pending', 'removed'])),
      minDelegationCapacity: capacity,
      maxDelegationCapacity: capacity,
      minTimeRemaining: seconds,
      maxTimeRemaining: seconds,
      minFeePercentage: Type.Optional(
        Type.Number({
          ...fee,
          description: 'Percent, 2 by default; where it is given, validations of subnets are excluded',
        }),
      ),
      maxFeePercentage: Type.Optional(
        Type.Number({
          ...fee,
          description: 'Percent, 100 by default; where it is given, validations of subnets are excluded',
        }),
      ),
      minUptimePerformance: Type.Optional(Type.Number({ ...uptime, default: 90 })),
      maxUptimePerformance: Type.Optional(Type.Number({ ...uptime, default: 100 })),
      subnetId: Type.Optional(
        Type.String({ format: 'primary-network-id', description: 'All subnets where it is missing' }),
      ),
    }),
    findConflict: (parameters) =>
      findMisplacedSort(parameters) ??
      findEmptyRange(parameters, 'minDelegationCapacity', 'maxDelegationCapacity') ??
      findEmptyRange(parameters, 'minTimeRemaining', 'maxTimeRemaining') ??
      findEmptyRange(parameters, 'minFeePercentage', 'maxFeePercentage') ??
      findEmptyRange(parameters, 'minUptimePerformance', 'maxUptimePerformance'),
    response: records.Validators,
    cache: LIST,
  },
  {
    method: 'GET',
    path: `${NETWORK_PATH}/delegators`,
    service: 'data API',
    operationId: 'listDelegators',
    tag: PRIMARY,
    summary: 'Delegators of the primary network',
    params: Type.Object({ network }),
    query: Type.Object({
      ...paged(10, 1, 100),
      sortOrder,
      rewardAddresses: Type.Optional(addresses),
      delegationStatus: Type.Optional(oneOf(['completed', 'active', 'pending'])),
      nodeIds: Type.Optional(Type.String({ format: 'node-id-list', description: 'NodeIDs with commas between' })),
    }),
    findConflict: (parameters) => findForeign(parameters, 'rewardAddresses'),
    response: records.Delegators,
    cache: LIST,
  },
  {
    method: 'GET',
    path: `${NETWORK_PATH}/blockchains/:blockchainId/vertices`,
    service: 'data API',
    operationId: 'listVertices',
    tag: PRIMARY,
    summary: 'Latest vertices of the X-Chain',
    params: Type.Object({ network, blockchainId: xChainId }),
    query: Type.Object(paged(10, 1, 100)),
    response: records.Vertices,
    cache: LIST,
  },
  {
    method: 'GET',
    path: `${NETWORK_PATH}/blockchains/:blockchainId/vertices::listByHeight`,
    service: 'data API',
    operationId: 'listVerticesByHeight',
    tag: PRIMARY,
    summary: 'Vertices of the X-Chain at a height',
    params: Type.Object({ network, blockchainId: xChainId }),
    query: Type.Object({
      vertexHeight: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
      ...paged(10, 1, 100),
      sortOrder,
    }),
    response: records.Vertices,
    cache: LIST,
  },
  {
    method: 'GET',
    path: `${NETWORK_PATH}/blockchains/:blockchainId/nodes/:nodeId/blocks`,
    service: 'data API',
    operationId: 'listBlocksOfNode',
    tag: PRIMARY,
    summary: 'Latest blocks proposed by a node',
    params: Type.Object({
      network,
      blockchainId,
      nodeId: Type.String({ format: 'node-id', description: 'NodeID- and cb58' }),
    }),
    query: Type.Object({ ...paged(10, 1, 100), ...timeRange }),
    response: records.PrimaryNetworkBlocks,
    cache: LIST,
  },
  {
    method: 'GET',
    path: `${NETWORK_PATH}/addresses::listChainIds`,
    service: 'data API',
    operationId: 'listChainIdsOfAddresses',
    tag: PRIMARY,
    summary: 'Chains that addresses have interacted with',
    params: Type.Object({ network }),
    query: Type.Object({ addresses }),
    findConflict: (parameters) => findForeign(parameters, 'addresses'),
    response: records.AddressChains,
    cache: LIST,
  },
  {
    method: 'GET',
    path: `${CHAIN_PATH}/addresses/:address/transactions::listErc20`,
    service: 'data API',
    operationId: 'listErc20Transfers',
    tag: EVM,
    summary: 'ERC-20 transfers of an address',
    params: Type.Object({ chainId, address: evmAddress }),
    query: Type.Object({ ...blockRange, ...paged(10, 1, 100) }),
    findConflict: findEmptyBlockRange,
    response: records.Erc20Transfers,
    cache: LIST,
  },
  {
    method: 'GET',
    path: `${CHAIN_PATH}/addresses/:address/transactions::listInternals`,
    service: 'data API',
    operationId: 'listInternalTransactions',
    tag: EVM,
    summary: 'Internal transactions of an address',
    params: Type.Object({ chainId, address: evmAddress }),
    query: Type.Object({ ...blockRange, ...paged(10, 1, 100) }),
    findConflict: findEmptyBlockRange,
    response: records.InternalTransactions,
    cache: LIST,
  },
  {
    method: 'GET',
    path: `${CHAIN_PATH}/tokens/:address/transfers`,
    service: 'data API',
    operationId: 'listTokenTransfers',
    tag: EVM,
    summary: 'Transfers of an ERC-20, ERC-721 or ERC-1155 contract',
    params: Type.Object({ chainId, address: evmAddress }),
    query: Type.Object({ ...blockRange, ...paged(10, 1, 100) }),
    findConflict: findEmptyBlockRange,
    response: records.TokenTransfers,
    cache: LIST,
  },
  {
    method: 'GET',
    path: `${CHAIN_PATH}/blocks/:blockId`,
    service: 'data API',
    operationId: 'getEvmBlock',
    tag: EVM,
    summary: 'One block',
    params: Type.Object({ chainId, blockId }),
    query: Type.Object({}),
    response: records.EvmBlock,
    cache: ITEM,
  },
  {
    method: 'GET',
    path: `${CHAIN_PATH}/blocks/:blockId/transactions`,
    service: 'data API',
    operationId: 'listBlockTransactions',
    tag: EVM,
    summary: 'Transactions of a block',
    params: Type.Object({ chainId, blockId }),
    query: Type.Object(paged(0, 0, 100)),
    response: records.BlockTransactions,
    cache: LIST,
  },
  {
    method: 'GET',
    path: `${CHAIN_PATH}/transactions/:txHash`,
    service: 'data API',
    operationId: 'getEvmTransaction',
    tag: EVM,
    summary: 'One transaction, with its transfers',
    params: Type.Object({ chainId, txHash: Type.String({ format: 'evm-hash' }) }),
    query: Type.Object({}),
    response: records.EvmTransactionDetails,
    cache: { freshMs: 3_000, isImmutable: (body) => hasText(fieldOf(body, 'nativeTransaction'), 'blockHash') },
  },
  {
    method: 'GET',
    path: `${CHAIN_PATH}/nfts/collections/:address/tokens`,
    service: 'data API',
    operationId: 'listNftTokens',
    tag: EVM,
    summary: 'Tokens of an NFT contract',
    params: Type.Object({ chainId, address: evmAddress }),
    query: Type.Object(paged(10, 1, 100)),
    response: records.NftTokens,
    cache: LIST,
  },
  {
    method: 'GET',
    path: '/v1/avg_tps/:chainId',
    service: 'metrics service',
    operationId: 'getAverageTps',
    tag: 'Metrics',
    summary: 'Average transactions a second of a chain, a point a day, newest first',
    params: Type.Object({ chainId }),
    query: Type.Object({ pageToken }),
    response: records.AverageTps,
    cache: SLOW_LIST,
  },
];

/** Fastify's own form of a path with a colon after a parameter needs a pattern, as the colon could be part of its name. */
export const REINDEX_PATH = `${CHAIN_PATH}/nfts/collections/:address/tokens/:tokenId([^:/]+)::reindex`;
export const REINDEX_PARAMS = Type.Object({
  chainId,
  address: evmAddress,
  tokenId: Type.String({ format: 'token-id', description: 'A number' }),
});

type Conflict = readonly [name: string, problem: string];

function one(parameters: Parameters, name: string): string {
  const value = parameters[name];
  return typeof value === 'string' ? value : '';
}

function findForeign(parameters: Parameters, name: string): Conflict | undefined {
  if (parameters[name] === undefined) return undefined;
  const problem = findForeignAddress(one(parameters, name), one(parameters, 'network') as PathNetwork);
  return problem === undefined ? undefined : [name, problem];
}

function findMissingAddresses(parameters: Parameters): Conflict | undefined {
  if (parameters['addresses'] !== undefined) return undefined;
  const filter = ['txTypes', 'startTimestamp', 'endTimestamp'].find((name) => parameters[name] !== undefined);
  return filter === undefined ? undefined : [filter, 'is a filter that needs addresses'];
}

function findMisplacedSort(parameters: Parameters): Conflict | undefined {
  if (parameters['sortBy'] !== 'delegationFee') return undefined;
  const isAllowed = parameters['network'] === 'mainnet' && isPrimaryNetwork(one(parameters, 'subnetId'));
  return isAllowed
    ? undefined
    : ['sortBy', `delegationFee works on mainnet only, and with subnetId ${PRIMARY_NETWORK_ID}`];
}

function isPrimaryNetwork(subnetId: string): boolean {
  try {
    return parseHexOrCb58Id(subnetId, 'subnetId') === PRIMARY_NETWORK_ID;
  } catch (error) {
    if (error instanceof ParseError) return false;
    throw error;
  }
}

/** Capacities exceed 2^53, but no two that are as close as doubles are make a difference to anybody. */
function findEmptyRange(parameters: Parameters, min: string, max: string): Conflict | undefined {
  const isEmpty =
    parameters[min] !== undefined && parameters[max] !== undefined && Number(parameters[min]) > Number(parameters[max]);
  return isEmpty ? [min, `must not be above ${max}`] : undefined;
}

function findEmptyBlockRange(parameters: Parameters): Conflict | undefined {
  const { startBlock, endBlock } = parameters;
  if (startBlock === undefined || endBlock === undefined || Number(startBlock) < Number(endBlock)) return undefined;
  return ['startBlock', 'must be below endBlock, which is not part of the range'];
}

/** A record that names its block has been accepted. */
function hasText(body: unknown, field: string): boolean {
  const value = fieldOf(body, field);
  return typeof value === 'string' && value !== '';
}

function fieldOf(body: unknown, field: string): unknown {
  return typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[field] : undefined;
}
