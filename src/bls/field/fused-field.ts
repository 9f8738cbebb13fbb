import { FUSED_FIELD, FUSION_TEST } from '../gen/fused.ts';
import type { FieldModule } from './field-module.ts';
import { indices, LIMB_BITS, LIMB_BYTES, LIMBS, ORDER_LIMBS, PIECE_BITS } from './fused-limbs.ts';
import { instantiate } from './wasm-instance.ts';

/**
 * The arithmetic of `field-module.ts` on vectors of two floating-point numbers: two elements at a time, or the two coefficients of one of
 * the extension. It needs a processor with a fused multiply-add, as all have since about 2013; elsewhere `plain-backend.ts` runs.
 *
 * An element is 8 limbs of 50 bits: `scripts/bls/fused-reduction.ts`.
 */
export const FP_BYTES = LIMBS * LIMB_BYTES;

/** Compiles the module and starts an instance, with separate memory. */
export function createFieldModule(): FieldModule {
  // The exports are what `scripts/bls/fused-code.ts` assembles.
  const made = instantiate(Buffer.from(FUSED_FIELD, 'base64')) as Made;
  const limbs = new Float64Array(made.memory.buffer);
  return {
    ...made,
    writePieces(at, pieces) {
      for (const i of indices)
        limbs[at / LIMB_BYTES + i] = (pieces[2 * i] ?? 0) + (pieces[2 * i + 1] ?? 0) * 2 ** PIECE_BITS;
    },
    readPieces: (at, pieces) => readPieces(limbs, at / LIMB_BYTES, pieces),
    isZero(at) {
      for (let i = at / LIMB_BYTES; i < at / LIMB_BYTES + LIMBS; i += 1) if (limbs[i] !== 0) return false;
      return true;
    },
  };
}
type Made = Omit<FieldModule, 'writePieces' | 'readPieces' | 'isZero'>;

/** An element between -p and p, as a number in [0, p). */
function readPieces(limbs: Float64Array, first: number, pieces: number[]): void {
  let carry = 0;
  const isNegative = limbIsNegative(limbs, first);
  for (const i of indices) {
    const limb = (limbs[first + i] ?? 0) + (isNegative ? (ORDER_LIMBS[i] ?? 0) : 0) + carry;
    carry = Math.floor(limb / 2 ** LIMB_BITS);
    const positive = limb - carry * 2 ** LIMB_BITS;
    pieces[2 * i] = positive % 2 ** PIECE_BITS;
    pieces[2 * i + 1] = Math.floor(positive / 2 ** PIECE_BITS);
  }
}

/** The sign is that of the highest limb other than 0: lower ones are too small to change it. */
function limbIsNegative(limbs: Float64Array, first: number): boolean {
  for (let i = LIMBS - 1; i >= 0; i -= 1) {
    const limb = limbs[first + i] ?? 0;
    if (limb !== 0) return limb < 0;
  }
  return false;
}

/**
 * Whether this machine rounds a product and its sum only once, which the arithmetic here needs: 1 + 2^-52 squared minus its rounded value
 * is not 0.
 */
export function isFused(): boolean {
  try {
    const made = instantiate(Buffer.from(FUSION_TEST, 'base64')) as {
      readonly memory: { readonly buffer: ArrayBuffer };
      readonly test: () => void;
    };
    const numbers = new Float64Array(made.memory.buffer);
    const x = 1 + Number.EPSILON;
    numbers.set([x, x, -(x * x), -(x * x)]);
    made.test();
    return numbers[0] === Number.EPSILON ** 2 && numbers[1] === Number.EPSILON ** 2;
  } catch {
    // No vectors, or none of these operations.
    return false;
  }
}
