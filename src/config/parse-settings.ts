import { join } from 'node:path';
import type { ApiEndpoint } from '../primitives/api-endpoint.ts';
import { parseHexOrCb58Id, parseNodeID, type SubnetID } from '../primitives/ids.ts';
import { type HostAndPort, parseRedisUrl, type RedisAddress, type RedisServers } from '../primitives/redis-address.ts';
import { parsePeerAddress } from './peer-address.ts';
import type { NetworkSettings, Settings } from './schema.ts';
import type { Config, IdentityConfig, NetworkConfig, StoreConfig, UpstreamConfig } from './settings.ts';

/** What the rest of the service is handed: settings that were checked, with their texts parsed. */
export function parseSettings(settings: Settings): Omit<Config, 'traces'> {
  const { server, log, metrics, access, identity, bls, aggregation, store, upstream, networks } = settings;
  return {
    server,
    log,
    metrics: { host: metrics.host ?? server.host, port: metrics.port },
    access: {
      unitsPerMinute: access.unitsPerMinute,
      apiKeys: access.apiKeys.map((key) => ({ ...key, sha256: key.sha256.toLowerCase() })),
    },
    identity: parseIdentity(identity),
    bls,
    aggregation,
    store: parseStore(store),
    upstream: parseUpstream(upstream),
    networks: Object.entries(networks).map(([name, network]) => parseNetwork(name, network)),
  };
}

/** The names that the reference node has for its own files. */
function parseIdentity({
  directory,
  certificatePath,
  privateKeyPath,
}: Settings['identity']): IdentityConfig | undefined {
  if (directory !== undefined) {
    return {
      directory,
      certificatePath: join(directory, 'staker.crt'),
      privateKeyPath: join(directory, 'staker.key'),
    };
  }
  if (certificatePath === undefined || privateKeyPath === undefined) return undefined;
  return { directory, certificatePath, privateKeyPath };
}

function parseStore(store: Settings['store']): StoreConfig {
  const { path, sharedUrl, sharedKeyPrefix: keyPrefix, sharedSecret: secret } = store;
  if (sharedUrl === undefined) return { path, shared: undefined };
  return { path, shared: { servers: parseRedisServers(store, parseRedisUrl(sharedUrl)), keyPrefix, secret } };
}

function parseRedisServers(store: Settings['store'], address: RedisAddress): RedisServers {
  const { sharedKind: kind, sharedNodes, sharedMaster: master, sharedSentinelPassword: sentinelPassword } = store;
  const nodes = [{ host: address.host, port: address.port }, ...sharedNodes.map(parseNode)];
  switch (kind) {
    case 'single':
      return { ...address, kind };
    case 'cluster':
      return { ...address, kind, nodes };
    case 'sentinel':
      return { ...address, kind, sentinels: nodes, master, sentinelPassword };
  }
}

function parseNode(text: string): HostAndPort {
  const node = parsePeerAddress(text);
  if (node === undefined) throw new TypeError(`not checked: ${text}`);
  return node;
}

function parseUpstream({ dataApi, metrics, nodeRpc, ...rest }: Settings['upstream']): UpstreamConfig {
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

function parseNetwork(name: string, network: NetworkSettings): NetworkConfig {
  const { trackedSubnetIds, allowedSubnetIds, manuallyTrackedPeers, readyQuorumPercentage, l1Index, ...rest } = network;
  const none: readonly ApiEndpoint[] = [];
  return {
    ...rest,
    name,
    embedded: network.embedded,
    pChainApi: network.pChainApi ?? none,
    infoApi: network.infoApi ?? none,
    dataApi: network.dataApi,
    trackedSubnetIDs: parseSubnetIDs(trackedSubnetIds),
    allowedSubnetIDs: allowedSubnetIds && parseSubnetIDs(allowedSubnetIds),
    manuallyTrackedPeers: manuallyTrackedPeers.map(({ nodeId, address }) => {
      const parsed = parsePeerAddress(address);
      if (parsed === undefined) throw new TypeError(`not checked: ${address}`);
      return { nodeID: parseNodeID(nodeId), ...parsed };
    }),
    readyQuorumNum: BigInt(readyQuorumPercentage),
    l1Index: { lookback: BigInt(l1Index.lookback), blocksPerSecond: l1Index.blocksPerSecond },
  };
}

function parseSubnetIDs(texts: readonly string[]): SubnetID[] {
  return texts.map((text) => parseHexOrCb58Id<SubnetID>(text, 'subnet ID'));
}
