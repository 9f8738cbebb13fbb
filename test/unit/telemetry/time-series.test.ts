import fc from 'fast-check';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createMetrics, METRIC_PREFIX } from '../../../src/telemetry/metrics.ts';

const BUCKETS = [0.5, 1, 2.5];
const labels = ['route', 'status'] as const;
const help = 'For the test';

/** What is written: to which series, and what. */
const writes = fc.array(
  fc.record({
    route: fc.constantFrom('/a', '/b', 'with "quotes" and \\'),
    status: fc.constantFrom('200', '404'),
    value: fc.oneof(fc.constantFrom(0, 0.5, 1, 2.5, 3), fc.double({ min: 0, max: 5, noNaN: true })),
  }),
  { maxLength: 20 },
);

test('time series read as those of prom-client do, bucket by bucket', async () => {
  await fc.assert(
    fc.asyncProperty(writes, async (written) => {
      const own = new Registry();
      const metrics = createMetrics(own).with({ network: 'fuji' });
      const counter = metrics.counter({ name: 'a_total', help, labels });
      const gauge = metrics.gauge({ name: 'b', help, labels });
      const histogram = metrics.histogram({ name: 'c_seconds', help, labels, buckets: BUCKETS });
      const registry = new Registry();
      const of = (name: string) => ({
        ...{ name: METRIC_PREFIX + name, help, registers: [registry] },
        labelNames: ['network', ...labels],
      });
      const [theirCounter, theirGauge] = [new Counter(of('a_total')), new Gauge(of('b'))];
      const theirHistogram = new Histogram({ ...of('c_seconds'), buckets: BUCKETS });
      for (const { value, ...series } of written) {
        const all = { network: 'fuji', ...series };
        counter.inc(series, value);
        theirCounter.inc(all, value);
        gauge.inc(series, value);
        theirGauge.inc(all, value);
        gauge.dec(series);
        theirGauge.dec(all);
        histogram.observe(series, value);
        theirHistogram.observe(all, value);
      }
      expect(await own.metrics()).toBe(await registry.metrics());
    }),
  );
});

test('what can be no step of a counter, or no observation, is refused', () => {
  const metrics = createMetrics(new Registry());
  const counter = metrics.counter({ name: 'a_total', help });
  expect(() => counter.inc(-1)).toThrow('cannot grow by -1');
  expect(() => counter.inc(Number.NaN)).toThrow('cannot grow by NaN');
  const histogram = metrics.histogram({ name: 'b_seconds', help, buckets: BUCKETS });
  expect(() => histogram.observe(Number.NaN)).toThrow('cannot observe NaN');
});
