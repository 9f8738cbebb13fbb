import { AggregatorError } from '../aggregation/aggregator-error.ts';
import { createDurationObserver } from '../aggregation/aggregator-metrics.ts';
import type { SubnetReadiness } from '../aggregation/validators/required-subnets.ts';
import type { NetworkConfig } from '../config/settings.ts';
import { backoffMs } from '../lib/concurrency/backoff.ts';
import { sleep } from '../lib/concurrency/clock.ts';
import { startDeadline } from '../lib/concurrency/deadline.ts';
import type { ApiEndpoint } from '../lib/net/api-endpoint.ts';
import { ConnectionChanges } from '../p2p/connection/connection-changes.ts';
import type { NodeAcceptance } from '../p2p/identity/identity-conflict.ts';
import { PUBLIC_NETWORKS, publicNetworkNamed } from '../warp/networks.ts';
import { NETWORK_STATUSES, type Network, type NetworkReadiness } from './network.ts';
import { limitsOf, type NetworkParts, openNetwork, type PartsOptions } from './network-parts.ts';
import { decideStatus, START_GRACE_MS, withMainCause } from './readiness.ts';

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
const MAX_LOGGED_CAUSES = 20;

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
  const { clock, identity, describe = (text) => text } = options;
  const { name, aliases } = options.network;
  const logger = options.logger.child({ network: name });
  const metrics = options.metrics.with({ network: name });
  let config = options.network;
  /** Undefined until the address of the API is known. */
  let api: OpenedNetwork | undefined;
  /** Network ID of the info API, once it was checked. */
  let acceptedID: number | undefined;
  /** Last update, for parts that are opened later. */
  let updated: NetworkConfig | undefined;
  let state: OpeningState = { kind: 'opening', reason: 'the network is being opened' };
  let hasBeenUp = false;
  /** Resolves at the end of the opening. */
  let opening: Promise<void> = Promise.resolve();
  const startedMs = clock.monotonicMs();
  const stopping = new AbortController();
  const opened = new AsyncDisposableStack();
  const changes = new ConnectionChanges();
  const refused = Promise.withResolvers<void>();
  const failed = Promise.withResolvers<never>();
  // Prevents an unhandled rejection.
  failed.promise.catch(() => undefined);
  metrics.readGauge<'status'>(
    {
      name: 'network_status',
      help: 'The status of a network: 1 for the one it has, 0 for the others',
      labels: ['status'],
    },
    () => {
      const { status: current } = decide();
      return NETWORK_STATUSES.map((status) => ({ labels: { status }, value: Number(status === current) }));
    },
  );

  const observeDuration = createDurationObserver(metrics);
  const aggregator: Network['aggregator'] = {
    aggregate(request, call) {
      if (state.kind === 'open') return state.parts.aggregator.aggregate(request, call);
      observeDuration('network_unavailable', 0);
      return Promise.reject(unavailable(state));
    },
  };

  /** @param subnets of the open network */
  function decide(subnets: readonly SubnetReadiness[] = subnetReadiness()) {
    const { kind } = state;
    const notOpen =
      kind === 'open'
        ? undefined
        : { reason: state.reason, isApiWrong: kind === 'refused' || state.isApiDown === true };
    const apiProblem = kind === 'open' ? state.parts.heights.problem() : undefined;
    return decideStatus({ notOpen, subnets, apiProblem, hasBeenUp, sinceStartMs: clock.monotonicMs() - startedMs });
  }

  function subnetReadiness(): readonly SubnetReadiness[] {
    return state.kind === 'open' ? state.parts.connections.readiness() : [];
  }

  function readiness(): NetworkReadiness {
    const subnets = subnetReadiness().map((subnet) => {
      const { reason, ...rest } = withMainCause(subnet, name);
      return { ...rest, reason: reason && describe(reason) };
    });
    const { status, reason } = decide(subnets);
    const nodeID = state.kind === 'open' ? identity.nodeID : undefined;
    return { name, status, reason: reason && describe(reason), networkID: acceptedID, nodeID, subnets };
  }

  /** Decides without the causes of missing weight, because it runs after each change of a connection. */
  function untilUp(signal: AbortSignal): Promise<void> {
    return changes.waitUntil(() => decide().status === 'up', signal);
  }

  async function warnIfWeak(signal: AbortSignal): Promise<void> {
    await sleep(clock, START_GRACE_MS, signal);
    const { status, reason, subnets } = readiness();
    const weak = subnets.filter(({ missing }) => missing !== undefined);
    if (weak.length === 0) return;
    const causes = weak.flatMap(({ subnetID, missing = () => [] }) =>
      missing().map(({ cause, weight }) => ({ subnetId: subnetID, cause, weight: String(weight) })),
    );
    logger.warn(
      { status, reason, causes: causes.slice(0, MAX_LOGGED_CAUSES) },
      'too little weight is connected a minute after the start',
    );
  }

  function requireParts(): ServedParts {
    if (state.kind === 'open') return state.parts;
    throw unavailable(state);
  }

  function unavailable({ reason }: Exclude<OpeningState, { kind: 'open' }>): AggregatorError {
    const text = `${name} cannot be served now: ${reason}`;
    return new AggregatorError('network_unavailable', text, { retryAfterMs: RETRY_AFTER_MS });
  }

  async function openAll(signal: AbortSignal): Promise<void> {
    const openedApi = openApi(opened, { ...options, logger, metrics, network: await findEndpoints(signal) });
    api = openedApi;
    const known = publicNetworkNamed(name);
    // The ID of a public network is known, so its info API is not necessary.
    if (known !== undefined) openParts(openedApi, known.networkID);
    for (;;) {
      const { infoApi: infoApiBefore } = config;
      const networkID = await askNetworkID(openedApi, signal);
      // The addresses were changed meanwhile: this may be a response of the old API.
      if (config.infoApi !== infoApiBefore) continue;
      const problem = findNetworkProblem(name, known?.networkID, networkID);
      if (problem === undefined) {
        if (state.kind !== 'open') openParts(openedApi, networkID);
        acceptedID = networkID;
        return;
      }
      await refuse(problem, networkID);
      await sleep(clock, REFUSED_RETRY_MS, signal);
    }
  }

  async function findEndpoints(signal: AbortSignal): Promise<NetworkConfig> {
    const { apiSource } = options;
    if (apiSource === undefined) return config;
    become({ kind: 'opening', reason: apiSource.reason });
    const endpoints = [await apiSource.start()];
    signal.throwIfAborted();
    return { ...config, pChainApi: endpoints, infoApi: endpoints };
  }

  /** Requests the network ID until the API responds: the service may start before its node. */
  async function askNetworkID(openedApi: OpenedNetwork, signal: AbortSignal): Promise<number> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await tryNetworkID(openedApi, signal);
      } catch (error) {
        signal.throwIfAborted();
        logger.warn({ err: error }, 'the info API does not answer yet; trying again');
        // A refused network stays refused until its API responds.
        if (state.kind === 'opening') {
          const reason = `its info API does not answer yet (${textOf(error)})`;
          become({ kind: 'opening', reason, isApiDown: true });
        }
      }
      await sleep(clock, backoffMs(failures, RETRY_PAUSES), signal);
    }
  }

  async function tryNetworkID({ getNetworkID }: OpenedNetwork, signal: AbortSignal): Promise<number> {
    using deadline = startDeadline(clock, limitsOf(options).apiTimeoutMs, 'asking for the network ID', signal);
    return await getNetworkID(deadline.signal);
  }

  /** Returns why the endpoints cannot be used. Data of another network must not be mixed with cached data. */
  async function findEndpointProblem(network: NetworkConfig): Promise<string | undefined> {
    await using tried = new AsyncDisposableStack();
    const triedApi = openApi(tried, { ...options, logger, metrics, network });
    try {
      const networkID = await tryNetworkID(triedApi, stopping.signal);
      if (acceptedID === networkID) return undefined;
      return `its new info API reports network ID ${networkID}, but the network has ${acceptedID}`;
    } catch (error) {
      return `its new info API does not answer: ${textOf(error)}`;
    }
  }

  function openParts(openedApi: OpenedNetwork, networkID: number): void {
    // Closed with the network even if not all parts can be opened.
    const openedParts = opened.use(new AsyncDisposableStack());
    const parts = openedApi.openParts(openedParts, networkID);
    if (updated !== undefined) parts.update(updated);
    openedParts.defer(parts.connections.onReadinessChange(() => changes.announce()));
    openedParts.defer(parts.heights.onRecovery(() => changes.announce()));
    become({ kind: 'open', parts, opened: openedParts });
    logger.info({ networkId: networkID, nodeId: identity.nodeID }, 'network opened');
  }

  /** Closes the parts with all data from another network's API. */
  async function refuse(reason: string, networkID: number): Promise<void> {
    const before = state;
    become({ kind: 'refused', reason });
    refused.resolve();
    if (before.kind !== 'refused') logger.error({ networkId: networkID }, reason);
    if (before.kind === 'open') await before.opened.disposeAsync();
  }

  function become(next: OpeningState): void {
    state = next;
    changes.announce();
  }

  return {
    name,
    pathNames: [name, ...aliases],
    defaultDestination: options.network.defaultDestination,
    refused: refused.promise,
    failed: failed.promise,
    aggregator,
    get subnets(): Network['subnets'] {
      return requireParts().subnets;
    },
    get verifier(): Network['verifier'] {
      return requireParts().verifier;
    },
    get destinations(): Network['destinations'] {
      return requireParts().destinations;
    },
    get feed(): Network['feed'] {
      return requireParts().feed;
    },
    get uptimes(): Network['uptimes'] {
      return requireParts().uptimes;
    },
    get refusal(): string | undefined {
      return state.kind === 'refused' ? state.reason : undefined;
    },
    readiness,
    untilUp,
    peerCounts: (): NodeAcceptance | undefined => (state.kind === 'open' ? state.parts.peers.stats() : undefined),
    open(): void {
      opening = openAll(stopping.signal).catch((error: unknown) => {
        if (stopping.signal.aborted) return;
        changes.close(error instanceof Error ? error : new Error(String(error)));
        failed.reject(error);
      });
      // Rejects only when the service stops.
      warnIfWeak(stopping.signal).catch(() => undefined);
      untilUp(stopping.signal).then(
        () => {
          hasBeenUp = true;
        },
        () => undefined,
      );
    },
    async update(next: NetworkConfig): Promise<string | undefined> {
      logger.level = options.logger.level;
      const { trackedSubnetIDs, manuallyTrackedPeers, feed, pChainApi, infoApi } = next;
      const before = config;
      config = { ...before, trackedSubnetIDs, manuallyTrackedPeers, feed };
      updated = next;
      if (state.kind === 'open') state.parts.update(next);
      const isSame = JSON.stringify([pChainApi, infoApi]) === JSON.stringify([before.pChainApi, before.infoApi]);
      if (isSame || options.apiSource !== undefined) return undefined;
      const problem =
        acceptedID !== undefined ? await findEndpointProblem({ ...before, pChainApi, infoApi }) : undefined;
      if (problem !== undefined) return problem;
      config = { ...config, pChainApi, infoApi };
      api?.useEndpoints({ pChainApi, infoApi });
      return undefined;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      const reason = new Error('the service stops');
      stopping.abort(reason);
      changes.close(reason);
      await opening;
      await opened.disposeAsync();
    },
  };
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
    return `its info API reports network ID ${given}, but ${name} has ${expected}: check infoApi and pChainApi`;
  }
  const known = PUBLIC_NETWORKS.find(({ networkID }) => networkID === given);
  return (
    known && `its info API belongs to ${known.name}: call the network ${known.name} in the configuration, not ${name}`
  );
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
