import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { type BlockchainID, idBytes, parseHexOrCb58Id, type TxID } from '../../warp/ids.ts';
import { CHAIN_ALIASES } from '../../warp/networks.ts';
import { type EvmReceipt, parseEvmReceipt, RECEIPT_RESPONSE_BYTES } from '../codec/evm-receipt.ts';
import { parseWarpUpgrades, type WarpUpgrade } from '../codec/warp-config.ts';
import type { JsonRpcClient } from './json-rpc.ts';

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

export type EvmApi = ReturnType<typeof createEvmApi>;

interface EvmClients {
  /** Separate from that of other chains, whose RPC may hang. */
  readonly cChain: JsonRpcClient;
  readonly others: JsonRpcClient;
  /** Base URLs that are the RPC of a chain. */
  readonly configured: ReadonlyMap<EvmChainID, JsonRpcClient>;
}

/** RPC of EVM chains. Where no client is configured for a chain, the node is asked, which returns HTTP 404 for chains that it does not run. */
export function createEvmApi({ cChain, others, configured }: EvmClients) {
  const rpcOf = (chain: EvmChainID) => {
    const own = configured.get(chain);
    const client = own ?? (chain === 'C' ? cChain : others);
    return { client, path: own === undefined ? `/ext/bc/${chain}/rpc` : '' };
  };
  return {
    /** Returns undefined if the chain has accepted no such transaction. */
    getReceipt(chain: EvmChainID, txHash: TxID, signal: AbortSignal): Promise<EvmReceipt | undefined> {
      const { client, path } = rpcOf(chain);
      const hash = evmHash(txHash);
      return client.call({
        path,
        method: 'eth_getTransactionReceipt',
        params: [hash],
        parseResult: (result) => parseEvmReceipt(result, hash, chain === 'C' ? undefined : chain),
        maxResponseBytes: RECEIPT_RESPONSE_BYTES,
        signal,
      });
    },
    /** Returns the Warp configurations of a chain, in the order in which they begin. */
    getWarpUpgrades(chainID: BlockchainID, signal: AbortSignal): Promise<readonly WarpUpgrade[]> {
      const { client, path } = rpcOf(chainID);
      return client.call({
        path,
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
