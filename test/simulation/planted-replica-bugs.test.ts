import { describe } from 'vitest';
import type * as SharedOutcomeModule from '../../src/aggregation/request/shared-outcome.ts';
import type { Clock } from '../../src/lib/concurrency/clock.ts';
import type * as SingleFlightModule from '../../src/store/redis/distributed-single-flight.ts';
import type * as SealModule from '../../src/store/redis/seal.ts';
import type * as LimitsModule from '../../src/store/redis/shared-limit-counters.ts';
import type * as SharedStoreModule from '../../src/store/redis/shared-store.ts';
import type * as SharedValuesModule from '../../src/store/redis/shared-values.ts';
import type { SharedValues } from '../../src/store/redis/shared-values.ts';
import { parseSignedMessage } from '../../src/warp/signed-message.ts';
import { type Bug, bug, testBugs } from './plant-bugs.ts';

type Values = typeof SharedValuesModule;
type Work = typeof SingleFlightModule;
type Store = typeof SharedStoreModule;
type Outcome = typeof SharedOutcomeModule;
type Seal = typeof SealModule;
type Limits = typeof LimitsModule;

const LEASE_MS = 2_000;
/** How long a command to the store is waited for. */
const ANSWER_MS = 200;

/** The values that replicas share, with one command done wrongly. */
function wrongValues(wrong: (values: SharedValues) => Partial<SharedValues>) {
  return (original: Values) => ({
    createSharedValues: (...args: Parameters<Values['createSharedValues']>) => {
      const values = original.createSharedValues(...args);
      return { ...values, ...wrong(values) };
    },
  });
}

function wrongClock(clock: Clock, after: (delayMs: number, callback: () => void) => () => void): Clock {
  return { now: clock.now, monotonicMs: clock.monotonicMs, afterTurn: clock.afterTurn, after };
}

const BUGS: readonly Bug[] = [
  bug<Values>(
    'a lease that does not end',
    'store/redis/shared-values.ts',
    /a lease of \d+ ms/,
    wrongValues(({ replace }) => ({
      replace: (key, expected, replacement) => replace(key, expected, { ...replacement, ttlMs: 1_000 * LEASE_MS }),
    })),
  ),
  bug<Work>(
    'a lease that is released after a cancellation or its loss',
    'store/redis/distributed-single-flight.ts',
    /put an end to a lease/,
    (original) => ({
      createDistributedSingleFlight(options: Parameters<Work['createDistributedSingleFlight']>[0]) {
        const { values } = options;
        const replace: SharedValues['replace'] = async (key, expected, replacement) => {
          if (replacement.value !== undefined) return values.replace(key, expected, replacement);
          await values.delete(key);
          return { kind: 'replaced' };
        };
        const work = original.createDistributedSingleFlight({ ...options, values: { ...values, replace } });
        return {
          run(...[key, task, signal]: Parameters<typeof work.run>) {
            signal.addEventListener('abort', () => void values.delete(key), { once: true });
            return work.run(key, task, signal);
          },
        };
      },
    }),
  ),
  bug<Values>(
    'a lease that every replica takes',
    'store/redis/shared-values.ts',
    /put an end to a lease/,
    wrongValues((values) => ({
      async replace(key, expected, replacement) {
        const found = await values.replace(key, expected, replacement);
        if (found.kind === 'other' && expected === undefined) {
          if (replacement.value !== undefined) await values.set(key, replacement.value, replacement.ttlMs);
          return { kind: 'replaced' };
        }
        return found;
      },
    })),
  ),
  bug<Values>(
    'a lease that is not renewed',
    'store/redis/shared-values.ts',
    /took the lease that|collections of one message at once/,
    wrongValues(({ replace }) => ({
      replace: async (key, expected, replacement) =>
        expected !== undefined && replacement.value !== undefined && replacement.ttlMs === LEASE_MS
          ? { kind: 'replaced' }
          : replace(key, expected, replacement),
    })),
  ),
  bug<Values>(
    'an outcome that is not shared',
    'store/redis/shared-values.ts',
    /collections of one message over all replicas|a lease is left/,
    wrongValues(({ set }) => ({
      set: async (key, value, ttlMs) => (key.startsWith('work:') ? undefined : set(key, value, ttlMs)),
    })),
  ),
  bug<Work>(
    'work without single flight',
    'store/redis/distributed-single-flight.ts',
    /without the lease|more often|at once/,
    (original) => ({
      createDistributedSingleFlight: (...args: Parameters<Work['createDistributedSingleFlight']>) => {
        original.createDistributedSingleFlight(...args);
        return { run: (_key: string, task: { work(waitedMs: number): Promise<unknown> }) => task.work(0) };
      },
    }),
  ),
  bug<Work>(
    'waiting replicas that do not take over from a dead holder',
    'store/redis/distributed-single-flight.ts',
    /while nobody was at it/,
    (original) => ({
      createDistributedSingleFlight(options: Parameters<Work['createDistributedSingleFlight']>[0]) {
        const { values, seal } = options;
        const waitedFor = new Set<string>();
        let looks = 0;
        const replace: SharedValues['replace'] = async (key, expected, replacement) => {
          const found = await values.replace(key, expected, replacement);
          if (expected !== undefined || replacement.value === undefined) return found;
          if (found.kind === 'other') waitedFor.add(key);
          if (found.kind !== 'replaced' || !waitedFor.has(key)) return found;
          // As if the lease of the dead were renewed for ever.
          await values.delete(key);
          looks += 1;
          const token = new Uint8Array(16).fill(looks % 256);
          const lease = Uint8Array.of(1, 0, 0, looks >> 8, looks & 255);
          const name = `${key} ${Buffer.from(token).toString('hex')}`;
          return { kind: 'other', value: Buffer.concat([token, seal.seal(name, lease)]) };
        };
        return original.createDistributedSingleFlight({ ...options, values: { ...values, replace } });
      },
    }),
  ),
  bug<Outcome>(
    'a message of the store that is not verified',
    'aggregation/request/shared-outcome.ts',
    /signed message that/,
    (original) => ({
      async verifiedResult(...[bytes, request, signing, bls, signal]: Parameters<Outcome['verifiedResult']>) {
        const verified = await original.verifiedResult(bytes, request, signing, bls, signal);
        if (verified !== undefined) return verified;
        try {
          const { signature } = parseSignedMessage(bytes);
          const signers = signature.signers.flatMap((index) => signing.warpSet.validators[index] ?? []);
          const signedWeight = signers.reduce((sum, { weight }) => sum + weight, 0n);
          const { signingSubnetID, pChainHeight, warpSet } = signing;
          return {
            ...{ kind: 'signed', isTargetReached: true },
            result: {
              ...{ signedMessage: bytes, signingSubnetID, pChainHeight, signedWeight, signers: [] },
              totalWeight: warpSet.totalWeight,
            },
          };
        } catch {
          return undefined;
        }
      },
    }),
  ),
  bug<Seal>(
    'a seal that is not verified',
    'store/redis/seal.ts',
    /though all that it needed was there|signed message that|at height/,
    (original) => ({
      createSeal: (...args: Parameters<Seal['createSeal']>) => {
        const seal = original.createSeal(...args);
        const length = seal.seal('', new Uint8Array()).length;
        return { ...seal, open: (_: string, sealed: Uint8Array) => sealed.subarray(length) };
      },
    }),
  ),
  bug<Store>(
    'an unbounded wait for the store',
    'store/redis/shared-store.ts',
    /had no answer|took \d+ ms/,
    (original) => ({
      openSharedStore: (options: Parameters<Store['openSharedStore']>[0]) => {
        const { clock } = options;
        const after: Clock['after'] = (delayMs, callback) =>
          delayMs === ANSWER_MS ? () => undefined : clock.after(delayMs, callback);
        return original.openSharedStore({ ...options, clock: wrongClock(clock, after) });
      },
    }),
  ),
  bug<Store>('a timer of each command that is left', 'store/redis/shared-store.ts', /timers are left/, (original) => ({
    openSharedStore: (options: Parameters<Store['openSharedStore']>[0]) => {
      const { clock } = options;
      const after: Clock['after'] = (delayMs, callback) => {
        const cancel = clock.after(delayMs === ANSWER_MS ? 60_000 : delayMs, callback);
        return delayMs === ANSWER_MS ? () => undefined : cancel;
      };
      return original.openSharedStore({ ...options, clock: wrongClock(clock, after) });
    },
  })),
  bug<Limits>(
    'limits that each replica counts alone',
    'store/redis/shared-limit-counters.ts',
    /uses of a limit/,
    () => ({
      createSharedLimitCounters: (...[, own]: Parameters<Limits['createSharedLimitCounters']>) => own,
    }),
  ),
];

describe('a planted bug of replicas is found', () => {
  testBugs(BUGS, (simulator, seed) => simulator.runReplicas(seed));
});
