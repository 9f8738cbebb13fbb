import type { FormulaName } from './assemble-formulas.ts';
import type { AssembledFormulas } from './compile-formulas.ts';
import { FORMULA_MEMORY } from './field.ts';
import { FP_BYTES } from './field-choice.ts';
import { FORMULA_MEMORY_BYTES } from './field-module.ts';
import { FUSED_FIELD_BYTES } from './fused-field.ts';
import { FUSED_FORMULAS } from './gen/fused.ts';
import { runFormulas } from './run-formulas.ts';

/**
 * The formulas of @noble/curves for pairings (`noble-formulas.ts`), and the doubling of points of G2, as functions on the memory of
 * `field.ts`. For the fused field they come ready as `npm run generate` has made them; for the other one they are made here, in a tenth of a second.
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
} = runFormulas<FormulaName>(FP_BYTES === FUSED_FIELD_BYTES ? ready() : await assembled());

function ready(): AssembledFormulas {
  const { wasm, constants, constantsAt } = FUSED_FORMULAS;
  return { wasm: Buffer.from(wasm, 'base64'), constants, constantsAt };
}

async function assembled(): Promise<AssembledFormulas> {
  const { assembleFormulas } = await import('./assemble-formulas.ts');
  return assembleFormulas({ elementBytes: FP_BYTES, address: FORMULA_MEMORY, memoryBytes: FORMULA_MEMORY_BYTES });
}
