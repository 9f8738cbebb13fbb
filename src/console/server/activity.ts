import type { Registry } from 'prom-client';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Network } from '../../network/network.ts';
import type { SubnetID } from '../../warp/ids.ts';
import type { ActivityBody } from './activity-record.ts';
import { type MetricValue, readMetric } from './metric-values.ts';
import { INTERVAL_MS, RequestHistory } from './request-history.ts';
import { SAMPLE_MS, WeightHistory } from './weight-history.ts';

const METRICS = [
  'build_info',
  'http_requests_in_flight',
  'bls_threads',
  'bls_jobs_running',
  'bls_jobs_waiting',
  'p_chain_height',
  'peer_connections',
  'peer_wanted',
  'peer_connecting',
  'aggregations_admitted',
  'aggregations_limit',
  'shared_store_connected',
  'upstream_circuit_open',
  'upstream_requests_total',
] as const;

export interface ActivityOptions {
  readonly networks: readonly Network[];
  readonly registry: Registry;
  readonly clock: Clock;
}

/** What the service does, as its metrics and networks say, and a short memory of it. */
export class Activity implements Disposable {
  readonly #options: ActivityOptions;
  readonly #startedAt: number;
  readonly #requests: RequestHistory;
  readonly #weights = new WeightHistory();
  #lastInterval: number;
  #cancel: () => void;

  constructor(options: ActivityOptions) {
    const { clock, registry } = options;
    this.#options = options;
    this.#startedAt = clock.now();
    this.#lastInterval = this.#startedAt;
    this.#requests = new RequestHistory(registry);
    this.#cancel = clock.after(SAMPLE_MS, () => this.#tick());
  }

  #tick(): void {
    const { clock } = this.#options;
    this.#cancel = clock.after(SAMPLE_MS, () => this.#tick());
    this.#sampleWeights();
    const now = clock.now();
    // A clock that was set back must not stop the intervals for as long.
    if (now >= this.#lastInterval && now - this.#lastInterval < INTERVAL_MS) return;
    this.#lastInterval = now;
    // It reads counters: nothing there can fail.
    void this.#requests.sample(now);
  }

  #sampleWeights(): void {
    const { networks, clock } = this.#options;
    for (const network of networks) {
      // Undefined until the network is open.
      if (network.readiness().nodeID === undefined) continue;
      this.#weights.sample(network.name, network.subnets.weights(), clock.now());
    }
  }

  async read(): Promise<ActivityBody> {
    const { networks, clock } = this.#options;
    const now = clock.now();
    // So that the charts end with what is now.
    this.#sampleWeights();
    const intervals = await this.#requests.intervals(now);
    const metrics = await this.#readAll();
    const labels = metrics.build_info[0]?.labels ?? {};
    return {
      version: String(labels['version'] ?? ''),
      node: String(labels['node'] ?? ''),
      blsBackend: String(labels['bls_backend'] ?? ''),
      startedAt: this.#startedAt,
      now,
      memoryBytes: process.memoryUsage.rss(),
      requestsInFlight: first(metrics.http_requests_in_flight),
      intervalMs: INTERVAL_MS,
      intervals: intervals.map(({ medianMs, p99Ms, ...interval }) => ({
        ...interval,
        ...(medianMs !== undefined && { medianMs }),
        ...(p99Ms !== undefined && { p99Ms }),
      })),
      workers: {
        threads: first(metrics.bls_threads),
        jobsRunning: first(metrics.bls_jobs_running),
        jobsWaiting: first(metrics.bls_jobs_waiting),
      },
      networks: networks.map(({ name }) => ({
        name,
        ...(valueOf(metrics.p_chain_height, name) > 0 && { pChainHeight: valueOf(metrics.p_chain_height, name) }),
        peersConnected: valueOf(metrics.peer_connections, name),
        peersWanted: valueOf(metrics.peer_wanted, name),
        peersConnecting: valueOf(metrics.peer_connecting, name),
        aggregationsInFlight: valueOf(metrics.aggregations_admitted, name),
        aggregationsLimit: valueOf(metrics.aggregations_limit, name),
        subnets: this.#weights.subnets(name).map((subnetID: SubnetID) => ({
          subnetId: subnetID,
          samples: [...this.#weights.of(name, subnetID)],
        })),
      })),
      ...(metrics.shared_store_connected.length > 0 && {
        sharedStore: { isConnected: first(metrics.shared_store_connected) === 1 },
      }),
      upstreams: metrics.upstream_circuit_open.map((circuit) => {
        const name = String(circuit.labels['upstream']);
        return {
          name,
          isLeftAlone: circuit.value === 1,
          requests: metrics.upstream_requests_total
            .filter((requests) => requests.labels['upstream'] === name)
            .map((requests) => ({ outcome: String(requests.labels['outcome']), count: requests.value })),
        };
      }),
    };
  }

  async #readAll(): Promise<Record<(typeof METRICS)[number], readonly MetricValue[]>> {
    const read = METRICS.map(async (name) => ({ [name]: await readMetric(this.#options.registry, name) }));
    return Object.assign({}, ...(await Promise.all(read)));
  }

  [Symbol.dispose](): void {
    this.#cancel();
  }
}

function first(values: readonly MetricValue[]): number {
  return values[0]?.value ?? 0;
}

function valueOf(values: readonly MetricValue[], network: string): number {
  return values.find(({ labels }) => labels['network'] === network)?.value ?? 0;
}
