import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type BugOfSimulation, PLANTED_BUGS } from '../mutations/bugs.ts';

/** The most seeds until one finds the bug. */
const MAX_SEEDS = 400;
const TIMEOUT_MS = 600_000;
const ROOT = join(import.meta.dirname, '../..');

afterEach(() => {
  vi.doUnmock('lru-cache');
  vi.resetModules();
});

/** Runs a seed, and returns what was violated. */
type Run = (seed: number) => Promise<readonly string[]>;

/** Opens a world whose modules have the bug. */
const WORLDS: Readonly<Record<BugOfSimulation['world'], () => Promise<Run>>> = {
  async service() {
    const [{ openSimulator }, { planOf }] = await Promise.all([import('./run-seeds.ts'), import('./plan.ts')]);
    const run = await openSimulator();
    return async (seed) => (await run(planOf(seed))).violations;
  },
  async replicas() {
    const [{ openSimulator }, plans] = await Promise.all([import('./run-seeds.ts'), import('./replica-plan.ts')]);
    const run = await openSimulator();
    return async (seed) => (await run(plans.planOfReplicas(seed))).violations;
  },
  async feed() {
    const { runFeed } = await import('./feed-world.ts');
    return async (seed) => (await runFeed(seed)).violations;
  },
};

async function expectFound({ name, file, world, violation, seed: first }: BugOfSimulation): Promise<void> {
  const path = join(ROOT, file);
  // One that cannot be planted fails alone.
  onTestFinished(() => {
    vi.doUnmock(path);
  });
  vi.resetModules();
  vi.doMock('lru-cache', () => import('./small-caches.ts'));
  // vitest.config.ts plants the bug in the module with this query.
  vi.doMock(path, () => import(`${path}?planted=${encodeURIComponent(name)}`));
  const run = await WORLDS[world]();
  const reported: string[] = [];
  const seeds = [
    ...(first === undefined ? [] : [first]),
    ...Array.from({ length: MAX_SEEDS }, (_, index) => index + 1),
  ];
  for (const seed of seeds) {
    reported.push(...(await run(seed)).filter((text) => violation.test(text)));
    if (reported.length > 0) break;
  }
  expect(reported, `no seed of the first ${MAX_SEEDS} found it`).not.toEqual([]);
}

describe('a planted bug is found', () => {
  test.each(PLANTED_BUGS.filter((bug) => 'world' in bug))('$name', expectFound, TIMEOUT_MS);
});
