import { createPenalties } from '../aggregation/admission/penalties.ts';
import type { AggregationLimits } from '../aggregation/aggregation-limits.ts';
import { createAggregatorMetrics } from '../aggregation/aggregator-metrics.ts';
import { createDestinations } from '../aggregation/signers/destination-facts.ts';
import { createDestinationViews } from '../aggregation/signers/destination-views.ts';
import { createMessageVerifier } from '../aggregation/signers/message-verifier.ts';
import { createSigningResolver } from '../aggregation/signers/signing-resolver.ts';
import { createAggregator } from '../aggregation/stages/aggregator.ts';
import { createSubnetPolicy } from '../aggregation/subnet-policy.ts';
import { createSubnetUptimes } from '../aggregation/subnets/subnet-uptimes.ts';
import { createSubnetViews } from '../aggregation/subnets/subnet-views.ts';
import { createUptimeProofs } from '../aggregation/subnets/uptime-proofs.ts';
import { createValidationViews } from '../aggregation/subnets/validation-views.ts';
import { createL1Messages, type L1MessagesOptions } from '../aggregation/transactions/l1-messages.ts';
import { createAnswerHistories } from '../aggregation/validators/answer-history.ts';
import { createInvalidSigners } from '../aggregation/validators/invalid-signers.ts';
import { createValidatorConnections } from '../aggregation/validators/validator-connections.ts';
import type { BlsService } from '../bls/service/bls-service.ts';
import type { NetworkConfig } from '../config/settings.ts';
import { createManagerMessages } from '../feed/manager-messages.ts';
import type { Clock, Random } from '../lib/concurrency/clock.ts';
import type { ApiEndpoint } from '../lib/net/api-endpoint.ts';
import type { OpenHttp } from '../lib/net/http-port.ts';
import type { Dial } from '../p2p/connection/dial.ts';
import type { Identity } from '../p2p/identity/identity.ts';
import { openPeerNetwork } from '../p2p/open-peer-network.ts';
import type { PeerNetwork } from '../p2p/peer-network.ts';
import { createChainApi } from '../pchain/rpc/chain-api.ts';
import { createCheckedClient } from '../pchain/rpc/checked-client.ts';
import { createDataApi } from '../pchain/rpc/data-api.ts';
import { createEndpointStates } from '../pchain/rpc/endpoint-state.ts';
import { createJsonRpcClient, type JsonRpcClient, type JsonRpcLimits } from '../pchain/rpc/json-rpc.ts';
import { createNodeApi, type NodeApi } from '../pchain/rpc/node-api.ts';
import { createEpochs } from '../pchain/state/epochs.ts';
import { createPrimaryChains } from '../pchain/state/primary-chains.ts';
import { createSubnetDirectory } from '../pchain/state/subnet-directory.ts';
import { openValidationIndex } from '../pchain/state/validation-index.ts';
import { createValidatorFunds } from '../pchain/state/validator-funds.ts';
import { createValidatorSets } from '../pchain/state/validator-sets.ts';
import { createWarpConfigs } from '../pchain/state/warp-configs.ts';
import { openRecord } from '../record/open-record.ts';
import { openIndexStore } from '../store/local/index-store.ts';
import { createMemorySignatureStore } from '../store/local/signature-store.ts';
import {
  createDistributedSingleFlight,
  type DistributedSingleFlight,
} from '../store/redis/distributed-single-flight.ts';
import type { OpenedSharedStore } from '../store/redis/open-shared.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createWarpSet } from '../validators/warp-set.ts';
import { PRIMARY_NETWORK_ID, type SubnetID } from '../warp/ids.ts';
import { publicNetworkNamed } from '../warp/networks.ts';
import { beaconsOf } from './beacons.ts';
import { findBootstrapPeers } from './bootstrap-peers.ts';
import { openChainRpcs } from './chain-rpcs.ts';
import { openHeightWatch } from './height-watch.ts';
import { openNetworkFeed } from './network-feed.ts';
import { EVM_LIMITS, LOOKUP_LIMITS, limitsOf, type NetworkLimits } from './network-limits.ts';

/** Refreshes after which unused validators are released. */
const KEEP_REFRESHES = 10;

/** Resources of the process that its networks share. */
export interface ProcessParts {
  readonly identity: Identity;
  readonly bls: BlsService;
  readonly aggregation: AggregationLimits;
  /** Store that replicas share. */
  readonly shared: OpenedSharedStore | undefined;
  /** Folder for persistent data; undefined keeps it in memory. */
  readonly storePath: string | undefined;
  /** Whether each network records what the validators of tracked subnets did. */
  readonly recordValidators: boolean;
  readonly clock: Clock;
  readonly random: Random;
  /** Replaces sockets in a simulation. */
  readonly outside?: Outside;
}

export interface Outside {
  readonly dial: Dial;
  readonly openHttp: OpenHttp;
}

export interface PartsOptions extends ProcessParts {
  readonly network: NetworkConfig;
  /** Replaces some of `networkLimits`. */
  readonly limits?: Partial<NetworkLimits> | undefined;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Opens the API of a network, and with its ID the other parts. */
export function openNetwork(opened: AsyncDisposableStack, options: PartsOptions) {
  const api = openNetworkApi(opened, options);
  return {
    getNetworkID: (signal: AbortSignal): Promise<number> => api.node.getNetworkID(signal),
    /** Replaces the base URLs of all clients. */
    useEndpoints: api.useEndpoints,
    openParts: (openedParts: AsyncDisposableStack, networkID: number): NetworkParts =>
      openNetworkParts(openedParts, { ...options, networkID }, api),
  };
}

type OpenedApi = ReturnType<typeof openNetworkApi>;
/** API clients of a network. */
type NetworkApi = Omit<OpenedApi, 'checked'>;

export function openNetworkApi(
  opened: AsyncDisposableStack,
  options: Pick<PartsOptions, 'network' | 'limits' | 'clock' | 'random' | 'metrics' | 'outside'>,
) {
  const { network, clock, random, metrics, outside } = options;
  const { pChainApi, infoApi } = network;
  const { apiTimeoutMs } = limitsOf(options);
  // An attempt ends before the deadline of its request, so that the next base URL is tried in the same request.
  const limits = {
    attemptTimeoutMs: attemptTimeoutMs(apiTimeoutMs),
    callTimeoutMs: 2 * apiTimeoutMs,
    asideMs: 3 * apiTimeoutMs,
  };
  const states = createEndpointStates(clock);
  const open = (
    owner: AsyncDisposableStack,
    endpoints: NetworkConfig['pChainApi'],
    more: Partial<JsonRpcLimits> = {},
  ): JsonRpcClient =>
    owner.use(
      createJsonRpcClient({
        endpoints,
        clock,
        random,
        metrics,
        states,
        limits: { ...limits, ...more },
        ...(outside && { openHttp: outside.openHttp }),
      }),
    );
  const info = open(opened, infoApi);
  const clients = new Set<JsonRpcClient>();
  const listeners = new Set<() => void>();
  let current = pChainApi;
  /** Opens a client with separate connections and endpoint health. `owner` closes it after everything opened later. */
  const openClient = (owner: AsyncDisposableStack, more?: Partial<JsonRpcLimits>): JsonRpcClient => {
    const client = open(owner, current, more);
    clients.add(client);
    owner.defer(() => void clients.delete(client));
    return client;
  };
  const [nodeClient, lookupClient] = [openClient(opened), openClient(opened, LOOKUP_LIMITS)];
  const unchecked = {
    node: createNodeApi(nodeClient, info),
    /** For IDs named by clients, which may be invented. Limited separately, so that heights and validator sets never wait behind them. */
    lookups: createNodeApi(lookupClient, info),
    openClient,
    openEvmClient: (owner: AsyncDisposableStack) => openClient(owner, EVM_LIMITS),
    /** Opens a client of another API than the node's. */
    openOther: (owner: AsyncDisposableStack, endpoints: readonly ApiEndpoint[]) => open(owner, endpoints, EVM_LIMITS),
    endpoints: (): readonly ApiEndpoint[] => current,
    /** Calls back when they were replaced, until `owner` is closed. */
    onEndpoints: (owner: AsyncDisposableStack, listener: () => void) =>
      owner.adopt(listeners.add(listener), () => void listeners.delete(listener)),
    info,
    useEndpoints: (endpoints: Pick<NetworkConfig, 'pChainApi' | 'infoApi'>): void => {
      states.reset();
      info.useEndpoints(endpoints.infoApi);
      current = endpoints.pChainApi;
      for (const client of clients) client.useEndpoints(current);
      for (const listener of listeners) listener();
    },
  };
  return {
    ...unchecked,
    /** Returns the same clients, but those of the P-Chain reject at once with what `check` throws. */
    checked: (check: () => void): typeof unchecked => ({
      ...unchecked,
      node: createNodeApi(createCheckedClient(nodeClient, check), info),
      lookups: createNodeApi(createCheckedClient(lookupClient, check), info),
      openClient: (owner, more) => createCheckedClient(openClient(owner, more), check),
    }),
  };
}

function attemptTimeoutMs(apiTimeoutMs: number): number {
  return 0.8 * apiTimeoutMs;
}

export type NetworkParts = ReturnType<typeof openNetworkParts>;

/** Opens the parts of a network, which `opened` closes in reverse order. */
function openNetworkParts(
  opened: AsyncDisposableStack,
  options: PartsOptions & { readonly networkID: number },
  openedApi: OpenedApi,
) {
  const { network, networkID, clock, logger } = options;
  const { apiTimeoutMs } = limitsOf(options);
  const policy = createSubnetPolicy(network);
  const isTracked = (subnetID: SubnetID): boolean => subnetID === PRIMARY_NETWORK_ID || policy.isTracked(subnetID);
  const metrics = createAggregatorMetrics(options.metrics, isTracked);
  let configuredPeers = network.manuallyTrackedPeers;
  const peers = opened.use(openPeers(options, openedApi.node, () => configuredPeers));
  const heights = opened.use(openHeightWatch({ api: openedApi.node, clock, logger, timeoutMs: apiTimeoutMs }));
  // While the API is down, only the watch asks it.
  const api = openedApi.checked(heights.requireUp);
  const validatorSets = createValidatorSets({
    api: { ...api.node, getProposedHeight: heights.getProposedHeight },
    clock,
    build: createWarpSet,
  });
  const connections = opened.use(
    createValidatorConnections({
      network: peers,
      validatorSets,
      clock,
      logger,
      metrics: options.metrics,
      trackedSubnetIDs: network.trackedSubnetIDs,
      readyQuorumNum: network.readyQuorumNum,
      refreshIntervalMs: network.validatorRefreshMs,
      refreshTimeoutMs: 2 * apiTimeoutMs,
      keepMs: KEEP_REFRESHES * network.validatorRefreshMs,
    }),
  );
  const directory = createSubnetDirectory({ api: api.lookups, networkID, clock });
  const primaryChains = createPrimaryChains({ api: api.lookups, networkID, clock });
  const rpcs = openChainRpcs(opened, network.chainRpc, api);
  const evm = rpcs.api;
  const resolving = {
    networkID,
    directory,
    destinations: createDestinations({ directory, warpConfigs: createWarpConfigs(evm, clock) }),
    validatorSets,
    clock,
    epochs: createEpochs({ api: createChainApi(api.openClient(opened)), networkID, clock }),
    funds: createValidatorFunds(api.node, clock),
    resolveTimeoutMs: apiTimeoutMs,
  };
  const learnt = {
    histories: createAnswerHistories(clock, options.aggregation.hedgeAfterMs),
    invalidSigners: createInvalidSigners(clock),
    penalties: createPenalties(clock, metrics),
  };
  const resolver = createSigningResolver(resolving);
  const index = openIndex(opened, options, api);
  const l1Messages = openL1Messages(opened, options, api, { directory, evm, subnets: policy, index });
  const record = openRecord(opened, { ...options, validatorSets, peers, isTracked });
  const aggregator = createAggregator({
    ...learnt,
    observer: record,
    resolver,
    pChainMessages: network.pChainMessages,
    clock,
    l1Messages,
    index,
    source: connections,
    store: createMemorySignatureStore({
      clock,
      maxSignatures: options.aggregation.signatureCacheSize,
      maxPerSigner: options.aggregation.signatureCachePerSigner,
    }),
    distributedFlights: openDistributedFlights(options),
    subnets: policy,
    bls: options.bls,
    metrics,
    limits: options.aggregation,
  });
  const watching = openNetworkFeed(opened, {
    ...options,
    aggregator,
    directory,
    primaryChains,
    endpointsOf: rpcs.endpointsOf,
    openEvmApi: rpcs.openSingle,
    trackSubnets(subnetIDs) {
      policy.track(subnetIDs);
      connections.trackSubnets(subnetIDs);
    },
  });
  api.onEndpoints(opened, watching.refresh);
  const viewed = { ...resolving, ...learnt, resolver, connections, peers, subnets: policy, metrics, api: api.lookups };
  const stored = createManagerMessages(watching.feed, clock);
  const uptimes = createUptimeProofs({ ...viewed, aggregator });
  return {
    aggregator,
    feed: watching.feed,
    primaryChains,
    record,
    peers,
    connections,
    heights,
    subnets: createSubnetViews({
      ...viewed,
      readyQuorumNum: network.readyQuorumNum,
      metrics: options.metrics,
      lookupMetrics: metrics,
    }),
    verifier: createMessageVerifier({ ...learnt, resolver, l1Messages, clock, metrics, bls: options.bls }),
    destinations: createDestinationViews({ ...resolving, ...learnt, metrics }),
    uptimes,
    subnetUptimes: createSubnetUptimes({ ...viewed, uptimes }),
    validations: createValidationViews({ ...viewed, index, l1Messages, stored }),
    /** Updates tracked subnets, configured peers, RPCs of chains and watched chains. */
    update(next: Pick<NetworkConfig, 'trackedSubnetIDs' | 'manuallyTrackedPeers' | 'chainRpc' | 'feed'>) {
      configuredPeers = next.manuallyTrackedPeers;
      peers.bootstrapAgain();
      rpcs.update(next.chainRpc);
      watching.update(next);
    },
  };
}

function openDistributedFlights(
  options: PartsOptions & { readonly networkID: number },
): DistributedSingleFlight | undefined {
  const { network, shared } = options;
  if (shared === undefined) return undefined;
  return createDistributedSingleFlight({ ...options, store: shared.store, networkName: network.name });
}

export function openPeers(
  options: Pick<PartsOptions, 'network' | 'limits' | 'identity' | 'clock' | 'random' | 'logger' | 'metrics'> & {
    readonly networkID: number;
    readonly outside?: Pick<Outside, 'dial'> | undefined;
  },
  api: Pick<NodeApi, 'getNodeVersion' | 'getPeers' | 'getNodeID' | 'getNodeIP'>,
  configuredPeers: () => NetworkConfig['manuallyTrackedPeers'],
): PeerNetwork {
  const { network, networkID, outside } = options;
  const { dialsPerSecond, maxPeerConnections } = limitsOf(options);
  const beacons = beaconsOf(networkID);
  let hasReturned = false;
  const peers: PeerNetwork = openPeerNetwork({
    ...options,
    nodeVersion: (deadline) => api.getNodeVersion(deadline),
    async bootstrapPeers(deadline) {
      const isStranded = hasReturned && peers.stats().connected === 0;
      const found = await findBootstrapPeers(api, { configured: configuredPeers(), beacons, isStranded }, deadline);
      hasReturned = true;
      return found;
    },
    allowPrivateAddresses: network.allowPrivateAddresses,
    limits: { dialsPerSecond, maxConnections: maxPeerConnections },
    ...(outside && { dial: outside.dial }),
  });
  return peers;
}

function openIndex(
  opened: AsyncDisposableStack,
  options: PartsOptions & { readonly networkID: number },
  api: NetworkApi,
) {
  const { network } = options;
  const { indexLookback, maxBlocksPerSecond } = limitsOf(options);
  const place = { directory: options.storePath, name: network.name };
  const { store, isStored } = openIndexStore(opened, { ...options, ...place });
  return opened.use(
    openValidationIndex({
      ...options,
      api: createNodeApi(api.openClient(opened), api.info),
      store,
      l1StartTime: publicNetworkNamed(network.name)?.l1StartTime,
      lookback: isStored ? undefined : indexLookback,
      maxBlocksPerSecond,
    }),
  );
}

function openL1Messages(
  opened: AsyncDisposableStack,
  options: PartsOptions & { readonly networkID: number },
  api: NetworkApi,
  known: Pick<L1MessagesOptions, 'directory' | 'evm' | 'subnets' | 'index'>,
) {
  const { network, clock, outside } = options;
  const { apiTimeoutMs } = limitsOf(options);
  const names = [network.name, ...network.aliases];
  const dataApi =
    network.dataApi &&
    opened.use(
      createDataApi({
        endpoint: network.dataApi,
        // That of the network itself or of its first alias that is a public network.
        network: names.map(publicNetworkNamed).find((known) => known !== undefined)?.name ?? network.name,
        clock,
        timeoutMs: attemptTimeoutMs(apiTimeoutMs),
        ...(outside && { openHttp: outside.openHttp }),
      }),
    );
  return createL1Messages({
    ...options,
    ...known,
    api: api.lookups,
    chains: createChainApi(api.openClient(opened, LOOKUP_LIMITS)),
    dataApi,
    timeoutMs: apiTimeoutMs,
  });
}
