import { afterEach, expect, test, vi } from 'vitest';
import type { Simulator } from './run-seeds.ts';

/** Each bug is one that a hurried change could make, put into a module of the service in place of the right code. */
export interface Bug {
  readonly name: string;
  /** Below src. */
  readonly module: string;
  /** The module as it would be; `original` is the right one. */
  readonly plant: (original: never) => Record<string, unknown>;
  /** Matches the violation that the simulation reports. */
  readonly found: RegExp;
}

/** The most seeds until one finds the bug. */
const MAX_SEEDS = 400;

export function bug<Module>(
  name: string,
  module: string,
  found: RegExp,
  plant: (original: Module) => Partial<Record<keyof Module, unknown>>,
): Bug {
  return { name, module, found, plant: plant as unknown as Bug['plant'] };
}

/** A test for each. */
export function testBugs(
  bugs: readonly Bug[],
  run: (simulator: Simulator, seed: number) => Promise<{ readonly violations: readonly string[] }>,
): void {
  afterEach(() => {
    vi.doUnmock('lru-cache');
    vi.resetModules();
  });

  test.each(bugs)(
    '$name',
    async ({ module, plant, found }) => {
      const path = `../../src/${module}`;
      vi.resetModules();
      vi.doMock('lru-cache', () => import('./small-caches.ts'));
      vi.doMock(path, async (importOriginal) => {
        const original = await importOriginal();
        return { ...(original as object), ...plant(original as never) };
      });
      const { openSimulator } = await import('./run-seeds.ts');
      const simulator = await openSimulator();
      const said: string[] = [];
      for (let seed = 1; seed <= MAX_SEEDS && said.length === 0; seed += 1) {
        const { violations } = await run(simulator, seed);
        said.push(...violations.filter((violation) => found.test(violation)));
      }
      vi.doUnmock(path);
      expect(said, `no seed of the first ${MAX_SEEDS} found it`).not.toEqual([]);
    },
    120_000,
  );
}
