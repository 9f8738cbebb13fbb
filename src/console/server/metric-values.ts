import type { Registry } from 'prom-client';
import { METRIC_PREFIX } from '../../telemetry/metrics.ts';

export interface MetricValue {
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
  /** Of a histogram: which of its parts this is, `_bucket`, `_sum` or `_count`. */
  readonly part: string;
}

/** The values that a metric has now, by its name without the prefix; none where nothing declares it, as where the service has no Redis. */
export async function readMetric(registry: Registry, name: string): Promise<MetricValue[]> {
  const fullName = METRIC_PREFIX + name;
  const metric = await registry.getSingleMetric(fullName)?.get();
  return (metric?.values ?? []).map(({ labels, value, ...rest }) => ({
    labels,
    value,
    part: 'metricName' in rest && typeof rest.metricName === 'string' ? rest.metricName.slice(fullName.length) : '',
  }));
}
