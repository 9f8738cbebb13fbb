import { withoutPrefix } from '../ui/hex.ts';

/** Hex digits of the codec version, the network ID and the source chain of a message. */
const HEADER_DIGITS = 2 * (2 + 4 + 32);
/** Length of the payload that follows, its codec version, and its type, which is that of a hash. */
const HASH_PAYLOAD = `00000026${'0000'}${'00000000'}`;

/**
 * Returns the message with the hash of the block that emitted a message, both in hex. Validators sign it, and the feed of its chain does not find
 * it: it is in no log.
 */
export function blockHashMessage(emitted: string, blockHash: string): string {
  return `0x${withoutPrefix(emitted).slice(0, HEADER_DIGITS)}${HASH_PAYLOAD}${withoutPrefix(blockHash)}`;
}
