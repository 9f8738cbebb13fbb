import { join } from 'node:path';
import type { ApiEndpoint } from '../lib/net/api-endpoint.ts';
import type { RedisAddress, RedisServers } from '../lib/net/redis-address.ts';
import type { TracerOptions } from '../telemetry/tracer-options.ts';
import type { NetworkSettings, Settings } from './schema/schema.ts';

/**
 * The configuration, checked as a whole, with a section for each consumer. This folder is the only reader of environment
 * variables and configuration files; it decides nothing about the service. `schema/` declares every setting, `load/` reads and checks
 * them, `go-aggregator/` converts files of the Go aggregator.
 */
export type Config = Readonly<ReturnType<typeof toConfig>> & { readonly traces: TracesConfig };
/** What is set for the devnet; undefined without one. */
export type DevnetConfig = Config['devnet'];
export type NetworkConfig = Readonly<ReturnType<typeof networkConfig>>;

/** Tracing by the standard variables of OpenTelemetry. */
export type TracesConfig = Pick<TracerOptions, 'sampling' | 'ignored'>;

/** Arranges checked settings as the other parts of the service take them. */
export function toConfig(settings: Settings) {
  const { server, log, metrics, access, identity, bls, aggregation, store, upstream, networks } = settings;
  return {
    server,
    log,
    metrics: { host: metrics.host, port: metrics.port },
    access: {
      unitsPerMinute: access.unitsPerMinute === 0 ? undefined : access.unitsPerMinute,
      apiKeys: access.apiKeys,
      requireKey: access.requireKey,
      operateWithoutKey: access.operateWithoutKey,
    },
    identity: identityFiles(identity),
    bls,
    aggregation,
    store: storeConfig(store),
    upstream: upstreamConfig(upstream),
    devnet: devnetConfig(networks),
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

function storeConfig(store: Settings['store']) {
  const { path, recordValidators, sharedUrl, sharedKeyPrefix: keyPrefix, sharedSecret: secret } = store;
  if (sharedUrl === undefined) return { path, recordValidators, shared: undefined };
  return { path, recordValidators, shared: { servers: redisServers(store, sharedUrl), keyPrefix, secret } };
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
    endpoints: {
      ...(dataApi.mainnet && { mainnet: dataApi.mainnet }),
      ...(dataApi.fuji && { fuji: dataApi.fuji }),
      ...(dataApi.evm && { evm: dataApi.evm }),
      ...(metrics && { metrics }),
      ...(nodeRpc && { node: nodeRpc }),
    },
  };
}

/** Returns which network is the devnet, and what it has. Its network has no API addresses before its start. */
function devnetConfig(networks: Settings['networks']) {
  for (const [network, { embedded }] of Object.entries(networks)) if (embedded) return { network, ...embedded };
  return undefined;
}

function networkConfig(name: string, network: Omit<NetworkSettings, 'embedded'>) {
  const { trackedSubnetIds, allowedSubnetIds, manuallyTrackedPeers, readyQuorumPercentage, ...rest } = network;
  const none: readonly ApiEndpoint[] = [];
  return {
    ...rest,
    name,
    pChainApi: network.pChainApi ?? none,
    infoApi: network.infoApi ?? none,
    dataApi: network.dataApi,
    trackedSubnetIDs: trackedSubnetIds,
    allowedSubnetIDs: allowedSubnetIds,
    manuallyTrackedPeers: manuallyTrackedPeers.map(({ nodeId, address }) => ({ nodeID: nodeId, ...address })),
    readyQuorumNum: BigInt(readyQuorumPercentage),
  };
}
