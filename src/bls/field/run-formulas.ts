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

/** Compiled formulas for one place in the memory. */
export interface AssembledFormulas {
  /** WebAssembly module that exports the formulas by name. */
  readonly wasm: Uint8Array<ArrayBuffer>;
  /** Constants that the formulas expect in memory: adjacent elements, from an address on. */
  readonly constants: readonly bigint[];
  readonly constantsAt: number;
}

/** Instantiates formulas on the memory of `field.ts`, for which they were assembled. */
export function runFormulas<Name extends string>({
  wasm,
  constants,
  constantsAt,
}: AssembledFormulas): Readonly<Record<Name, CompiledFormula>> {
  for (const [index, value] of constants.entries()) setBigint(constantsAt + index * FP_BYTES, value);
  // The exports are the assembled functions.
  return instantiate(wasm, OPERATIONS) as Readonly<Record<Name, CompiledFormula>>;
}
