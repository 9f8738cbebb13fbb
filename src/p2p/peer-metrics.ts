import type { Metrics } from '../telemetry/metrics.ts';
import type { NodeID } from '../warp/ids.ts';
import type { Aborted, AppOutcome } from './connection/app-requests.ts';
import type { Obstacle } from './peer-view.ts';

export interface PeerGauges {
  readonly connected: () => number;
  readonly connecting: () => number;
  readonly wanted: () => ReadonlySet<NodeID>;
  /** Undefined for a connected node. */
  readonly obstacleOf: (nodeID: NodeID) => Obstacle | undefined;
  readonly knownAddresses: () => number;
  readonly pendingRequests: () => number;
}

/** Most responses take a few milliseconds. */
const REQUEST_BUCKETS_SECONDS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** @param gauges called when the metrics are read */
export function createPeerMetrics(metrics: Metrics, gauges: PeerGauges) {
  metrics.readGauge({ name: 'peer_connections', help: 'Peers that are ready for requests' }, gauges.connected);
  metrics.readGauge({ name: 'peer_connecting', help: 'Connections that are not ready yet' }, gauges.connecting);
  metrics.readGauge({ name: 'peer_wanted', help: 'Wanted validators' }, () => gauges.wanted().size);
  metrics.readGauge<'state' | 'cause'>(
    {
      name: 'peer_wanted_nodes',
      help: 'Wanted validators by state: connected, connecting, or missing with its cause',
      labels: ['state', 'cause'],
    },
    () => countByState(gauges),
  );
  metrics.readGauge({ name: 'peer_known_addresses', help: 'Nodes with a known address' }, gauges.knownAddresses);
  metrics.readGauge(
    { name: 'peer_pending_requests', help: 'App requests that wait for a response' },
    gauges.pendingRequests,
  );
  const dials = metrics.counter({ name: 'peer_dials_total', help: 'Connections started' });
  const readies = metrics.counter({ name: 'peer_ready_total', help: 'Connections that completed the handshake' });
  const closed = metrics.counter({
    name: 'peer_closed_total',
    help: 'Connections that ended, by cause',
    labels: ['cause'],
  });
  const bytes = metrics.counter({
    name: 'peer_traffic_bytes_total',
    help: 'Bytes of frames within TLS, by direction',
    labels: ['direction'],
  });
  const addresses = metrics.counter({
    name: 'peer_addresses_total',
    help: 'Addresses received from peers, by result: new, known, invalid, or skipped by the rate limit',
    labels: ['result'],
  });
  const requests = metrics.histogram({
    name: 'peer_app_request_duration_seconds',
    help: 'Time to the end of an app request, by outcome and reason (of timed_out and not_asked)',
    labels: ['outcome', 'reason'],
    buckets: REQUEST_BUCKETS_SECONDS,
  });
  const unpublished = { sent: 0, received: 0 };

  return {
    dials,
    readies,
    closed,
    addresses,
    /** Adds up until {@link publishBytes}, because thousands of frames a second would each look up a label. */
    onBytes(direction: 'sent' | 'received', count: number): void {
      unpublished[direction] += count;
    },
    publishBytes(): void {
      for (const direction of ['sent', 'received'] as const) {
        if (unpublished[direction] > 0) bytes.inc({ direction }, unpublished[direction]);
        unpublished[direction] = 0;
      }
    },
    onAppRequest(outcome: AppOutcome | Aborted, seconds: number): void {
      requests.observe({ outcome: outcome.kind, reason: reasonOf(outcome) }, seconds);
    },
  };
}

/** Reasons of other outcomes are free texts: as labels they would create time series without bound. */
function reasonOf(outcome: AppOutcome | Aborted): string {
  return outcome.kind === 'timed_out' || outcome.kind === 'not_asked' ? outcome.reason : '';
}

/** The state `connected` is always present, also with 0 nodes; other states only if a node is in them. */
function countByState({ wanted, obstacleOf }: PeerGauges) {
  const missing = new Map<Obstacle['cause'], number>();
  let [connected, connecting] = [0, 0];
  for (const nodeID of wanted()) {
    const cause = obstacleOf(nodeID)?.cause;
    if (cause === undefined) connected += 1;
    else if (cause === 'connecting') connecting += 1;
    else missing.set(cause, (missing.get(cause) ?? 0) + 1);
  }
  return [
    { labels: { state: 'connected', cause: '' }, value: connected },
    { labels: { state: 'connecting', cause: '' }, value: connecting },
    ...[...missing].map(([cause, value]) => ({ labels: { state: 'missing', cause }, value })),
  ];
}
