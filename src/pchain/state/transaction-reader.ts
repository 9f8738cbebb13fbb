import { FreshCache } from '../../lib/cache/fresh-cache.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import type { TxID } from '../../warp/ids.ts';
import { unlessRefused } from '../rpc/api-error.ts';
import type { NodeApi } from '../rpc/node-api.ts';
import { type PChainTransaction, parsePChainTransaction } from './l1-transaction.ts';

/** Accepted transactions of the P-Chain, as far as L1s are concerned. */
export interface TransactionReader {
  /**
   * Undefined if the P-Chain has accepted no such transaction.
   *
   * @throws {ApiError}, {@link ParseError} on a transaction of a form that came after this version, or the signal's reason
   */
  read(txID: TxID, signal: AbortSignal): Promise<PChainTransaction | undefined>;
}

/** Accepted transactions never change, and clients ask for the same one until all is well. Most have some KB. */
const MAX_TRANSACTIONS = 500;
/**
 * Of all that are kept, as they came: one has up to 64 KiB, and what is made of it takes a few times as much. Anybody can have such
 * ones accepted, and ask for them.
 */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;
/** Of one about which there is no message, only its name is kept. */
const NAME_BYTES = 64;

export function createTransactionReader(api: Pick<NodeApi, 'getTx'>, clock: Clock): TransactionReader {
  const transactions = new FreshCache<TxID, Read | undefined>({
    clock,
    max: MAX_TRANSACTIONS,
    size: { max: MAX_KEPT_BYTES, of: (read) => read?.size ?? NAME_BYTES },
    maxAgeMs: (read) => (read === undefined ? 0 : Number.POSITIVE_INFINITY),
    async load(txID, signal) {
      const bytes = await unlessRefused(api.getTx(txID, signal));
      if (bytes === undefined) return undefined;
      const transaction = parse(bytes, txID);
      return { transaction, size: transaction.kind === 'other' ? NAME_BYTES : bytes.length };
    },
  });
  return { read: async (txID, signal) => (await transactions.get(txID, signal))?.transaction };
}

interface Read {
  readonly transaction: PChainTransaction;
  /** In bytes. */
  readonly size: number;
}

/** The bytes hash to the ID, so if they cannot be read, the fault is not the API's. */
function parse(bytes: Uint8Array, txID: TxID): PChainTransaction {
  try {
    return parsePChainTransaction(bytes);
  } catch (cause) {
    if (!(cause instanceof ParseError)) throw cause;
    throw new ParseError(`transaction ${txID}`, cause.message, { cause });
  }
}
