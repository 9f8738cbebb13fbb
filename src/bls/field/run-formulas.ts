import {
  add,
  addPair,
  addPairLoose,
  invert,
  mul,
  mulPair,
  mulParts2,
  setBigint,
  square,
  squarePair,
  squareParts2,
  sub,
  subPair,
  subPairLoose,
} from './field.ts';
import { FP_BYTES } from './fused-field.ts';
import { instantiate } from './wasm-instance.ts';

/** Results must not overlap with inputs. */
export type CompiledFormula = (...addresses: number[]) => void;

const OPERATIONS = {
  add,
  sub,
  mul,
  square,
  invert,
  mulParts2,
  squareParts2,
  addPair,
  subPair,
  addPairLoose,
  subPairLoose,
  mulPair,
  squarePair,
};
export type OperationName = keyof typeof OPERATIONS;

/** Functions of formulas, for one place in the memory. */
export interface AssembledFormulas {
  /** A module that exports them by their names. */
  readonly wasm: Uint8Array<ArrayBuffer>;
  /** What they find in the memory: elements that stand one after the other from an address on. */
  readonly constants: readonly bigint[];
  readonly constantsAt: number;
}

/** Functions of formulas on the memory of `field.ts`, where they were assembled for. */
export function runFormulas<Name extends string>({
  wasm,
  constants,
  constantsAt,
}: AssembledFormulas): Readonly<Record<Name, CompiledFormula>> {
  for (const [index, value] of constants.entries()) setBigint(constantsAt + index * FP_BYTES, value);
  // The exports are the functions that were assembled.
  return instantiate(wasm, OPERATIONS) as Readonly<Record<Name, CompiledFormula>>;
}
