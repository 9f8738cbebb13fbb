import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createAggregatorMetrics } from '../../../src/aggregation/aggregator-metrics.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { idFromBytes, type SubnetID } from '../../../src/warp/ids.ts';

const subnet = (byte: number) => idFromBytes<SubnetID>(new Uint8Array(32).fill(byte), 'subnet');

function create(tracked: readonly SubnetID[] = []) {
  const registry = new Registry();
  const metrics = createAggregatorMetrics(createMetrics(registry), (subnetID) => tracked.includes(subnetID));
  return { metrics, lines: async () => (await registry.metrics()).split('\n') };
}

test('outcomes are counted by the weight of the validator, and by subnet where it is tracked', async () => {
  const { metrics, lines } = create([subnet(1)]);
  const totalWeight = 1_000n;
  for (const weight of [100n, 99n, 10n, 9n]) {
    metrics.countOutcome(
      { kind: 'signed', signature: new Uint8Array(96) },
      { subnetID: subnet(1), weight, totalWeight },
    );
  }
  for (const untracked of [2, 3])
    metrics.countOutcome(
      { kind: 'timed_out', reason: 'no_answer' },
      { subnetID: subnet(untracked), weight: 1n, totalWeight },
    );
  const shown = (await lines()).filter((line) => line.startsWith('signature_aggregator_validator_outcomes_total{'));
  const series = (id: string, weight: string, outcome: string, reason = '') =>
    `signature_aggregator_validator_outcomes_total{subnet_id="${id}",weight_class="${weight}",outcome="${outcome}",reason="${reason}"}`;
  expect(shown).toEqual([
    `${series(subnet(1), 'heavy', 'signed')} 1`,
    `${series(subnet(1), 'medium', 'signed')} 2`,
    `${series(subnet(1), 'light', 'signed')} 1`,
    `${series('other', 'light', 'timed_out', 'no_answer')} 2`,
  ]);
});
