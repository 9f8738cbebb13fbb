import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { readArray, readHex, readObject } from './json-fields.ts';
import { SEND_WARP_MESSAGE, WARP_PRECOMPILE } from './send-warp-log.ts';

const BLOOM_BYTES = 256;

/** Bits of the logs of Warp messages. */
const WARP_BLOOM = bloomOf([readHex(WARP_PRECOMPILE, 'address'), readHex(SEND_WARP_MESSAGE, 'topic')]);

/**
 * Whether the bloom filter of a receipt has more than its logs, and logs of Warp messages may be missing: some nodes return receipts before
 * their logs.
 *
 * @param bloom `logsBloom` of the receipt; undefined and null if the RPC leaves it out
 * @throws {ParseError}
 */
export function mayMissWarpLogs(bloom: unknown, logs: unknown): boolean {
  if (bloom === undefined || bloom === null) return false;
  const bytes = readHex(bloom, 'logsBloom');
  if (bytes.length !== BLOOM_BYTES) throw new ParseError('logsBloom', `must have ${BLOOM_BYTES} bytes`);
  return includes(bytes, WARP_BLOOM) && !includes(bloomOf(valuesOf(logs)), bytes);
}

/** Returns `logsBloom` of logs, in hex with `0x`. @throws {ParseError} */
export function logsBloomOf(logs: unknown): string {
  return `0x${bytesToHex(bloomOf(valuesOf(logs)))}`;
}

/** The addresses and topics of logs. */
function valuesOf(logs: unknown): Uint8Array[] {
  return readArray(logs, 'logs').flatMap((value) => {
    const { address, topics } = readObject(value, 'log');
    return [readHex(address, 'address'), ...readArray(topics, 'topics').map((topic) => readHex(topic, 'topic'))];
  });
}

/** Three of 2,048 bits for each value (Ethereum yellow paper, 4.3.1). */
function bloomOf(values: readonly Uint8Array[]): Uint8Array {
  const bloom = new Uint8Array(BLOOM_BYTES);
  for (const value of values) {
    const hash = Buffer.from(keccak_256(value));
    for (const offset of [0, 2, 4]) {
      const bit = hash.readUInt16BE(offset) % (8 * BLOOM_BYTES);
      const index = BLOOM_BYTES - 1 - Math.floor(bit / 8);
      bloom[index] = (bloom[index] ?? 0) | (1 << (bit % 8));
    }
  }
  return bloom;
}

function includes(bloom: Uint8Array, part: Uint8Array): boolean {
  return part.every((byte, index) => ((bloom[index] ?? 0) & byte) === byte);
}
