import type { AssembledFormulas } from '../../src/bls/field/run-formulas.ts';
import { compileFormulas, type FormulaPlace } from './compile-formulas.ts';
import { recordPairing } from './noble-formulas.ts';
import { recordDoubling } from './record-doubling.ts';

/** All formulas of `src/bls/field/compiled-formulas.ts`. */
export function assembleFormulas(place: FormulaPlace): AssembledFormulas & { readonly names: readonly string[] } {
  const formulas = { ...recordPairing(), doublingG2: recordDoubling() };
  return { names: Object.keys(formulas), ...compileFormulas(formulas, place) };
}
