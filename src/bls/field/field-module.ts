/**
 * Arithmetic of the base field of BLS12-381 and of its quadratic extension as a WebAssembly module: `fused-field.ts`.
 *
 * Elements stand in the module's memory, in Montgomery form: as their products by R. They are not fully reduced. Public keys and
 * signatures are not secret, so nothing here needs to run in constant time.
 */
export interface FieldModule {
  readonly memory: { readonly buffer: ArrayBuffer };
  /** Arguments are addresses; `out` may be an input too. */
  readonly mul: (out: number, a: number, b: number) => void;
  /** Squares `times` (at least 1) times over. */
  readonly square: (out: number, a: number, times: number) => void;
  readonly add: (out: number, a: number, b: number) => void;
  readonly sub: (out: number, a: number, b: number) => void;
  /** The same of two pairs of elements. The first result must stand neither where the second does nor where the second pair does. */
  readonly mulPair: (out0: number, out1: number, a0: number, b0: number, a1: number, b1: number) => void;
  readonly squarePair: (out0: number, out1: number, a0: number, a1: number, times: number) => void;
  readonly addPair: (out0: number, out1: number, a0: number, b0: number, a1: number, b1: number) => void;
  readonly subPair: (out0: number, out1: number, a0: number, b0: number, a1: number, b1: number) => void;
  /**
   * The same as {@link addPair} and {@link subPair}, of which a part may be left undone. The results may be operands only of `mulPair`,
   * `mulParts2`, `addPair` and `subPair`; the operands here must not be such results.
   */
  readonly addPairLoose: FieldModule['addPair'];
  readonly subPairLoose: FieldModule['subPair'];
  /** The same for a + b·i, with i² = -1: the two coefficients stand one after the other. */
  readonly mul2: (out: number, a: number, b: number) => void;
  readonly square2: (out: number, a: number) => void;
  /** The same with coefficients that stand anywhere. */
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
 * Of 64 KiB each: 1.75 MiB, of which most is for prepared lines (`fast-pairing.ts`). A constant size, so that views of the memory stay
 * valid; what is not written to costs nothing.
 */
export const FIELD_MEMORY_PAGES = 28;

/** Starts at the first free address; for what compiled formulas need: values in between, and constants. They take three quarters of it. */
export const FORMULA_MEMORY_BYTES = 4_096;
