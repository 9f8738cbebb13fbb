import { AggregatorError } from '../aggregation/aggregator-error.ts';
import { createDurationObserver } from '../aggregation/aggregator-metrics.ts';
import type { SubnetReadiness } from '../aggregation/validators/required-subnets.ts';
import type { NetworkConfig } from '../config/settings.ts';
import { backoffMs } from '../lib/concurrency/backoff.ts';
import { sleep } from '../lib/concurrency/clock.ts';
import type { ApiEndpoint } from '../lib/net/api-endpoint.ts';
import { ConnectionChanges } from '../p2p/connection/connection-changes.ts';
import type { NodeAcceptance } from '../p2p/identity/identity-conflict.ts';
import { createThrottledWarnings, type ThrottledWarnings } from '../telemetry/log-throttle.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { publicNetworkNamed } from '../warp/networks.ts';
import { NETWORK_STATUSES, type Network, type NetworkReadiness } from './network.ts';
import { findNetworkProblem, readNetworkID } from './network-id.ts';
import { limitsOf, type NetworkParts, openNetwork, type PartsOptions } from './network-parts.ts';
import { decideStatus, loggedCauses, START_GRACE_MS, withMainCause } from './readiness.ts';

/** Provides the API of a network in place of configured addresses. */
export interface ApiSource {
  /** Why the network is not open before the API is there, for operators and clients. */
  readonly reason: string;
  /** Returns the address of the API. Called once, when the network opens. */
  start(): Promise<ApiEndpoint>;
}

export interface NetworkOptions extends PartsOptions {
  /** Undefined if the API has the addresses of the configuration. */
  readonly apiSource?: ApiSource | undefined;
  /** Replaces names of settings in texts for operators, if the configuration has another form. */
  readonly describe?: ((text: string) => string) | undefined;
}

type ServedParts = Pick<
  NetworkParts,
  'aggregator' | 'subnets' | 'verifier' | 'uptimes' | 'destinations' | 'feed' | 'update'
> & {
  readonly connections: Pick<NetworkParts['connections'], 'readiness' | 'onReadinessChange'>;
  readonly heights: Pick<NetworkParts['heights'], 'problem' | 'onRecovery'>;
  readonly peers: { stats(): NodeAcceptance };
};

interface OpenedNetwork extends Pick<ReturnType<typeof openNetwork>, 'getNetworkID' | 'useEndpoints'> {
  openParts(opened: AsyncDisposableStack, networkID: number): ServedParts;
}

/** A port for scripted networks in tests. */
export type OpenNetwork = (opened: AsyncDisposableStack, options: PartsOptions) => OpenedNetwork;

const RETRY_AFTER_MS = 5_000;
/** Pauses between requests for the network ID. */
const RETRY_PAUSES = { baseMs: 1_000, maxMs: 30_000 };
/** An API of another network may be corrected without a restart. */
const REFUSED_RETRY_MS = 30_000;

type OpeningState =
  /** `reason` is for operators and clients. */
  | { readonly kind: 'opening'; readonly reason: string; readonly isApiDown?: boolean }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'open'; readonly parts: ServedParts; readonly opened: AsyncDisposableStack };

/** A network of the configuration: open, being opened, or refused because its API belongs to another network. */
export interface ServedNetwork extends Network {
  /** Resolves when the API first turns out to belong to another network. */
  readonly refused: Promise<void>;
  /** Rejects if the network cannot be opened: its store is unreadable, its API cannot be started, or there is a bug. */
  readonly failed: Promise<never>;
  /** Reason while the API belongs to another network. */
  readonly refusal: string | undefined;
  /** Undefined until the network is open. */
  peerCounts(): NodeAcceptance | undefined;
  /** Starts to open the network, and returns at once. Call it once. */
  open(): void;
  /**
   * Updates tracked subnets, configured peers, watched chains, API addresses and the log level.
   *
   * @returns reason for operators why the new API addresses were rejected: they belong to another network, or do not respond
   */
  update(next: NetworkConfig): Promise<string | undefined>;
}

export function createServedNetwork(options: NetworkOptions, openApi: OpenNetwork = openNetwork): ServedNetwork {
  return new ConfiguredNetwork(options, openApi);
}

class ConfiguredNetwork implements ServedNetwork {
  readonly name: string;
  readonly pathNames: readonly string[];
  readonly defaultDestination: Network['defaultDestination'];
  readonly goApi: Network['goApi'];
  readonly aggregator: Network['aggregator'];
  readonly #options: NetworkOptions;
  readonly #openApi: OpenNetwork;
  readonly #describe: (text: string) => string;
  readonly #logger: Logger;
  readonly #warn: ThrottledWarnings;
  readonly #metrics: Metrics;
  #config: NetworkConfig;
  /** Undefined until the address of the API is known. */
  #api: OpenedNetwork | undefined;
  /** Network ID of the info API, once it was checked. */
  #acceptedID: number | undefined;
  /** Last update, for parts that are opened later. */
  #updated: NetworkConfig | undefined;
  #state: OpeningState = { kind: 'opening', reason: 'the network is being opened' };
  #hasBeenUp = false;
  /** Resolves at the end of the opening. */
  #opening: Promise<void> = Promise.resolve();
  readonly #startedMs: number;
  readonly #stopping = new AbortController();
  readonly #opened = new AsyncDisposableStack();
  readonly #changes = new ConnectionChanges();
  readonly #refused = Promise.withResolvers<void>();
  readonly #failed = Promise.withResolvers<never>();

  constructor(options: NetworkOptions, openApi: OpenNetwork) {
    const { clock, network, describe = (text) => text } = options;
    this.name = network.name;
    this.pathNames = [network.name, ...network.aliases];
    this.defaultDestination = network.defaultDestination;
    this.goApi = network.goApi;
    this.#options = options;
    this.#openApi = openApi;
    this.#describe = describe;
    this.#logger = options.logger.child({ network: this.name });
    this.#warn = createThrottledWarnings(this.#logger, clock);
    this.#metrics = options.metrics.with({ network: this.name });
    this.#config = network;
    this.#startedMs = clock.monotonicMs();
    // Prevents an unhandled rejection.
    this.#failed.promise.catch(() => undefined);
    this.#showStatus();
    this.aggregator = this.#createAggregator();
  }

  get refused(): Promise<void> {
    return this.#refused.promise;
  }

  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  get subnets(): Network['subnets'] {
    return this.#requireParts().subnets;
  }

  get verifier(): Network['verifier'] {
    return this.#requireParts().verifier;
  }

  get destinations(): Network['destinations'] {
    return this.#requireParts().destinations;
  }

  get feed(): Network['feed'] {
    return this.#requireParts().feed;
  }

  get uptimes(): Network['uptimes'] {
    return this.#requireParts().uptimes;
  }

  get refusal(): string | undefined {
    return this.#state.kind === 'refused' ? this.#state.reason : undefined;
  }

  readiness(): NetworkReadiness {
    const subnets = this.#subnetReadiness().map((subnet) => {
      const { reason, ...rest } = withMainCause(subnet, this.name);
      return { ...rest, reason: reason && this.#describe(reason) };
    });
    const { status, reason } = this.#decide(subnets);
    const nodeID = this.#state.kind === 'open' ? this.#options.identity.nodeID : undefined;
    return {
      name: this.name,
      status,
      reason: reason && this.#describe(reason),
      networkID: this.#acceptedID,
      nodeID,
      subnets,
    };
  }

  /** Decides without the causes of missing weight, because it runs after each change of a connection. */
  untilUp(signal: AbortSignal): Promise<void> {
    return this.#changes.waitUntil(() => this.#decide().status === 'up', signal);
  }

  peerCounts(): NodeAcceptance | undefined {
    return this.#state.kind === 'open' ? this.#state.parts.peers.stats() : undefined;
  }

  open(): void {
    this.#opening = this.#openAll(this.#stopping.signal).catch((error: unknown) => {
      if (this.#stopping.signal.aborted) return;
      this.#changes.close(error instanceof Error ? error : new Error(String(error)));
      this.#failed.reject(error);
    });
    // Rejects only when the service stops.
    this.#warnIfWeak(this.#stopping.signal).catch(() => undefined);
    this.untilUp(this.#stopping.signal).then(
      () => {
        this.#hasBeenUp = true;
      },
      () => undefined,
    );
  }

  async update(next: NetworkConfig): Promise<string | undefined> {
    this.#logger.level = this.#options.logger.level;
    const { trackedSubnetIDs, manuallyTrackedPeers, feed, pChainApi, infoApi } = next;
    const before = this.#config;
    this.#config = { ...before, trackedSubnetIDs, manuallyTrackedPeers, feed };
    this.#updated = next;
    if (this.#state.kind === 'open') this.#state.parts.update(next);
    const isSame = JSON.stringify([pChainApi, infoApi]) === JSON.stringify([before.pChainApi, before.infoApi]);
    if (isSame || this.#options.apiSource !== undefined) return undefined;
    const problem =
      this.#acceptedID !== undefined ? await this.#findEndpointProblem({ ...before, pChainApi, infoApi }) : undefined;
    if (problem !== undefined) return problem;
    this.#config = { ...this.#config, pChainApi, infoApi };
    this.#api?.useEndpoints({ pChainApi, infoApi });
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const reason = new Error('the service stops');
    this.#stopping.abort(reason);
    this.#changes.close(reason);
    await this.#opening;
    await this.#opened.disposeAsync();
  }

  #showStatus(): void {
    this.#metrics.readGauge<'status'>(
      {
        name: 'network_status',
        help: 'The status of a network: 1 for the one it has, 0 for the others',
        labels: ['status'],
      },
      () => {
        const { status: current } = this.#decide();
        return NETWORK_STATUSES.map((status) => ({ labels: { status }, value: Number(status === current) }));
      },
    );
  }

  /** Returns the aggregator of the open network, which fails until then. */
  #createAggregator(): Network['aggregator'] {
    const observeDuration = createDurationObserver(this.#metrics);
    return {
      aggregate: (request, call) => {
        if (this.#state.kind === 'open') return this.#state.parts.aggregator.aggregate(request, call);
        observeDuration('network_unavailable', 0);
        return Promise.reject(this.#unavailable(this.#state));
      },
    };
  }

  /** @param subnets of the open network */
  #decide(subnets: readonly SubnetReadiness[] = this.#subnetReadiness()) {
    const { kind } = this.#state;
    const notOpen =
      kind === 'open'
        ? undefined
        : { reason: this.#state.reason, isApiWrong: kind === 'refused' || this.#state.isApiDown === true };
    const apiProblem = kind === 'open' ? this.#state.parts.heights.problem() : undefined;
    return decideStatus({
      notOpen,
      subnets,
      apiProblem,
      hasBeenUp: this.#hasBeenUp,
      sinceStartMs: this.#options.clock.monotonicMs() - this.#startedMs,
    });
  }

  #subnetReadiness(): readonly SubnetReadiness[] {
    return this.#state.kind === 'open' ? this.#state.parts.connections.readiness() : [];
  }

  async #warnIfWeak(signal: AbortSignal): Promise<void> {
    await sleep(this.#options.clock, START_GRACE_MS, signal);
    const { status, reason, subnets } = this.readiness();
    const weak = subnets.filter(({ missing }) => missing !== undefined);
    if (weak.length === 0) return;
    const causes = loggedCauses(weak);
    this.#logger.warn({ status, reason, causes }, 'too little weight is connected a minute after the start');
  }

  #requireParts(): ServedParts {
    if (this.#state.kind === 'open') return this.#state.parts;
    throw this.#unavailable(this.#state);
  }

  #unavailable({ reason }: Exclude<OpeningState, { kind: 'open' }>): AggregatorError {
    const text = `${this.name} cannot be served now: ${reason}`;
    return new AggregatorError('network_unavailable', text, { retryAfterMs: RETRY_AFTER_MS });
  }

  async #openAll(signal: AbortSignal): Promise<void> {
    const openedApi = this.#openApiOf(await this.#findEndpoints(signal), this.#opened);
    this.#api = openedApi;
    const known = publicNetworkNamed(this.name);
    // The ID of a public network is known, so its info API is not necessary.
    if (known !== undefined) this.#openParts(openedApi, known.networkID);
    for (;;) {
      const { infoApi: infoApiBefore } = this.#config;
      const networkID = await this.#askNetworkID(openedApi, signal);
      // The addresses were changed meanwhile: this may be a response of the old API.
      if (this.#config.infoApi !== infoApiBefore) continue;
      const problem = findNetworkProblem(this.name, known?.networkID, networkID);
      if (problem === undefined) {
        if (this.#state.kind !== 'open') this.#openParts(openedApi, networkID);
        this.#acceptedID = networkID;
        return;
      }
      await this.#refuse(problem, networkID);
      await sleep(this.#options.clock, REFUSED_RETRY_MS, signal);
    }
  }

  #openApiOf(network: NetworkConfig, opened: AsyncDisposableStack): OpenedNetwork {
    return this.#openApi(opened, { ...this.#options, logger: this.#logger, metrics: this.#metrics, network });
  }

  async #findEndpoints(signal: AbortSignal): Promise<NetworkConfig> {
    const { apiSource } = this.#options;
    if (apiSource === undefined) return this.#config;
    this.#become({ kind: 'opening', reason: apiSource.reason });
    const endpoints = [await apiSource.start()];
    signal.throwIfAborted();
    return { ...this.#config, pChainApi: endpoints, infoApi: endpoints };
  }

  /** Requests the network ID until the API responds: the service may start before its node. */
  async #askNetworkID(openedApi: OpenedNetwork, signal: AbortSignal): Promise<number> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.#tryNetworkID(openedApi, signal);
      } catch (error) {
        signal.throwIfAborted();
        this.#warn('info API', { err: error }, 'the info API does not answer yet; trying again');
        // A refused network stays refused until its API responds.
        if (this.#state.kind === 'opening') {
          const reason = `its info API does not answer yet (${textOf(error)})`;
          this.#become({ kind: 'opening', reason, isApiDown: true });
        }
      }
      await sleep(this.#options.clock, backoffMs(failures, RETRY_PAUSES), signal);
    }
  }

  #tryNetworkID(openedApi: OpenedNetwork, signal: AbortSignal): Promise<number> {
    const { apiTimeoutMs } = limitsOf(this.#options);
    return readNetworkID(openedApi, this.#options.clock, apiTimeoutMs, signal);
  }

  /** Returns why the endpoints cannot be used. Data of another network must not be mixed with cached data. */
  async #findEndpointProblem(network: NetworkConfig): Promise<string | undefined> {
    await using tried = new AsyncDisposableStack();
    const triedApi = this.#openApiOf(network, tried);
    try {
      const networkID = await this.#tryNetworkID(triedApi, this.#stopping.signal);
      if (this.#acceptedID === networkID) return undefined;
      return `its new info API reports network ID ${networkID}, but the network has ${this.#acceptedID}`;
    } catch (error) {
      return `its new info API does not answer: ${textOf(error)}`;
    }
  }

  #openParts(openedApi: OpenedNetwork, networkID: number): void {
    // Closed with the network even if not all parts can be opened.
    const openedParts = this.#opened.use(new AsyncDisposableStack());
    const parts = openedApi.openParts(openedParts, networkID);
    if (this.#updated !== undefined) parts.update(this.#updated);
    openedParts.defer(parts.connections.onReadinessChange(() => this.#changes.announce()));
    openedParts.defer(parts.heights.onRecovery(() => this.#changes.announce()));
    this.#become({ kind: 'open', parts, opened: openedParts });
    this.#logger.info({ networkId: networkID, nodeId: this.#options.identity.nodeID }, 'network opened');
  }

  /** Closes the parts with all data from another network's API. */
  async #refuse(reason: string, networkID: number): Promise<void> {
    const before = this.#state;
    this.#become({ kind: 'refused', reason });
    this.#refused.resolve();
    if (before.kind !== 'refused') this.#logger.error({ networkId: networkID }, reason);
    if (before.kind === 'open') await before.opened.disposeAsync();
  }

  #become(next: OpeningState): void {
    this.#state = next;
    this.#changes.announce();
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
