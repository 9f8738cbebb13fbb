import { Penalties } from '../aggregation/admission/penalties.ts';
import { createAggregatorMetrics } from '../aggregation/aggregator-metrics.ts';
import { createL1Messages } from '../aggregation/l1/l1-messages.ts';
import { type Aggregator, createAggregator } from '../aggregation/request/aggregate.ts';
import { createMessageVerifier, type MessageVerifier } from '../aggregation/request/message-verifier.ts';
import { createSigningResolver } from '../aggregation/request/signing-resolver.ts';
import { createSubnetPolicy } from '../aggregation/subnet-policy.ts';
import { createSubnetViews, type SubnetViews } from '../aggregation/subnets/subnet-views.ts';
import { createUptimeProofs, type UptimeProofs } from '../aggregation/subnets/uptime-proofs.ts';
import { createAnswerHistories } from '../aggregation/validators/answer-history.ts';
import { createInvalidSigners } from '../aggregation/validators/invalid-signers.ts';
import {
  createValidatorConnections,
  type ValidatorConnections,
} from '../aggregation/validators/validator-connections.ts';
import type { BlsService, BlsVerifier } from '../bls/service/aggregation.ts';
import type { AggregationConfig, NetworkConfig } from '../config/settings.ts';
import type { Clock, Random } from '../lib/concurrency/clock.ts';
import type { OpenConnections } from '../lib/net/http-connections.ts';
import type { Dial } from '../p2p/connection/dial.ts';
import type { Identity } from '../p2p/identity/identity.ts';
import { createPeerNetwork, type PeerNetwork } from '../p2p/peer-network.ts';
import { createChainApi } from '../pchain/rpc/chain-api.ts';
import { createDataApi } from '../pchain/rpc/data-api.ts';
import { createJsonRpcClient, type JsonRpcClient, type JsonRpcLimits } from '../pchain/rpc/json-rpc.ts';
import { createNodeApi, type NodeApi } from '../pchain/rpc/node-api.ts';
import { createEpochHeights } from '../pchain/state/epoch-heights.ts';
import { createSubnetDirectory, type SubnetDirectory } from '../pchain/state/subnet-directory.ts';
import { createValidationIndex, DEFAULT_INDEX_LIMITS } from '../pchain/state/validation-index.ts';
import { createValidatorFunds } from '../pchain/state/validator-funds.ts';
import { createValidatorSets } from '../pchain/state/validator-sets.ts';
import { createMemorySignatureStore } from '../store/local/signature-store.ts';
import { openValidationStore } from '../store/local/validation-store.ts';
import { createSharedParts, type SharedParts as SharedStoreParts } from '../store/redis/shared-parts.ts';
import type { SharedStore } from '../store/redis/shared-store.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { createWarpSet } from '../validators/warp-set.ts';
import { PRIMARY_NETWORK_ID } from '../warp/ids.ts';
import { publicNetworkNamed } from '../warp/networks.ts';
import { findBootstrapPeers } from './bootstrap-peers.ts';

/** A block or two on the C-Chain: time for a validator that lags to catch up, within the budget for telling a client why. */
const RETRY_DELAYS_MS = [300, 900];
/** A redial after a broken connection takes a fraction of a second. */
const RECONNECT_GRACE_MS = 1_000;
/** Validators that no request and no reading has named for so many refreshes are let go. */
const KEEP_REFRESHES = 10;

/** What the networks of one process share. */
export interface SharedParts {
  readonly identity: Identity;
  readonly bls: BlsService & BlsVerifier;
  readonly aggregation: AggregationConfig;
  /** What replicas of the service share; undefined where there is but this one. */
  readonly shared: { readonly store: SharedStore; readonly secret: string | undefined } | undefined;
  /** The folder for what is to outlive the process; undefined keeps it in memory. */
  readonly storePath: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  /** Everything outside; the real one unless given. */
  readonly outside?: Outside;
}

/** The ways out of the process. */
export interface Outside {
  readonly dial: Dial;
  readonly openHttp: OpenConnections;
}

export interface PartsOptions extends SharedParts {
  readonly network: NetworkConfig;
  /** Bound to the network. */
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** The API of the network, as its nodes serve it. Calls share one client, but for the reading of blocks and chains. */
export interface NetworkApi {
  readonly node: NodeApi;
  /**
   * For what clients name, which may not exist: anybody can make up an ID. It has a small share of the connections for itself, so
   * that heights and sets, which every request needs, never stand in line behind it.
   */
  readonly lookups: NodeApi;
  /**
   * A client of its own: what it calls takes no connections of those who wait, and puts no endpoint aside for them. `owner` closes it,
   * after what was opened with it later.
   */
  openClient(owner: AsyncDisposableStack, limits?: Partial<JsonRpcLimits>): JsonRpcClient;
  readonly info: JsonRpcClient;
  /** Has all clients ask other base URLs. */
  useEndpoints(endpoints: NetworkEndpoints): void;
}

export type NetworkEndpoints = Pick<NetworkConfig, 'pChainApi' | 'infoApi'>;

/** A third of all that go to a base URL: the node answers one call at a time, so this is also the share of its time. */
const LOOKUP_CONNECTIONS = 4;
/** Those that wait for a connection included. The answers to more would come too late for their requests. */
const MAX_LOOKUPS_IN_FLIGHT = 128;
const LOOKUP_LIMITS: Partial<JsonRpcLimits> = {
  maxConnections: LOOKUP_CONNECTIONS,
  maxCallsInFlight: MAX_LOOKUPS_IN_FLIGHT,
};

export function openNetworkApi(opened: AsyncDisposableStack, options: PartsOptions): NetworkApi {
  const { network, clock, random, metrics, outside } = options;
  const { apiTimeoutMs, pChainApi, infoApi } = network;
  // One attempt ends before the request it is made for, so that the next base URL has its turn within the same request; one
  // that hangs is then put aside for longer than it costs.
  const limits = {
    attemptTimeoutMs: attemptTimeoutMs(network),
    callTimeoutMs: 2 * apiTimeoutMs,
    asideBaseMs: apiTimeoutMs,
  };
  const open = (
    owner: AsyncDisposableStack,
    endpoints: NetworkConfig['pChainApi'],
    more: Partial<JsonRpcLimits> = {},
  ): JsonRpcClient =>
    owner.use(
      createJsonRpcClient({
        ...{ endpoints, clock, random, metrics },
        limits: { ...limits, ...more },
        ...(outside && { openHttp: outside.openHttp }),
      }),
    );
  const info = open(opened, infoApi);
  const clients = new Set<JsonRpcClient>();
  let current = pChainApi;
  const openClient: NetworkApi['openClient'] = (owner, more) => {
    const client = open(owner, current, more);
    clients.add(client);
    owner.defer(() => void clients.delete(client));
    return client;
  };
  return {
    node: createNodeApi(openClient(opened), info),
    lookups: createNodeApi(openClient(opened, LOOKUP_LIMITS), info),
    openClient,
    info,
    useEndpoints(endpoints) {
      info.useEndpoints(endpoints.infoApi);
      current = endpoints.pChainApi;
      for (const client of clients) client.useEndpoints(current);
    },
  };
}

function attemptTimeoutMs({ apiTimeoutMs }: NetworkConfig): number {
  return 0.8 * apiTimeoutMs;
}

export interface NetworkParts {
  readonly aggregator: Aggregator;
  readonly subnets: SubnetViews;
  readonly verifier: MessageVerifier;
  readonly uptimes: UptimeProofs;
  readonly peers: PeerNetwork;
  readonly connections: ValidatorConnections;
  /** Takes what may change while the service runs: tracked subnets, and peers set by hand. */
  update(network: Pick<NetworkConfig, 'trackedSubnetIDs' | 'manuallyTrackedPeers'>): void;
}

/** Opens all that belongs to one network; `opened` closes it in reverse order. */
export function openNetworkParts(
  opened: AsyncDisposableStack,
  options: PartsOptions & { readonly networkID: number },
  api: NetworkApi,
): NetworkParts {
  const { network, networkID, clock, logger } = options;
  const policy = createSubnetPolicy(network);
  const metrics = createAggregatorMetrics(
    options.metrics,
    (subnetID) => subnetID === PRIMARY_NETWORK_ID || policy.isTracked(subnetID),
  );
  let peersByHand = network.manuallyTrackedPeers;
  const peers = opened.use(openPeers(options, api.node, () => peersByHand));
  const shared = openSharedParts(options);
  const validatorSets = createValidatorSets({
    ...{ api: api.node, clock, build: createWarpSet },
    shared: shared?.validatorSets,
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
      refreshTimeoutMs: 2 * network.apiTimeoutMs,
      keepMs: KEEP_REFRESHES * network.validatorRefreshMs,
    }),
  );
  const directory = createSubnetDirectory(api.lookups, clock);
  const resolving = {
    ...{ networkID, directory, validatorSets, clock },
    epochs: createEpochHeights(createChainApi(api.openClient(opened)), clock),
    funds: createValidatorFunds(api.node, clock),
    resolveTimeoutMs: network.apiTimeoutMs,
  };
  const learnt = {
    histories: createAnswerHistories(clock, options.aggregation.hedgeAfterMs),
    invalidSigners: createInvalidSigners(clock),
    penalties: new Penalties(clock, metrics),
  };
  const signatures = createMemorySignatureStore({
    clock,
    maxSignatures: options.aggregation.signatureCacheSize,
    maxPerSigner: options.aggregation.signatureCachePerSigner,
  });
  const aggregator = createAggregator({
    ...resolving,
    ...learnt,
    l1Messages: openL1Messages(opened, options, api, directory, shared),
    source: connections,
    store: shared?.signatures(signatures) ?? signatures,
    sharedWork: shared?.work,
    subnets: policy,
    bls: options.bls,
    metrics,
    limits: {
      ...options.aggregation,
      reconnectGraceMs: RECONNECT_GRACE_MS,
      retryDelaysMs: RETRY_DELAYS_MS,
      resolveTimeoutMs: network.apiTimeoutMs,
    },
  });
  const resolver = createSigningResolver(resolving);
  const { readyQuorumNum } = network;
  return {
    ...{ aggregator, peers, connections },
    subnets: createSubnetViews({
      ...{ ...resolving, ...learnt, resolver, connections, peers, readyQuorumNum, subnets: policy },
      metrics: options.metrics,
      lookupMetrics: metrics,
    }),
    verifier: createMessageVerifier({ ...{ ...learnt, resolver, clock, metrics }, bls: options.bls }),
    uptimes: createUptimeProofs({
      ...{ ...resolving, ...learnt, metrics },
      api: api.lookups,
      subnets: policy,
      resolver,
      connections,
      peers,
      aggregator,
    }),
    update({ trackedSubnetIDs, manuallyTrackedPeers }) {
      peersByHand = manuallyTrackedPeers;
      peers.bootstrapAgain();
      policy.track(trackedSubnetIDs);
      connections.trackSubnets(trackedSubnetIDs);
    },
  };
}

/** An embedded network is another one in each process, however much its name and ID are the same. */
function openSharedParts(options: PartsOptions & { readonly networkID: number }): SharedStoreParts | undefined {
  const { network, networkID, shared, clock, logger, metrics } = options;
  if (shared === undefined || network.embedded !== undefined) return undefined;
  return createSharedParts({ ...shared, networkID, networkName: network.name, clock, logger, metrics });
}

function openPeers(
  options: PartsOptions & { readonly networkID: number },
  api: NodeApi,
  peersByHand: () => NetworkConfig['manuallyTrackedPeers'],
): PeerNetwork {
  const { network, networkID, identity, clock, random, logger, metrics, outside } = options;
  return createPeerNetwork({
    identity,
    networkID,
    clock,
    random,
    logger,
    metrics,
    nodeVersion: (deadline) => api.getNodeVersion(deadline),
    bootstrapPeers: (deadline) => findBootstrapPeers(api, peersByHand(), deadline),
    allowPrivateAddresses: network.allowPrivateAddresses,
    limits: { dialsPerSecond: network.dialsPerSecond },
    ...(outside && { dial: outside.dial }),
  });
}

function openL1Messages(
  opened: AsyncDisposableStack,
  options: PartsOptions & { readonly networkID: number },
  api: NetworkApi,
  directory: SubnetDirectory,
  shared: SharedStoreParts | undefined,
) {
  const { network, networkID, clock, logger, metrics, storePath, outside } = options;
  const known = publicNetworkNamed(network.name);
  const store = opened.use(openValidationStore({ directory: storePath, networkID, name: network.name, clock }));
  const index = opened.use(
    createValidationIndex({
      api: createNodeApi(api.openClient(opened), api.info),
      store: shared?.validations(store) ?? store,
      clock,
      logger,
      metrics,
      l1StartTime: known?.l1StartTime,
      limits: {
        ...DEFAULT_INDEX_LIMITS,
        lookback: storePath === undefined ? network.l1Index.lookback : undefined,
        maxBlocksPerSecond: network.l1Index.blocksPerSecond,
      },
    }),
  );
  const dataApi =
    network.dataApi &&
    opened.use(
      createDataApi({
        endpoint: network.dataApi,
        network: dataApiName(network),
        clock,
        timeoutMs: attemptTimeoutMs(network),
        ...(outside && { openHttp: outside.openHttp }),
      }),
    );
  return createL1Messages({
    networkID,
    api: api.lookups,
    chains: createChainApi(api.openClient(opened, LOOKUP_LIMITS)),
    directory,
    index,
    dataApi,
    clock,
    logger,
    timeoutMs: network.apiTimeoutMs,
  });
}

/** The data API knows the public networks' names only: a network of one's own is asked for under the first such alias. */
function dataApiName({ name, aliases }: NetworkConfig): string {
  const known = [name, ...aliases].map(publicNetworkNamed).find((network) => network !== undefined);
  return known?.name ?? name;
}
