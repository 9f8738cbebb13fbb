/** Bytes as hex, without a prefix, as the API has them. */

export function withoutPrefix(hex: string): string {
  return hex.startsWith('0x') || hex.startsWith('0X') ? hex.slice(2) : hex;
}

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const ID_DIGITS = 64;
const CHECKSUM_DIGITS = 8;

/**
 * An ID of 32 bytes with `0x`, from hex with it or from cb58; undefined if it has another length. The checksum of cb58 is not verified: the
 * service does not find a misspelt ID.
 *
 * @param id characters of base58, unless it starts with `0x`
 */
export function hexOfId(id: string): string | undefined {
  if (id.startsWith('0x')) return id;
  const number = Array.from(id).reduce((sum, digit) => sum * 58n + BigInt(BASE58.indexOf(digit)), 0n);
  const hex = number.toString(16).padStart(ID_DIGITS + CHECKSUM_DIGITS, '0');
  return hex.length === ID_DIGITS + CHECKSUM_DIGITS ? `0x${hex.slice(0, ID_DIGITS)}` : undefined;
}

/** @param hex an even number of digits */
function bytesOfHex(hex: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(hex.length / 2);
  for (let index = 0; index < bytes.length; index++)
    bytes[index] = Number.parseInt(hex.slice(2 * index, 2 * index + 2), 16);
  return bytes;
}

/** Returns the bytes as text if they are readable UTF-8. */
export function textOfHex(hex: string): string | undefined {
  if (hex === '') return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytesOfHex(hex));
    return Array.from(text).every(isReadable) ? text : undefined;
  } catch {
    return undefined;
  }
}

/** Excludes control characters except line breaks. */
function isReadable(character: string): boolean {
  return (character >= ' ' && character !== '\u007f') || '\t\n\r'.includes(character);
}

const WORD_DIGITS = 64;

/** One word of what an EVM contract has encoded; undefined beyond the end. */
export function wordAt(hex: string, index: number): string | undefined {
  const word = hex.slice(WORD_DIGITS * index, WORD_DIGITS * (index + 1));
  return word.length === WORD_DIGITS ? word : undefined;
}

/** Returns the `bytes` at an ABI offset, which is relative to `start` digits. */
export function dynamicBytes(hex: string, offsetWord: string | undefined, start = 0): string | undefined {
  const offset = smallNumber(offsetWord);
  if (offset === undefined) return undefined;
  const at = start + 2 * offset;
  const length = smallNumber(hex.slice(at, at + WORD_DIGITS));
  if (length === undefined) return undefined;
  const content = hex.slice(at + WORD_DIGITS, at + WORD_DIGITS + 2 * length);
  return content.length === 2 * length ? content : undefined;
}

/** Offsets and lengths within what was pasted, which has some KB. */
function smallNumber(word: string | undefined): number | undefined {
  return word !== undefined && /^0{56}[0-9a-f]{8}$/.test(word) ? Number.parseInt(word.slice(56), 16) : undefined;
}
