import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { SubnetWeights } from '../../../../src/aggregation/subnets/subnet-views.ts';
import { Activity } from '../../../../src/console/server/activity.ts';
import {
  INTERVAL_MS,
  MAX_INTERVALS,
  POLLED_ROUTES,
  TrafficHistory,
} from '../../../../src/console/server/traffic-history.ts';
import { MAX_SAMPLES, MAX_SUBNETS, SAMPLE_MS, WeightHistory } from '../../../../src/console/server/weight-history.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import type { SubnetID } from '../../../../src/warp/ids.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { scriptedNetwork, UP } from '../../api/api-fixture.ts';

const ROUTE = '/v1/signatureAggregator/:network/aggregateSignatures';
const weights = (subnetID: string, signableWeight: bigint): SubnetWeights => ({
  subnetID: subnetID as SubnetID,
  totalWeight: 100n,
  connectedWeight: 90n,
  signableWeight,
});

function metricsOf() {
  const registry = new Registry();
  const metrics = createMetrics(registry);
  const http = metrics.histogram({
    name: 'http_request_duration_seconds',
    help: 'h',
    labels: ['route', 'status_class'],
    buckets: [0.1, 0.5, 1],
  });
  const aggregations = metrics.histogram({
    name: 'aggregation_duration_seconds',
    help: 'h',
    labels: ['outcome'],
    buckets: [1],
  });
  return {
    registry,
    metrics,
    answer: (status_class: string, seconds: number, route = ROUTE) => http.observe({ route, status_class }, seconds),
    aggregate: (outcome: string) => aggregations.observe({ outcome }, 0.1),
  };
}

test('each interval of traffic has what came since the one before', async () => {
  const { registry, answer, aggregate } = metricsOf();
  const history = new TrafficHistory(registry);
  answer('2xx', 0.2);
  answer('5xx', 2);
  aggregate('signed');
  await history.sample(1_000);
  answer('2xx', 0.05);
  answer('3xx', 0.05);
  answer('4xx', 0.05);
  answer('gone', 0.9);
  for (const outcome of ['signed', 'insufficient_weight', 'aborted']) aggregate(outcome);
  expect(await history.intervals(2_000)).toEqual([
    {
      endsAt: 1_000,
      requests: { '2xx': 1, '4xx': 0, '5xx': 1, gone: 0 },
      aggregations: { signed: 1, failed: 0 },
      medianMs: 500,
      p99Ms: 1_000,
    },
    {
      endsAt: 2_000,
      requests: { '2xx': 2, '4xx': 1, '5xx': 0, gone: 1 },
      aggregations: { signed: 1, failed: 1 },
      medianMs: 50,
      p99Ms: 99,
    },
  ]);
});

test('probes, scrapes and what the console reads do not count, and without answers there is no quantile', async () => {
  const { registry, answer } = metricsOf();
  const others = ['/health/ready', '/metrics', '/console/activity', '/', 'none', ...POLLED_ROUTES];
  for (const route of others) answer('5xx', 0.01, route);
  const [empty] = await new TrafficHistory(registry).intervals(1);
  expect([empty?.medianMs, empty?.p99Ms]).toEqual([undefined, undefined]);
  answer('2xx', 0.01, '/:network/aggregate-signatures');
  const [interval] = await new TrafficHistory(registry).intervals(1);
  expect(interval?.requests).toEqual({ '2xx': 1, '4xx': 0, '5xx': 0, gone: 0 });
});

test('there are at most as many intervals as an hour has', async () => {
  const { registry } = metricsOf();
  const history = new TrafficHistory(registry);
  for (let index = 1; index <= MAX_INTERVALS + 5; index++) await history.sample(index);
  const intervals = await history.intervals(1_000);
  expect(intervals).toHaveLength(MAX_INTERVALS);
  expect(intervals.map(({ endsAt }) => endsAt).slice(-2)).toEqual([MAX_INTERVALS + 5, 1_000]);
  expect(MAX_INTERVALS * INTERVAL_MS).toBe(3_600_000);
});

test('the weights of a subnet have a bound, and keep the start', () => {
  const history = new WeightHistory();
  for (let index = 0; index < 10 * MAX_SAMPLES; index++)
    history.sample('n', [weights('s', BigInt(index % 100))], index * SAMPLE_MS);
  const [{ samples } = { samples: [] }] = history.ofNetwork('n');
  expect(samples.length).toBeLessThan(MAX_SAMPLES);
  expect(samples.length).toBeGreaterThanOrEqual(MAX_SAMPLES / 2 - 1);
  expect(samples[0]).toEqual({ at: 0, connected: 0.9, signable: 0 });
  const steps = samples.slice(1).map(({ at }, index) => at - (samples[index]?.at ?? 0));
  expect(Math.max(...steps)).toBeLessThanOrEqual(2 * Math.min(...steps));
});

// As the network lists them: the one asked for last stands first.
const names = Array.from({ length: MAX_SUBNETS + 3 }, (_, index) => `s${index}`);
const each = (listed: readonly string[]) => listed.map((name) => weights(name, 1n));

test('subnets that nobody asks for any more make room', () => {
  const history = new WeightHistory();
  history.sample('n', each(names.toReversed()), 0);
  history.sample('n', each(['s3']), SAMPLE_MS);
  history.sample('n', each(['new']), 2 * SAMPLE_MS);
  const subnets = history.ofNetwork('n').map(({ subnetId }) => subnetId);
  expect(subnets).toHaveLength(MAX_SUBNETS);
  expect(subnets.slice(-2)).toEqual(['s3', 'new']);
  expect(subnets).not.toContain('s0');
  expect(history.ofNetwork('m')).toEqual([]);
});

test('of more subnets than have room those asked for last are followed on', () => {
  const history = new WeightHistory();
  for (const at of [0, SAMPLE_MS, 2 * SAMPLE_MS]) history.sample('n', each(names), at);
  const subnets = new Map(history.ofNetwork('n').map(({ subnetId, samples }) => [subnetId, samples]));
  expect(subnets.get('s0')).toHaveLength(3);
  expect(subnets.has(names.at(-1) ?? '')).toBe(false);
});

test('a set without weight has no share', () => {
  const history = new WeightHistory();
  history.sample('n', [{ ...weights('s', 0n), totalWeight: 0n }], 0);
  expect(history.ofNetwork('n')).toEqual([]);
});

const subnets = { weights: () => [weights('s', 67n)] } as never;

test('the activity is sampled while the service runs, and no more once it is closed', async () => {
  const clock = new FakeClock();
  const { registry, answer, metrics } = metricsOf();
  const build = metrics.gauge({ name: 'build_info', help: 'h', labels: ['version', 'node', 'bls_backend'] });
  build.set({ version: '1.2.3', node: 'v24', bls_backend: 'noble' }, 1);
  metrics.readGauge({ name: 'upstream_circuit_open', help: 'h', labels: ['upstream'] }, () => [
    { labels: { upstream: 'node' }, value: 1 },
  ]);
  metrics.with({ network: 'fuji' }).gauge({ name: 'peer_connections', help: 'h' }).set(17);
  const state = { headBlock: 9, distanceBlocks: 2, distanceSeconds: 4, problem: 'its RPC hangs' };
  const feed = { chains: () => [{ chainID: 'c', ...state }] } as never;
  const activity = new Activity({ networks: [scriptedNetwork({ subnets, feed })], registry, clock });
  answer('2xx', 0.05);
  await clock.advance(INTERVAL_MS + SAMPLE_MS);
  answer('4xx', 0.05);
  const body = await activity.read();
  expect(body).toMatchObject({
    version: '1.2.3',
    node: 'v24',
    blsBackend: 'noble',
    intervals: [{ requests: { '2xx': 1, '4xx': 0 } }, { requests: { '2xx': 0, '4xx': 1 } }],
    upstreams: [{ name: 'node', isSuspended: true, requests: [] }],
  });
  expect(body.sharedStore).toBeUndefined();
  expect(body.networks).toMatchObject([{ name: 'fuji', peersConnected: 17, peersWanted: 0 }]);
  expect(body.networks[0]?.watchedChains).toEqual([{ blockchainId: 'c', ...state }]);
  expect(body.networks[0]?.subnets).toMatchObject([
    { subnetId: 's', samples: expect.arrayContaining([expect.objectContaining({ connected: 0.9, signable: 0.67 })]) },
  ]);
  activity[Symbol.dispose]();
  expect(clock.pendingTimers).toBe(0);
});

test('the activity is made once a second, however many clients request it', async () => {
  const clock = new FakeClock();
  using activity = new Activity({ networks: [], registry: new Registry(), clock });
  const flood = await Promise.all(Array.from({ length: 100 }, () => activity.json()));
  expect(new Set(flood).size).toBe(1);
  await clock.advance(999);
  expect(await activity.json()).toBe(flood[0]);
  await clock.advance(1);
  expect(JSON.parse(await activity.json())).toMatchObject({ now: clock.now() });
});

test('a network that is not open is not asked', async () => {
  const network = scriptedNetwork({ readiness: () => ({ ...UP, nodeID: undefined }) });
  using activity = new Activity({ networks: [network], registry: new Registry(), clock: new FakeClock() });
  expect((await activity.read()).networks).toMatchObject([{ name: 'fuji', subnets: [], watchedChains: [] }]);
});
