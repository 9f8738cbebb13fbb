import type { BlsBackend } from './bls-backend.ts';

export const BACKEND_NAMES = ['noble', 'native'] as const;
export type BackendName = (typeof BACKEND_NAMES)[number];

/**
 * Only what is asked for is loaded: a worker thread starts the faster.
 *
 * @throws {NativeBackendMissing}
 */
export async function loadBackend(name: BackendName): Promise<BlsBackend> {
  switch (name) {
    case 'noble':
      return (await import('./noble-backend.ts')).nobleBackend;
    case 'native':
      return (await import('./native-backend.ts')).loadNativeBackend();
  }
}
