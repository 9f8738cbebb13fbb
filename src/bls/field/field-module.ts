/**
 * Arithmetic of the base field of BLS12-381 and of its quadratic extension as a WebAssembly module: `fused-field.ts`.
 *
 * Elements are in the module's memory, in Montgomery form: multiplied by R. They are not fully reduced. Public keys and signatures are not
 * secret, so nothing here needs to run in constant time.
 */
export interface FieldModule {
  readonly memory: { readonly buffer: ArrayBuffer };
  /** Arguments are addresses; `out` may be an input too. */
  readonly mul: (out: number, a: number, b: number) => void;
  /** Squares repeatedly, `times` (at least 1) times. */
  readonly square: (out: number, a: number, times: number) => void;
  readonly add: (out: number, a: number, b: number) => void;
  readonly sub: (out: number, a: number, b: number) => void;
  /** Multiplies two pairs of elements. `out0` must not alias `out1`, `a1` or `b1`. */
  readonly mulPair: (out0: number, out1: number, a0: number, b0: number, a1: number, b1: number) => void;
  readonly squarePair: (out0: number, out1: number, a0: number, a1: number, times: number) => void;
  readonly addPair: (out0: number, out1: number, a0: number, b0: number, a1: number, b1: number) => void;
  readonly subPair: (out0: number, out1: number, a0: number, b0: number, a1: number, b1: number) => void;
  /**
   * Like {@link addPair} and {@link subPair}, without the final reduction. The results may be operands only of `mulPair`, `mulParts2`,
   * `addPair` and `subPair`; the operands here must be reduced.
   */
  readonly addPairLoose: FieldModule['addPair'];
  readonly subPairLoose: FieldModule['subPair'];
  /** Multiplies in the extension, a + b·i with i² = -1; the two coefficients are adjacent in memory. */
  readonly mul2: (out: number, a: number, b: number) => void;
  readonly square2: (out: number, a: number) => void;
  /** Like {@link mul2}, with coefficients at separate addresses. */
  readonly mulParts2: (out0: number, out1: number, a0: number, a1: number, b0: number, b1: number) => void;
  readonly squareParts2: (out0: number, out1: number, a0: number, a1: number) => void;
  readonly add2: (out: number, a: number, b: number) => void;
  readonly sub2: (out: number, a: number, b: number) => void;

  readonly isZero: (at: number) => boolean;
  /** Writes a number below 2^384, in pieces of `PIECE_BITS`, in plain form, not in Montgomery form. */
  readonly writePieces: (at: number, pieces: readonly number[]) => void;
  /** Reads a product by R^-1, fully reduced. Writes to `pieces`. */
  readonly readPieces: (at: number, pieces: number[]) => void;
}

/** -u for the parameter u = -0xd201000000010000 that defines the curve. */
export const MINUS_U = 0xd201000000010000n;
export const FIELD_ORDER =
  0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaabn;

/**
 * Of 64 KiB each: 1.75 MiB, of which most is for prepared lines (`fast-pairing.ts`). The size is constant, so that views of the memory stay
 * valid; pages that are never written take no memory.
 */
export const FIELD_MEMORY_PAGES = 28;

/** Memory of the compiled formulas, from the first free address: intermediate values and constants, which take three quarters of it. */
export const FORMULA_MEMORY_BYTES = 4_096;
