import { AggregatorError } from '../aggregation/aggregator-error.ts';
import type { NetworkConfig } from '../config/settings.ts';
import { backoffMs } from '../lib/concurrency/backoff.ts';
import { sleep } from '../lib/concurrency/clock.ts';
import { startDeadline } from '../lib/concurrency/deadline.ts';
import type { ApiEndpoint } from '../lib/net/api-endpoint.ts';
import { ConnectionChanges } from '../p2p/connection/connection-changes.ts';
import type { PeerNetworkStats } from '../p2p/peer-network.ts';
import type { NodeApi } from '../pchain/rpc/node-api.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { PUBLIC_NETWORKS, publicNetworkNamed } from '../warp/networks.ts';
import { NETWORK_STATUSES, type Network, type NetworkReadiness } from './network.ts';
import {
  type NetworkEndpoints,
  type NetworkParts,
  openNetworkApi,
  openNetworkParts,
  type PartsOptions,
  type ProcessParts,
} from './network-parts.ts';
import { decideStatus } from './readiness.ts';

export interface NetworkOptions extends ProcessParts {
  readonly network: NetworkConfig;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Starts the devnet of this network and returns the address of its API; the caller stops it. Undefined for other networks. */
  readonly startEmbedded?: (() => Promise<ApiEndpoint>) | undefined;
}

export interface ServedNetwork extends Network {
  /** Starts to open the network, and returns at once. Call it once. */
  open(): void;
  /** Resolves when the API first turns out to belong to another network. */
  readonly refused: Promise<void>;
  /** Reason while the API belongs to another network. */
  readonly refusal: string | undefined;
  /** Rejects where the network cannot be opened: its store is unreadable, the devnet gets no ports, or there is a bug. */
  readonly failed: Promise<never>;
  /** Undefined until the network is open. */
  peerCounts(): PeerCounts | undefined;
  /**
   * Updates tracked subnets, configured peers, API addresses and the log level.
   *
   * @returns reason for operators why the new API addresses were rejected: they belong to another network, or do not respond
   */
  update(network: NetworkConfig): Promise<string | undefined>;
}

export type PeerCounts = Pick<PeerNetworkStats, 'connected' | 'turnedAway'>;

/** Opens the API and the parts of a network. A port for scripted networks in tests. */
export interface NetworkOpener {
  openApi(opened: AsyncDisposableStack, options: PartsOptions): OpenedApi;
}

type OpenedApi = NetworkIDApi & {
  readonly openParts: OpenParts;
  readonly useEndpoints: (endpoints: NetworkEndpoints) => void;
};

type NetworkIDApi = Pick<NodeApi, 'getNetworkID'>;
type OpenParts = (
  opened: AsyncDisposableStack,
  networkID: number,
) => Pick<NetworkParts, 'aggregator' | 'subnets' | 'verifier' | 'uptimes'> & {
  readonly connections: Pick<NetworkParts['connections'], 'readiness' | 'onReadinessChange'>;
  readonly peers: { stats(): PeerCounts };
  readonly update: NetworkParts['update'];
};

const REAL_PARTS: NetworkOpener = {
  openApi(opened, options) {
    const api = openNetworkApi(opened, options);
    return {
      getNetworkID: (signal) => api.node.getNetworkID(signal),
      useEndpoints: (endpoints) => api.useEndpoints(endpoints),
      openParts: (openedParts, networkID) => openNetworkParts(openedParts, { ...options, networkID }, api),
    };
  },
};

const RETRY_AFTER_MS = 5_000;
/** Pauses between requests for the network ID. */
const RETRY_PAUSES = { baseMs: 1_000, maxMs: 30_000 };
/** An API of another network may be corrected without a restart. */
const REFUSED_RETRY_MS = 30_000;

export function createServedNetwork(options: NetworkOptions, opener: NetworkOpener = REAL_PARTS): ServedNetwork {
  return new OpeningNetwork(options, opener);
}

type OpeningState =
  /** `reason` is for operators and clients. */
  | { readonly kind: 'opening'; readonly reason: string; readonly isApiDown?: boolean }
  | { readonly kind: 'refused'; readonly reason: string }
  | {
      readonly kind: 'open';
      readonly parts: ReturnType<OpenParts>;
      readonly opened: AsyncDisposableStack;
    };

class OpeningNetwork implements ServedNetwork {
  readonly name: string;
  readonly pathNames: readonly string[];
  readonly refused: Promise<void>;
  readonly failed: Promise<never>;
  readonly aggregator: Network['aggregator'];
  #options: NetworkOptions;
  readonly #processLogger: Logger;
  /** Undefined until the address of the API is known. */
  #api: OpenedApi | undefined;
  /** Network ID of the info API, once it was checked. */
  #acceptedID: number | undefined;
  /** Last update, for parts that are opened later. */
  #updated: NetworkConfig | undefined;
  readonly #opener: NetworkOpener;
  readonly #startedMs: number;
  readonly #stopping = new AbortController();
  readonly #opened = new AsyncDisposableStack();
  readonly #changes = new ConnectionChanges();
  readonly #whenRefused = Promise.withResolvers<void>();
  readonly #whenFailed = Promise.withResolvers<never>();
  /** Resolves at the end of the opening. */
  #opening: Promise<void> = Promise.resolve();
  #state: OpeningState = { kind: 'opening', reason: 'the network is being opened' };
  #hasBeenUp = false;

  constructor(options: NetworkOptions, opener: NetworkOpener) {
    const { network, logger, metrics, clock } = options;
    this.name = network.name;
    this.pathNames = [network.name, ...network.aliases];
    this.refused = this.#whenRefused.promise;
    this.failed = this.#whenFailed.promise;
    this.#options = {
      ...options,
      logger: logger.child({ network: network.name }),
      metrics: metrics.with({ network: network.name }),
    };
    this.#processLogger = logger;
    this.#opener = opener;
    this.#startedMs = clock.monotonicMs();
    this.aggregator = {
      aggregate: (request, call) =>
        this.#state.kind === 'open'
          ? this.#state.parts.aggregator.aggregate(request, call)
          : Promise.reject(this.#unavailable(this.#state)),
    };
    this.#options.metrics.readGauge<'status'>(
      {
        name: 'network_status',
        help: 'The status of a network: 1 for the one it has, 0 for the others',
        labels: ['status'],
      },
      () => {
        const { status: current } = this.readiness();
        return NETWORK_STATUSES.map((status) => ({ labels: { status }, value: Number(status === current) }));
      },
    );
    // A caller may ignore it.
    this.failed.catch(() => undefined);
  }

  get subnets(): Network['subnets'] {
    return this.#requireParts().subnets;
  }

  get verifier(): Network['verifier'] {
    return this.#requireParts().verifier;
  }

  get uptimes(): Network['uptimes'] {
    return this.#requireParts().uptimes;
  }

  get refusal(): string | undefined {
    return this.#state.kind === 'refused' ? this.#state.reason : undefined;
  }

  open(): void {
    this.#opening = this.#open().catch((error: unknown) => {
      if (this.#stopping.signal.aborted) return;
      this.#changes.close(error instanceof Error ? error : new Error(String(error)));
      this.#whenFailed.reject(error);
    });
    this.untilUp(this.#stopping.signal).then(
      () => {
        this.#hasBeenUp = true;
      },
      () => undefined,
    );
  }

  readiness(): NetworkReadiness {
    const state = this.#state;
    const { clock, identity } = this.#options;
    const isOpen = state.kind === 'open';
    const subnets = isOpen ? state.parts.connections.readiness() : [];
    const { status, reason } = decideStatus({
      notOpen: isOpen
        ? undefined
        : { reason: state.reason, isApiWrong: state.kind === 'refused' || state.isApiDown === true },
      subnets,
      hasBeenUp: this.#hasBeenUp,
      sinceStartMs: clock.monotonicMs() - this.#startedMs,
    });
    return {
      name: this.name,
      status,
      reason,
      networkID: this.#acceptedID,
      nodeID: isOpen ? identity.nodeID : undefined,
      subnets,
    };
  }

  peerCounts(): PeerCounts | undefined {
    return this.#state.kind === 'open' ? this.#state.parts.peers.stats() : undefined;
  }

  async update(next: NetworkConfig): Promise<string | undefined> {
    const { logger, network } = this.#options;
    logger.level = this.#processLogger.level;
    const { trackedSubnetIDs, manuallyTrackedPeers, pChainApi, infoApi } = next;
    this.#options = { ...this.#options, network: { ...network, trackedSubnetIDs, manuallyTrackedPeers } };
    this.#updated = next;
    if (this.#state.kind === 'open') this.#state.parts.update(next);
    // The devnet's API does not move.
    const isSame = JSON.stringify([pChainApi, infoApi]) === JSON.stringify([network.pChainApi, network.infoApi]);
    if (isSame || network.embedded !== undefined) return undefined;
    const problem =
      this.#acceptedID !== undefined ? await this.#findEndpointProblem({ ...network, pChainApi, infoApi }) : undefined;
    if (problem !== undefined) return problem;
    this.#options = { ...this.#options, network: { ...this.#options.network, pChainApi, infoApi } };
    this.#api?.useEndpoints({ pChainApi, infoApi });
    return undefined;
  }

  untilUp(signal: AbortSignal): Promise<void> {
    return this.#changes.waitUntil(() => this.readiness().status === 'up', signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const reason = new Error('the service stops');
    this.#stopping.abort(reason);
    this.#changes.close(reason);
    await this.#opening;
    await this.#opened.disposeAsync();
  }

  #requireParts(): ReturnType<OpenParts> {
    if (this.#state.kind === 'open') return this.#state.parts;
    throw this.#unavailable(this.#state);
  }

  #unavailable({ reason }: Exclude<OpeningState, { kind: 'open' }>): AggregatorError {
    return new AggregatorError('network_unavailable', `${this.name} cannot be served now: ${reason}`, {
      retryAfterMs: RETRY_AFTER_MS,
    });
  }

  async #open(): Promise<void> {
    const { signal } = this.#stopping;
    const { clock } = this.#options;
    const options = await this.#withEndpoints(signal);
    const api = this.#opener.openApi(this.#opened, options);
    this.#api = api;
    const known = publicNetworkNamed(this.name);
    // The ID of a public network is known, so its info API is not necessary.
    if (known !== undefined) this.#openParts(api, known.networkID);
    for (;;) {
      const { infoApi: asked } = this.#options.network;
      const networkID = await this.#askNetworkID(api, signal);
      // The addresses were changed meanwhile: this may be a response of the old API.
      if (this.#options.network.infoApi !== asked) continue;
      const problem = findNetworkProblem(this.name, known?.networkID, networkID);
      if (problem === undefined) {
        if (this.#state.kind !== 'open') this.#openParts(api, networkID);
        this.#acceptedID = networkID;
        return;
      }
      await this.#refuse(problem, networkID);
      await sleep(clock, REFUSED_RETRY_MS, signal);
    }
  }

  async #withEndpoints(signal: AbortSignal): Promise<NetworkOptions> {
    const { network, startEmbedded } = this.#options;
    if (startEmbedded === undefined) return this.#options;
    this.#become({ kind: 'opening', reason: 'the devnet is being started' });
    const endpoints = [await startEmbedded()];
    signal.throwIfAborted();
    return { ...this.#options, network: { ...network, pChainApi: endpoints, infoApi: endpoints } };
  }

  /** Requests the network ID until the API responds: the service may start before its node. */
  async #askNetworkID(api: NetworkIDApi, signal: AbortSignal): Promise<number> {
    const { clock, logger } = this.#options;
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.#tryNetworkID(api, signal);
      } catch (error) {
        signal.throwIfAborted();
        logger.warn({ err: error }, 'the info API does not answer yet; trying again');
        // A refused network stays refused until its API responds.
        if (this.#state.kind === 'opening') {
          const reason = `its info API does not answer yet (${textOf(error)})`;
          this.#become({ kind: 'opening', reason, isApiDown: true });
        }
      }
      await sleep(clock, backoffMs(failures, RETRY_PAUSES), signal);
    }
  }

  async #tryNetworkID(api: NetworkIDApi, signal: AbortSignal): Promise<number> {
    const { clock, network } = this.#options;
    using deadline = startDeadline(clock, network.apiTimeoutMs, 'asking for the network ID', signal);
    return await api.getNetworkID(deadline.signal);
  }

  /** Returns why the endpoints cannot be used. Data of another network must not be mixed with cached data. */
  async #findEndpointProblem(network: NetworkConfig): Promise<string | undefined> {
    await using opened = new AsyncDisposableStack();
    const api = this.#opener.openApi(opened, { ...this.#options, network });
    try {
      const networkID = await this.#tryNetworkID(api, this.#stopping.signal);
      if (this.#acceptedID === networkID) return undefined;
      return `its new info API is of network ID ${networkID}, and the network has ${this.#acceptedID}`;
    } catch (error) {
      return `its new info API does not answer: ${textOf(error)}`;
    }
  }

  #openParts({ openParts }: { readonly openParts: OpenParts }, networkID: number): void {
    const { logger, identity } = this.#options;
    // Closed with the network also where not all parts can be opened.
    const opened = this.#opened.use(new AsyncDisposableStack());
    const parts = openParts(opened, networkID);
    if (this.#updated !== undefined) parts.update(this.#updated);
    opened.defer(parts.connections.onReadinessChange(() => this.#changes.announce()));
    this.#become({ kind: 'open', parts, opened });
    logger.info({ networkID, nodeID: identity.nodeID }, 'network opened');
  }

  /** Closes the parts with all data from another network's API. */
  async #refuse(reason: string, networkID: number): Promise<void> {
    const before = this.#state;
    this.#become({ kind: 'refused', reason });
    this.#whenRefused.resolve();
    if (before.kind !== 'refused') this.#options.logger.error({ networkID }, reason);
    if (before.kind === 'open') await before.opened.disposeAsync();
  }

  #become(state: OpeningState): void {
    this.#state = state;
    this.#changes.announce();
  }
}

/**
 * Returns why a network with this ID cannot be served under the name. A private network must not have the ID of a public one, because its
 * defaults are less strict.
 *
 * @param expected undefined for a private network
 */
function findNetworkProblem(name: string, expected: number | undefined, given: number): string | undefined {
  if (expected !== undefined) {
    if (given === expected) return undefined;
    return `its info API is of network ID ${given}, and ${name} has ${expected}: check infoApi and pChainApi`;
  }
  const known = PUBLIC_NETWORKS.find(({ networkID }) => networkID === given);
  return known && `its info API is of ${known.name}: call the network ${known.name} in the configuration, not ${name}`;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
