import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createPeerMetrics } from '../../../src/p2p/peer-metrics.ts';
import type { ObstacleCause } from '../../../src/p2p/peer-view.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import type { NodeID } from '../../../src/warp/ids.ts';

const CAUSES = new Map<NodeID, ObstacleCause | undefined>(
  (['not_admitted', undefined, 'connecting', 'no_address', 'not_admitted'] as const).map((cause, index) => [
    ...([`NodeID-${index}` as NodeID, cause] as const),
  ]),
);

it('reads gauges on demand, publishes bytes once, and labels requests by outcome', async () => {
  const registry = new Registry();
  let connected = 1;
  const metrics = createPeerMetrics(createMetrics(registry), {
    connected: () => connected,
    connecting: () => 2,
    wanted: () => new Set(CAUSES.keys()),
    obstacleOf(nodeID) {
      const cause = CAUSES.get(nodeID);
      return cause && { cause, reason: 'a reason' };
    },
    knownAddresses: () => 4,
    pendingRequests: () => 5,
  });
  connected = 7;
  metrics.onBytes('sent', 100);
  metrics.onBytes('sent', 23);
  metrics.onBytes('received', 5);
  metrics.publishBytes();
  metrics.publishBytes();
  metrics.onBytes('received', 6);
  metrics.publishBytes();
  metrics.onAppRequest({ kind: 'refused', code: 1, text: 'any text' }, 0.003);
  metrics.onAppRequest({ kind: 'unreachable', reason: 'any text' }, 0.003);
  metrics.onAppRequest({ kind: 'timed_out', reason: 'no_answer' }, 0.003);
  const lines = (await registry.metrics()).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'signature_aggregator_peer_connections 7',
      'signature_aggregator_peer_connecting 2',
      'signature_aggregator_peer_wanted 5',
      'signature_aggregator_peer_wanted_nodes{state="connected",cause=""} 1',
      'signature_aggregator_peer_wanted_nodes{state="connecting",cause=""} 1',
      'signature_aggregator_peer_wanted_nodes{state="missing",cause="not_admitted"} 2',
      'signature_aggregator_peer_wanted_nodes{state="missing",cause="no_address"} 1',
      'signature_aggregator_peer_known_addresses 4',
      'signature_aggregator_peer_pending_requests 5',
      'signature_aggregator_peer_traffic_bytes_total{direction="sent"} 123',
      'signature_aggregator_peer_traffic_bytes_total{direction="received"} 11',
      'signature_aggregator_peer_app_request_duration_seconds_count{outcome="refused",reason=""} 1',
      'signature_aggregator_peer_app_request_duration_seconds_bucket{le="0.002",outcome="timed_out",reason="no_answer"} 0',
      'signature_aggregator_peer_app_request_duration_seconds_bucket{le="0.005",outcome="timed_out",reason="no_answer"} 1',
    ]),
  );
});
