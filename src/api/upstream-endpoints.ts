import { type TObject, type TSchema, Type } from 'typebox';
import { type BlockchainID, P_CHAIN_ID, PRIMARY_NETWORK_ID, parseHexOrCb58Id } from '../primitives/ids.ts';
import { ParseError } from '../primitives/parse-error.ts';
import type { CachePolicy } from '../upstream/response-cache.ts';
import type { Parameters } from './check-parameters.ts';
import * as records from './data-api-records.ts';
import {
  findForeignAddress,
  isChainNumber,
  PARAMETER_FORMATS,
  PATH_NETWORKS,
  type ParameterFormatName,
  type PathNetwork,
} from './parameter-formats.ts';

/** One documented endpoint of an upstream: what is checked at the edge, and what the OpenAPI document says of it. */
export interface UpstreamEndpointDefinition {
  readonly method: 'GET' | 'POST';
  /** In Fastify's form: `::` is a colon. */
  readonly path: string;
  readonly service: 'data API' | 'metrics service';
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  /** For the document: what `findConflict` looks at. */
  readonly rules?: string;
  readonly params: TObject;
  readonly query: TObject;
  /**
   * What no schema of a single parameter says: the parameter and the problem, in words that go after its name; each has been
   * checked by its schema before. Those of the path come apart: a query may have others by their names.
   */
  readonly findConflict?: (query: Parameters, path: Parameters) => Conflict | undefined;
  readonly response: TSchema;
  readonly cache: (path: Parameters) => CachePolicy;
  /** Multiple of the configured time limit. */
  readonly patience?: number;
}

type Conflict = readonly [name: string, problem: string];

/**
 * Three seconds for what changes with each block, every second or two. Not lists alone: a block of a number is another one
 * after a reorganization, which some EVM chains have; and a transaction changes after it was accepted. On the primary network
 * its outputs are consumed and its reward is paid later, on EVM chains the price and the NFT metadata beside it move.
 */
const changing = (): CachePolicy => ({ freshMs: 3_000 });
/** A registered blockchain stays, a day's figure as well; a new one is not waited for by the second. */
const changingSlowly = (): CachePolicy => ({ freshMs: 30_000 });
/** The one record that never changes is a block asked for by its hash, once it is there. */
const evmBlock = ({ blockId }: Parameters): CachePolicy =>
  typeof blockId === 'string' && blockId.startsWith('0x')
    ? { ...changing(), isImmutable: (body) => hasText(body, 'blockHash') }
    : changing();
/** The longest list of all, with the genesis of each blockchain, takes its time. */
const LONG_LIST_PATIENCE = 3;

function oneOf(values: readonly string[], description?: string) {
  return Type.Enum([...values], { type: 'string', ...(description !== undefined && { description }) });
}

function formatted(format: ParameterFormatName, description?: string) {
  const { pattern } = PARAMETER_FORMATS[format];
  return Type.String({ format, pattern, ...(description !== undefined && { description }) });
}

const network = oneOf(PATH_NETWORKS, 'testnet is an old name of fuji');

const X_CHAIN_IDS = [
  '2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM',
  '2JVSBoinj9C2J33VntvzYtVJNZdN2NKiwwKjcumHUWEb5DbBrm',
];
/** The C-Chains of mainnet and fuji, with the numbers that they have as EVM chains. */
const C_CHAINS: Readonly<Record<string, string>> = {
  '2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5': '43114',
  yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp: '43113',
};
const blockchainId = oneOf(
  ['p-chain', 'x-chain', 'c-chain', P_CHAIN_ID, ...X_CHAIN_IDS, ...Object.keys(C_CHAINS)],
  'Alias or ID of a chain of the primary network',
);
const xChainId = oneOf(['x-chain', ...X_CHAIN_IDS], 'Alias or ID of the X-Chain');

const chainId = formatted('evm-chain-id', 'Number of an EVM chain, or ID of its blockchain');
const evmAddress = formatted('evm-address');
const blockId = formatted('evm-block-id', 'Number or hash of a block');

const pageToken = Type.Optional(Type.String({ description: '`nextPageToken` of the page before' }));
const sortOrder = Type.Optional(oneOf(['asc', 'desc'], 'By timestamp, or by sortBy'));
const timestamp = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Unix time' });
const timeRange = {
  startTimestamp: Type.Optional({ ...timestamp, description: 'Unix time after which items are' }),
  endTimestamp: Type.Optional({ ...timestamp, description: 'Unix time before which items are' }),
};
const addresses = formatted(
  'address-list',
  'Addresses with commas between: avax1… on mainnet and fuji1… on fuji, with P- or X- before it or not, or 0x… for atomic transactions of the C-Chain',
);

function paged(defaultSize: number, minimum: number, maximum: number) {
  return { pageToken, pageSize: Type.Optional(Type.Integer({ minimum, maximum, default: defaultSize })) };
}

/** Numbers in the specification, integers here: a block is counted, and what half a block or `1.0` means is said nowhere. */
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

const capacity = Type.Optional(formatted('delegation-capacity', 'In the smallest unit, from 0 to 720000000000000000'));
const seconds = Type.Optional(Type.Number({ minimum: 0, maximum: 2_147_483_647, description: 'Seconds' }));
/** Not declared as defaults: a form that filled them in would exclude those validations, too. */
const fee = { minimum: 2, maximum: 100 };
const uptime = { minimum: 0, maximum: 100, description: 'Percent' };

const NETWORK_PATH = '/v1/networks/:network';
const CHAIN_PATH = '/v1/chains/:chainId';
const PRIMARY = 'Primary network';
const EVM = 'EVM chains';
const OF_NETWORK = "Addresses are of the path's network.";
const BLOCK_RANGE_RULE = 'startBlock must be below endBlock, which is not part of the range.';

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
        formatted('primary-network-id', 'Only on the P-Chain: transactions of an L1 validation'),
      ),
      txTypes: Type.Optional(
        Type.Array(formatted('transaction-type'), { maxItems: 100, description: 'Only with addresses' }),
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
    rules: `${OF_NETWORK} txTypes, startTimestamp and endTimestamp are filters that need addresses; l1ValidationId is one of the P-Chain only.`,
    findConflict: (query, path) =>
      findForeign(query, 'addresses', path) ??
      findMissingAddresses(query) ??
      (query['l1ValidationId'] !== undefined && !['p-chain', P_CHAIN_ID].includes(one(path, 'blockchainId'))
        ? ['l1ValidationId', 'is a filter of the P-Chain only']
        : undefined),
    response: records.PrimaryNetworkTransactions,
    cache: changing,
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
      txHash: formatted('primary-network-id', 'In cb58 or hex'),
    }),
    query: Type.Object({}),
    response: records.PrimaryNetworkTransaction,
    cache: changing,
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
    cache: changingSlowly,
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
      nodeIds: Type.Optional(formatted('node-id-part-list', 'NodeIDs or parts of them, with commas between')),
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
      subnetId: Type.Optional(formatted('primary-network-id', 'All subnets where it is missing')),
    }),
    rules: `No minimum may be above its maximum. sortBy=delegationFee works on mainnet only, and with subnetId=${PRIMARY_NETWORK_ID}.`,
    findConflict: (query, path) =>
      findMisplacedSort(query, path) ??
      findEmptyRange(query, 'minDelegationCapacity', 'maxDelegationCapacity') ??
      findEmptyRange(query, 'minTimeRemaining', 'maxTimeRemaining') ??
      findEmptyRange(query, 'minFeePercentage', 'maxFeePercentage') ??
      findEmptyRange(query, 'minUptimePerformance', 'maxUptimePerformance'),
    response: records.Validators,
    cache: changing,
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
      nodeIds: Type.Optional(formatted('node-id-list', 'NodeIDs with commas between')),
    }),
    rules: OF_NETWORK,
    findConflict: (query, path) => findForeign(query, 'rewardAddresses', path),
    response: records.Delegators,
    cache: changing,
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
    cache: changing,
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
    cache: changing,
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
      nodeId: formatted('node-id', 'NodeID- and cb58'),
    }),
    query: Type.Object({ ...paged(10, 1, 100), ...timeRange }),
    response: records.PrimaryNetworkBlocks,
    cache: changing,
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
    rules: OF_NETWORK,
    findConflict: (query, path) => findForeign(query, 'addresses', path),
    response: records.AddressChains,
    cache: changing,
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
    rules: BLOCK_RANGE_RULE,
    findConflict: findEmptyBlockRange,
    response: records.Erc20Transfers,
    cache: changing,
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
    rules: BLOCK_RANGE_RULE,
    findConflict: findEmptyBlockRange,
    response: records.InternalTransactions,
    cache: changing,
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
    rules: BLOCK_RANGE_RULE,
    findConflict: findEmptyBlockRange,
    response: records.TokenTransfers,
    cache: changing,
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
    cache: evmBlock,
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
    cache: changing,
  },
  {
    method: 'GET',
    path: `${CHAIN_PATH}/transactions/:txHash`,
    service: 'data API',
    operationId: 'getEvmTransaction',
    tag: EVM,
    summary: 'One transaction, with its transfers',
    params: Type.Object({ chainId, txHash: formatted('evm-hash') }),
    query: Type.Object({}),
    response: records.EvmTransactionDetails,
    cache: changing,
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
    cache: changing,
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
    cache: changingSlowly,
  },
];

/** Fastify's own form of a path with a colon after a parameter needs a pattern, as the colon could be part of its name. */
export const REINDEX_PATH = `${CHAIN_PATH}/nfts/collections/:address/tokens/:tokenId([^:/]+)::reindex`;
export const REINDEX_PARAMS = Type.Object({
  chainId,
  address: evmAddress,
  tokenId: formatted('token-id', 'A number below 2^256, in decimal or hex'),
});

export const RPC_PATH = '/ext/bc/:chain';
export const RPC_PARAMS = Type.Object({ chain: formatted('rpc-chain', 'X, P, or the ID of a blockchain') });

/**
 * One name for a chain, whatever of its names a path has: of the C-Chains the number, of another blockchain's ID the cb58. That
 * another chain's number and ID are one is known to the data API only.
 *
 * @param text of the format `evm-chain-id`
 */
export function canonicalChainId(text: string): string {
  if (isChainNumber(text)) return text;
  const id = parseHexOrCb58Id<BlockchainID>(text, 'chainId');
  return C_CHAINS[id] ?? id;
}

function one(parameters: Parameters, name: string): string {
  const value = parameters[name];
  return typeof value === 'string' ? value : '';
}

function findForeign(query: Parameters, name: string, path: Parameters): Conflict | undefined {
  if (query[name] === undefined) return undefined;
  const problem = findForeignAddress(one(query, name), one(path, 'network') as PathNetwork);
  return problem === undefined ? undefined : [name, problem];
}

function findMissingAddresses(query: Parameters): Conflict | undefined {
  if (query['addresses'] !== undefined) return undefined;
  const filter = ['txTypes', 'startTimestamp', 'endTimestamp'].find((name) => query[name] !== undefined);
  return filter === undefined ? undefined : [filter, 'is a filter that needs addresses'];
}

function findMisplacedSort(query: Parameters, path: Parameters): Conflict | undefined {
  if (query['sortBy'] !== 'delegationFee') return undefined;
  const isAllowed = path['network'] === 'mainnet' && isPrimaryNetwork(one(query, 'subnetId'));
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
function findEmptyRange(query: Parameters, min: string, max: string): Conflict | undefined {
  const isEmpty = query[min] !== undefined && query[max] !== undefined && Number(query[min]) > Number(query[max]);
  return isEmpty ? [min, `must not be above ${max}`] : undefined;
}

function findEmptyBlockRange({ startBlock, endBlock }: Parameters): Conflict | undefined {
  if (startBlock === undefined || endBlock === undefined || Number(startBlock) < Number(endBlock)) return undefined;
  return ['startBlock', 'must be below endBlock, which is not part of the range'];
}

function hasText(body: unknown, field: string): boolean {
  const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[field] : undefined;
  return typeof value === 'string' && value !== '';
}
