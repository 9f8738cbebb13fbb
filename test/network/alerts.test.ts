import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** The alert rules under promtool's virtual time: each fires for the fault it is for, alone, and clears. */

const RULES = join(import.meta.dirname, '../../deploy/prometheus/alerts.yaml');
const P = 'signature_aggregator_';
const HERE = 'job="signature-aggregator",instance="a"';
const NETWORK = `${HERE},network="fuji"`;
const SUBNET = `${NETWORK},subnet_id="L1"`;

/** Minutes: a quiet while, the fault, and long enough for the longest window to pass. */
const QUIET = 20;
const FAULT = 40;
const AFTER = 100;

/** Values of one series, a minute apart: a gauge, what a counter grows by in a minute, or none. */
type Values = { readonly gauge: number } | { readonly perMinute: number } | 'none';

/** All series that the rules read, on a day without trouble. */
const HEALTHY: Readonly<Record<string, Values>> = {
  [`up{${HERE}}`]: { gauge: 1 },
  [`${P}build_info{${HERE},version="1",node="v24",bls_backend="noble"}`]: { gauge: 1 },
  [`${P}network_status{${NETWORK},status="up"}`]: { gauge: 1 },
  [`${P}network_status{${NETWORK},status="down"}`]: { gauge: 0 },
  [`${P}subnet_up{${SUBNET}}`]: { gauge: 1 },
  [`${P}connected_weight_ratio{${SUBNET}}`]: { gauge: 0.99 },
  [`${P}identity_contested{${NETWORK}}`]: { gauge: 0 },
  [`${P}aggregation_duration_seconds_count{${NETWORK},outcome="signed"}`]: { perMinute: 600 },
  [`${P}aggregation_duration_seconds_count{${NETWORK},outcome="insufficient_weight"}`]: { perMinute: 6 },
  // The client's mistakes: half of its requests.
  [`${P}aggregation_duration_seconds_count{${NETWORK},outcome="unknown_transaction"}`]: { perMinute: 600 },
  [`${P}aggregation_duration_seconds_count{${NETWORK},outcome="p_chain_unavailable"}`]: { perMinute: 1 },
  [`${P}aggregation_duration_seconds_bucket{${NETWORK},outcome="signed",le="0.1"}`]: { perMinute: 600 },
  [`${P}aggregation_duration_seconds_bucket{${NETWORK},outcome="signed",le="5"}`]: { perMinute: 600 },
  [`${P}aggregation_duration_seconds_bucket{${NETWORK},outcome="signed",le="+Inf"}`]: { perMinute: 600 },
  [`${P}admission_refusals_total{${NETWORK},reason="all"}`]: { perMinute: 1 },
  [`${P}api_calls_total{${NETWORK},method="platform.getHeight",outcome="ok"}`]: { perMinute: 60 },
  [`${P}api_calls_total{${NETWORK},method="platform.getHeight",outcome="unavailable"}`]: { perMinute: 1 },
  // A chain's RPC that fails: the P-Chain API is well.
  [`${P}api_calls_total{${NETWORK},method="eth_getTransactionReceipt",outcome="invalid_response"}`]: { perMinute: 60 },
  [`${P}p_chain_height{${NETWORK}}`]: { gauge: 10_000 },
  [`${P}l1_index_highest_block{${NETWORK}}`]: { gauge: 9_990 },
  [`${P}feed_store_failing{${NETWORK}}`]: { gauge: 0 },
  [`${P}feed_chain_stopped{${NETWORK},source_chain="C"}`]: { gauge: 0 },
  [`${P}feed_unconfirmed_seconds{${NETWORK},source_chain="C"}`]: { gauge: 240 },
  [`${P}feed_head_distance_seconds{${NETWORK},source_chain="C"}`]: { gauge: 2 },
  [`${P}bad_signers_total{${NETWORK}}`]: { perMinute: 0 },
  [`${P}http_requests_total{${HERE},method="GET",route="/openapi.json",status="200"}`]: { perMinute: 10 },
  // A quorum that is missed, and an upstream's own failure: statuses of 500, and no bugs.
  [`${P}http_requests_total{${HERE},method="POST",route="/aggregate-signatures",status="500"}`]: { perMinute: 6 },
  [`${P}http_requests_total{${HERE},method="GET",route="/v1/chains/:chainId",status="500"}`]: { perMinute: 6 },
  [`${P}http_internal_errors_total{${HERE}}`]: { perMinute: 0 },
  [`nodejs_eventloop_lag_p99_seconds{${HERE}}`]: { gauge: 0.01 },
  [`${P}bls_jobs_waiting{${HERE}}`]: { gauge: 2 },
  [`${P}bls_audits_total{${HERE},outcome="differed"}`]: { perMinute: 0 },
  [`${P}shared_store_connected{${HERE}}`]: { gauge: 1 },
  [`${P}config_last_reload_successful{${HERE}}`]: { gauge: 1 },
  [`${P}trace_spans_total{${HERE},outcome="exported"}`]: { perMinute: 600 },
  [`${P}trace_spans_total{${HERE},outcome="failed"}`]: { perMinute: 0 },
  [`${P}trace_spans_total{${HERE},outcome="dropped"}`]: { perMinute: 0 },
  [`${P}upstream_circuit_open{${HERE},upstream="mainnet"}`]: { gauge: 0 },
  [`process_open_fds{${HERE}}`]: { gauge: 500 },
  [`process_max_fds{${HERE}}`]: { gauge: 65_536 },
};

/** What is different while the fault lasts. */
const FAULTS: Readonly<Record<string, Readonly<Record<string, Values>>>> = {
  SignatureAggregatorDown: { [`up{${HERE}}`]: { gauge: 0 } },
  SignatureAggregatorNetworkDown: {
    [`${P}network_status{${NETWORK},status="up"}`]: { gauge: 0 },
    [`${P}network_status{${NETWORK},status="down"}`]: { gauge: 1 },
  },
  SignatureAggregatorSubnetBelowQuorum: {
    [`${P}subnet_up{${SUBNET}}`]: { gauge: 0 },
    [`${P}connected_weight_ratio{${SUBNET}}`]: { gauge: 0.5 },
  },
  SignatureAggregatorIdentityContested: { [`${P}identity_contested{${NETWORK}}`]: { gauge: 1 } },
  SignatureAggregatorWeightLow: { [`${P}connected_weight_ratio{${SUBNET}}`]: { gauge: 0.75 } },
  SignatureAggregatorQuorumFailures: {
    [`${P}aggregation_duration_seconds_count{${NETWORK},outcome="insufficient_weight"}`]: { perMinute: 200 },
  },
  SignatureAggregatorRequestsFailing: {
    [`${P}aggregation_duration_seconds_count{${NETWORK},outcome="p_chain_unavailable"}`]: { perMinute: 60 },
  },
  SignatureAggregatorSlow: {
    [`${P}aggregation_duration_seconds_bucket{${NETWORK},outcome="signed",le="0.1"}`]: { perMinute: 300 },
  },
  SignatureAggregatorOverloaded: {
    [`${P}admission_refusals_total{${NETWORK},reason="all"}`]: { perMinute: 600 },
  },
  SignatureAggregatorApiFailing: {
    [`${P}api_calls_total{${NETWORK},method="platform.getHeight",outcome="unavailable"}`]: { perMinute: 60 },
  },
  SignatureAggregatorIndexBehind: { [`${P}l1_index_highest_block{${NETWORK}}`]: { gauge: 9_000 } },
  SignatureAggregatorFeedStoreFailing: { [`${P}feed_store_failing{${NETWORK}}`]: { gauge: 1 } },
  SignatureAggregatorFeedChainStopped: {
    [`${P}feed_chain_stopped{${NETWORK},source_chain="C"}`]: 'none',
    [`${P}feed_chain_stopped{${NETWORK},source_chain="C",reason="rpc_behind"}`]: { gauge: 1 },
  },
  SignatureAggregatorFeedBehind: { [`${P}feed_head_distance_seconds{${NETWORK},source_chain="C"}`]: { gauge: 300 } },
  SignatureAggregatorFeedUnconfirmed: {
    [`${P}feed_unconfirmed_seconds{${NETWORK},source_chain="C"}`]: { gauge: 3_600 },
  },
  SignatureAggregatorBadSigners: { [`${P}bad_signers_total{${NETWORK}}`]: { perMinute: 1 } },
  SignatureAggregatorInternalErrors: {
    [`${P}http_internal_errors_total{${HERE}}`]: { perMinute: 1 },
  },
  SignatureAggregatorEventLoopSlow: { [`nodejs_eventloop_lag_p99_seconds{${HERE}}`]: { gauge: 1 } },
  SignatureAggregatorBlsQueueLong: { [`${P}bls_jobs_waiting{${HERE}}`]: { gauge: 500 } },
  SignatureAggregatorWrongArithmetic: { [`${P}bls_audits_total{${HERE},outcome="differed"}`]: { perMinute: 1 } },
  SignatureAggregatorSharedStoreAway: { [`${P}shared_store_connected{${HERE}}`]: { gauge: 0 } },
  SignatureAggregatorReloadFailed: { [`${P}config_last_reload_successful{${HERE}}`]: { gauge: 0 } },
  SignatureAggregatorTracesLost: { [`${P}trace_spans_total{${HERE},outcome="failed"}`]: { perMinute: 600 } },
  SignatureAggregatorUpstreamDown: { [`${P}upstream_circuit_open{${HERE},upstream="mainnet"}`]: { gauge: 1 } },
  SignatureAggregatorNearFileLimit: { [`process_open_fds{${HERE}}`]: { gauge: 60_000 } },
};

/** Series in promtool's notation; each part starts where the previous one ended. */
function seriesOf(healthy: Values, atFault: Values): string {
  const parts = [
    { values: healthy, minutes: QUIET },
    { values: atFault, minutes: FAULT },
    { values: healthy, minutes: AFTER },
  ];
  let count = 0;
  const texts = parts.map(({ values, minutes }) => {
    if (values === 'none') return `_x${minutes}`;
    if ('gauge' in values) return `${values.gauge}x${minutes - 1}`;
    const from = count;
    count += values.perMinute * minutes;
    return `${from}+${values.perMinute}x${minutes - 1}`;
  });
  return texts.join(' ');
}

/** Series that exist only during the fault. */
function absentSeries(fault: Readonly<Record<string, Values>>): Record<string, Values> {
  return Object.fromEntries(Object.keys(fault).map((series) => [series, 'none' as const]));
}

function testOf(fault: Readonly<Record<string, Values>>, alert: string) {
  const firing = (minute: number, expected: readonly string[]) => ({
    expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
    eval_time: `${minute}m`,
    exp_samples: expected.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
  });
  return {
    name: alert,
    interval: '1m',
    input_series: Object.entries({ ...absentSeries(fault), ...HEALTHY }).map(([series, values]) => ({
      series,
      values: seriesOf(values, fault[series] ?? values),
    })),
    promql_expr_test: [
      firing(QUIET - 1, []),
      firing(QUIET + FAULT - 1, [alert]),
      firing(QUIET + FAULT + AFTER - 1, []),
    ],
  };
}

describe('the alert rules', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'alerts-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('are all tried here, and each has its section in the runbook', async () => {
    const rules = await readFile(RULES, 'utf8');
    const names = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
    expect(new Set(names)).toEqual(new Set(Object.keys(FAULTS)));
    const guide = await readFile(join(import.meta.dirname, '../../docs/operate.md'), 'utf8');
    const sections = [...guide.matchAll(/^### (SignatureAggregator\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(names);
    const entries = guide.slice(guide.indexOf('## Runbook')).split(/^### /m).slice(1);
    for (const entry of entries) {
      const parts = [...entry.matchAll(/^\*\*(\w+)\.?\*\*/gm)].map(([, part]) => part);
      expect([entry.split('\n')[0], ...parts]).toEqual([entry.split('\n')[0], 'Impact', 'Diagnosis', 'Mitigation']);
    }
    const links = [...rules.matchAll(/runbook_url: (\S+)/g)].map(([, link]) => link);
    expect(links).toEqual(names.map((name) => `docs/operate.md#${name?.toLowerCase()}`));
  });

  test.each(Object.entries(FAULTS))('%s fires for its fault, no other does, and it clears', expectAlone);

  test('SignatureAggregatorDown fires where no replica is scraped: one that is gone is not discovered any more', () =>
    expectAlone('SignatureAggregatorDown', { [`up{${HERE}}`]: 'none' }));

  test('SignatureAggregatorFeedChainStopped names the reason', async () => {
    const { promql_expr_test: _, ...base } = testOf(FAULTS['SignatureAggregatorFeedChainStopped'] ?? {}, 'reason');
    const labels = { severity: 'critical', instance: 'a', network: 'fuji', source_chain: 'C' };
    const summary = 'Chain C is not read on (rpc_behind): its messages are not signed before clients ask';
    const runbook = 'docs/operate.md#signatureaggregatorfeedchainstopped';
    const expected = { exp_labels: labels, exp_annotations: { summary, runbook_url: runbook } };
    const alertname = 'SignatureAggregatorFeedChainStopped';
    const alerts = [{ eval_time: `${QUIET + FAULT - 1}m`, alertname, exp_alerts: [expected] }];
    await expectSuccess('reason', { ...base, alert_rule_test: alerts });
  });

  async function expectAlone(alert: string, fault: Readonly<Record<string, Values>>): Promise<void> {
    await expectSuccess(alert, testOf(fault, alert));
  }

  async function expectSuccess(name: string, rulesTest: object): Promise<void> {
    // YAML takes JSON.
    const file = join(folder, `${name}.yaml`);
    await writeFile(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests: [rulesTest] }));
    const { stdout } = await promisify(execFile)('promtool', ['test', 'rules', file]);
    expect(stdout).toContain('SUCCESS');
  }
});
