import type { Clock } from '../../../../src/lib/concurrency/clock.ts';
import type { SharedStore } from '../../../../src/store/redis/shared-store.ts';
import { createSharedValues } from '../../../../src/store/redis/shared-values.ts';
import { Draws } from '../../../simulation/draws.ts';
import { SimulatedRedis } from '../../../simulation/simulated-redis.ts';
import type { Liar } from '../../../simulation/store-lies.ts';

const latin1 = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString('latin1');

/** A store that runs the scripts at once on a Redis in memory, whose values a test may change, and which it may take away. */
export function createStoreInMemory(clock: Clock) {
  const redis = new SimulatedRedis({
    clock,
    draws: new Draws('in memory'),
    liar: undefined as unknown as Liar,
    plan: { latencyMs: [0, 0], spells: [], moments: [], lies: {}, lying: 0 },
    watcher: { wrote: () => undefined, disturbed: () => undefined, lost: () => undefined },
  });
  const { entries } = redis;
  const state = { isAway: false };
  const run = async (script: string, key: string, args: readonly (string | Uint8Array)[]): Promise<unknown> =>
    redis.handle(script, key, args.map(latin1), 0, 0);
  const store: SharedStore = {
    ask: async (command) => (state.isAway ? undefined : command({ run })),
    [Symbol.dispose]: () => undefined,
  };
  /** Sets a value that does not expire. */
  const plant = (key: string, value: Uint8Array): void =>
    void entries.set(key, { value: latin1(value), endsMs: Number.POSITIVE_INFINITY, writtenMs: 0, writer: undefined });
  const planted = (key: string): Uint8Array => Buffer.from(String(entries.get(key)?.value), 'latin1');
  return { redis, store, state, entries, plant, planted, values: createSharedValues(store, '') };
}
