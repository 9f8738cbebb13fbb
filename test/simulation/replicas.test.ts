import { inject, vi } from 'vitest';
import { planOfReplicas } from './replica-plan.ts';
import { testSeeds } from './test-seeds.ts';

vi.mock('lru-cache', () => import('./small-caches.ts'));
vi.mock('../../src/p2p/identity/certificate.ts', async (importOriginal) =>
  (await import('./remembered-certificates.ts')).rememberCertificates(await importOriginal()),
);

testSeeds({
  schedules: inject('replicaSchedules'),
  realEvery: 500,
  planOf: planOfReplicas,
  mustOccur: ['alone', 'found', 'ours', 'refused', 'taken_over', 'waited'],
});
