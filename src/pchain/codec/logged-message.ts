import { bytesToHex, parseHex } from '../../lib/encoding/bytes.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { encodeLogData, LOG_DATA_START, messageOfLogData } from './send-warp-log.ts';

const START_LENGTH = LOG_DATA_START.length / 2;

/**
 * Returns the message in the data of a `SendWarpMessage` log, and undefined for bytes that do not begin like such data. No Warp message
 * does: its network ID would be 0.
 *
 * @throws {ParseError} if the data is not exactly what the precompile emits
 */
export function loggedMessage(bytes: Uint8Array, what: string): Uint8Array | undefined {
  if (bytesToHex(bytes.subarray(0, START_LENGTH)) !== LOG_DATA_START) return undefined;
  const digits = bytesToHex(bytes);
  const message = messageOfLogData(digits);
  if (message !== undefined && encodeLogData(message) === `0x${digits}`) return parseHex(message, what);
  throw new ParseError(
    what,
    'begins like the data of a SendWarpMessage log, but is not one value of ABI-encoded bytes: it is cut off, or has more after it',
  );
}
