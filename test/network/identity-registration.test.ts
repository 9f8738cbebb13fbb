import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { registerIdentity } from '../../src/store/redis/identity-registration.ts';
import type { SharedStore } from '../../src/store/redis/shared-store.ts';
import { createMetrics, METRIC_PREFIX } from '../../src/telemetry/metrics.ts';
import type { NodeID } from '../../src/warp/ids.ts';
import { CONNECTED, KEY_PREFIX, openStore, useRedis } from './redis-fixture.ts';

const redis = useRedis();
const nodeID = 'NodeID-1' as NodeID;

async function connect() {
  const opened = openStore(redis.url);
  await opened.log.until(CONNECTED);
  return opened;
}

function register(store: SharedStore, replica: string, { lapsesMs = 60_000, registry = new Registry() } = {}) {
  const metrics = createMetrics(registry);
  return registerIdentity({ store, nodeID, replica, description: `process of ${replica}`, lapsesMs, metrics });
}

test('the second of two replicas with one NodeID is warned until the first has left', async () => {
  using opened = await connect();
  const [first, second] = [register(opened.store, 'a'), register(opened.store, 'b')];
  expect([await first.look(), await second.look()]).toEqual([undefined, 'process of a']);
  // A replica that leaves does not remove the registration of another one.
  await second[Symbol.asyncDispose]();
  expect([await first.look(), await second.look()]).toEqual([undefined, 'process of a']);
  await first[Symbol.asyncDispose]();
  expect(await second.look()).toBeUndefined();
  expect(await first.look()).toBe('process of b');
});

test('a registration that is not renewed expires', async () => {
  using opened = await connect();
  const [brief, late] = [register(opened.store, 'a', { lapsesMs: 1 }), register(opened.store, 'b')];
  await brief.look();
  while ((await late.look()) !== undefined);
  expect(await brief.look()).toBe('process of b');
});

test('a value that no replica has written is no other replica: it is counted, little of it is read, and ours takes its place', async () => {
  using opened = await connect();
  const answers: unknown[] = [];
  const watched: SharedStore = {
    [Symbol.dispose]: () => undefined,
    ask: (command) =>
      opened.store.ask((link) =>
        command({
          async run(...args) {
            const answer = await link.run(...args);
            answers.push(answer);
            return answer;
          },
        }),
      ),
  };
  const registry = new Registry();
  const first = register(watched, 'a', { registry });
  const second = register(opened.store, 'b');
  const key = `${KEY_PREFIX}identity:${nodeID}`;
  await redis.inspector.set(key, 'x'.repeat(1024 * 1024));
  expect(await first.look()).toBeUndefined();
  expect(answers).toEqual([Buffer.from('x'.repeat(513)), 1]);
  expect(await second.look()).toBe('process of a');
  for (const value of ['', 'a \n{"level":50}']) {
    await redis.inspector.set(key, value);
    expect(await first.look()).toBeUndefined();
  }
  const ignored = await registry.getSingleMetricAsString(`${METRIC_PREFIX}identity_registrations_ignored_total`);
  expect(ignored).toMatch(/ignored_total 2$/m);
  // A value of another type is replaced, and the store stays in use.
  await redis.inspector.del(key);
  await redis.inspector.rPush(key, 'x');
  expect(await first.look()).toBeUndefined();
  expect(await opened.store.ask(async () => 'connected')).toBe('connected');
});
