import { Registry } from 'prom-client';
import { expect, it, vi } from 'vitest';
import { createMetrics, ServiceRegistry } from '../../../src/telemetry/metrics.ts';
import { FakeClock } from '../../support/fake-clock.ts';

async function seriesOf(registry: Registry): Promise<string[]> {
  return (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

it('owners of the same time series add to it', async () => {
  const registry = new Registry();
  const bound = createMetrics(registry).with({ network: 'fuji' });
  const counter = bound.counter({ name: 'parts_total', help: 'Parts', labels: ['kind'] });
  const histogram = bound.histogram({ name: 'part_seconds', help: 'Time', labels: ['kind'], buckets: [1, 100] });
  counter.inc({ kind: 'a' });
  counter.inc({ kind: 'a' }, 2);
  const again = createMetrics(registry).with({ network: 'fuji' });
  again.counter({ name: 'parts_total', help: 'Parts', labels: ['kind'] }).inc({ kind: 'a' }, 0.5);
  for (const value of [1, 50, 200]) histogram.observe({ kind: 'a' }, value);
  expect(await seriesOf(registry)).toEqual([
    'signature_aggregator_parts_total{network="fuji",kind="a"} 3.5',
    'signature_aggregator_part_seconds_bucket{le="1",network="fuji",kind="a"} 1',
    'signature_aggregator_part_seconds_bucket{le="100",network="fuji",kind="a"} 2',
    'signature_aggregator_part_seconds_bucket{le="+Inf",network="fuji",kind="a"} 3',
    'signature_aggregator_part_seconds_sum{network="fuji",kind="a"} 251',
    'signature_aggregator_part_seconds_count{network="fuji",kind="a"} 3',
  ]);
});

it.each([{}, { labels: [] }])('a counter without further labels starts at 0 (%j)', async (labels) => {
  const registry = new Registry();
  createMetrics(registry)
    .with({ network: 'fuji' })
    .counter({ name: 'calls_total', help: 'Calls', ...labels });
  expect(await seriesOf(registry)).toEqual(['signature_aggregator_calls_total{network="fuji"} 0']);
});

it('the series of a read gauge, of all networks, are read at each rendering', async () => {
  const registry = new Registry();
  const metrics = createMetrics(registry);
  const weights = new Map([['a', 1]]);
  const options = { name: 'weight', help: 'Weight', labels: ['subnet'] as const };
  const read = () => Array.from(weights, ([subnet, value]) => ({ labels: { subnet }, value }));
  metrics.with({ network: 'fuji' }).readGauge(options, read);
  metrics.with({ network: 'mainnet' }).readGauge(options, () => [{ labels: { subnet: 'z' }, value: 9 }]);
  expect(await seriesOf(registry)).toEqual([
    'signature_aggregator_weight{network="fuji",subnet="a"} 1',
    'signature_aggregator_weight{network="mainnet",subnet="z"} 9',
  ]);
  weights.delete('a');
  weights.set('b', 2);
  // A declaration with the same bound labels, as of a network that was opened again, replaces the first.
  metrics.with({ network: 'mainnet' }).readGauge(options, () => [{ labels: { subnet: 'y' }, value: 8 }]);
  expect(await seriesOf(registry)).toEqual([
    'signature_aggregator_weight{network="fuji",subnet="b"} 2',
    'signature_aggregator_weight{network="mainnet",subnet="y"} 8',
  ]);
});

it('a gauge that cannot be read is left out, and reported by its name', async () => {
  const registry = new Registry();
  const failures: string[] = [];
  const metrics = createMetrics(registry, (name, error) => failures.push(`${name}: ${String(error)}`));
  const readStore = (): number => {
    throw new RangeError('the store is damaged');
  };
  metrics.with({ network: 'fuji' }).readGauge({ name: 'weight', help: 'Weight' }, readStore);
  metrics.with({ network: 'mainnet' }).readGauge({ name: 'weight', help: 'Weight' }, () => 9);
  expect(await seriesOf(registry)).toEqual(['signature_aggregator_weight{network="mainnet"} 9']);
  expect(failures).toEqual(['weight: RangeError: the store is damaged']);
});

it('the metrics of the process, read once per second, are rendered with those of the service', async () => {
  const clock = new FakeClock();
  const registry = new ServiceRegistry(clock);
  const things = createMetrics(registry).counter({ name: 'things_total', help: 'Things' });
  const resources = vi
    .spyOn(process, 'getActiveResourcesInfo')
    .mockReturnValue(['Timeout', 'TCPSocketWrap', 'Timeout']);
  const shown = async (pattern: RegExp) => (await seriesOf(registry)).filter((line) => pattern.test(line));
  for (let reading = 1; reading <= 10; reading += 1) {
    things.inc();
    expect(await shown(/^nodejs_active_resources_total|^signature/)).toEqual([
      'nodejs_active_resources_total 3',
      `signature_aggregator_things_total ${reading}`,
    ]);
  }
  expect(await shown(/^(process_cpu_seconds_total|process_open_fds|nodejs_eventloop_lag_p99_seconds) /)).toHaveLength(
    3,
  );
  // One call for each of two metrics.
  expect(resources).toHaveBeenCalledTimes(2);
  await clock.advance(1_000);
  await shown(/./);
  expect(resources).toHaveBeenCalledTimes(4);
});
