import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { createMetrics, declareProcessMetrics } from '../../../src/telemetry/metrics.ts';

async function seriesOf(registry: Registry): Promise<string[]> {
  return (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

describe('createMetrics', () => {
  it('adds the prefix, and counts with and without labels', async () => {
    const registry = new Registry();
    const metrics = createMetrics(registry);
    const plain = metrics.counter({ name: 'things_total', help: 'Things' });
    const labelled = metrics.counter({ name: 'parts_total', help: 'Parts', labels: ['kind'] });
    plain.inc();
    plain.inc(2);
    labelled.inc({ kind: 'a' });
    labelled.inc({ kind: 'a' }, 4);
    expect(await seriesOf(registry)).toEqual([
      'signature_aggregator_things_total 3',
      'signature_aggregator_parts_total{kind="a"} 5',
    ]);
  });

  it('declares a metric once for all networks, which it tells apart by label', async () => {
    const registry = new Registry();
    const metrics = createMetrics(registry);
    for (const [network, value] of [
      ['fuji', 1],
      ['mainnet', 2],
    ] as const) {
      const bound = metrics.with({ network });
      bound.counter({ name: 'calls_total', help: 'Calls', labels: ['method'] }).inc({ method: 'm' }, value);
      bound.gauge({ name: 'height', help: 'Height' }).set(10 * value);
      bound.histogram({ name: 'call_seconds', help: 'Time', buckets: [1] }).observe(value);
    }
    const series = await seriesOf(registry);
    expect(series).toContain('signature_aggregator_calls_total{network="fuji",method="m"} 1');
    expect(series).toContain('signature_aggregator_calls_total{network="mainnet",method="m"} 2');
    expect(series).toContain('signature_aggregator_height{network="mainnet"} 20');
    expect(series).toContain('signature_aggregator_call_seconds_sum{network="mainnet"} 2');
  });

  it('asks for the values of a read gauge at each reading, of every network, and drops series that are gone', async () => {
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
    expect(await seriesOf(registry)).toEqual([
      'signature_aggregator_weight{network="fuji",subnet="b"} 2',
      'signature_aggregator_weight{network="mainnet",subnet="z"} 9',
    ]);
  });

  it('reads a gauge without labels as a number', async () => {
    const registry = new Registry();
    createMetrics(registry).readGauge({ name: 'size', help: 'Size' }, () => 7);
    expect(await seriesOf(registry)).toEqual(['signature_aggregator_size 7']);
  });

  it('sets, raises and lowers a gauge', async () => {
    const registry = new Registry();
    const gauge = createMetrics(registry).with({ network: 'fuji' }).gauge({ name: 'level', help: 'Level' });
    gauge.set(5);
    gauge.inc();
    gauge.dec(3);
    expect(await seriesOf(registry)).toEqual(['signature_aggregator_level{network="fuji"} 3']);
  });
});

describe('time series', () => {
  const LABELS = { a: ['x', 'y "quoted"', 'z'], b: ['1', '2'] };

  it('are shown as those of prom-client, histograms included', async () => {
    const [ours, theirs] = [new Registry(), new Registry()];
    const metrics = createMetrics(ours);
    const described = { help: 'Help', labels: ['a', 'b'] as const };
    const counter = metrics.counter({ name: 'c_total', ...described });
    const gauge = metrics.gauge({ name: 'g', ...described });
    const histogram = metrics.histogram({ name: 'h_seconds', ...described, buckets: [0.1, 1, 10] });
    metrics.gauge({ name: 'plain', help: 'Help' });
    const plain = metrics.histogram({ name: 'plain_seconds', help: 'Help', buckets: [1] });
    const declared = { help: 'Help', labelNames: ['a', 'b'], registers: [theirs] };
    const prefix = 'signature_aggregator_';
    const theirCounter = new Counter({ name: `${prefix}c_total`, ...declared });
    const theirGauge = new Gauge({ name: `${prefix}g`, ...declared });
    const theirHistogram = new Histogram({ name: `${prefix}h_seconds`, ...declared, buckets: [0.1, 1, 10] });
    new Gauge({ name: `${prefix}plain`, help: 'Help', registers: [theirs] });
    const unlabelled = { name: `${prefix}plain_seconds`, help: 'Help', buckets: [1], registers: [theirs] };
    const theirPlain = new Histogram(unlabelled);
    expect(await ours.metrics()).toBe(await theirs.metrics());
    // On each border, between them and beyond the last.
    const values = [0, 0.1, 0.100_001, 1, 5, 10, 10.5, 1e9];
    for (const a of LABELS.a) {
      for (const b of LABELS.b) {
        for (const value of values) {
          counter.inc({ a, b }, value);
          theirCounter.inc({ a, b }, value);
          gauge.set({ a, b }, value - 3);
          theirGauge.set({ a, b }, value - 3);
          histogram.observe({ a, b }, value);
          theirHistogram.observe({ a, b }, value);
        }
      }
    }
    plain.observe(2);
    theirPlain.observe(2);
    expect(await ours.metrics()).toBe(await theirs.metrics());
  });

  it('take no other labels than those declared, no value that is no number, and no step back of a counter', () => {
    const metrics = createMetrics(new Registry()).with({ network: 'fuji' });
    const counter = metrics.counter({ name: 'c_total', help: 'Help', labels: ['a'] });
    const gauge = metrics.gauge({ name: 'g', help: 'Help' });
    const histogram = metrics.histogram({ name: 'h_seconds', help: 'Help', buckets: [1] });
    expect(() => counter.inc({} as never)).toThrow(TypeError);
    expect(() => counter.inc({ a: 'x', b: 'y' } as never)).toThrow('labels must be network, a');
    expect(() => counter.inc({ a: 'x' }, -1)).toThrow(RangeError);
    expect(() => gauge.set(Number.NaN)).toThrow(TypeError);
    expect(() => histogram.observe(Number.POSITIVE_INFINITY)).toThrow(TypeError);
    gauge.dec(2);
  });
});

it('the metrics of the process are the default ones of prom-client', async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  declareProcessMetrics(ours);
  collectDefaultMetrics({ register: theirs });
  const declared = async (registry: Registry) =>
    (await registry.getMetricsAsJSON()).map(({ name, help, type }) => `${name} ${type}: ${help}`).toSorted();
  expect(await declared(ours)).toEqual(await declared(theirs));
  const value = async (name: string) => (await ours.getSingleMetric(name)?.get())?.values[0]?.value ?? 0;
  const [user, both] = [await value('process_cpu_user_seconds_total'), await value('process_cpu_seconds_total')];
  expect(user).toBeGreaterThan(0);
  expect(both).toBeGreaterThanOrEqual(user);
});
