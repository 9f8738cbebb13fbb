import type { WarpSet, WarpValidator } from './warp-set.ts';

/** Whom the bits of a signature mean. */
export interface NamedSigners {
  readonly validators: readonly WarpValidator[];
  readonly weight: bigint;
  /** Bits beyond the end of the set. */
  readonly unknown: readonly number[];
}

/** @param signers canonical indices */
export function namedSigners(signers: readonly number[], { validators }: WarpSet): NamedSigners {
  const named = signers.flatMap((index) => validators[index] ?? []);
  return {
    validators: named,
    weight: named.reduce((sum, { weight }) => sum + weight, 0n),
    unknown: signers.filter((index) => index >= validators.length),
  };
}
