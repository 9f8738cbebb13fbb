import { describe, expect, test, vi } from 'vitest';
import { openSimulator } from './run-seeds.ts';
import { SEED, testReplay, testShare } from './share-of-seeds.ts';

vi.mock('lru-cache', () => import('./small-caches.ts'));
vi.mock('../../src/p2p/identity/certificate.ts', async (importOriginal) =>
  (await import('./remembered-certificates.ts')).rememberCertificates(await importOriginal()),
);

testReplay('run');

describe.runIf(SEED === undefined)('the whole service', () => {
  testShare(1, 2);

  test('a seed is the same run each time, whatever ran before', async () => {
    const [first, second] = [await openSimulator(), await openSimulator()];
    for (const seed of [3, 8, 34, 137]) {
      const once = await first.run(seed);
      await second.run(seed + 1);
      expect((await second.run(seed)).digest).toBe(once.digest);
    }
  }, 60_000);
});
