import type { TObject, TSchema } from 'typebox';
import { ANY_AMOUNT, type Parameters } from '../../http/parameters/check-parameters.ts';
import { isChainNumber } from '../../http/parameters/parameter-formats.ts';
import { Type } from '../../lib/encoding/schema.ts';
import { type BlockchainID, PRIMARY_NETWORK_ID, parseHexOrCb58Id } from '../../warp/ids.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';
import type { CachePolicy } from '../client/response-cache.ts';
import {
  addresses,
  blockchainId,
  blockId,
  blockRange,
  capacity,
  chainId,
  evmAddress,
  FEE_EFFECT,
  fee,
  formatted,
  network,
  oneOf,
  paged,
  pageToken,
  seconds,
  sortOrder,
  timeRange,
  timestamp,
  uptime,
  xChainId,
} from './data-api-parameters.ts';
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

/** One documented endpoint of an upstream: what is checked before a request is passed on, and what the OpenAPI document says. */
export interface UpstreamEndpointDefinition {
  /** In Fastify's form: `::` is a colon. */
  readonly path: string;
  readonly service: 'data API' | 'metrics service';
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  /** For the document: what `findConflict` checks. */
  readonly rules?: string;
  readonly params: TObject;
  readonly query: TObject;
  /**
   * Checks what no schema of a single parameter can say; each parameter has been checked by its schema before. Parameters of the path
   * are given apart, as a query may have others of the same name.
   */
  readonly findConflict?: (query: Parameters, path: Parameters) => Conflict | undefined;
  readonly response: TSchema;
  readonly cache: (path: Parameters) => CachePolicy;
  /** Multiple of the configured time limit. */
  readonly patience?: number;
}

/**
 * Three seconds for what changes with each block, every second or two. These are not only lists. The block of a number is another
 * one after a reorganization, which some EVM chains have. And a transaction changes after it was accepted: on the primary network
 * its outputs are consumed and its reward is paid later; on EVM chains the price and the NFT metadata beside it change.
 */
const changing = (): CachePolicy => ({ freshMs: 3_000 });
/** A registered blockchain stays, and so does a day's figure; nobody waits for a new one by the second. */
const changingSlowly = (): CachePolicy => ({ freshMs: 30_000 });
/** The one record that never changes is a block asked for by its hash, once it exists. */
const evmBlock = ({ blockId }: Parameters): CachePolicy =>
  typeof blockId === 'string' && blockId.startsWith('0x')
    ? { ...changing(), isImmutable: (body) => hasText(body, 'blockHash') }
    : changing();
/** The longest list of all, with the genesis of each blockchain, takes longer than others. */
const LONG_LIST_PATIENCE = 3;

const NETWORK_PATH = '/v1/networks/:network';
const CHAIN_PATH = '/v1/chains/:chainId';
const PRIMARY = 'Primary network';
const EVM = 'EVM chains';
const OF_NETWORK = "Addresses are of the path's network.";
const BLOCK_RANGE_RULE = 'startBlock must be below endBlock, which is not part of the range.';

export const UPSTREAM_ENDPOINTS: readonly UpstreamEndpointDefinition[] = [
  {
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
        formatted('primary-network-id', 'Only on the P-Chain: transactions related to this L1 validation'),
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
    rules: `${OF_NETWORK} txTypes, startTimestamp and endTimestamp are filters that need addresses; l1ValidationId is a filter of the P-Chain only.`,
    findConflict: (query, path) =>
      findForeign(query, 'addresses', path) ?? findMissingAddresses(query) ?? findMisplacedValidation(query, path),
    response: records.PrimaryNetworkTransactions,
    cache: changing,
  },
  {
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
    path: `${NETWORK_PATH}/validators`,
    service: 'data API',
    operationId: 'listValidators',
    tag: PRIMARY,
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
    cache: changing,
  },
  {
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
      nodeIds: Type.Optional(formatted('node-id-list', 'NodeIDs, separated by commas')),
    }),
    rules: OF_NETWORK,
    findConflict: (query, path) => findForeign(query, 'rewardAddresses', path),
    response: records.Delegators,
    cache: changing,
  },
  {
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
    path: `${NETWORK_PATH}/blockchains/:blockchainId/vertices::listByHeight`,
    service: 'data API',
    operationId: 'listVerticesByHeight',
    tag: PRIMARY,
    summary: 'Vertices of the X-Chain at a height',
    params: Type.Object({ network, blockchainId: xChainId }),
    query: Type.Object({
      vertexHeight: Type.Integer(ANY_AMOUNT),
      ...paged(10, 1, 100),
      sortOrder,
    }),
    response: records.Vertices,
    cache: changing,
  },
  {
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
    path: '/v1/avg_tps/:chainId',
    service: 'metrics service',
    operationId: 'getAverageTps',
    tag: 'Metrics',
    summary: 'Average transactions per second of a chain, one point a day, newest first',
    params: Type.Object({ chainId }),
    query: Type.Object({ pageToken }),
    response: records.AverageTps,
    cache: changingSlowly,
  },
];

/** Where a colon follows a parameter, Fastify needs a pattern: else the colon would be part of the parameter. */
export const REINDEX_PATH = `${CHAIN_PATH}/nfts/collections/:address/tokens/:tokenId([^:/]+)::reindex`;
export const REINDEX_PARAMS = Type.Object({
  chainId,
  address: evmAddress,
  tokenId: formatted('token-id', 'A number below 2^256, in decimal or hex'),
});

export const RPC_PATH = '/ext/bc/:chain';
export const RPC_PARAMS = Type.Object({ chain: formatted('rpc-chain', 'X, P, or the ID of a blockchain') });

/**
 * One name for a chain, whichever of its names a path has: for the C-Chains the number, for another blockchain's ID the cb58. Only
 * the data API knows which number and which ID of other chains belong together.
 *
 * @param text of the format `evm-chain-id`
 */
export function canonicalChainId(text: string): string {
  if (isChainNumber(text)) return text;
  const id = parseHexOrCb58Id<BlockchainID>(text, 'chainId');
  return PUBLIC_NETWORKS.find(({ cChainID }) => cChainID === id)?.evmChainID ?? id;
}

function hasText(body: unknown, field: string): boolean {
  const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[field] : undefined;
  return typeof value === 'string' && value !== '';
}
