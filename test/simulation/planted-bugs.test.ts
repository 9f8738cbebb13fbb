import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type BugOfSimulation, PLANTED_BUGS } from '../mutations/bugs.ts';

/** The most seeds until one finds the bug. */
const MAX_SEEDS = 400;
/** Ends what hangs, and not what yields to other stages of .ci/run. */
const TIMEOUT_MS = 2_400_000;
const ROOT = join(import.meta.dirname, '../..');

afterEach(() => {
  vi.doUnmock('lru-cache');
  vi.resetModules();
});

async function expectFound({ name, file, world, violation }: BugOfSimulation): Promise<void> {
  const path = join(ROOT, file);
  // One that cannot be planted fails alone.
  onTestFinished(() => {
    vi.doUnmock(path);
  });
  vi.resetModules();
  vi.doMock('lru-cache', () => import('./small-caches.ts'));
  // vitest.config.ts plants the bug in the module with this query.
  vi.doMock(path, () => import(`${path}?planted=${encodeURIComponent(name)}`));
  const [{ openSimulator }, { planOf }, { planOfReplicas }] = await Promise.all([
    import('./run-seeds.ts'),
    import('./plan.ts'),
    import('./replica-plan.ts'),
  ]);
  const run = await openSimulator();
  const reported: string[] = [];
  for (let seed = 1; seed <= MAX_SEEDS && reported.length === 0; seed += 1) {
    const { violations } = await run(world === 'replicas' ? planOfReplicas(seed) : planOf(seed));
    reported.push(...violations.filter((text) => violation.test(text)));
  }
  expect(reported, `no seed of the first ${MAX_SEEDS} found it`).not.toEqual([]);
}

describe('a planted bug is found', () => {
  test.each(PLANTED_BUGS.filter((bug) => 'world' in bug))('$name', expectFound, TIMEOUT_MS);
});
