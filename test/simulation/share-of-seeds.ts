import { describe, expect, inject, test } from 'vitest';
import { type Bls, describeFailure, openSimulator, type Simulator } from './run-seeds.ts';

/** For all shares together. */
const SCHEDULES = Number(process.env['SIMULATION_SCHEDULES'] ?? inject('schedules'));
const REPLICA_SCHEDULES = Number(process.env['SIMULATION_SCHEDULES'] ?? inject('replicaSchedules'));
/** The first seed, equal in each run unless configured. */
const FIRST = Number(process.env['SIMULATION_FIRST'] ?? 1);
/** One in so many runs over a real backend: a check of the model, which takes ten times as long. */
const REAL_EVERY = 100;
const REAL_REPLICAS_EVERY = 500;
/** Bounds the output for one bug. */
const MAX_FAILURES = 5;
/** Fewer schedules may not cover all outcomes. */
const MANY = 1_000;
const MANY_OF_REPLICAS = 600;

interface Share {
  readonly share: number;
  readonly shares: number;
  readonly schedules: number;
  run(simulator: Simulator, seed: number): ReturnType<Simulator['run']>;
}

/** Whether one seed is to be replayed, and nothing else to be run. */
export const SEED = process.env['SIMULATION_SEED'];

/** The test of that seed. */
export function testReplay(kind: 'run' | 'runReplicas'): void {
  describe.runIf(SEED !== undefined)('replay', () => {
    test(`seed ${SEED}`, async () => {
      const simulator = await openSimulator();
      const report = await simulator[kind](Number(SEED), process.env['SIMULATION_BLS'] as Bls | undefined);
      expect(report.violations, describeFailure(report)).toEqual([]);
    });
  });
}

/** The test of one of several shares of the seeds, so that several cores can work on them. */
export function testShare(share: number, shares: number): void {
  test(`no schedule of share ${share} of ${shares} breaks an invariant`, async () => {
    const { outcomes } = await runShare({
      ...{ share, shares, schedules: SCHEDULES },
      run: (simulator, seed) => simulator.run(seed, backendOf(seed, REAL_EVERY)),
    });
    // Each outcome of a request must occur, or it is not tested.
    if (SCHEDULES < MANY) return;
    expect([...outcomes]).toEqual(
      expect.arrayContaining([
        ...['signed', 'left', 'insufficient_weight', 'not_connected', 'signing_refused', 'overloaded'],
        ...['height_not_reached', 'unknown_source_chain', 'wrong_network', 'invalid_request'],
        ...['p_chain_unavailable', 'p_chain_invalid', 'network_unavailable'],
      ]),
    );
  }, 900_000);
}

/** The same of replicas and the store that they share. */
export function testReplicaShare(share: number, shares: number): void {
  test(`no schedule of share ${share} of ${shares} breaks an invariant`, async () => {
    const { sharedWork } = await runShare({
      ...{ share, shares, schedules: REPLICA_SCHEDULES },
      run: (simulator, seed) => simulator.runReplicas(seed, backendOf(seed, REAL_REPLICAS_EVERY)),
    });
    if (REPLICA_SCHEDULES < MANY_OF_REPLICAS) return;
    expect([...sharedWork].toSorted()).toEqual(['alone', 'found', 'ours', 'refused', 'taken_over', 'waited']);
  }, 900_000);
}

async function runShare({ share, shares, schedules, run }: Share) {
  const simulator = await openSimulator();
  const failures: string[] = [];
  const outcomes = new Set<string>();
  const sharedWork = new Set<string>();
  for (let seed = FIRST + share - 1; seed < FIRST + schedules; seed += shares) {
    const report = await run(simulator, seed);
    for (const outcome of report.outcomes) outcomes.add(outcome.kind === 'error' ? outcome.code : outcome.kind);
    for (const kind of report.sharedWork) sharedWork.add(kind);
    if (report.violations.length > 0) failures.push(describeFailure(report));
    if (failures.length === MAX_FAILURES) break;
  }
  expect(failures.join('\n'), failures.join('\n')).toBe('');
  return { outcomes, sharedWork };
}

/** Alternates noble and blst; undefined selects by the seed. */
function backendOf(seed: number, realEvery: number): Bls | undefined {
  if (seed % realEvery !== 0) return undefined;
  return seed % (2 * realEvery) === 0 ? 'noble' : 'native';
}
