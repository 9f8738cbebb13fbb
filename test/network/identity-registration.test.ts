import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { parseConfig } from '../../src/config/load-config.ts';
import type { NodeID } from '../../src/primitives/ids.ts';
import { registerIdentity } from '../../src/store/identity-registration.ts';
import { openSharedStore } from '../../src/store/shared-store.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { FakeClock } from '../fake-clock.ts';
import { createLogLines } from '../log-lines.ts';
import { startRedis } from './redis-process.ts';

test('of two replicas with one NodeID the second is told, until the first has left', async () => {
  await using redis = await startRedis();
  const networks = { local: { pChainApi: [{ baseUrl: 'http://127.0.0.1' }] } };
  const { config } = parseConfig({ networks, store: { sharedUrl: `redis://127.0.0.1:${redis.port}` } }, {}, {});
  const log = createLogLines();
  const ports = { random: Math.random, logger: log.logger, metrics: createMetrics(new Registry()) };
  // In a time that stands still: then the store is never late, however busy the machine is.
  using store = openSharedStore({ ...config.store.shared!, ...ports, clock: new FakeClock() });
  await log.until('the shared store is connected');
  const register = (replica: string, nodeID: string) =>
    registerIdentity({
      ...{ store, replica, description: `process of ${replica}`, lapsesMs: 60_000 },
      nodeID: nodeID as NodeID,
    });
  const [first, second, other] = [register('a', 'NodeID-1'), register('b', 'NodeID-1'), register('c', 'NodeID-2')];
  expect([await first.look(), await second.look(), await other.look()]).toEqual([undefined, 'process of a', undefined]);
  // Leaving takes nothing from whoever is registered.
  await second[Symbol.asyncDispose]();
  expect([await first.look(), await second.look()]).toEqual([undefined, 'process of a']);
  await first[Symbol.asyncDispose]();
  expect(await second.look()).toBeUndefined();
  expect(await first.look()).toBe('process of b');
  // A registration that nobody renews ends by itself.
  const brief = registerIdentity({
    ...{ store, replica: 'd', description: 'd', lapsesMs: 1 },
    nodeID: 'NodeID-3' as NodeID,
  });
  const late = register('e', 'NodeID-3');
  await brief.look();
  while ((await late.look()) !== undefined);
  expect(await brief.look()).toBe('process of e');
});
