import type { Registry } from 'prom-client';
import type { WatchedChain } from '../../feed/feed-message.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Network } from '../../network/network.ts';
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
type Metric = (typeof METRICS)[number];

const TICKS_PER_INTERVAL = INTERVAL_MS / SAMPLE_MS;
const FRESH_MS = 1_000;

/** Figures of the service for the console. */
export type ActivityBody = Awaited<ReturnType<Activity['read']>>;

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
  #ticks = 0;
  #cancel: () => void;
  #last: { readonly madeMs: number; readonly json: Promise<string> } | undefined;

  constructor(options: ActivityOptions) {
    const { clock, registry } = options;
    this.#options = options;
    this.#startedAt = clock.now();
    this.#requests = new TrafficHistory(registry);
    this.#cancel = clock.after(SAMPLE_MS, () => this.#tick());
  }

  #tick(): void {
    const { clock } = this.#options;
    this.#cancel = clock.after(SAMPLE_MS, () => this.#tick());
    this.#sampleWeights();
    this.#ticks += 1;
    if (this.#ticks % TICKS_PER_INTERVAL === 0) void this.#requests.sample(clock.now());
  }

  #sampleWeights(): void {
    const { networks, clock } = this.#options;
    for (const network of networks) {
      if (!isOpen(network)) continue;
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

  async read() {
    const { networks, clock } = this.#options;
    const now = clock.now();
    // Samples the weights, so that the charts end at the present.
    this.#sampleWeights();
    const metrics = await this.#readAll();
    const labels = metrics.build_info[0]?.labels ?? {};
    const valueOf = (metric: Metric, network?: string): number =>
      metrics[metric].find((one) => network === undefined || one.labels['network'] === network)?.value ?? 0;
    return {
      version: String(labels['version'] ?? ''),
      node: String(labels['node'] ?? ''),
      blsBackend: String(labels['bls_backend'] ?? ''),
      /** This and other times are Unix time in milliseconds. */
      startedAt: this.#startedAt,
      now,
      /** Resident memory of the process. */
      memoryBytes: process.memoryUsage.rss(),
      requestsInFlight: valueOf('http_requests_in_flight'),
      intervalMs: INTERVAL_MS,
      /** The last hour, the oldest first; the last one is not over. */
      intervals: await this.#requests.intervals(now),
      workers: {
        threads: valueOf('bls_threads'),
        jobsRunning: valueOf('bls_jobs_running'),
        jobsWaiting: valueOf('bls_jobs_waiting'),
      },
      networks: networks.map((network) => ({
        name: network.name,
        /** 0 until it is known. */
        pChainHeight: valueOf('p_chain_height', network.name),
        peersConnected: valueOf('peer_connections', network.name),
        peersWanted: valueOf('peer_wanted', network.name),
        peersConnecting: valueOf('peer_connecting', network.name),
        aggregationsInFlight: valueOf('aggregations_admitted', network.name),
        aggregationsLimit: valueOf('aggregations_limit', network.name),
        watchedChains: isOpen(network) ? network.feed.chains().map(presentChain) : [],
        /** Why the feed is stopped; undefined if it is not. */
        feedProblem: isOpen(network) ? network.feed.storeProblem : undefined,
        subnets: this.#weights.ofNetwork(network.name),
      })),
      /** Undefined without a Redis. */
      sharedStore:
        metrics.shared_store_connected.length === 0
          ? undefined
          : { isConnected: valueOf('shared_store_connected') === 1 },
      upstreams: metrics.upstream_circuit_open.map((circuit) => {
        const name = String(circuit.labels['upstream']);
        return {
          name,
          /** Whether its circuit breaker is open. */
          isSuspended: circuit.value === 1,
          requests: metrics.upstream_requests_total
            .filter((requests) => requests.labels['upstream'] === name)
            .map((requests) => ({ outcome: String(requests.labels['outcome']), count: requests.value })),
        };
      }),
    };
  }

  async #readAll(): Promise<Record<Metric, readonly MetricValue[]>> {
    const read = METRICS.map(async (name) => ({ [name]: await readMetric(this.#options.registry, name) }));
    return Object.assign({}, ...(await Promise.all(read)));
  }

  [Symbol.dispose](): void {
    this.#cancel();
  }
}

function isOpen(network: Network): boolean {
  return network.readiness().nodeID !== undefined;
}

function presentChain({ chainID, ...state }: WatchedChain) {
  return { blockchainId: chainID, ...state };
}
