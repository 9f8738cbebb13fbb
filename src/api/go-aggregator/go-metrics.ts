import type { Registry } from 'prom-client';
import { METRIC_PREFIX } from '../../telemetry/metrics.ts';

/** A metric of the Go aggregator, computed from one of ours. */
interface Alias {
  /** Without the prefix, which is the same as ours. */
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** Our metric without the prefix; for a histogram, the name of its count. */
  readonly from: string;
  /** Outcomes to sum up; all by default. */
  readonly outcomes?: readonly string[];
  /** Its unit in ours. */
  readonly factor?: number;
  /** Its label and ours. Without labels it is a single number, initially 0. */
  readonly label?: { readonly name: string; readonly ours: string };
}

const counter = (name: string, help: string, from: string, outcomes?: readonly string[]): Alias => ({
  name,
  type: 'counter',
  help,
  from,
  ...(outcomes && { outcomes }),
});
const ENDED = 'aggregation_duration_seconds_count';
const VALIDATORS = 'validator_outcomes_total';

/** All metrics of the Go aggregator that exist here; docs/switch-from-go.md lists small differences in meaning. */
const ALIASES: readonly Alias[] = [
  {
    name: 'agg_sigs_latency_ms',
    type: 'gauge',
    help: 'Latency of requests for aggregate signatures',
    from: 'go_api_last_success_seconds',
    factor: 1_000,
  },
  counter('agg_sigs_req_count', 'Number of requests for aggregate signatures', 'go_api_requests_total'),
  counter(
    'app_request_count',
    'Number of AppRequests that have been submitted to the network',
    'signature_requests_total',
  ),
  counter('failures_to_get_validator_set', 'Number of failed attempts to retrieve the validator set', ENDED, [
    'p_chain_unavailable',
    'p_chain_invalid',
  ]),
  counter(
    'failures_to_connect_to_sufficient_stake',
    'Number of incidents of connecting to some validators but not enough stake weight',
    ENDED,
    ['not_connected'],
  ),
  counter('failures_sending_to_node', 'Number of failures to send a request to a validator node', VALIDATORS, [
    'unreachable',
    'not_asked',
  ]),
  // A refusal is an answer, not a timeout.
  counter(
    'validator_timeouts',
    'Number of timeouts while waiting for a validator to respond to a request',
    VALIDATORS,
    ['timed_out'],
  ),
  counter(
    'invalid_signature_responses',
    'Number of responses from validators that were not valid signatures',
    VALIDATORS,
    ['invalid_signature'],
  ),
  counter('signature_cache_hits', 'Number of signatures that were found in the cache', 'signature_cache_hits_total'),
  counter(
    'signature_cache_misses',
    'Number of signatures that were not found in the cache',
    'signature_cache_misses_total',
  ),
  {
    name: 'connected_stake_weight_percentage',
    type: 'gauge',
    help: 'The percentage of connected stake weight for a specific subnet',
    from: 'connected_weight_ratio',
    factor: 100,
    label: { name: 'subnetID', ours: 'subnet_id' },
  },
];

/** The Go aggregator's metrics of one network, by their names and types, in the text format of Prometheus. */
export async function goMetricsText(registry: Registry, network: string): Promise<string> {
  const parts = await Promise.all(ALIASES.map((alias) => describe(alias, registry, network)));
  return `${parts.join('\n')}\n`;
}

async function describe(alias: Alias, registry: Registry, network: string): Promise<string> {
  const { type, help, factor = 1, label } = alias;
  const name = METRIC_PREFIX + alias.name;
  const sums = new Map<string, number>(label === undefined ? [['', 0]] : []);
  for (const { value, labels } of await valuesOf(alias, registry)) {
    if (labels['network'] !== network) continue;
    // Subnet IDs are letters and digits: nothing has to be escaped.
    const key = label === undefined ? '' : `{${label.name}="${String(labels[label.ours])}"}`;
    sums.set(key, (sums.get(key) ?? 0) + value);
  }
  // Rounded, because 0.29 * 100 is 28.999999999999996.
  const samples = [...sums].map(([labels, sum]) => `${name}${labels} ${Number((sum * factor).toPrecision(15))}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples].join('\n');
}

interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, unknown>>;
}

async function valuesOf({ from, outcomes }: Alias, registry: Registry): Promise<readonly Sample[]> {
  const name = METRIC_PREFIX + from;
  const metric = registry.getSingleMetric(name) ?? registry.getSingleMetric(name.replace(/_count$/, ''));
  // Until a network is open, it has no metrics.
  if (metric === undefined) return [];
  const { values } = (await metric.get()) as { values: readonly (Sample & { readonly metricName?: string })[] };
  return values.filter(
    ({ metricName = name, labels }) =>
      metricName === name && (outcomes === undefined || outcomes.includes(String(labels['outcome']))),
  );
}
