import { bls12_381 } from '@noble/curves/bls12-381.js';

const { Fp } = bls12_381.fields;

/**
 * A value in a formula: a constant, an input, or the result of an operation on values before it. Equal values are one object, so that
 * nothing is computed twice.
 */
export interface Value {
  /** Grows in the order of making. */
  readonly id: number;
  readonly operation: Operation | 'input' | 'constant';
  readonly operands: readonly Value[];
  readonly constant?: bigint;
}
export type Operation = 'add' | 'sub' | 'mul' | 'invert';

/**
 * Stands in for a base field in code that is generic in its field, as that of @noble/curves is: it computes nothing, but notes which
 * operations the code asks for. `compile-formulas.ts` makes functions of them. What depends on constants alone is computed, by
 * noble's field.
 */
export class FormulaRecorder {
  readonly ORDER = Fp.ORDER;
  readonly BITS = Fp.BITS;
  readonly BYTES = Fp.BYTES;
  readonly isLE = false;
  readonly #values = new Map<string, Value>();
  readonly ZERO = this.constant(0n);
  readonly ONE = this.constant(1n);

  input(): Value {
    return this.#note(`input ${this.#values.size}`, 'input', []);
  }

  constant(value: bigint): Value {
    return this.#note(`constant ${value}`, 'constant', [], value);
  }

  /** The value of this name, if any formula has asked for it. */
  find(operation: Operation, ...operands: readonly Value[]): Value | undefined {
    return this.#values.get(nameOf(operation, operands));
  }

  create(value: Value | bigint): Value {
    return typeof value === 'bigint' ? this.constant(Fp.create(value)) : value;
  }

  add(a: Value, b: Value): Value {
    if (a === this.ZERO) return b;
    if (b === this.ZERO) return a;
    return this.#operation('add', [a, b], (x, y) => Fp.add(x, y));
  }

  sub(a: Value, b: Value): Value {
    if (b === this.ZERO) return a;
    return a === b ? this.ZERO : this.#operation('sub', [a, b], (x, y) => Fp.sub(x, y));
  }

  neg(a: Value): Value {
    return this.sub(this.ZERO, a);
  }

  mul(a: Value, b: Value | bigint): Value {
    if (typeof b === 'bigint') return this.#multiple(a, b);
    if (a === this.ZERO || b === this.ONE) return a;
    if (b === this.ZERO || a === this.ONE) return b;
    return this.#operation('mul', [a, b], (x, y) => Fp.mul(x, y));
  }

  sqr(a: Value): Value {
    return this.mul(a, a);
  }

  inv(a: Value): Value {
    return this.#operation('invert', [a], (x) => Fp.inv(x));
  }

  div(a: Value, b: Value | bigint): Value {
    return this.mul(a, this.inv(typeof b === 'bigint' ? this.constant(Fp.create(b)) : b));
  }

  /** Multiplies by a small number, from its highest bit on. */
  #multiple(a: Value, factor: bigint): Value {
    if (a.constant !== undefined) return this.constant(Fp.mul(a.constant, Fp.create(factor)));
    let multiple = this.ZERO;
    for (const bit of factor.toString(2)) {
      multiple = this.add(multiple, multiple);
      if (bit === '1') multiple = this.add(multiple, a);
    }
    return multiple;
  }

  #operation(operation: Operation, operands: readonly Value[], compute: (...values: bigint[]) => bigint): Value {
    const constants = operands.flatMap(({ constant }) => constant ?? []);
    if (constants.length === operands.length) return this.constant(compute(...constants));
    return this.#note(nameOf(operation, operands), operation, operands);
  }

  #note(name: string, operation: Value['operation'], operands: readonly Value[], constant?: bigint): Value {
    const known = this.#values.get(name);
    if (known !== undefined) return known;
    const value: Value = { id: this.#values.size, operation, operands, ...(constant !== undefined && { constant }) };
    this.#values.set(name, value);
    return value;
  }
}

function nameOf(operation: Operation, operands: readonly Value[]): string {
  const ids = operands.map(({ id }) => id);
  return `${operation} ${(operation === 'sub' ? ids : ids.toSorted((a, b) => a - b)).join()}`;
}
