import type { BlockchainID, TxID } from '../../warp/ids.ts';
import { CHAIN_ALIASES } from '../../warp/networks.ts';
import { parseEncodedTransaction, TRANSACTION_RESPONSE_BYTES } from '../codec/encoded-transaction.ts';
import { readObject, readU64 } from '../codec/json-fields.ts';
import type { JsonRpcClient } from './json-rpc.ts';

/**
 * APIs of single blockchains. A node serves only chains that it runs, and returns HTTP 404 for others (`invalid_response`). Use a separate
 * client, so that a base URL without some chain is not put aside for the P-Chain.
 */
export interface ChainApi {
  /** Returns the epoch of a block of this chain that would be proposed now (ACP-181). */
  getCurrentEpoch(chainID: BlockchainID, signal: AbortSignal): Promise<Epoch>;
  /** Resolves for an accepted transaction of the X-Chain; otherwise `rejected`. */
  findXChainTx(txID: TxID, signal: AbortSignal): Promise<void>;
}

export interface Epoch {
  /** 0 before the Granite upgrade, when blocks verify at the proposed height. */
  readonly number: bigint;
  readonly pChainHeight: bigint;
  /** Unix seconds. */
  readonly startTime: bigint;
  /** When it may end, with the first block after that time; undefined as a node answers. Unix seconds. */
  readonly endTime?: bigint;
}

const SCALAR_BYTES = 64 * 1024;

export function createChainApi(client: JsonRpcClient): ChainApi {
  return {
    getCurrentEpoch: (chainID: BlockchainID, signal: AbortSignal): Promise<Epoch> =>
      client.call({
        path: `/ext/bc/${CHAIN_ALIASES.get(chainID) ?? chainID}/proposervm`,
        method: 'proposervm.getCurrentEpoch',
        params: {},
        parseResult: parseEpoch,
        maxResponseBytes: SCALAR_BYTES,
        signal,
      }),
    findXChainTx: (txID: TxID, signal: AbortSignal): Promise<void> =>
      client.call({
        path: '/ext/bc/X',
        method: 'avm.getTx',
        params: { txID, encoding: 'hex' },
        parseResult: (result) => void parseEncodedTransaction(result, txID),
        maxResponseBytes: TRANSACTION_RESPONSE_BYTES,
        signal,
      }),
  };
}

function parseEpoch(result: unknown): Epoch {
  const epoch = readObject(result, 'result');
  return {
    number: readU64(epoch.number, 'number'),
    pChainHeight: readU64(epoch.pChainHeight, 'pChainHeight'),
    startTime: readU64(epoch.startTime, 'startTime'),
  };
}
