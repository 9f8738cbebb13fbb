import { expect, test } from 'vitest';
import { metricsOfSource } from '../../../scripts/docs/metrics-of-source.ts';
import { readSource } from '../../../scripts/docs/references.ts';
import { METRIC_PREFIX } from '../../../src/telemetry/metrics.ts';
import { startService } from './running-service.ts';

const VALIDATORS = 5;
const SERIES = new RegExp(`^(${METRIC_PREFIX}\\w+?)(?:_bucket|_sum|_count)?(?:\\{(.*)\\})? \\S+$`, 'gm');

test('time series have the labels that docs/metrics.md is written with', async () => {
  await using service = await startService(VALIDATORS);
  const documented = new Map(metricsOfSource(readSource()).metrics.map(({ name, labels }) => [name, labels]));
  // Handed to what replicas share, which is not there without Redis.
  expect(documented.get(`${METRIC_PREFIX}shared_work_total`)).toEqual(['network', 'outcome']);
  const text = await (await fetch(`${service.app.url}/metrics`)).text();
  const shown = new Map(Array.from(text.matchAll(SERIES), ([, name = '', labels = '']) => [name, labelsOf(labels)]));
  expect(shown.size).toBeGreaterThan(30);
  expect(Object.fromEntries(shown)).toEqual(
    Object.fromEntries(Array.from(shown.keys(), (name) => [name, documented.get(name)?.toSorted()])),
  );
});

/** The names of labels, but for those of buckets. */
function labelsOf(text: string): string[] {
  return Array.from(text.matchAll(/(\w+)="/g), ([, label = '']) => label)
    .filter((label) => label !== 'le')
    .toSorted();
}
