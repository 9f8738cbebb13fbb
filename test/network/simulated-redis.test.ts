import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/lib/concurrency/clock.ts';
import { createMemoryLimitCounters } from '../../src/store/local/limit-counters.ts';
import { registerIdentity } from '../../src/store/redis/identity-registration.ts';
import { openRedisLink } from '../../src/store/redis/redis-link.ts';
import { createSharedLimitCounters } from '../../src/store/redis/shared-limit-counters.ts';
import { createSharedRecords, type SharedRecords } from '../../src/store/redis/shared-records.ts';
import type { SharedStore } from '../../src/store/redis/shared-store.ts';
import { createSharedValues } from '../../src/store/redis/shared-values.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { Draws } from '../simulation/draws.ts';
import { simulatedIdentity } from '../simulation/simulated-identity.ts';
import { SimulatedRedis } from '../simulation/simulated-redis.ts';
import type { Liar } from '../simulation/store-lies.ts';
import { startRedis } from './redis-process.ts';

const OPERATIONS = 250;
const LISTS = ['signed', 'failed'] as const;
/** Nothing lapses while the test runs. */
const LONG_MS = 600_000;
/** What is left of a time may have passed in one of them. */
const TICK_MS = 30_000;
const TICK_NS = 30e9;

/** The simulated one answers at once. */
const AT_ONCE: Clock = {
  ...systemClock,
  after(_, callback) {
    queueMicrotask(callback);
    return () => undefined;
  },
};

/** Remaining times are rounded to half a minute. */
function rough(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(rough);
  if (typeof reply !== 'number' || reply <= TICK_MS) return reply;
  return Math.round(reply / (reply > TICK_NS ? TICK_NS : TICK_MS));
}

test('the Redis of the simulation answers the scripts of the service as a real one does', async () => {
  await using redis = await startRedis();
  const draws = new Draws('a simulated Redis and a real one');
  const simulated = new SimulatedRedis({
    clock: AT_ONCE,
    draws,
    liar: undefined as unknown as Liar,
    plan: { latencyMs: [0, 0], spells: [], moments: [], lies: {}, lying: 0 },
    watcher: { wrote: () => undefined, disturbed: () => undefined, lost: () => undefined },
  });
  const options = {
    keyPrefix: 'test:',
    connectTimeoutMs: 5_000,
    clock: systemClock,
    signal: new AbortController().signal,
    servers: {
      ...({ kind: 'single', host: '127.0.0.1', port: redis.port, isTls: false } as const),
      username: undefined,
      password: undefined,
      database: 0,
    },
    onBroken: (error: unknown) => expect.unreachable(String(error)),
  };
  const links = await Promise.all([openRedisLink(options), simulated.linkOpener(0, 0)(options)]);
  await Promise.all(links.map((link) => link.connect()));
  let latest: Promise<unknown> | undefined;
  const store: SharedStore = {
    ask(command) {
      const answer = command({
        async run(...args) {
          const [real, other] = await Promise.all(links.map((link) => link.run(...args)));
          expect(rough(other)).toEqual(rough(real));
          return real;
        },
      });
      latest = answer;
      return answer;
    },
    [Symbol.dispose]: () => undefined,
  };
  const values = createSharedValues(store, 'scope:');
  const identities = ['one', 'other'].map((replica) =>
    registerIdentity({
      store,
      replica,
      description: 'a process',
      lapsesMs: LONG_MS,
      metrics: createMetrics(new Registry()),
      nodeID: simulatedIdentity(1).nodeID,
    }),
  );
  const records = createSharedRecords({ store, secret: 'the secret of the replicas' }, AT_ONCE) as SharedRecords;
  const value = (): Uint8Array => Uint8Array.of(draws.int(0, 2), ...draws.bytes(draws.int(0, 3)));
  for (let operation = 0; operation < OPERATIONS; operation += 1) {
    const counters = createSharedLimitCounters(store, createMemoryLimitCounters(systemClock));
    const key = `${draws.int(0, 3)}`;
    const kinds = [
      ...(['set', 'replace', 'replace', 'replace', 'add', 'claim', 'look', 'leave'] as const),
      ...(['record', 'record', 'records', 'find'] as const),
    ];
    switch (draws.pick(kinds)) {
      case 'set':
        await values.set(key, value(), LONG_MS);
        break;
      case 'replace':
        await values.replace(key, draws.chance(0.5) ? value().subarray(0, 1) : undefined, {
          value: draws.chance(0.7) ? value() : undefined,
          ttlMs: LONG_MS,
          maxBytes: draws.int(0, 5),
        });
        break;
      case 'add':
        await counters.take(`limit ${key}`, draws.int(-3, 5) * 2 * TICK_NS, 20 * TICK_NS);
        break;
      case 'claim': {
        const claim = await counters.claim(`claim ${key}`, LONG_MS);
        if (claim.isGranted && draws.chance(0.7)) await claim.giveBack();
        break;
      }
      case 'look':
        await draws.pick(identities).look();
        break;
      case 'leave':
        await draws.pick(identities)[Symbol.asyncDispose]();
        break;
      case 'record':
        records.add(draws.pick(LISTS), { id: draws.pick(['a', 'b', 'c']), client: draws.pick(['x', 'y']) }, () => ({
          details: { missing: [draws.int(0, 5)], missingOmitted: 0 },
        }));
        await Promise.resolve();
        await latest;
        break;
      case 'records':
        for await (const _ of records.pages(draws.pick(LISTS)));
        break;
      case 'find':
        await records.find(draws.pick(LISTS), {
          id: draws.pick(['a', 'b', 'c']),
          ...(draws.chance(0.5) && { client: draws.pick(['x', 'y']) }),
        });
    }
  }
  for (const link of links) link.destroy();
}, 60_000);
