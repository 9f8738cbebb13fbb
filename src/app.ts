import { collectDefaultMetrics, Registry } from 'prom-client';
import { createAggregator } from './aggregator/aggregate.ts';
import { createAggregatorMetrics } from './aggregator/aggregator-metrics.ts';
import { createL1Messages } from './aggregator/l1-messages.ts';
import { createValidatorConnections } from './aggregator/validator-connections.ts';
import type { Server } from './api/http-server.ts';
import { createServer } from './api/server.ts';
import { createBlsService } from './bls/aggregation.ts';
import { loadBackend } from './bls/load-backend.ts';
import { startWorkerPool } from './bls/worker-pool.ts';
import { ConfigError } from './config/problems.ts';
import type { Config, NetworkConfig } from './config/settings.ts';
import { type Devnet, startDevnet } from './devnet/devnet.ts';
import { registerDevnetRoutes } from './devnet/devnet-routes.ts';
import { createIdentity, type Identity, loadOrCreateIdentity } from './p2p/identity.ts';
import { createPeerNetwork } from './p2p/peer-network.ts';
import { createChainApi } from './pchain/chain-api.ts';
import { createDataApi } from './pchain/data-api.ts';
import { createEpochHeights } from './pchain/epoch-heights.ts';
import { createJsonRpcClient } from './pchain/json-rpc.ts';
import { createNodeApi, type NodeApi } from './pchain/node-api.ts';
import { createSubnetDirectory } from './pchain/subnet-directory.ts';
import { createValidationIndex, DEFAULT_INDEX_LIMITS } from './pchain/validation-index.ts';
import { createValidatorFunds } from './pchain/validator-funds.ts';
import { createValidatorSets } from './pchain/validator-sets.ts';
import { parseHex } from './primitives/bytes.ts';
import { type Clock, type Random, sleep } from './primitives/clock.ts';
import { startDeadline } from './primitives/deadline.ts';
import type { NodeID } from './primitives/ids.ts';
import { publicNetworkNamed } from './primitives/networks.ts';
import { createMemoryLimitCounters, type LimitCounters } from './store/limit-counters.ts';
import { createSharedLimitCounters } from './store/shared-limit-counters.ts';
import { createMemorySignatureStore } from './store/signature-store.ts';
import { openValidationStore } from './store/validation-store.ts';
import type { Logger } from './telemetry/logger.ts';
import { createUpstreams } from './upstream/upstreams.ts';
import { createWarpSet } from './validators/warp-set.ts';

export interface App extends AsyncDisposable {
  readonly url: string;
  readonly nodeID: NodeID;
  readonly server: Server;
  /** The embedded network, where the configuration has one. */
  readonly devnet: Devnet | undefined;
  /** Rejects when the service must not go on: the API turned out to be of another network than configured. */
  readonly failed: Promise<never>;
  /** Resolves when the readiness quorum is connected; rejects with the signal's reason. */
  untilReady(signal: AbortSignal): Promise<void>;
}

export interface AppOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: Random;
  /** What is being started, for a person who waits. */
  readonly onProgress?: (text: string) => void;
  /** Further routes, such as those of an embedded network that somebody else runs. */
  readonly registerMore?: (server: Server) => void;
}

/** The composition root: everything it opens, it closes, in reverse order. */
export async function startApp(
  { config, logger, clock, random, onProgress, registerMore }: AppOptions,
  signal: AbortSignal,
): Promise<App> {
  await using opened = new AsyncDisposableStack();
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });

  // First, as a backend that is missing is refused at once; closed last, when nobody asks for anything any more.
  const blsThreads = opened.use(await startWorkerPool(config.bls));

  const [networkConfig] = config.networks;
  if (networkConfig === undefined || config.networks.length > 1) {
    throw new ConfigError(['networks: must have exactly one network, until several can be served']);
  }
  const devnet =
    networkConfig.embedded &&
    opened.use(
      await startDevnet({
        validators: networkConfig.embedded.validators,
        clock,
        logger,
        onProgress: (done, total) => onProgress?.(`starting validators: ${done} of ${total}`),
      }),
    );
  const embeddedApi = devnet && [{ baseUrl: devnet.apiUrl }];
  const { apiTimeoutMs } = networkConfig;
  const pChainApi = embeddedApi ?? networkConfig.pChainApi;
  // One attempt ends before the request it is made for, so that the next base URL has its turn within the same request; one
  // that hangs is then put aside for longer than it costs.
  const apiLimits = {
    attemptTimeoutMs: 0.8 * apiTimeoutMs,
    callTimeoutMs: 2 * apiTimeoutMs,
    asideBaseMs: apiTimeoutMs,
  };
  const rpc = { clock, random, registry, limits: apiLimits };
  const pChain = opened.use(createJsonRpcClient({ endpoints: pChainApi, ...rpc }));
  const info = opened.use(createJsonRpcClient({ endpoints: embeddedApi ?? networkConfig.infoApi, ...rpc }));
  const api = createNodeApi(pChain, info);
  const publicNetwork = publicNetworkNamed(networkConfig.name);
  const knownNetworkID = publicNetwork?.networkID;
  const networkID = knownNetworkID ?? (await askNetworkID(api, { apiTimeoutMs, logger, clock }, signal));

  const identity = await openIdentity(config);
  logger.info({ nodeID: identity.nodeID }, 'staking identity');
  const network = opened.use(
    createPeerNetwork({
      identity,
      networkID,
      clock,
      random,
      logger,
      registry,
      nodeVersion: (deadline) => api.getNodeVersion(deadline),
      bootstrapPeers: (deadline) => findFirstPeers(api, networkConfig, deadline),
      allowPrivateAddresses: networkConfig.allowPrivateAddresses,
      limits: { dialsPerSecond: networkConfig.dialsPerSecond },
    }),
  );
  const validatorSets = createValidatorSets({ api, clock, build: createWarpSet });
  const metrics = createAggregatorMetrics(registry);
  const connections = opened.use(
    createValidatorConnections({
      network,
      validatorSets,
      clock,
      logger,
      metrics,
      trackedSubnetIDs: networkConfig.trackedSubnetIDs,
      readyQuorumNum: networkConfig.readyQuorumNum,
      refreshIntervalMs: networkConfig.validatorRefreshMs,
      refreshTimeoutMs: 2 * apiTimeoutMs,
      keepMs: 10 * networkConfig.validatorRefreshMs,
    }),
  );
  const directory = createSubnetDirectory(api);
  const chains = createChainApi(opened.use(createJsonRpcClient({ endpoints: pChainApi, ...rpc })));
  const store = opened.use(openValidationStore({ directory: config.store.path, networkID }));
  const index = opened.use(
    createValidationIndex({
      // A client of its own, so that reading blocks never takes the connections of those who wait.
      api: createNodeApi(opened.use(createJsonRpcClient({ endpoints: pChainApi, ...rpc })), info),
      store,
      clock,
      logger,
      registry,
      l1StartTime: publicNetwork?.l1StartTime,
      limits: {
        ...DEFAULT_INDEX_LIMITS,
        lookback: config.store.path === undefined ? networkConfig.l1Index.lookback : undefined,
        maxBlocksPerSecond: networkConfig.l1Index.blocksPerSecond,
      },
    }),
  );
  const pathNames = [networkConfig.name, ...networkConfig.aliases];
  // The data API knows the public names only.
  const pathName = pathNames.find((name) => publicNetworkNamed(name) !== undefined) ?? networkConfig.name;
  const dataApi =
    networkConfig.dataApi &&
    opened.use(
      createDataApi({
        endpoint: networkConfig.dataApi,
        network: pathName,
        clock,
        timeoutMs: apiLimits.attemptTimeoutMs,
      }),
    );
  const l1Messages = createL1Messages({
    networkID,
    api,
    chains,
    directory,
    index,
    dataApi,
    clock,
    logger,
    timeoutMs: apiTimeoutMs,
  });
  const aggregator = createAggregator({
    networkID,
    directory,
    validatorSets,
    epochs: createEpochHeights(chains, clock),
    funds: createValidatorFunds(api, clock),
    source: connections,
    store: createMemorySignatureStore({
      maxSignatures: config.aggregation.signatureCacheSize,
      maxPerSigner: config.aggregation.signatureCachePerSigner,
    }),
    bls: createBlsService(blsThreads, await loadBackend(config.bls.backend)),
    clock,
    metrics,
    limits: {
      requestTimeoutMs: config.aggregation.requestTimeoutMs,
      peerTimeoutMs: config.aggregation.peerTimeoutMs,
      hedgeAfterMs: config.aggregation.hedgeAfterMs,
      connectTimeoutMs: config.aggregation.connectTimeoutMs,
      reconnectGraceMs: RECONNECT_GRACE_MS,
      retryDelaysMs: RETRY_DELAYS_MS,
      maxConcurrentQueries: config.aggregation.maxConcurrentQueries,
      maxQueriesInFlight: config.aggregation.maxQueriesInFlight,
      maxAggregationsInFlight: config.aggregation.maxAggregationsInFlight,
      resolveTimeoutMs: apiTimeoutMs,
      resultCacheBytes: config.aggregation.resultCacheBytes,
    },
  });
  const { endpoints, maxResponseBytes, cacheBytes, ...upstream } = config.upstream;
  const upstreams = opened.use(createUpstreams({ endpoints, clock, logger, registry, maxResponseBytes, cacheBytes }));
  const limits = await openLimitCounters(opened, { config, logger, clock, random }, registry);
  const server = await createServer({
    aggregator,
    l1Messages,
    networks: pathNames,
    nodeID: identity.nodeID,
    readiness: () => connections.readiness(),
    registry,
    logger,
    clock,
    drainTimeoutMs: config.server.shutdownTimeoutMs,
    corsOrigins: config.server.corsOrigins,
    upstream: {
      upstreams,
      limits,
      timeoutMs: upstream.timeoutMs,
      passUnknown: upstream.passUnknown && Object.keys(endpoints).length > 0,
      rpc: { methods: new Set(upstream.rpcMethods), maxBatch: upstream.maxRpcBatch },
    },
    access: {
      apiKeys: config.access.apiKeys.map((key) => ({ ...key, sha256: parseHex(key.sha256, 'sha256') })),
      unitsPerMinute: config.access.unitsPerMinute === 0 ? undefined : config.access.unitsPerMinute,
      trustedProxies: config.server.trustedProxies,
      limits,
    },
    registerMore: (server) => {
      if (devnet !== undefined) registerDevnetRoutes(server, devnet);
      registerMore?.(server);
    },
  });
  opened.defer(() => {
    logger.info('stopping: no more requests are taken');
    return server.close();
  });
  const url = await server.listen({ host: config.server.host, port: config.server.port });
  logger.info({ url }, 'listening');

  const stopped = new AbortController();
  opened.defer(() => stopped.abort(new Error('the service stops')));
  const failed =
    knownNetworkID === undefined
      ? new Promise<never>(() => undefined)
      : refuseOtherNetwork(knownNetworkID, () => askNetworkID(api, { apiTimeoutMs, logger, clock }, stopped.signal));
  // Heard by main; without a listener, the stop of the service would count as unhandled.
  failed.catch(() => undefined);

  const closing = opened.move();
  return {
    url,
    failed,
    nodeID: identity.nodeID,
    server,
    devnet,
    untilReady: (waiting) => network.waitUntil(() => connections.readiness().isReady, waiting),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** A block or two on the C-Chain: time for a validator that lags to catch up, within the budget for telling a client why. */
const RETRY_DELAYS_MS = [300, 900];
/** A redial after a broken connection takes a fraction of a second. */
const RECONNECT_GRACE_MS = 1_000;
const API_RETRY_MS = 1_000;

/** Asks until the API answers: a service may well start before its node. Rejects with the signal's reason. */
async function askNetworkID(
  api: NodeApi,
  { apiTimeoutMs, logger, clock }: Pick<AppOptions, 'logger' | 'clock'> & { apiTimeoutMs: number },
  signal: AbortSignal,
): Promise<number> {
  for (;;) {
    try {
      using deadline = startDeadline(clock, apiTimeoutMs, 'asking for the network ID', signal);
      return await api.getNetworkID(deadline.signal);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ err: error }, 'the info API does not answer yet; trying again');
    }
    await sleep(clock, API_RETRY_MS, signal);
  }
}

async function refuseOtherNetwork(expected: number, ask: () => Promise<number>): Promise<never> {
  const networkID = await ask();
  if (networkID === expected) return new Promise<never>(() => undefined);
  throw new ConfigError([
    `the info API is of network ID ${networkID}, but the configured network is ${expected}: check infoApi`,
  ]);
}

async function openLimitCounters(
  opened: AsyncDisposableStack,
  { config, ...ports }: Pick<AppOptions, 'config' | 'logger' | 'clock' | 'random'>,
  registry: Registry,
): Promise<LimitCounters> {
  const own = createMemoryLimitCounters(ports.clock);
  if (config.store.shared === undefined) return own;
  // Only where it is asked for: the client library takes a tenth of a second to load, and 25 MB.
  const { openSharedStore } = await import('./store/shared-store.ts');
  return createSharedLimitCounters(opened.use(openSharedStore({ ...config.store.shared, ...ports, registry })), own);
}

async function openIdentity({ identity }: Config): Promise<Identity> {
  return identity === undefined ? createIdentity() : loadOrCreateIdentity(identity);
}

/** Where discovery starts: the peers set by hand, the API node itself, and the peers it has. */
async function findFirstPeers(api: NodeApi, config: NetworkConfig, signal: AbortSignal) {
  const known = await Promise.allSettled([api.getPeers(signal), ownAddress(api, signal)]);
  signal.throwIfAborted();
  return [
    ...config.manuallyTrackedPeers,
    ...known.flatMap((result) => (result.status === 'fulfilled' ? result.value : [])),
  ];
}

async function ownAddress(api: NodeApi, signal: AbortSignal) {
  const [nodeID, address] = await Promise.all([api.getNodeID(signal), api.getNodeIP(signal)]);
  return [{ nodeID, ...address }];
}
