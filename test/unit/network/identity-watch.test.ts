import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { LOOK_INTERVAL_MS, openIdentityWatch } from '../../../src/network/identity-watch.ts';
import type { SharedStore } from '../../../src/store/redis/shared-store.ts';
import { createMetrics, METRIC_PREFIX } from '../../../src/telemetry/metrics.ts';
import type { NodeID } from '../../../src/warp/ids.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';

const CONTESTED = { connected: 1, turnedAway: 4 };

async function start(networkIDs: readonly (number | undefined)[] = [undefined, undefined]) {
  const clock = new FakeClock();
  const log = createLogLines();
  const registry = new Registry();
  /** What the store and the nodes say. */
  const signs = { inStore: undefined as string | undefined, peers: { connected: 1, turnedAway: 0 } };
  const asked: string[][] = [];
  const run = async (_script: string, key: string, args: readonly (string | Uint8Array)[]) => {
    asked.push([key, ...args.map(String)]);
    return signs.inStore === undefined ? 1 : Buffer.from(signs.inStore);
  };
  const store: SharedStore = { ask: (command) => command({ run }), [Symbol.dispose]: () => undefined };
  const watch = openIdentityWatch({
    store,
    clock,
    logger: log.logger,
    identity: { nodeID: 'NodeID-us' as NodeID },
    networks: [
      { name: 'mainnet', readiness: () => ({ networkID: networkIDs[0] }), peerCounts: () => undefined },
      { name: 'fuji', readiness: () => ({ networkID: networkIDs[1] }), peerCounts: () => signs.peers },
    ],
    metrics: createMetrics(registry),
  });
  await settle();
  return {
    asked,
    clock,
    log,
    signs,
    watch,
    metric: async () => (await registry.getSingleMetricAsString(`${METRIC_PREFIX}identity_contested`)).trim().at(-1),
    async look() {
      await clock.advance(LOOK_INTERVAL_MS);
      return watch.problem();
    },
  };
}

test('the most reliable sign is reported to clients, without the other process', async () => {
  const { look, signs } = await start();
  expect(await look()).toBeUndefined();
  signs.peers = { ...CONTESTED, connected: 100 };
  expect(await look()).toBeUndefined();
  signs.peers = CONTESTED;
  expect(await look()).toContain('4 nodes of fuji close our connections at once, and 1 let us in');
  signs.inStore = 'r-2 process 2';
  const problem = await look();
  expect(problem).toContain('has registered the same NodeID');
  expect(problem).not.toContain('process 2');
});

test('two names of one network in this service are named, rather than another process', async () => {
  for (const [networkIDs, expected] of [
    [[1337, 1337], 'mainnet of this service has the same network ID: if both are one network, serve it once'],
    [[1337, 1338], 'most likely another process'],
    [[undefined, undefined], 'most likely another process'],
  ] as const) {
    const { look, signs } = await start(networkIDs);
    signs.peers = CONTESTED;
    expect(await look()).toContain(expected);
  }
});

test('the begin and the end of a problem are logged, and the metric follows', async () => {
  const { clock, log, look, metric, signs, watch } = await start();
  expect([watch.problem(), await metric(), log.lines]).toEqual([undefined, '0', []]);
  signs.inStore = 'r-2 process 7';
  await look();
  await look();
  expect(await metric()).toBe('1');
  expect(log.lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { level: 'warn', msg: 'the NodeID is used twice', other: 'process 7' },
  ]);
  signs.inStore = undefined;
  expect([await look(), await metric()]).toEqual([undefined, '0']);
  expect(log.lines).toHaveLength(2);
  await watch[Symbol.asyncDispose]();
  expect(clock.pendingTimers).toBe(0);
});

test('an invalid registration is replaced, and is no other process', async () => {
  const { asked, look, signs } = await start();
  const [[key, expected, own, lifetimeMs] = []] = asked.splice(0);
  expect([key, own]).toEqual(['identity:NodeID-us', expected]);
  // It outlives a look that failed.
  expect(Number(lifetimeMs)).toBeGreaterThan(2 * LOOK_INTERVAL_MS);
  signs.inStore = 'r-2 \n{"level":50}';
  expect(await look()).toBeUndefined();
  expect(asked.map((args) => args.slice(1, 3))).toEqual([
    [own, own],
    [signs.inStore, own],
  ]);
});
