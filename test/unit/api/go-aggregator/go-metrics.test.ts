import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { goMetricsText } from '../../../../src/api/go-aggregator/go-metrics.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';

test('metrics have the units of the Go aggregator', async () => {
  const registry = new Registry();
  const metrics = createMetrics(registry).with({ network: 'fuji' });
  metrics.gauge({ name: 'go_api_last_success_seconds', help: '.' }).set(0.25);
  metrics.gauge({ name: 'connected_weight_ratio', help: '.', labels: ['subnet_id'] }).set({ subnet_id: 'A' }, 0.29);
  const lines = (await goMetricsText(registry, 'fuji')).split('\n');
  expect(lines).toContain('signature_aggregator_agg_sigs_latency_ms 250');
  expect(lines).toContain('signature_aggregator_connected_stake_weight_percentage{subnetID="A"} 29');
});
