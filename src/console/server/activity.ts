import type { Registry } from 'prom-client';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Network } from '../../network/network.ts';
import type { ActivityBody } from './activity-record.ts';
import { INTERVAL_MS, type MetricValue, readMetric, TrafficHistory } from './traffic-history.ts';
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

const FRESH_MS = 1_000;

export interface ActivityOptions {
  readonly networks: readonly Network[];
  readonly registry: Registry;
  readonly clock: Clock;
}

/** Figures of the service from its metrics and networks, with a short history. */
export class Activity implements Disposable {
  readonly #options: ActivityOptions;
  readonly #startedAt: number;
  readonly #requests: TrafficHistory;
  readonly #weights = new WeightHistory();
  #lastInterval: number;
  #cancel: () => void;
  #last: { readonly madeMs: number; readonly json: Promise<string> } | undefined;

  constructor(options: ActivityOptions) {
    const { clock, registry } = options;
    this.#options = options;
    this.#startedAt = clock.now();
    this.#lastInterval = this.#startedAt;
    this.#requests = new TrafficHistory(registry);
    this.#cancel = clock.after(SAMPLE_MS, () => this.#tick());
  }

  #tick(): void {
    const { clock } = this.#options;
    this.#cancel = clock.after(SAMPLE_MS, () => this.#tick());
    this.#sampleWeights();
    const now = clock.now();
    // If the clock was set back, the interval ends at once.
    if (now >= this.#lastInterval && now - this.#lastInterval < INTERVAL_MS) return;
    this.#lastInterval = now;
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

  /**
   * The figures as JSON, made at most once a second: the route is free and open to everyone, and with the histories of 64 subnets it has
   * 0.9 MB, which take some 5 ms to make.
   */
  json(): Promise<string> {
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#last === undefined || nowMs - this.#last.madeMs >= FRESH_MS)
      this.#last = { madeMs: nowMs, json: this.read().then((body) => JSON.stringify(body)) };
    return this.#last.json;
  }

  async read(): Promise<ActivityBody> {
    const { networks, clock } = this.#options;
    const now = clock.now();
    // The charts end now.
    this.#sampleWeights();
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
      intervals: await this.#requests.intervals(now),
      workers: {
        threads: first(metrics.bls_threads),
        jobsRunning: first(metrics.bls_jobs_running),
        jobsWaiting: first(metrics.bls_jobs_waiting),
      },
      networks: networks.map(({ name }) => ({
        name,
        pChainHeight: valueOf(metrics.p_chain_height, name),
        peersConnected: valueOf(metrics.peer_connections, name),
        peersWanted: valueOf(metrics.peer_wanted, name),
        peersConnecting: valueOf(metrics.peer_connecting, name),
        aggregationsInFlight: valueOf(metrics.aggregations_admitted, name),
        aggregationsLimit: valueOf(metrics.aggregations_limit, name),
        subnets: this.#weights.ofNetwork(name),
      })),
      sharedStore:
        metrics.shared_store_connected.length === 0
          ? undefined
          : { isConnected: first(metrics.shared_store_connected) === 1 },
      upstreams: metrics.upstream_circuit_open.map((circuit) => {
        const name = String(circuit.labels['upstream']);
        return {
          name,
          isSuspended: circuit.value === 1,
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
