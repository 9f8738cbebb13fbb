import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { type BlockchainID, idBytes, parseHexOrCb58Id, type TxID } from '../../warp/ids.ts';
import { CHAIN_ALIASES } from '../../warp/networks.ts';
import { type EvmReceipt, parseEvmReceipt, RECEIPT_RESPONSE_BYTES } from '../codec/evm-receipt.ts';
import type { JsonRpcClient } from './json-rpc.ts';

/** An EVM chain: `C` is the C-Chain, whose ID differs between networks. */
export type EvmChainID = BlockchainID | 'C';

/** Parses `C`, or the ID of a blockchain in hex or cb58. @throws {ParseError} */
export function parseEvmChainID(text: string, what: string): EvmChainID {
  if (text === 'C') return text;
  const chainID = parseHexOrCb58Id<BlockchainID>(text, what);
  return CHAIN_ALIASES.get(chainID) === 'C' ? 'C' : chainID;
}

/** RPC of EVM chains. Where no client is configured for a chain, the node is asked, which returns HTTP 404 for chains that it does not run. */
export interface EvmApi {
  /** Returns undefined if the chain has accepted no such transaction. */
  getReceipt(chain: EvmChainID, txHash: TxID, signal: AbortSignal): Promise<EvmReceipt | undefined>;
}

export interface EvmClients {
  /** Separate from that of other chains, whose RPC may hang. */
  readonly cChain: JsonRpcClient;
  readonly others: JsonRpcClient;
  /** Base URLs that are the RPC of a chain. */
  readonly configured: ReadonlyMap<EvmChainID, JsonRpcClient>;
}

export function createEvmApi({ cChain, others, configured }: EvmClients): EvmApi {
  return {
    getReceipt(chain, txHash, signal) {
      const own = configured.get(chain);
      const hash = evmHash(txHash);
      return (own ?? (chain === 'C' ? cChain : others)).call({
        path: own === undefined ? `/ext/bc/${chain}/rpc` : '',
        method: 'eth_getTransactionReceipt',
        params: [hash],
        parseResult: (result) => parseEvmReceipt(result, hash, chain === 'C' ? undefined : chain),
        maxResponseBytes: RECEIPT_RESPONSE_BYTES,
        signal,
      });
    },
  };
}

/** Formats the hash of a transaction as EVM chains write it. */
export function evmHash(txHash: TxID): string {
  return `0x${bytesToHex(idBytes(txHash))}`;
}
