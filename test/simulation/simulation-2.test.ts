import { describe, vi } from 'vitest';
import { testShare } from './share-of-seeds.ts';

vi.mock('lru-cache', () => import('./small-caches.ts'));
vi.mock('../../src/p2p/identity/certificate.ts', async (importOriginal) =>
  (await import('./remembered-certificates.ts')).rememberCertificates(await importOriginal()),
);

// A separate file, which runs in parallel with the other share.
describe.runIf(process.env['SIMULATION_SEED'] === undefined)('the whole service', () => {
  testShare(2, 2);
});
