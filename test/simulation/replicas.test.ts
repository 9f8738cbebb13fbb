import { describe, expect, test, vi } from 'vitest';
import { type Bls, describeFailure, openSimulator } from './run-seeds.ts';
import { testReplicaShare } from './share-of-seeds.ts';

vi.mock('lru-cache', () => import('./small-caches.ts'));
vi.mock('../../src/p2p/certificate.ts', async (importOriginal) =>
  (await import('./remembered-certificates.ts')).rememberCertificates(await importOriginal()),
);

const SEED = process.env['SIMULATION_SEED'];

describe.runIf(SEED !== undefined)('replay', () => {
  test(`seed ${SEED}`, async () => {
    const simulator = await openSimulator();
    const report = await simulator.runReplicas(Number(SEED), process.env['SIMULATION_BLS'] as Bls | undefined);
    expect(report.violations, describeFailure(report)).toEqual([]);
  });
});

describe.runIf(SEED === undefined)('replicas and their store', () => {
  testReplicaShare(1, 2);

  test('a seed is the same run each time, whatever ran before', async () => {
    const [first, second] = [await openSimulator(), await openSimulator()];
    for (const seed of [3, 8, 24, 93, 137]) {
      const once = await first.runReplicas(seed);
      await second.runReplicas(seed + 1);
      expect((await second.runReplicas(seed)).digest).toBe(once.digest);
    }
  }, 60_000);
});
