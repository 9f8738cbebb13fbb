import { collectDefaultMetrics, Registry } from 'prom-client';
import { createAggregator } from './aggregator/aggregate.ts';
import { createAggregatorMetrics } from './aggregator/aggregator-metrics.ts';
import { createL1Messages } from './aggregator/l1-messages.ts';
import { createSuspects } from './aggregator/suspects.ts';
import { createValidatorConnections } from './aggregator/validator-connections.ts';
import type { Server } from './api/http-server.ts';
import { createServer } from './api/server.ts';
import { createBlsService } from './bls/aggregation.ts';
import { loadBackend } from './bls/load-backend.ts';
import { startWorkerPool } from './bls/worker-pool.ts';
import { type Config, ConfigError, type NetworkName } from './config/config.ts';
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
import { createMemoryLimitCounters, type LimitCounters } from './store/limit-counters.ts';
import { createSharedLimitCounters } from './store/shared-limit-counters.ts';
import { createMemorySignatureStore } from './store/signature-store.ts';
import { openValidationStore } from './store/validation-store.ts';
import type { Logger } from './telemetry/logger.ts';
import { createMetrics } from './telemetry/metrics.ts';
import { createUpstreams } from './upstream/upstreams.ts';
import { createWarpSet } from './validators/warp-set.ts';

export interface App extends AsyncDisposable {
  readonly url: string;
  readonly nodeID: NodeID;
  readonly server: Server;
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
  /** Further routes, such as the embedded network's. */
  readonly registerMore?: (server: Server) => void;
}

/** The names by which a path may call each network. `testnet` is an old name of fuji; a local network answers to all. */
const PATH_NAMES: Readonly<Record<NetworkName, readonly string[]>> = {
  mainnet: ['mainnet'],
  fuji: ['fuji', 'testnet'],
  local: ['mainnet', 'fuji', 'testnet'],
};

/** A public network's ID is known before its API answers, so that the service can listen and say that it is not ready. */
const NETWORK_IDS: Readonly<Partial<Record<NetworkName, number>>> = { mainnet: 1, fuji: 5 };

/** When the Etna upgrade brought L1s, in Unix seconds (avalanchego `upgrade/upgrade.go`). */
const L1_START_TIMES: Readonly<Partial<Record<NetworkName, bigint>>> = {
  mainnet: BigInt(Date.UTC(2024, 11, 16, 17) / 1_000),
  fuji: BigInt(Date.UTC(2024, 10, 25, 16) / 1_000),
};

/** The composition root: everything it opens, it closes, in reverse order. */
export async function startApp(
  { config, logger, clock, random, registerMore }: AppOptions,
  signal: AbortSignal,
): Promise<App> {
  await using opened = new AsyncDisposableStack();
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });

  // First, as a backend that is missing is refused at once; closed last, when nobody asks for anything any more.
  const blsThreads = opened.use(await startWorkerPool(config.bls));

  const { apiTimeoutMs } = config;
  // One attempt ends before the request it is made for, so that the next base URL has its turn within the same request; one
  // that hangs is then put aside for longer than it costs.
  const apiLimits = {
    attemptTimeoutMs: 0.8 * apiTimeoutMs,
    callTimeoutMs: 2 * apiTimeoutMs,
    asideBaseMs: apiTimeoutMs,
  };
  const rpc = { clock, random, registry, limits: apiLimits };
  const pChain = opened.use(createJsonRpcClient({ endpoints: config.pChainApi, ...rpc }));
  const info = opened.use(createJsonRpcClient({ endpoints: config.infoApi, ...rpc }));
  const api = createNodeApi(pChain, info);
  const knownNetworkID = NETWORK_IDS[config.network];
  const networkID = knownNetworkID ?? (await askNetworkID(api, { config, logger, clock }, signal));

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
      bootstrapPeers: (deadline) => findFirstPeers(api, config, deadline),
      allowPrivateAddresses: config.allowPrivateAddresses,
      limits: { dialsPerSecond: config.dialsPerSecond },
    }),
  );
  const validatorSets = createValidatorSets({ api, clock, build: createWarpSet });
  const metrics = createMetrics(registry);
  const connections = opened.use(
    createValidatorConnections({
      network,
      validatorSets,
      clock,
      logger,
      metrics,
      trackedSubnetIDs: config.trackedSubnetIDs,
      readyQuorumNum: config.readyQuorumNum,
      refreshIntervalMs: config.validatorRefreshMs,
      refreshTimeoutMs: 2 * apiTimeoutMs,
      keepMs: 10 * config.validatorRefreshMs,
    }),
  );
  const directory = createSubnetDirectory(api);
  const chains = createChainApi(opened.use(createJsonRpcClient({ endpoints: config.pChainApi, ...rpc })));
  const store = opened.use(openValidationStore({ directory: config.storePath, networkID }));
  const index = opened.use(
    createValidationIndex({
      // A client of its own, so that reading blocks never takes the connections of those who wait.
      api: createNodeApi(opened.use(createJsonRpcClient({ endpoints: config.pChainApi, ...rpc })), info),
      store,
      clock,
      logger,
      registry,
      l1StartTime: L1_START_TIMES[config.network],
      limits: {
        ...DEFAULT_INDEX_LIMITS,
        lookback: config.storePath === undefined ? config.l1IndexLookback : undefined,
        maxBlocksPerSecond: config.l1IndexBlocksPerSecond,
      },
    }),
  );
  const [pathName = 'mainnet'] = PATH_NAMES[config.network];
  const dataApi =
    config.dataApi &&
    opened.use(
      createDataApi({ endpoint: config.dataApi, network: pathName, clock, timeoutMs: apiLimits.attemptTimeoutMs }),
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
    l1Messages,
    suspects: createSuspects(clock),
    epochs: createEpochHeights(chains, clock),
    funds: createValidatorFunds(api, clock),
    source: connections,
    store: createMemorySignatureStore({
      maxSignatures: config.signatureCacheSize,
      maxPerSigner: config.signatureCachePerSigner,
    }),
    bls: createBlsService(blsThreads, await loadBackend(config.bls.backend)),
    clock,
    metrics: createAggregatorMetrics(metrics),
    limits: {
      requestTimeoutMs: config.requestTimeoutMs,
      peerTimeoutMs: config.peerTimeoutMs,
      hedgeAfterMs: config.hedgeAfterMs,
      connectTimeoutMs: config.connectTimeoutMs,
      reconnectGraceMs: RECONNECT_GRACE_MS,
      retryDelaysMs: RETRY_DELAYS_MS,
      maxConcurrentQueries: config.maxConcurrentQueries,
      maxQueriesInFlight: config.maxQueriesInFlight,
      maxAggregationsInFlight: config.maxAggregationsInFlight,
      resolveTimeoutMs: apiTimeoutMs,
      resultCacheBytes: config.resultCacheBytes,
    },
  });
  const { endpoints, maxResponseBytes, cacheBytes, ...upstream } = config.upstream;
  const upstreams = opened.use(createUpstreams({ endpoints, clock, logger, registry, maxResponseBytes, cacheBytes }));
  const limits = await openLimitCounters(opened, { config, logger, clock, random }, registry);
  const server = await createServer({
    aggregator,
    networks: PATH_NAMES[config.network],
    nodeID: identity.nodeID,
    readiness: () => connections.readiness(),
    registry,
    logger,
    clock,
    drainTimeoutMs: config.shutdownTimeoutMs,
    corsOrigins: config.corsOrigins,
    upstream: {
      upstreams,
      limits,
      timeoutMs: upstream.timeoutMs,
      passUnknown: upstream.passUnknown && Object.keys(endpoints).length > 0,
      rpc: { methods: new Set(upstream.rpcMethods), maxBatch: upstream.maxRpcBatch },
    },
    access: {
      apiKeys: config.apiKeys.map((key) => ({ ...key, sha256: parseHex(key.sha256, 'sha256') })),
      unitsPerMinute: config.rateLimitPerMinute === 0 ? undefined : config.rateLimitPerMinute,
      trustedProxies: config.trustedProxies,
      limits,
    },
    ...(registerMore && { registerMore }),
  });
  opened.defer(() => {
    logger.info('stopping: no more requests are taken');
    return server.close();
  });
  const url = await server.listen({ host: config.host, port: config.port });
  logger.info({ url }, 'listening');

  const stopped = new AbortController();
  opened.defer(() => stopped.abort(new Error('the service stops')));
  const failed =
    knownNetworkID === undefined
      ? new Promise<never>(() => undefined)
      : refuseOtherNetwork(knownNetworkID, () => askNetworkID(api, { config, logger, clock }, stopped.signal));
  // Heard by main; without a listener, the stop of the service would count as unhandled.
  failed.catch(() => undefined);

  const closing = opened.move();
  return {
    url,
    failed,
    nodeID: identity.nodeID,
    server,
    untilReady: (waiting) => network.waitUntil(() => connections.readiness().every(({ isUp }) => isUp), waiting),
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
  { config, logger, clock }: Pick<AppOptions, 'config' | 'logger' | 'clock'>,
  signal: AbortSignal,
): Promise<number> {
  for (;;) {
    try {
      using deadline = startDeadline(clock, config.apiTimeoutMs, 'asking for the network ID', signal);
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
  throw new ConfigError(
    `the info API is of network ID ${networkID}, but the configured network is ${expected}: check infoApi`,
  );
}

async function openLimitCounters(
  opened: AsyncDisposableStack,
  { config, ...ports }: Pick<AppOptions, 'config' | 'logger' | 'clock' | 'random'>,
  registry: Registry,
): Promise<LimitCounters> {
  const own = createMemoryLimitCounters(ports.clock);
  if (config.sharedStore === undefined) return own;
  // Only where it is asked for: the client library takes a tenth of a second to load, and 25 MB.
  const { openSharedStore } = await import('./store/shared-store.ts');
  return createSharedLimitCounters(opened.use(openSharedStore({ ...config.sharedStore, ...ports, registry })), own);
}

async function openIdentity({ stakingIdentity }: Config): Promise<Identity> {
  return stakingIdentity === undefined ? createIdentity() : loadOrCreateIdentity(stakingIdentity);
}

/** Where discovery starts: the peers set by hand, the API node itself, and the peers it has. */
async function findFirstPeers(api: NodeApi, config: Config, signal: AbortSignal) {
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
