import type { BlockchainID, TxID } from '../../warp/ids.ts';
import { CHAIN_ALIASES } from '../../warp/networks.ts';
import { parseEncodedTransaction, TRANSACTION_RESPONSE_BYTES } from '../state/encoded-transaction.ts';
import { readObject, readU64 } from './json-fields.ts';
import type { JsonRpcClient } from './json-rpc.ts';

/**
 * Calls of the APIs of single blockchains. A node serves only the chains that it runs: for any other it answers HTTP 404, which
 * is an `ApiError` of kind `invalid response`. These calls have a client of their own, so that a base URL that does not serve
 * some chain is not put aside for the P-Chain as well.
 */
export interface ChainApi {
  /** The epoch that a block of this chain would have if it were proposed now (ACP-181). */
  getCurrentEpoch(chainID: BlockchainID, signal: AbortSignal): Promise<Epoch>;
  /** Resolves if this is an accepted transaction of the X-Chain; `rejected` if it is not. */
  findXChainTx(txID: TxID, signal: AbortSignal): Promise<void>;
}

export interface Epoch {
  /** 0 before the Granite upgrade: there are no epochs, and blocks verify at the proposed height. */
  readonly number: bigint;
  readonly pChainHeight: bigint;
}

const SCALAR_BYTES = 64 * 1024;

export function createChainApi(client: JsonRpcClient): ChainApi {
  return {
    getCurrentEpoch: (chainID, signal) =>
      client.call({
        path: `/ext/bc/${CHAIN_ALIASES.get(chainID) ?? chainID}/proposervm`,
        method: 'proposervm.getCurrentEpoch',
        params: {},
        parseResult: parseEpoch,
        maxResponseBytes: SCALAR_BYTES,
        idempotent: true,
        signal,
      }),
    findXChainTx: (txID, signal) =>
      client.call({
        path: '/ext/bc/X',
        method: 'avm.getTx',
        params: { txID, encoding: 'hex' },
        parseResult: (result) => void parseEncodedTransaction(result, txID),
        maxResponseBytes: TRANSACTION_RESPONSE_BYTES,
        idempotent: true,
        signal,
      }),
  };
}

function parseEpoch(result: unknown): Epoch {
  const epoch = readObject(result, 'result');
  return { number: readU64(epoch.number, 'number'), pChainHeight: readU64(epoch.pChainHeight, 'pChainHeight') };
}
