import type { Registry } from 'prom-client';
import { METRIC_PREFIX } from '../../telemetry/metrics.ts';

/** Where a metric of the Go aggregator has its value from. */
interface Source {
  /** Without the prefix; of a histogram the name of its count. */
  readonly name: string;
  /** Of these time series alone; all of the network's otherwise. */
  readonly only?: { readonly label: string; readonly values: readonly string[] };
}

interface Alias {
  /** As dashboards ask for it, after the same prefix as ours. */
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** Added up. */
  readonly from: readonly Source[];
  /** Its unit in ours. */
  readonly factor?: number;
  /** Its label, and ours; without one it is a single number, 0 from the start. */
  readonly label?: { readonly name: string; readonly ours: string };
}

const ENDED = { name: 'aggregation_duration_seconds_count' };
const OF_VALIDATORS = { name: 'validator_outcomes_total' };

/** All metrics of the Go aggregator that mean the same here. docs/switch-from-go.md says where one means a little less or more. */
const ALIASES: readonly Alias[] = [
  {
    name: 'agg_sigs_latency_ms',
    type: 'gauge',
    help: 'Latency of requests for aggregate signatures',
    from: [{ name: 'go_api_last_success_seconds' }],
    factor: 1_000,
  },
  {
    name: 'agg_sigs_req_count',
    type: 'counter',
    help: 'Number of requests for aggregate signatures',
    from: [{ name: 'go_api_requests_total' }],
  },
  {
    name: 'app_request_count',
    type: 'counter',
    help: 'Number of AppRequests that have been submitted to the network',
    from: [{ name: 'signature_requests_total' }],
  },
  {
    name: 'failures_to_get_validator_set',
    type: 'counter',
    help: 'Number of failed attempts to retrieve the validator set',
    from: [{ ...ENDED, only: { label: 'outcome', values: ['p_chain_unavailable', 'p_chain_invalid'] } }],
  },
  {
    name: 'failures_to_connect_to_sufficient_stake',
    type: 'counter',
    help: 'Number of incidents of connecting to some validators but not enough stake weight',
    from: [{ ...ENDED, only: { label: 'outcome', values: ['not_connected'] } }],
  },
  {
    name: 'failures_sending_to_node',
    type: 'counter',
    help: 'Number of failures to send a request to a validator node',
    from: [{ ...OF_VALIDATORS, only: { label: 'outcome', values: ['unreachable', 'not_asked'] } }],
  },
  {
    name: 'validator_timeouts',
    type: 'counter',
    help: 'Number of timeouts while waiting for a validator to respond to a request',
    // A refusal is an answer, and no time-out.
    from: [{ ...OF_VALIDATORS, only: { label: 'outcome', values: ['timed_out'] } }],
  },
  {
    name: 'invalid_signature_responses',
    type: 'counter',
    help: 'Number of responses from validators that were not valid signatures',
    from: [{ ...OF_VALIDATORS, only: { label: 'outcome', values: ['invalid_signature'] } }],
  },
  {
    name: 'signature_cache_hits',
    type: 'counter',
    help: 'Number of signatures that were found in the cache',
    from: [{ name: 'signature_cache_hits_total' }],
  },
  {
    name: 'signature_cache_misses',
    type: 'counter',
    help: 'Number of signatures that were not found in the cache',
    from: [{ name: 'signature_cache_misses_total' }],
  },
  {
    name: 'connected_stake_weight_percentage',
    type: 'gauge',
    help: 'The percentage of connected stake weight for a specific subnet',
    from: [{ name: 'connected_weight_ratio' }],
    factor: 100,
    label: { name: 'subnetID', ours: 'subnet_id' },
  },
];

/** The Go aggregator's metrics of one network, by their names and types, in the text format of Prometheus. */
export async function goMetricsText(registry: Registry, network: string): Promise<string> {
  const parts = await Promise.all(ALIASES.map((alias) => describe(alias, registry, network)));
  return `${parts.join('\n')}\n`;
}

async function describe({ name, type, help, from, factor = 1, label }: Alias, registry: Registry, network: string) {
  const fullName = METRIC_PREFIX + name;
  const sums = new Map<string, number>(label === undefined ? [['', 0]] : []);
  for (const source of from) {
    for (const { value, labels } of await valuesOf(source, registry)) {
      if (labels['network'] !== network) continue;
      // IDs of subnets are letters and digits: nothing in them has to be escaped.
      const key = label === undefined ? '' : `{${label.name}="${String(labels[label.ours])}"}`;
      sums.set(key, (sums.get(key) ?? 0) + value);
    }
  }
  // To the digits that the ratio had: 0.29 times 100 is 28.999999999999996.
  const samples = [...sums].map(([labels, sum]) => `${fullName}${labels} ${Number((sum * factor).toPrecision(15))}`);
  return [`# HELP ${fullName} ${help}`, `# TYPE ${fullName} ${type}`, ...samples].join('\n');
}

interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, unknown>>;
}

async function valuesOf({ name, only }: Source, registry: Registry): Promise<readonly Sample[]> {
  const fullName = METRIC_PREFIX + name;
  const metric = registry.getSingleMetric(fullName) ?? registry.getSingleMetric(fullName.replace(/_count$/, ''));
  // A network that is not open yet has measured nothing.
  if (metric === undefined) return [];
  const { values } = (await metric.get()) as { values: readonly (Sample & { readonly metricName?: string })[] };
  return values.filter(
    ({ metricName = fullName, labels }) =>
      metricName === fullName && (only === undefined || only.values.includes(String(labels[only.label]))),
  );
}
