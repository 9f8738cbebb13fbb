import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { type BlockchainID, idBytes, parseHexOrCb58Id, type TxID } from '../../warp/ids.ts';
import { CHAIN_ALIASES } from '../../warp/networks.ts';
import {
  BLOCK_RESPONSE_BYTES,
  type BlockRange,
  type EvmBlock,
  type LoggedMessage,
  MAX_BLOCK_NUMBER,
  parseBlockReceipts,
  parseEvmBlock,
  parseWarpLogs,
  RECEIPTS_RESPONSE_BYTES,
} from '../codec/evm-block.ts';
import { type EvmReceipt, parseEvmReceipt, RECEIPT_RESPONSE_BYTES, readQuantity } from '../codec/evm-receipt.ts';
import { readString } from '../codec/json-fields.ts';
import { GET_BLOCKCHAIN_ID, SEND_WARP_MESSAGE, WARP_PRECOMPILE } from '../codec/send-warp-log.ts';
import { parseWarpUpgrades, type WarpUpgrade } from '../codec/warp-config.ts';
import type { Attempt } from './call-outcome.ts';
import type { JsonRpcClient } from './json-rpc.ts';
import type { JsonRpcRequest } from './json-rpc-attempt.ts';

/** An EVM chain: `C` is the C-Chain, whose ID differs between networks. */
export type EvmChainID = BlockchainID | 'C';

/** Parses `C`, or the ID of a blockchain in hex or cb58. @throws {ParseError} */
export function parseEvmChainID(text: string, what: string): EvmChainID {
  if (text === 'C') return text;
  const chainID = parseHexOrCb58Id<BlockchainID>(text, what);
  return CHAIN_ALIASES.get(chainID) === 'C' ? 'C' : chainID;
}

/** Allow lists in the configuration may name thousands of addresses. */
const CHAIN_CONFIG_BYTES = 1024 * 1024;
const SCALAR_BYTES = 64 * 1024;

/** RPC of EVM chains. Where no client is configured for a chain, the node is asked, which returns HTTP 404 for chains that it does not run. */
export interface EvmApi {
  /** Returns the ID by which the chain's Warp precompile knows itself, whatever chain the RPC should be of. */
  getBlockchainID(chain: EvmChainID, signal: AbortSignal): Promise<BlockchainID>;
  /** Returns the height of the last accepted block. */
  getBlockNumber(chain: EvmChainID, signal: AbortSignal): Promise<number>;
  /** Returns undefined for a block that the node does not have yet. */
  getBlock(chain: EvmChainID, number: number, signal: AbortSignal): Promise<EvmBlock | undefined>;
  /** Returns the Warp messages of a block by its receipts; undefined while the node has not executed it. */
  getBlockMessages(
    chain: EvmChainID,
    block: EvmBlock,
    chainID: BlockchainID,
    signal: AbortSignal,
  ): Promise<readonly LoggedMessage[] | undefined>;
  /**
   * Returns the Warp messages in the logs of blocks; undefined while the node has not executed them. Such blocks have no logs, without an
   * error, so the node is first asked for the receipt of a transaction of the last block.
   */
  getLoggedMessages(
    chain: EvmChainID,
    blocks: BlockRange,
    lastTx: string,
    chainID: BlockchainID,
    signal: AbortSignal,
  ): Promise<readonly LoggedMessage[] | undefined>;
  /** Returns undefined if the chain has accepted no such transaction. */
  getReceipt(chain: EvmChainID, txHash: TxID, signal: AbortSignal): Promise<EvmReceipt | undefined>;
  /** Returns the Warp configurations of a chain, in the order in which they begin. */
  getWarpUpgrades(chainID: BlockchainID, signal: AbortSignal): Promise<readonly WarpUpgrade[]>;
}

interface EvmClients {
  /** Separate from that of other chains, whose RPC may hang. */
  readonly cChain: JsonRpcClient;
  readonly others: JsonRpcClient;
  /** Base URLs that are the RPC of a chain. */
  readonly configured: ReadonlyMap<EvmChainID, JsonRpcClient>;
}

export function createEvmApi({ cChain, others, configured }: EvmClients): EvmApi {
  const rpcOf = (chain: EvmChainID) => {
    const own = configured.get(chain);
    const client = own ?? (chain === 'C' ? cChain : others);
    const path = own === undefined ? `/ext/bc/${chain}/rpc` : '';
    return { client, base: { path, isRefusedAlone: true } };
  };
  const call = <Result>(
    chain: EvmChainID,
    method: string,
    params: readonly unknown[],
    parseResult: (result: unknown) => Result,
    maxResponseBytes: number,
    signal: AbortSignal,
  ): Promise<Result> => {
    const { client, base } = rpcOf(chain);
    return client.call({ ...base, method, params, parseResult, maxResponseBytes, signal });
  };
  return {
    getBlockchainID: (chain: EvmChainID, signal: AbortSignal): Promise<BlockchainID> =>
      call(
        chain,
        'eth_call',
        [{ to: WARP_PRECOMPILE, data: GET_BLOCKCHAIN_ID }, 'latest'],
        (result) => parseHexOrCb58Id<BlockchainID>(readString(result, 'blockchainID'), 'blockchainID'),
        SCALAR_BYTES,
        signal,
      ),
    getBlockNumber: (chain: EvmChainID, signal: AbortSignal): Promise<number> =>
      call(
        chain,
        'eth_blockNumber',
        [],
        (result) => readQuantity(result, 'number', MAX_BLOCK_NUMBER),
        SCALAR_BYTES,
        signal,
      ),
    getBlock: (chain: EvmChainID, number: number, signal: AbortSignal): Promise<EvmBlock | undefined> =>
      call(
        chain,
        'eth_getBlockByNumber',
        [quantity(number), false],
        (result) => parseBlockNumbered(result, number),
        BLOCK_RESPONSE_BYTES,
        signal,
      ),
    getBlockMessages: (
      chain: EvmChainID,
      block: EvmBlock,
      chainID: BlockchainID,
      signal: AbortSignal,
    ): Promise<readonly LoggedMessage[] | undefined> =>
      call(
        chain,
        'eth_getBlockReceipts',
        [block.hash],
        (result) => parseBlockReceipts(result, block, chainID),
        RECEIPTS_RESPONSE_BYTES,
        signal,
      ),
    getLoggedMessages: (
      chain: EvmChainID,
      blocks: BlockRange,
      lastTx: string,
      chainID: BlockchainID,
      signal: AbortSignal,
    ): Promise<readonly LoggedMessage[] | undefined> => {
      const { client, base } = rpcOf(chain);
      const range =
        blocks.hash === undefined
          ? { fromBlock: quantity(blocks.first), toBlock: quantity(blocks.last) }
          : { blockHash: blocks.hash };
      const receipt: JsonRpcRequest<boolean> = {
        ...base,
        method: 'eth_getTransactionReceipt',
        params: [lastTx],
        parseResult: (result) => parseEvmReceipt(result, lastTx, undefined) !== undefined,
        maxResponseBytes: RECEIPT_RESPONSE_BYTES,
      };
      const logs: JsonRpcRequest<readonly LoggedMessage[]> = {
        ...base,
        method: 'eth_getLogs',
        params: [{ ...range, address: WARP_PRECOMPILE, topics: [SEND_WARP_MESSAGE] }],
        parseResult: (result) => parseWarpLogs(result, chainID, blocks),
        maxResponseBytes: RECEIPTS_RESPONSE_BYTES,
      };
      return client.callAtEndpoints({
        method: logs.method,
        signal,
        async ask(endpoint): Promise<Attempt<readonly LoggedMessage[] | undefined>> {
          const executed = await endpoint.send(receipt);
          if (executed.status !== 'responded') return executed;
          return executed.result ? await endpoint.send(logs) : { status: 'responded', result: undefined };
        },
      });
    },
    getReceipt(chain: EvmChainID, txHash: TxID, signal: AbortSignal): Promise<EvmReceipt | undefined> {
      const { client, base } = rpcOf(chain);
      const hash = evmHash(txHash);
      return client.call({
        ...base,
        method: 'eth_getTransactionReceipt',
        params: [hash],
        parseResult: (result) => parseEvmReceipt(result, hash, chain === 'C' ? undefined : chain),
        maxResponseBytes: RECEIPT_RESPONSE_BYTES,
        signal,
      });
    },
    getWarpUpgrades(chainID: BlockchainID, signal: AbortSignal): Promise<readonly WarpUpgrade[]> {
      const { client, base } = rpcOf(chainID);
      return client.call({
        ...base,
        method: 'eth_getChainConfig',
        params: [],
        parseResult: parseWarpUpgrades,
        maxResponseBytes: CHAIN_CONFIG_BYTES,
        signal,
      });
    },
  };
}

/** Formats the hash of a transaction as EVM chains write it. */
export function evmHash(txHash: TxID): string {
  return `0x${bytesToHex(idBytes(txHash))}`;
}

function quantity(value: number): string {
  return `0x${value.toString(16)}`;
}

/** @throws {ParseError} if the block has another height */
function parseBlockNumbered(result: unknown, number: number): EvmBlock | undefined {
  const block = parseEvmBlock(result);
  if (block !== undefined && block.number !== number) throw new ParseError('block', `is not block ${number}`);
  return block;
}
