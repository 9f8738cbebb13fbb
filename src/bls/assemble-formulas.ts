import { type AssembledFormulas, compileFormulas, type FormulaPlace } from './compile-formulas.ts';
import { recordPairing } from './noble-formulas.ts';
import { recordDoubling } from './record-doubling.ts';

/** All formulas of `compiled-formulas.ts`. */
export function assembleFormulas(place: FormulaPlace): AssembledFormulas {
  return compileFormulas(allFormulas(), place);
}

export type FormulaName = keyof ReturnType<typeof allFormulas>;

function allFormulas() {
  return { ...recordPairing(), doublingG2: recordDoubling() };
}
