import { IMPORTS } from '../../src/bls/field/wasm-instance.ts';

/** What modules of WebAssembly are made of: the binary format of the core specification, version 3, chapter 5. */

export type Code = readonly number[];

export interface WasmFunction {
  readonly name: string;
  /** All are addresses (i32). Nothing is returned. */
  readonly parameters: number;
  /** Locals of type i64; they follow the parameters. */
  readonly locals: number;
  /** Locals of type v128; they follow those of i64. */
  readonly vectors?: number;
  readonly code: Code;
}

const I32 = 0x7f;
const I64 = 0x7e;
const V128 = 0x7b;
const END = 0x0b;

export interface ModuleParts {
  /**
   * The number of parameters of functions of JavaScript or of other modules, by their names. They have the first indices, in this order;
   * those of the module's own functions follow.
   */
  readonly imports?: Readonly<Record<string, number>>;
  /** Pages of 64 KiB, for a memory that is exported; 0 for none. */
  readonly memoryPages?: number;
  /** What stands in the memory from its begin on. */
  readonly data?: Code;
}

/** The bytes of a module that exports these functions by their names, and its memory. `wasm-instance.ts` starts it. */
export function assemble(
  functions: readonly WasmFunction[],
  { imports = {}, memoryPages = 0, data = [] }: ModuleParts = {},
): Uint8Array<ArrayBuffer> {
  const imported = Object.entries(imports);
  const types = [...new Set([...imported.map(([, parameters]) => parameters), ...functions.map(parametersOf)])];
  const typeOf = (parameters: number): Code => unsigned(types.indexOf(parameters));
  return new Uint8Array([
    0x00,
    0x61,
    0x73,
    0x6d,
    1,
    0,
    0,
    0,
    ...section(
      1,
      types.map((parameters) => [0x60, parameters, ...new Array<number>(parameters).fill(I32), 0]),
    ),
    ...section(
      2,
      imported.map(([name, parameters]) => [...text(IMPORTS), ...text(name), 0, ...typeOf(parameters)]),
    ),
    ...section(
      3,
      functions.map(({ parameters }) => typeOf(parameters)),
    ),
    ...section(5, memoryPages > 0 ? [[0, ...unsigned(memoryPages)]] : []),
    ...section(7, [
      ...(memoryPages > 0 ? [[...text('memory'), 2, 0]] : []),
      ...functions.map(({ name }, index) => [...text(name), 0, ...unsigned(imported.length + index)]),
    ]),
    ...section(
      10,
      functions.map(({ locals, vectors = 0, code }) => {
        const body = [2, ...unsigned(locals), I64, ...unsigned(vectors), V128, ...code, END];
        return [...unsigned(body.length), ...body];
      }),
    ),
    ...section(11, data.length > 0 ? [[0, ...address(0), END, ...unsigned(data.length), ...data]] : []),
  ]);
}

function parametersOf({ parameters }: WasmFunction): number {
  return parameters;
}

export const get = (local: number): Code => [0x20, ...unsigned(local)];
export const set = (local: number): Code => [0x21, ...unsigned(local)];
export const tee = (local: number): Code => [0x22, ...unsigned(local)];
export const call = (index: number): Code => [0x10, ...unsigned(index)];
/** An address. */
export const address = (value: number): Code => [0x41, ...signed(BigInt(value))];
/** An address beyond another one. */
export const addressFrom = (local: number, offset: number): Code =>
  offset === 0 ? get(local) : [...get(local), ...address(offset), 0x6a];

/** Vector instructions, which have a prefix. */
export const vector = (opcode: number, ...immediates: readonly number[]): Code => [
  0xfd,
  ...unsigned(opcode),
  ...immediates,
];

function section(id: number, items: readonly Code[]): Code {
  if (items.length === 0) return [];
  const content = [...unsigned(items.length), ...items.flat()];
  return [id, ...unsigned(content.length), ...content];
}

function text(name: string): Code {
  return [...unsigned(name.length), ...new TextEncoder().encode(name)];
}

/** LEB128. */
export function unsigned(value: number): Code {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return [...bytes, rest];
    bytes.push((rest & 0x7f) | 0x80);
  }
}

function signed(value: bigint): Code {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    const low = Number(rest & 0x7fn);
    if (rest >= -64n && rest < 64n) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}
