import { CONSTANT_BYTES } from '../../src/bls/field/fused-limbs.ts';
import { address, type Code, get, set, unsigned, vector } from './wasm-assembly.ts';

/** What functions on vectors of two numbers are made of: the core specification, version 3, sections 2.4 and 5.4. */

const memoryArgument = (offset: number): Code => [3, ...unsigned(offset)];
export const loadVector = (offset: number): Code => vector(0x00, ...memoryArgument(offset));
export const storeVector = (offset: number): Code => vector(0x0b, ...memoryArgument(offset));
export const loadBoth = (offset: number): Code => vector(0x0a, ...memoryArgument(offset));
export const loadFirst = (offset: number): Code => vector(0x5d, ...memoryArgument(offset));
export const loadSecond = (offset: number): Code => vector(0x57, ...memoryArgument(offset), 1);
export const storeLane = (offset: number, lane: number): Code => vector(0x5b, ...memoryArgument(offset), lane);
export const SWAP = vector(0x0d, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
export const [AND, OR, XOR] = [vector(0x4e), vector(0x50), vector(0x51)];
export const ADD_INTEGERS = vector(0xce);
export const shiftRight = (bits: number): Code => [...address(bits), ...vector(0xcd)];
export const [ADD, SUB, MUL] = [vector(0xf0), vector(0xf1), vector(0xf2)];
/** The product of the first two plus the third; minus the product. */
export const [MULTIPLY_ADD, SUBTRACT_PRODUCT] = [vector(0x107), vector(0x108)];
export const LOOP = [0x03, 0x40];
export const BRANCH_IF = 0x0d;
export const END = 0x0b;
export const DROP = 0x1a;

/** Each constant is there twice, as a vector. */
export const VECTOR_BYTES = 16;

/** The bit pattern of a number of floating point. */
export function bitsOf(value: number): bigint {
  return new BigInt64Array(Float64Array.of(value).buffer)[0] ?? 0n;
}

/** Constants of the functions, which stand in the memory from its begin on: there they are loaded faster than as immediates. */
export class Constants {
  readonly #addresses = new Map<bigint, number>();

  /** @param bits of both halves of a vector */
  bits(bits: bigint): Code {
    return this.#load(BigInt.asUintN(64, bits));
  }

  value(value: number): Code {
    return this.#load(BigInt.asUintN(64, bitsOf(value)));
  }

  /** What has to stand in the memory from its begin on. */
  bytes(): Code {
    return [...this.#addresses.keys()].flatMap((bits) => [...new Uint8Array(BigUint64Array.of(bits, bits).buffer)]);
  }

  #load(bits: bigint): Code {
    let at = this.#addresses.get(bits);
    if (at === undefined) {
      at = this.#addresses.size * VECTOR_BYTES;
      if (at >= CONSTANT_BYTES) throw new RangeError('no room for a constant');
      this.#addresses.set(bits, at);
    }
    return [...address(0), ...loadVector(at)];
  }
}

/** The code of one function, and the vectors that it takes as locals. Its parameters are addresses. */
export class VectorBody {
  readonly parameters: number;
  readonly code: number[] = [];
  readonly #constants: Constants;
  readonly #cached = new Map<string, number>();
  #next: number;
  #temporary: number | undefined;

  constructor(parameters: number, constants: Constants) {
    this.parameters = parameters;
    this.#next = parameters;
    this.#constants = constants;
  }

  get vectors(): number {
    return this.#next - this.parameters;
  }

  emit(...codes: readonly Code[]): void {
    for (const code of codes) this.code.push(...code);
  }

  local(): number {
    return this.locals(1);
  }

  /** Reserves consecutive locals. @returns the first */
  locals(count: number): number {
    const first = this.#next;
    this.#next += count;
    return first;
  }

  /** A local that is read soon after it is written. */
  temporary(): number {
    this.#temporary ??= this.local();
    return this.#temporary;
  }

  /** A constant that is used often, in a local. To be asked for outside of loops first. */
  value(value: number): Code {
    return this.#cache(`value ${value}`, () => this.#constants.value(value));
  }

  bits(bits: bigint): Code {
    return this.#cache(`bits ${bits}`, () => this.#constants.bits(bits));
  }

  /** One that is used once. */
  once(bits: bigint): Code {
    return this.#constants.bits(bits);
  }

  #cache(name: string, load: () => Code): Code {
    const known = this.#cached.get(name);
    if (known !== undefined) return get(known);
    const local = this.local();
    this.#cached.set(name, local);
    this.emit(load(), set(local));
    return get(local);
  }
}
