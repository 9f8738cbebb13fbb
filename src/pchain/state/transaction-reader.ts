import { FreshCache } from '../../lib/cache/fresh-cache.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import type { TxID } from '../../warp/ids.ts';
import { type PChainTransaction, parsePChainTransaction } from '../codec/l1-transaction.ts';
import { unlessRefused } from '../rpc/api-error.ts';
import type { NodeApi } from '../rpc/node-api.ts';

/**
 * Reads a transaction. Returns undefined if the P-Chain has not accepted it.
 *
 * @throws {ApiError}, {@link ParseError} for a transaction of a newer format, or the signal's reason
 */
export type TransactionReader = (txID: TxID, signal: AbortSignal) => Promise<PChainTransaction | undefined>;

/** Most take some KB. Accepted transactions never change. */
const MAX_TRANSACTIONS = 500;
/** Encoded bytes. One transaction has up to 64 KiB, and takes a few times as much when parsed. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;
/** Size of a transaction without a Warp message, of which only the name is kept. */
const NAME_BYTES = 64;

export function createTransactionReader(api: Pick<NodeApi, 'getTx'>, clock: Clock): TransactionReader {
  const transactions = new FreshCache<TxID, ParsedTransaction | undefined>({
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
  return async (txID, signal) => (await transactions.get(txID, signal))?.transaction;
}

interface ParsedTransaction {
  readonly transaction: PChainTransaction;
  /** In bytes. */
  readonly size: number;
}

/** Rethrows with the ID. The bytes match it, so an error is not the API's fault. */
function parse(bytes: Uint8Array, txID: TxID): PChainTransaction {
  try {
    return parsePChainTransaction(bytes);
  } catch (cause) {
    if (!(cause instanceof ParseError)) throw cause;
    throw new ParseError(`transaction ${txID}`, cause.message, { cause });
  }
}
