import { FUSED_FORMULAS } from '../gen/fused.ts';
import { runFormulas } from './run-formulas.ts';

/**
 * The formulas of @noble/curves for pairings (`scripts/bls/noble-formulas.ts`), and the doubling of points of G2, as functions on the memory of
 * `field.ts`. `npm run generate` makes them (`scripts/bls`).
 *
 * Elements of the twelfth-degree extension are twelve coefficients, in noble's order. Results come first, and must not overlap with what
 * they are computed from.
 */
export const {
  mul12,
  square12,
  invert12,
  conjugate12,
  frobenius12,
  frobeniusSquared12,
  frobeniusCubed12,
  cyclotomicSquare12,
  mulByLine,
  doublingStep,
  additionStep,
  doublingG2,
} = runFormulas<(typeof FUSED_FORMULAS.names)[number]>({
  ...FUSED_FORMULAS,
  wasm: Buffer.from(FUSED_FORMULAS.wasm, 'base64'),
});
