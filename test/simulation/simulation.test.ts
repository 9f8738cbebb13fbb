import { inject, vi } from 'vitest';
import { planOf } from './plan.ts';
import { testSeeds } from './test-seeds.ts';

vi.mock('lru-cache', () => import('./small-caches.ts'));
vi.mock('../../src/p2p/identity/certificate.ts', async (importOriginal) =>
  (await import('./remembered-certificates.ts')).rememberCertificates(await importOriginal()),
);

testSeeds({
  schedules: inject('schedules'),
  realEvery: 100,
  planOf,
  mustOccur: [
    'signed',
    'left',
    'insufficient_weight',
    'not_connected',
    'signing_refused',
    'quorum_unreachable',
    'overloaded',
    'height_not_reached',
    'unknown_source_chain',
    'wrong_network',
    'invalid_request',
    'p_chain_unavailable',
    'p_chain_invalid',
    'network_unavailable',
  ],
});
