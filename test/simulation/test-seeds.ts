import { describe, expect, test } from 'vitest';
import type { Plan } from './plan.ts';
import { type Bls, describeFailure, openSimulator } from './run-seeds.ts';

/** A seed to replay, and nothing else to run. */
const SEED = process.env['SIMULATION_SEED'];
/** The first seed, equal in each run unless configured. */
const FIRST = Number(process.env['SIMULATION_FIRST'] ?? 1);
/** Bounds the output for one bug. */
const MAX_FAILURES = 5;
/** In fewer schedules not all that must occur may occur. */
const MANY = 1_000;
/** Seeds with many kinds of events. */
const REPEATED = [8, 34, 137];

interface Seeds {
  readonly schedules: number;
  /** One in so many runs over a real backend: a check of the model, which takes ten times as long. */
  readonly realEvery: number;
  planOf(seed: number, bls?: Bls): Plan;
  /** Outcomes of requests, and of work that replicas share: what does not occur is not tested. */
  readonly mustOccur: readonly string[];
}

export function testSeeds({ schedules, realEvery, planOf, mustOccur }: Seeds): void {
  const count = Number(process.env['SIMULATION_SCHEDULES'] ?? schedules);

  test.runIf(SEED !== undefined)(`seed ${SEED}`, async () => {
    const run = await openSimulator();
    const report = await run(planOf(Number(SEED), process.env['SIMULATION_BLS'] as Bls | undefined));
    expect(report.violations, describeFailure(report)).toEqual([]);
  });

  describe.runIf(SEED === undefined)('the simulation', () => {
    test('no schedule breaks an invariant', async () => {
      const run = await openSimulator();
      const failures: string[] = [];
      const occurred = new Set<string>();
      for (let seed = FIRST; seed < FIRST + count && failures.length < MAX_FAILURES; seed += 1) {
        const report = await run(planOf(seed, backendOf(seed, realEvery)));
        for (const outcome of report.outcomes) occurred.add(outcome.kind === 'error' ? outcome.code : outcome.kind);
        for (const kind of report.sharedWork) occurred.add(kind);
        if (report.violations.length > 0) failures.push(describeFailure(report));
      }
      expect(failures.join('\n'), failures.join('\n')).toBe('');
      if (count >= MANY) expect([...occurred]).toEqual(expect.arrayContaining([...mustOccur]));
    }, 2_400_000);

    test('a seed is the same run each time, whatever ran before', async () => {
      const [first, second] = [await openSimulator(), await openSimulator()];
      for (const seed of REPEATED) {
        const once = await first(planOf(seed));
        await second(planOf(seed + 1));
        expect((await second(planOf(seed))).digest).toBe(once.digest);
      }
    }, 600_000);
  });
}

/** Alternates noble and blst; undefined selects by the seed. */
function backendOf(seed: number, realEvery: number): Bls | undefined {
  if (seed % realEvery !== 0) return undefined;
  return seed % (2 * realEvery) === 0 ? 'noble' : 'native';
}
