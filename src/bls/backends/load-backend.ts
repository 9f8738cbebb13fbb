import { isFused } from '../field/fused-field.ts';
import type { BlsBackend } from './bls-backend.ts';

/** `noble`: noble's formulas, recorded and compiled to WebAssembly, and judged by noble. `native`: blst. */
export const BACKEND_NAMES = ['noble', 'native'] as const;
export type BackendName = (typeof BACKEND_NAMES)[number];

/**
 * Loads only the backend asked for, so that worker threads start faster.
 *
 * @throws {NativeBackendMissing}
 */
export async function loadBackend(name: BackendName): Promise<BlsBackend> {
  switch (name) {
    case 'noble':
      // Our arithmetic needs WebAssembly with a fused multiply-add.
      return isFused()
        ? (await import('./noble-backend.ts')).nobleBackend
        : (await import('./plain-backend.ts')).plainBackend;
    case 'native':
      return (await import('./native-backend.ts')).loadNativeBackend();
  }
}
