import { describe } from 'vitest';
import type * as LimitsModule from '../../src/aggregation/admission/admission.ts';
import type * as ProgressModule from '../../src/aggregation/collection/progress.ts';
import type * as QueriesModule from '../../src/aggregation/collection/query-plan.ts';
import type * as ResultKeyModule from '../../src/aggregation/request/result-key.ts';
import type * as ArithmeticModule from '../../src/bls/field/arithmetic.ts';
import type * as BlsJobsModule from '../../src/bls/service/bls-jobs.ts';
import type * as DeadlinesModule from '../../src/lib/concurrency/deadline.ts';
import type * as FlightsModule from '../../src/lib/concurrency/single-flight.ts';
import type * as WakeUpsModule from '../../src/lib/concurrency/wake-up.ts';
import type * as SetsModule from '../../src/pchain/state/validator-sets.ts';
import type * as QuorumModule from '../../src/validators/quorum.ts';
import type * as WarpSetsModule from '../../src/validators/warp-set.ts';
import { type Bug, bug, testBugs } from './plant-bugs.ts';

type Quorum = typeof QuorumModule;
type Arithmetic = typeof ArithmeticModule;
type BlsJobs = typeof BlsJobsModule;
type ResultKey = typeof ResultKeyModule;
type Sets = typeof SetsModule;
type Deadlines = typeof DeadlinesModule;
type Flights = typeof FlightsModule;
type Queries = typeof QueriesModule;
type Limits = typeof LimitsModule;
type WarpSets = typeof WarpSetsModule;
type WakeUps = typeof WakeUpsModule;
type Progress = typeof ProgressModule;

const BUGS: readonly Bug[] = [
  bug<Quorum>('a quorum that is off by one', 'validators/quorum.ts', /below \d+ %/, (original) => ({
    quorumWeight: (quorum: bigint, total: bigint) => original.quorumWeight(quorum, total) - 1n,
    isQuorumReached: (quorum: bigint, signed: bigint, total: bigint) =>
      original.isQuorumReached(quorum, signed + 1n, total),
  })),
  bug<Arithmetic>('a check that is skipped', 'bls/field/arithmetic.ts', /is not signed by its signers/, (original) => ({
    Arithmetic: class extends original.Arithmetic {
      // So that it is not made together with the aggregate.
      override get isBusy() {
        return true;
      }
      override checks = { run: async () => true } as never;
    },
  })),
  bug<BlsJobs>(
    'a job that verifies nothing',
    'bls/service/bls-jobs.ts',
    /is not signed by its signers/,
    (original) => ({
      runBlsJob(backend: object, job: { kind: string }): unknown {
        const result = original.runBlsJob(backend as never, job as never);
        switch (job.kind) {
          case 'verify':
            return [true];
          case 'verifySum':
            return true;
          case 'aggregate':
            return 'isValid' in (result as object) ? { ...(result as object), isValid: true } : result;
          default:
            return result;
        }
      },
    }),
  ),
  bug<ResultKey>(
    'a flight shared by different justifications',
    'aggregation/request/result-key.ts',
    /no validator signs as it was asked/,
    (original) => {
      const without = <T extends { justification: Uint8Array }>(parts: T): T => ({
        ...parts,
        justification: new Uint8Array(),
      });
      return {
        resultKey: (parts: Parameters<ResultKey['resultKey']>[0]) => original.resultKey(without(parts)),
        signatureKey: (parts: Parameters<ResultKey['signatureKey']>[0]) => original.signatureKey(without(parts)),
      };
    },
  ),
  bug<ResultKey>(
    'a flight shared by different sets',
    'aggregation/request/result-key.ts',
    /signed message that/,
    (original) => ({
      resultKey: (parts: Parameters<ResultKey['resultKey']>[0]) =>
        original.resultKey({
          ...parts,
          warpSet: { totalWeight: 0n, keyless: { count: 0, weight: 0n }, validators: [] },
        }),
    }),
  ),
  bug<ResultKey>(
    'a flight shared by different quorums',
    'aggregation/request/result-key.ts',
    /below \d+ %/,
    (original) => ({
      resultKey: (parts: Parameters<ResultKey['resultKey']>[0]) =>
        original.resultKey({ ...parts, quorumNum: 0n, quorumBuffer: 0n }),
    }),
  ),
  bug<Flights>(
    'equal requests that share nothing',
    'lib/concurrency/single-flight.ts',
    /collections of one message at once/,
    (original) => ({
      SingleFlight: class<Value> extends original.SingleFlight<string, Value> {
        #count = 0;
        override run(key: string, work: (signal: AbortSignal) => Promise<Value>, signal?: AbortSignal) {
          this.#count += 1;
          return super.run(/^[0-9a-f]{64}$/.test(key) ? `${key}${this.#count}` : key, work, signal);
        }
      },
    }),
  ),
  bug<Deadlines>('a timer that is left', 'lib/concurrency/deadline.ts', /timers are left/, (original) => ({
    startDeadline: (...args: Parameters<Deadlines['startDeadline']>) => {
      const { signal } = original.startDeadline(...args);
      return { signal, [Symbol.dispose]: () => undefined };
    },
  })),
  bug<Sets>('a set that is stale', 'pchain/state/validator-sets.ts', /signed message that/, (original) => ({
    createValidatorSets: (options: Parameters<Sets['createValidatorSets']>[0]) => {
      const sets = original.createValidatorSets(options);
      const first = new Map<string, Promise<unknown>>();
      return {
        ...sets,
        at: (subnetID: string, ...rest: [bigint, AbortSignal]) => {
          const known = first.get(subnetID) ?? sets.at(subnetID as never, ...rest);
          known.then(
            () => first.set(subnetID, known),
            () => undefined,
          );
          return known;
        },
      };
    },
  })),
  bug<WarpSets>('a set in another order', 'validators/warp-set.ts', /signed message that/, (original) => ({
    createWarpSet: (validators: Parameters<WarpSets['createWarpSet']>[0]) => {
      const set = original.createWarpSet(validators);
      return { ...set, validators: set.validators.toReversed().map((validator, index) => ({ ...validator, index })) };
    },
  })),
  bug<WarpSets>(
    'validators without a key that do not count',
    'validators/warp-set.ts',
    /were reported|below \d+ %/,
    (original) => ({
      createWarpSet: (validators: Parameters<WarpSets['createWarpSet']>[0]) =>
        original.createWarpSet(validators.filter(({ publicKey }) => publicKey !== undefined)),
    }),
  ),
  bug<Queries>(
    'a lost quorum that is not noticed',
    'aggregation/collection/query-plan.ts',
    /after its quorum was out of reach/,
    (original) => ({
      planQueries: (...args: Parameters<Queries['planQueries']>) => {
        const plan = original.planQueries(...args);
        return plan.kind === 'out of reach'
          ? { kind: 'go on', ask: [], wakeAtMs: Number.POSITIVE_INFINITY, isIdle: false }
          : plan;
      },
    }),
  ),
  bug<Queries>(
    'a validator that is asked again and again',
    'aggregation/collection/query-plan.ts',
    /was asked \d+ times/,
    (original) => ({
      afterFailure: (...[failure, attempt]: Parameters<Queries['afterFailure']>) => ({
        ...{ kind: 'waiting', notBeforeMs: attempt.nowMs + 300, attempts: attempt.attempts, lastFailure: failure },
      }),
      planQueries: original.planQueries,
    }),
  ),
  bug<Limits>(
    'a permit that is never released',
    'aggregation/admission/admission.ts',
    /aggregations_admitted is \d+/,
    (original) => ({
      createAdmission: (options: Parameters<Limits['createAdmission']>[0]) => {
        const admission = original.createAdmission(options);
        return {
          ...admission,
          admit(request: Parameters<typeof admission.admit>[0]) {
            admission.admit(request);
            return { release: () => undefined, [Symbol.dispose]: () => undefined };
          },
        };
      },
    }),
  ),
  bug<Progress>(
    'listeners that are not removed',
    'aggregation/collection/progress.ts',
    /after its request had ended/,
    (original) => ({
      ProgressFeed: class extends original.ProgressFeed {
        override subscribe(listener: Parameters<InstanceType<Progress['ProgressFeed']>['subscribe']>[0]) {
          super.subscribe(listener);
          return () => undefined;
        }
      },
    }),
  ),
  bug<WakeUps>(
    'a collection that sleeps through its answers',
    'lib/concurrency/wake-up.ts',
    /though all that it needed was there|a collection took \d+/,
    (original) => ({
      createWakeUp: (clock: Parameters<WakeUps['createWakeUp']>[0]) => {
        const wakeUp = original.createWakeUp(clock);
        return {
          ...wakeUp,
          wake: () => undefined,
          next: (atMs: number) => wakeUp.next(Math.min(atMs, clock.monotonicMs() + 5_000)),
        };
      },
    }),
  ),
];

describe('a planted bug is found', () => {
  testBugs(BUGS, (simulator, seed) => simulator.run(seed));
});
