import type { ApiEndpoint } from '../primitives/api-endpoint.ts';
import { parseHexOrCb58Id, parseNodeID, type SubnetID } from '../primitives/ids.ts';
import { parseRedisUrl } from '../primitives/redis-address.ts';
import { parsePeerAddress } from './peer-address.ts';
import type { NetworkSettings, Settings } from './schema.ts';
import type { Config, IdentityConfig, NetworkConfig, StoreConfig, UpstreamConfig } from './settings.ts';

/** What the rest of the service is handed: settings that were checked, with their texts parsed. */
export function parseSettings(settings: Settings): Omit<Config, 'traces'> {
  const { server, log, access, identity, bls, aggregation, store, upstream, networks } = settings;
  return {
    server,
    log,
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

function parseIdentity({ certificatePath, privateKeyPath }: Settings['identity']): IdentityConfig | undefined {
  if (certificatePath === undefined || privateKeyPath === undefined) return undefined;
  return { certificatePath, privateKeyPath };
}

function parseStore({ path, sharedUrl, sharedKeyPrefix }: Settings['store']): StoreConfig {
  const shared =
    sharedUrl === undefined ? undefined : { address: parseRedisUrl(sharedUrl), keyPrefix: sharedKeyPrefix };
  return { path, shared };
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
