import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { AppOutcome } from './app-requests.ts';
import type { CloseCause } from './peer.ts';

/** What operators see of the peer network. Labels have a closed set of values: never a node's ID. */
export interface PeerMetrics {
  onReady(): void;
  onClosed(cause: CloseCause): void;
  onDial(): void;
  onBytes(direction: 'sent' | 'received', count: number): void;
  onAddress(result: 'new' | 'known' | 'invalid'): void;
  onAppRequest(outcome: AppOutcome['kind'] | 'aborted', seconds: number): void;
}

export interface PeerGauges {
  readonly connected: number;
  readonly connecting: number;
  readonly wanted: number;
  readonly knownAddresses: number;
  readonly pendingRequests: number;
}

const PREFIX = 'signature_aggregator_peer_';

/** @param read gives the present values when the metrics are scraped */
export function createPeerMetrics(registry: Registry, read: () => PeerGauges): PeerMetrics {
  const registers = [registry];
  const gauge = (name: string, help: string, value: (gauges: PeerGauges) => number): void => {
    new Gauge({
      name: PREFIX + name,
      help,
      registers,
      collect() {
        this.set(value(read()));
      },
    });
  };
  gauge('connections', 'Peers that are ready for requests', (gauges) => gauges.connected);
  gauge('connecting', 'Connections that are being set up', (gauges) => gauges.connecting);
  gauge('wanted', 'Validators that connections are wanted to', (gauges) => gauges.wanted);
  gauge('known_addresses', 'Nodes with a known address', (gauges) => gauges.knownAddresses);
  gauge('pending_requests', 'App requests that wait for an answer', (gauges) => gauges.pendingRequests);

  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]): Counter<Label> =>
    new Counter({ name: PREFIX + name, help, labelNames, registers });
  const dials = counter('dials_total', 'Connections started', []);
  const readies = counter('ready_total', 'Connections that completed the handshake', []);
  const closed = counter('closed_total', 'Connections that ended, by cause', ['cause']);
  const bytes = counter('traffic_bytes_total', 'Bytes of frames within TLS, by direction', ['direction']);
  const addresses = counter('addresses_total', 'Addresses received from peers, by result', ['result']);
  const requests = new Histogram({
    name: `${PREFIX}app_request_seconds`,
    help: 'Time to the end of an app request, by outcome',
    labelNames: ['outcome'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });

  return {
    onReady: () => readies.inc(),
    onClosed: (cause) => closed.inc({ cause }),
    onDial: () => dials.inc(),
    onBytes: (direction, count) => bytes.inc({ direction }, count),
    onAddress: (result) => addresses.inc({ result }),
    onAppRequest: (outcome, seconds) => requests.observe({ outcome }, seconds),
  };
}
