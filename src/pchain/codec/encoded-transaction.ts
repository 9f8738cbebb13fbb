import { sha256 } from '@noble/hashes/sha2.js';
import { equalBytes } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { ID_LENGTH, idFromBytes, type TxID } from '../../warp/ids.ts';
import { readHex, readObject } from './json-fields.ts';

/** In bytes: a transaction fits into a network message of 2 MiB, which hex doubles. */
export const TRANSACTION_RESPONSE_BYTES = 5 * 1024 * 1024;

const CHECKSUM_LENGTH = 4;

/**
 * Parses the transaction in a response of `platform.getTx` or `avm.getTx`. The `hex` encoding ends with the last 4 bytes of the SHA-256
 * of its content; the SHA-256 of a transaction is its ID.
 *
 * @throws {ParseError}
 */
export function parseEncodedTransaction(result: unknown, txID: TxID): Uint8Array {
  const encoded = readHex(readObject(result, 'result').tx, 'tx');
  const bytes = encoded.slice(0, -CHECKSUM_LENGTH);
  const hash = sha256(bytes);
  const checksum = encoded.subarray(bytes.length);
  if (!equalBytes(hash.subarray(ID_LENGTH - CHECKSUM_LENGTH), checksum)) {
    throw new ParseError('tx', 'has a wrong checksum');
  }
  if (idFromBytes<TxID>(hash, 'txID') !== txID) throw new ParseError('tx', 'is not the transaction asked for');
  return bytes;
}
