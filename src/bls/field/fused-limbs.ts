import { FIELD_ORDER } from './field-module.ts';

/**
 * Layout of the fused field's elements in memory: 8 limbs of 50 bits, little-endian, each a whole number in 8 bytes. The bounds are in
 * `scripts/bls/fused-reduction.ts`.
 */
export const LIMB_BITS = 50;
export const LIMBS = 8;
export const LIMB_BYTES = 8;
/** R of the Montgomery form. */
export const RADIX = 1n << BigInt(LIMB_BITS * LIMBS);
/** Bits of a piece, in which numbers are written and read, the lowest first: a limb has two pieces. */
export const PIECE_BITS = LIMB_BITS / 2;
/** Bytes at the start of the memory, for constants of the code. */
export const CONSTANT_BYTES = 4096;
export const indices = Array.from({ length: LIMBS }, (_, index) => index);
export const ORDER_LIMBS = centeredLimbs(FIELD_ORDER);

/** Lowest first; only the highest limb is not between -2^49 and 2^49. */
export function centeredLimbs(value: bigint, count = LIMBS): number[] {
  let rest = value;
  return Array.from({ length: count }, (_, index) => {
    const limb = index === count - 1 ? rest : BigInt.asIntN(LIMB_BITS, rest);
    rest = (rest - limb) >> BigInt(LIMB_BITS);
    return Number(limb);
  });
}
