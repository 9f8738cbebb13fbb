import { sha256 } from '@noble/hashes/sha2.js';
import { type BlockchainID, idFromBytes, P_CHAIN_ID, type TxID } from '../primitives/ids.ts';
import { ParseError } from '../primitives/parse-error.ts';
import { readHex, readObject, readU64 } from './json-fields.ts';
import type { JsonRpcClient } from './json-rpc.ts';

/**
 * Calls of the APIs of single blockchains. A node serves those of the chains it runs only: for another it answers HTTP 404,
 * which is an `ApiError` of kind `invalid response`. They have a client of their own, so that a base URL that does not serve
 * some chain is not put aside for the P-Chain.
 */
export interface ChainApi {
  /** The epoch that a block of this chain would have if it were proposed now (ACP-181). */
  getCurrentEpoch(chainID: BlockchainID, signal: AbortSignal): Promise<Epoch>;
  /** Resolves where this is an accepted transaction of the X-Chain; `rejected` where it is none. */
  findXChainTx(txID: TxID, signal: AbortSignal): Promise<void>;
}

export interface Epoch {
  /** 0 before the Granite upgrade: there are no epochs, and blocks verify at the proposed height. */
  readonly number: bigint;
  readonly pChainHeight: bigint;
}

const SCALAR_BYTES = 64 * 1024;
/** A transaction fits into a network message of 2 MiB, which hex doubles. */
const TX_BYTES = 5 * 1024 * 1024;
const CHECKSUM_LENGTH = 4;

/** Providers serve the chains of the primary network under these names, and not always under their IDs. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  [P_CHAIN_ID, 'P'],
  ['2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM', 'X'],
  ['2JVSBoinj9C2J33VntvzYtVJNZdN2NKiwwKjcumHUWEb5DbBrm', 'X'],
  ['2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5', 'C'],
  ['yH8D7ThNJkxmtkuv2jgBa4P1Rn3Qpr4pPr7QYNfcdoS6k6HWp', 'C'],
]);

export function createChainApi(client: JsonRpcClient): ChainApi {
  return {
    getCurrentEpoch: (chainID, signal) =>
      client.call({
        path: `/ext/bc/${ALIASES.get(chainID) ?? chainID}/proposervm`,
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
        parseResult: (result) => checkTx(result, txID),
        maxResponseBytes: TX_BYTES,
        idempotent: true,
        signal,
      }),
  };
}

function parseEpoch(result: unknown): Epoch {
  const epoch = readObject(result, 'result');
  return { number: readU64(epoch.number, 'number'), pChainHeight: readU64(epoch.pChainHeight, 'pChainHeight') };
}

function checkTx(result: unknown, txID: TxID): void {
  const bytes = readHex(readObject(result, 'result').tx, 'tx').slice(0, -CHECKSUM_LENGTH);
  if (idFromBytes<TxID>(sha256(bytes), 'txID') !== txID) throw new ParseError('tx', 'is not the transaction asked for');
}
