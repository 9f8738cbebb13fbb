import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config/load/load-config.ts';
import { registerIdentity } from '../../src/store/redis/identity-registration.ts';
import { openSharedStore, type SharedStore } from '../../src/store/redis/shared-store.ts';
import { createMetrics, METRIC_PREFIX } from '../../src/telemetry/metrics.ts';
import type { NodeID } from '../../src/warp/ids.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { createLogLines } from '../support/log-lines.ts';
import { type RedisProcess, startRedis } from './redis-process.ts';

const IGNORED = `${METRIC_PREFIX}identity_registrations_ignored_total`;

async function openStore({ port }: RedisProcess) {
  const networks = { local: { pChainApi: [{ baseUrl: 'http://127.0.0.1' }] } };
  const { config } = parseConfig({ networks, store: { sharedUrl: `redis://127.0.0.1:${port}` } }, {}, {});
  const log = createLogLines();
  const ports = { random: Math.random, logger: log.logger, metrics: createMetrics(new Registry()) };
  // In a time that stands still: then the store is never late, however busy the machine is.
  const store = openSharedStore({ ...config.store.shared!, ...ports, clock: new FakeClock() });
  await log.until('the shared store is connected');
  return store;
}

test('the second of two replicas with one NodeID is warned until the first has left', async () => {
  await using redis = await startRedis();
  using store = await openStore(redis);
  const register = (replica: string, nodeID: string) =>
    registerIdentity({
      ...{ store, replica, description: `process of ${replica}`, lapsesMs: 60_000 },
      metrics: createMetrics(new Registry()),
      nodeID: nodeID as NodeID,
    });
  const [first, second, other] = [register('a', 'NodeID-1'), register('b', 'NodeID-1'), register('c', 'NodeID-2')];
  expect([await first.look(), await second.look(), await other.look()]).toEqual([undefined, 'process of a', undefined]);
  // A replica that leaves does not remove the registration of another one.
  await second[Symbol.asyncDispose]();
  expect([await first.look(), await second.look()]).toEqual([undefined, 'process of a']);
  await first[Symbol.asyncDispose]();
  expect(await second.look()).toBeUndefined();
  expect(await first.look()).toBe('process of b');
  // A registration that is not renewed expires.
  const brief = registerIdentity({
    ...{ store, replica: 'd', description: 'd', lapsesMs: 1, metrics: createMetrics(new Registry()) },
    nodeID: 'NodeID-3' as NodeID,
  });
  const late = register('e', 'NodeID-3');
  await brief.look();
  while ((await late.look()) !== undefined);
  expect(await brief.look()).toBe('process of e');
});

test('a value that no replica has written is no other replica: it is counted, little of it is read, and ours takes its place', async () => {
  await using redis = await startRedis();
  using store = await openStore(redis);
  const answers: unknown[] = [];
  const watched: SharedStore = {
    [Symbol.dispose]: () => undefined,
    ask: (command) =>
      store.ask((link) =>
        command({
          async run(...args) {
            const answer = await link.run(...args);
            answers.push(answer);
            return answer;
          },
        }),
      ),
  };
  const nodeID = 'NodeID-1' as NodeID;
  const registry = new Registry();
  const metrics = createMetrics(registry);
  const own = { store: watched, nodeID, replica: 'a', description: 'process of a', lapsesMs: 60_000, metrics };
  const first = registerIdentity(own);
  const second = registerIdentity({ ...own, replica: 'b', metrics: createMetrics(new Registry()) });
  const plant = (value: string) =>
    store.ask((link) => link.run("return redis.call('SET', KEYS[1], ARGV[1])", `identity:${nodeID}`, [value]));
  const ignored = async () => /ignored_total (\d+)/.exec(await registry.getSingleMetricAsString(IGNORED))?.[1];
  await plant('x'.repeat(1024 * 1024));
  expect(await first.look()).toBeUndefined();
  expect(answers).toEqual([Buffer.from('x'.repeat(513)), 1]);
  expect(await ignored()).toBe('1');
  expect(await second.look()).toBe('process of a');
  await plant('');
  expect(await first.look()).toBeUndefined();
  await plant('a \n{"level":50}');
  expect(await first.look()).toBeUndefined();
  expect(await ignored()).toBe('2');
  // A value of another type is replaced, and the store stays in use.
  await store.ask((link) =>
    link.run("redis.call('DEL', KEYS[1]) return redis.call('RPUSH', KEYS[1], 'x')", `identity:${nodeID}`, []),
  );
  expect(await first.look()).toBeUndefined();
  expect(await store.ask(async () => 'connected')).toBe('connected');
});
