/** The part of this global that is used here: Node's types do not declare it, as those of browsers do. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array<ArrayBuffer>) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: object };
};

/** The name that modules import from. */
export const IMPORTS = 'imports';

/**
 * Compiles and starts a module that `scripts/bls/wasm-assembly.ts` has assembled.
 *
 * @param imports the functions that it imports, by name
 * @returns the exports: the functions by their names, and the memory
 */
export function instantiate(
  bytes: Uint8Array<ArrayBuffer>,
  imports: Readonly<Record<string, (...addresses: number[]) => void>> = {},
): object {
  return new WebAssembly.Instance(new WebAssembly.Module(bytes), { [IMPORTS]: imports }).exports;
}
