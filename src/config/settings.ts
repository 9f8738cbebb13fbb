import { join } from 'node:path';
import type { ApiEndpoint } from '../lib/net/api-endpoint.ts';
import type { RedisAddress, RedisServers } from '../lib/net/redis-address.ts';
import type { TracerOptions } from '../telemetry/tracer-options.ts';
import { publicNetworkNamed } from '../warp/networks.ts';
import type { NetworkSettings, Settings } from './schema/schema.ts';

/**
 * The configuration, checked as a whole, with a section for each consumer. This folder is the only reader of environment
 * variables and configuration files; it decides nothing about the service. `schema/` declares every setting, `load/` reads and checks
 * them, `go-aggregator/` converts files of the Go aggregator.
 */
export type Config = Readonly<ReturnType<typeof toConfig>> & { readonly traces: TracesConfig };
export type AggregationConfig = Readonly<ReturnType<typeof aggregationConfig>>;
export type UpstreamConfig = Readonly<ReturnType<typeof upstreamConfig>>;
export type NetworkConfig = Readonly<ReturnType<typeof networkConfig>>;

/** Tracing by the standard variables of OpenTelemetry. */
export type TracesConfig = Pick<TracerOptions, 'sampling' | 'ignored'>;

/** Each needs a file descriptor. */
const MAX_CLIENT_CONNECTIONS = 4_096;

/** Arranges checked settings as the other parts of the service take them. */
export function toConfig(settings: Settings) {
  const { server, log, metrics, access, identity, bls, aggregation, store, upstream, networks } = settings;
  return {
    server: { ...server, maxConnections: MAX_CLIENT_CONNECTIONS },
    log,
    metrics: { host: metrics.host ?? server.host, port: metrics.port },
    access: {
      unitsPerMinute: access.unitsPerMinute === 0 ? undefined : access.unitsPerMinute,
      apiKeys: access.apiKeys,
    },
    identity: identityFiles(identity),
    bls: { ...bls, auditPercentage: 1 },
    aggregation: aggregationConfig(aggregation),
    store: storeConfig(store),
    upstream: upstreamConfig(upstream),
    networks: Object.entries(networks).map(([name, network]) => networkConfig(name, network)),
  };
}

function identityFiles({ directory, certificatePath, privateKeyPath }: Settings['identity']) {
  if (directory !== undefined) {
    return {
      directory,
      // The file names of avalanchego.
      certificatePath: join(directory, 'staker.crt'),
      privateKeyPath: join(directory, 'staker.key'),
    };
  }
  if (certificatePath === undefined || privateKeyPath === undefined) return undefined;
  return { directory, certificatePath, privateKeyPath };
}

const LEAST_RESULT_CACHE_BYTES = 1024 * 1024;

function aggregationConfig(aggregation: Settings['aggregation']) {
  const { signatureCacheSize } = aggregation;
  return {
    ...aggregation,
    // Nodes accept deadlines of at most 10 s.
    peerTimeoutMs: 3_000,
    hedgeAfterMs: 500,
    connectTimeoutMs: 5_000,
    maxAggregationsInFlight: 256,
    maxQueriesInFlight: 8_192,
    maxConcurrentQueries: 2_048,
    // A flood of messages of one L1 must not evict those of all others.
    signatureCachePerSigner: Math.ceil(signatureCacheSize / 20),
    resultCacheBytes: Math.max(LEAST_RESULT_CACHE_BYTES, 80 * signatureCacheSize),
  };
}

function storeConfig(store: Settings['store']) {
  const { path, sharedUrl, sharedKeyPrefix: keyPrefix, sharedSecret: secret } = store;
  if (sharedUrl === undefined) return { path, shared: undefined };
  return { path, shared: { servers: redisServers(store, sharedUrl), keyPrefix, secret } };
}

function redisServers(store: Settings['store'], address: RedisAddress): RedisServers {
  const { sharedNodes, sharedMaster: master, sharedSentinelPassword: sentinelPassword } = store;
  const nodes = [{ host: address.host, port: address.port }, ...sharedNodes];
  if (master !== undefined) return { ...address, kind: 'sentinel', sentinels: nodes, master, sentinelPassword };
  return sharedNodes.length > 0 ? { ...address, kind: 'cluster', nodes } : { ...address, kind: 'single' };
}

function upstreamConfig({ dataApi, metrics, nodeRpc, ...rest }: Settings['upstream']) {
  return {
    ...rest,
    maxResponseBytes: 64 * 1024 * 1024,
    endpoints: {
      ...(dataApi.mainnet && { mainnet: dataApi.mainnet }),
      ...(dataApi.fuji && { fuji: dataApi.fuji }),
      ...(dataApi.evm && { evm: dataApi.evm }),
      ...(metrics && { metrics }),
      ...(nodeRpc && { node: nodeRpc }),
    },
  };
}

/** For all P-Chain API calls of one request. */
const API_TIMEOUT_MS = 5_000;
/** About half a day of mainnet. */
const INDEX_LOOKBACK = 10_000n;

/** Tests for a private address or a host name without a domain. */
function isNear({ baseUrl }: ApiEndpoint): boolean {
  const { hostname } = new URL(baseUrl);
  return /^([^.:]+|\[(::1|f[cd].*)\]|(127|10|192\.168|172\.(1[6-9]|2\d|3[01]))\.[\d.]+)$/.test(hostname);
}

function networkConfig(name: string, network: NetworkSettings) {
  const { trackedSubnetIds, allowedSubnetIds, manuallyTrackedPeers, readyQuorumPercentage, ...rest } = network;
  const none: readonly ApiEndpoint[] = [];
  const isPublic = publicNetworkNamed(name) !== undefined;
  return {
    ...rest,
    name,
    apiTimeoutMs: API_TIMEOUT_MS,
    dialsPerSecond: isPublic ? 100 : 1_000,
    embedded: network.embedded,
    pChainApi: network.pChainApi ?? none,
    infoApi: network.infoApi ?? none,
    dataApi: network.dataApi,
    trackedSubnetIDs: trackedSubnetIds,
    allowedSubnetIDs: allowedSubnetIds,
    manuallyTrackedPeers: manuallyTrackedPeers.map(({ nodeId, address }) => ({ nodeID: nodeId, ...address })),
    readyQuorumNum: BigInt(readyQuorumPercentage),
    l1Index: {
      lookback: INDEX_LOOKBACK,
      blocksPerSecond: isPublic && !network.pChainApi?.every(isNear) ? 50 : 1_000,
    },
  };
}
