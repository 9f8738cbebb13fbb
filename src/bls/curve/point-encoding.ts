import { ParseError } from '../../lib/encoding/parse-error.ts';

/**
 * Compressed points as ZCash defined them and the standards adopted them (draft-irtf-cfrg-pairing-friendly-curves, appendix C):
 * x, with flags in its three highest bits, which a number below p leaves free.
 */
const COMPRESSED = 0x80;
const INFINITY = 0x40;
const LARGER_Y = 0x20;
const FLAGS = COMPRESSED | INFINITY | LARGER_Y;
export type Decoding = 'point' | 'infinity' | 'malformed';

export type SplitEncoding =
  | { readonly kind: 'infinity' | 'malformed' }
  /** The caller checks that x is below p and that y exists. */
  | { readonly kind: 'finite'; readonly x: Uint8Array; readonly isLargerY: boolean };

export function splitEncoding(bytes: Uint8Array, length: number): SplitEncoding {
  const flags = (bytes[0] ?? 0) & FLAGS;
  if (bytes.length !== length || (flags & COMPRESSED) === 0) return { kind: 'malformed' };
  const x = Uint8Array.from(bytes);
  x[0] = (x[0] ?? 0) & ~FLAGS;
  if ((flags & INFINITY) === 0) return { kind: 'finite', x, isLargerY: (flags & LARGER_Y) !== 0 };
  // Infinity has only one encoding, with no other bit set.
  return { kind: flags === (COMPRESSED | INFINITY) && x.every((byte) => byte === 0) ? 'infinity' : 'malformed' };
}

/** Sets the flags of a finite point, whose x is in `bytes`. */
export function setFlags(bytes: Uint8Array, isLargerY: boolean): void {
  bytes[0] = (bytes[0] ?? 0) | COMPRESSED | (isLargerY ? LARGER_Y : 0);
}

export function encodeInfinity(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  bytes[0] = COMPRESSED | INFINITY;
  return bytes;
}

/** Tests the first byte for the flag that distinguishes encodings from packed points. */
export function isCompressed(bytes: Uint8Array): boolean {
  return ((bytes[0] ?? 0) & COMPRESSED) !== 0;
}

export function isInfinity(bytes: Uint8Array): boolean {
  return ((bytes[0] ?? 0) & INFINITY) !== 0;
}

/**
 * Parses by a library's function, which throws if the bytes are no point.
 *
 * @throws {ParseError} for another length, no point, and infinity
 */
export function parsePoint<P>(
  bytes: Uint8Array,
  length: number,
  what: 'public key' | 'signature',
  parse: (bytes: Uint8Array) => P,
): P {
  if (bytes.length !== length) throw new ParseError(what, `must have ${length} bytes, has ${bytes.length}`);
  let point: P;
  try {
    point = parse(bytes);
  } catch (cause) {
    throw new ParseError(what, 'is not a compressed point on the curve', { cause });
  }
  // Encodings of infinity with any other bit set were refused above.
  if (isInfinity(bytes)) throw new ParseError(what, 'is the point at infinity');
  return point;
}
