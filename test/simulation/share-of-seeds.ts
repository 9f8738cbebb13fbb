import { expect, test } from 'vitest';
import { type Bls, describeFailure, openSimulator } from './run-seeds.ts';

/** Over all shares; each takes some ten milliseconds. */
const SCHEDULES = Number(process.env['SIMULATION_SCHEDULES'] ?? 10_000);
/** Where the seeds start. The same in each run, unless others are asked for. */
const FIRST = Number(process.env['SIMULATION_FIRST'] ?? 1);
/** One in so many runs over a real backend: a check of the model, which takes ten times as long. */
const REAL_EVERY = 100;
/** So that one bug does not fill pages. */
const MAX_FAILURES = 5;

/** The test of one of several shares of the seeds, so that several cores can work on them. */
export function testShare(share: number, shares: number): void {
  test(`no schedule of share ${share} of ${shares} breaks an invariant`, async () => {
    const simulator = await openSimulator();
    const failures: string[] = [];
    const outcomes = new Map<string, number>();
    for (let seed = FIRST + share - 1; seed < FIRST + SCHEDULES; seed += shares) {
      const report = await simulator.run(seed, backendOf(seed));
      for (const outcome of report.outcomes) {
        const name = outcome.kind === 'error' ? outcome.code : outcome.kind;
        outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
      }
      if (report.violations.length > 0) failures.push(describeFailure(report));
      if (failures.length === MAX_FAILURES) break;
    }
    expect(failures.join('\n'), failures.join('\n')).toBe('');
    // What never happens is not tested: each end of a request comes up.
    if (SCHEDULES >= 1_000) {
      expect([...outcomes.keys()]).toEqual(
        expect.arrayContaining([
          ...['signed', 'left', 'insufficient_weight', 'not_connected', 'signing_refused', 'overloaded'],
          ...['height_not_reached', 'unknown_source_chain', 'wrong_network', 'invalid_request'],
          ...['p_chain_unavailable', 'p_chain_invalid', 'network_unavailable'],
        ]),
      );
    }
  }, 900_000);
}

/** In turns noble and blst. */
function backendOf(seed: number): Bls | undefined {
  if (seed % REAL_EVERY !== 0) return undefined;
  return seed % (2 * REAL_EVERY) === 0 ? 'noble' : 'native';
}
