import { type TObject, type TSchema, Type } from 'typebox';
import { ANY_AMOUNT, type Parameters } from '../../http/parameters/check-parameters.ts';
import { isChainNumber } from '../../http/parameters/parameter-formats.ts';
import { isObject } from '../../lib/encoding/is-object.ts';
import { oneOf } from '../../lib/encoding/schema.ts';
import { type BlockchainID, PRIMARY_NETWORK_ID, parseHexOrCb58Id } from '../../warp/ids.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';
import type { CachePolicy } from '../client/response-cache.ts';
import * as parameters from './data-api-parameters.ts';
import * as records from './data-api-records.ts';
import {
  type Conflict,
  findEmptyBlockRange,
  findEmptyRange,
  findForeign,
  findMisplacedSort,
  findMisplacedValidation,
  findMissingAddresses,
} from './parameter-conflicts.ts';

const { addresses, blockchainId, blockId, blockRange, capacity, chainId, evmAddress, FEE_EFFECT, fee, formatted } =
  parameters;
const { network, paged, pageToken, seconds, sortOrder, timeRange, uptime, xChainId } = parameters;

/** One endpoint of an upstream: its checks and its part of the OpenAPI document. */
export interface UpstreamEndpointDefinition {
  /** In Fastify's syntax: `::` is a colon. */
  readonly path: string;
  readonly service: 'data API' | 'metrics service';
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  /** Describes `findConflict` in the document. */
  readonly rules?: string;
  readonly params: TObject;
  readonly query: TObject;
  /** Checks rules between parameters, after each has been checked by its schema. */
  readonly findConflict?: (query: Parameters, path: Parameters) => Conflict | undefined;
  readonly response: TSchema;
  readonly cache: (path: Parameters) => CachePolicy;
  /** Multiple of the configured time limit. */
  readonly patience?: number;
}

/**
 * For what changes with each block, every second or two. That includes single records: a block number after a reorganization, consumed
 * outputs and rewards of a transaction, prices and NFT metadata.
 */
const changing = (): CachePolicy => ({ freshMs: 3_000 });
/** For registered blockchains and daily figures. */
const changingSlowly = (): CachePolicy => ({ freshMs: 30_000 });
/** An existing block requested by hash is the only immutable record. */
const evmBlock = ({ blockId }: Parameters): CachePolicy =>
  typeof blockId === 'string' && blockId.startsWith('0x')
    ? { ...changing(), isImmutable: (body) => hasText(body, 'blockHash') }
    : changing();
/** The list includes the genesis of each blockchain. */
const LONG_LIST_PATIENCE = 3;

const NETWORK_PATH = '/v1/networks/:network';
const CHAIN_PATH = '/v1/chains/:chainId';
const DEFAULTS = { service: 'data API', query: Type.Object({}), cache: changing } as const;
const PRIMARY = { ...DEFAULTS, tag: 'Primary network' } as const;
const EVM = { ...DEFAULTS, tag: 'EVM chains' } as const;
const OF_NETWORK = "Addresses are of the path's network.";
const EVM_LIST = {
  ...EVM,
  query: Type.Object({ ...blockRange, ...paged(10, 1, 100) }),
  rules: 'startBlock must be below endBlock, which is not part of the range.',
  findConflict: findEmptyBlockRange,
} as const;

export const UPSTREAM_ENDPOINTS: readonly UpstreamEndpointDefinition[] = [
  {
    ...PRIMARY,
    path: `${NETWORK_PATH}/blockchains/:blockchainId/transactions`,
    operationId: 'listPrimaryNetworkTransactions',
    summary: 'Latest transactions of a chain of the primary network',
    params: Type.Object({ network, blockchainId }),
    query: Type.Object({
      ...paged(10, 1, 100),
      sortOrder,
      addresses: Type.Optional(addresses),
      l1ValidationId: Type.Optional(
        formatted('primary-network-id', 'Only on the P-Chain: transactions related to this L1 validation'),
      ),
      txTypes: Type.Optional(
        Type.Array(formatted('transaction-type', parameters.TRANSACTION_TYPES), {
          maxItems: 100,
          description: `Only with addresses. ${parameters.TRANSACTION_TYPES}`,
        }),
      ),
      ...timeRange,
    }),
    rules: `${OF_NETWORK} txTypes, startTimestamp and endTimestamp are filters that need addresses; l1ValidationId is a filter of the P-Chain only.`,
    findConflict: (query, path) =>
      findForeign(query, 'addresses', path) ?? findMissingAddresses(query) ?? findMisplacedValidation(query, path),
    response: records.PrimaryNetworkTransactions,
  },
  {
    ...PRIMARY,
    path: `${NETWORK_PATH}/blockchains/:blockchainId/transactions/:txHash`,
    operationId: 'getPrimaryNetworkTransaction',
    summary: 'One transaction of the primary network',
    params: Type.Object({ network, blockchainId, txHash: formatted('primary-network-id', 'In cb58 or hex') }),
    response: records.PrimaryNetworkTransaction,
  },
  {
    ...PRIMARY,
    path: `${NETWORK_PATH}/blockchains`,
    operationId: 'listBlockchains',
    summary: 'All registered blockchains',
    params: Type.Object({ network }),
    query: Type.Object({ ...paged(100, 1, 10_000), sortOrder }),
    response: records.Blockchains,
    cache: changingSlowly,
    patience: LONG_LIST_PATIENCE,
  },
  {
    ...PRIMARY,
    path: `${NETWORK_PATH}/validators`,
    operationId: 'listValidators',
    summary: 'Validators of the primary network and of subnets',
    params: Type.Object({ network }),
    query: Type.Object({
      ...paged(10, 1, 100),
      sortOrder,
      nodeIds: Type.Optional(formatted('node-id-part-list', 'NodeIDs or parts of them, separated by commas')),
      sortBy: Type.Optional(
        oneOf(
          ['blockIndex', 'delegationCapacity', 'timeRemaining', 'delegationFee', 'uptimePerformance'],
          "delegationFee only on mainnet and with the primary network's subnetId",
        ),
      ),
      validationStatus: Type.Optional(oneOf(['completed', 'active', 'pending', 'removed'])),
      minDelegationCapacity: capacity,
      maxDelegationCapacity: capacity,
      minTimeRemaining: seconds,
      maxTimeRemaining: seconds,
      minFeePercentage: Type.Optional(Type.Number({ ...fee, default: 2, description: FEE_EFFECT })),
      maxFeePercentage: Type.Optional(Type.Number({ ...fee, default: 100, description: FEE_EFFECT })),
      minUptimePerformance: Type.Optional(Type.Number({ ...uptime, default: 90 })),
      maxUptimePerformance: Type.Optional(Type.Number({ ...uptime, default: 100 })),
      subnetId: Type.Optional(formatted('primary-network-id', 'All subnets by default')),
    }),
    rules: `No minimum may be above its maximum. sortBy=delegationFee works on mainnet only, and with subnetId=${PRIMARY_NETWORK_ID}.`,
    findConflict: (query, path) =>
      findMisplacedSort(query, path) ??
      findEmptyRange(query, 'minDelegationCapacity', 'maxDelegationCapacity') ??
      findEmptyRange(query, 'minTimeRemaining', 'maxTimeRemaining') ??
      findEmptyRange(query, 'minFeePercentage', 'maxFeePercentage') ??
      findEmptyRange(query, 'minUptimePerformance', 'maxUptimePerformance'),
    response: records.Validators,
  },
  {
    ...PRIMARY,
    path: `${NETWORK_PATH}/delegators`,
    operationId: 'listDelegators',
    summary: 'Delegators of the primary network',
    params: Type.Object({ network }),
    query: Type.Object({
      ...paged(10, 1, 100),
      sortOrder,
      rewardAddresses: Type.Optional(addresses),
      delegationStatus: Type.Optional(oneOf(['completed', 'active', 'pending'])),
      nodeIds: Type.Optional(formatted('node-id-list', 'NodeIDs, separated by commas')),
    }),
    rules: OF_NETWORK,
    findConflict: (query, path) => findForeign(query, 'rewardAddresses', path),
    response: records.Delegators,
  },
  {
    ...PRIMARY,
    path: `${NETWORK_PATH}/blockchains/:blockchainId/vertices`,
    operationId: 'listVertices',
    summary: 'Latest vertices of the X-Chain',
    params: Type.Object({ network, blockchainId: xChainId }),
    query: Type.Object(paged(10, 1, 100)),
    response: records.Vertices,
  },
  {
    ...PRIMARY,
    path: `${NETWORK_PATH}/blockchains/:blockchainId/vertices::listByHeight`,
    operationId: 'listVerticesByHeight',
    summary: 'Vertices of the X-Chain at a height',
    params: Type.Object({ network, blockchainId: xChainId }),
    query: Type.Object({ vertexHeight: Type.Integer(ANY_AMOUNT), ...paged(10, 1, 100), sortOrder }),
    response: records.Vertices,
  },
  {
    ...PRIMARY,
    path: `${NETWORK_PATH}/blockchains/:blockchainId/nodes/:nodeId/blocks`,
    operationId: 'listBlocksOfNode',
    summary: 'Latest blocks proposed by a node',
    params: Type.Object({ network, blockchainId, nodeId: formatted('node-id', 'NodeID- and cb58') }),
    query: Type.Object({ ...paged(10, 1, 100), ...timeRange }),
    response: records.PrimaryNetworkBlocks,
  },
  {
    ...PRIMARY,
    path: `${NETWORK_PATH}/addresses::listChainIds`,
    operationId: 'listChainIdsOfAddresses',
    summary: 'Chains that addresses have interacted with',
    params: Type.Object({ network }),
    query: Type.Object({ addresses }),
    rules: OF_NETWORK,
    findConflict: (query, path) => findForeign(query, 'addresses', path),
    response: records.AddressChains,
  },
  {
    ...EVM_LIST,
    path: `${CHAIN_PATH}/addresses/:address/transactions::listErc20`,
    operationId: 'listErc20Transfers',
    summary: 'ERC-20 transfers of an address',
    params: Type.Object({ chainId, address: evmAddress }),
    response: records.Erc20Transfers,
  },
  {
    ...EVM_LIST,
    path: `${CHAIN_PATH}/addresses/:address/transactions::listInternals`,
    operationId: 'listInternalTransactions',
    summary: 'Internal transactions of an address',
    rules: `Has CALL and CALLCODE with a value, and CREATE, CREATE2 and CREATE3. ${EVM_LIST.rules}`,
    params: Type.Object({ chainId, address: evmAddress }),
    response: records.InternalTransactions,
  },
  {
    ...EVM_LIST,
    path: `${CHAIN_PATH}/tokens/:address/transfers`,
    operationId: 'listTokenTransfers',
    summary: 'Transfers of an ERC-20, ERC-721 or ERC-1155 contract',
    params: Type.Object({ chainId, address: evmAddress }),
    response: records.TokenTransfers,
  },
  {
    ...EVM,
    path: `${CHAIN_PATH}/blocks/:blockId`,
    operationId: 'getEvmBlock',
    summary: 'One block',
    params: Type.Object({ chainId, blockId }),
    response: records.EvmBlock,
    cache: evmBlock,
  },
  {
    ...EVM,
    path: `${CHAIN_PATH}/blocks/:blockId/transactions`,
    operationId: 'listBlockTransactions',
    summary: 'Transactions of a block',
    params: Type.Object({ chainId, blockId }),
    query: Type.Object(paged(0, 0, 100)),
    response: records.BlockTransactions,
  },
  {
    ...EVM,
    path: `${CHAIN_PATH}/transactions/:txHash`,
    operationId: 'getEvmTransaction',
    summary: 'One transaction, with its transfers',
    params: Type.Object({ chainId, txHash: formatted('evm-hash') }),
    response: records.EvmTransactionDetails,
  },
  {
    ...EVM,
    path: `${CHAIN_PATH}/nfts/collections/:address/tokens`,
    operationId: 'listNftTokens',
    summary: 'Tokens of an NFT contract',
    params: Type.Object({ chainId, address: evmAddress }),
    query: Type.Object(paged(10, 1, 100)),
    response: records.NftTokens,
  },
  {
    ...DEFAULTS,
    service: 'metrics service',
    tag: 'Metrics',
    path: '/v1/avg_tps/:chainId',
    operationId: 'getAverageTps',
    summary: 'Average transactions per second of a chain, one point a day, newest first',
    params: Type.Object({ chainId }),
    query: Type.Object({ pageToken }),
    response: records.AverageTps,
    cache: changingSlowly,
  },
];

/** The pattern keeps the colon out of the parameter. */
export const REINDEX_PATH = `${CHAIN_PATH}/nfts/collections/:address/tokens/:tokenId([^:/]+)::reindex`;
export const REINDEX_PARAMS = Type.Object({
  chainId,
  address: evmAddress,
  tokenId: formatted('token-id', 'A number below 2^256, in decimal or hex'),
});

export const RPC_PATH = '/ext/bc/:chain';
export const RPC_PARAMS = Type.Object({ chain: formatted('rpc-chain', 'X, P, or the ID of a blockchain') });

/**
 * Returns one name for all spellings of a chain: the number of a C-Chain, the cb58 of another blockchain ID. Which number belongs to
 * another blockchain ID is not known here.
 *
 * @param text of the format `evm-chain-id`
 */
export function canonicalChainId(text: string): string {
  if (isChainNumber(text)) return text;
  const id = parseHexOrCb58Id<BlockchainID>(text, 'chainId');
  return PUBLIC_NETWORKS.find(({ cChainID }) => cChainID === id)?.evmChainID ?? id;
}

function hasText(body: unknown, field: string): boolean {
  const value = isObject(body) ? body[field] : undefined;
  return typeof value === 'string' && value !== '';
}
