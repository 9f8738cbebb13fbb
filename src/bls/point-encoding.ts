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
  /** It is still to be checked that x is below p and that there is a y. */
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
