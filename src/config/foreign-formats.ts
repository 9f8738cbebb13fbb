import { isObject, partAt } from './setting.ts';
import { variableName } from './variables.ts';

/** A key that a file of another format has, and what it is called here. */
interface Renamed {
  readonly from: string;
  readonly to: string;
}

const NETWORK = 'networks.NAME';

/** Keys of the Go aggregator's configuration file (icm-services, signature-aggregator/config). */
const GO_KEYS: Readonly<Record<string, string>> = {
  'log-level': 'is log.level here',
  'p-chain-api': `is ${NETWORK}.pChainApi here, a list of such objects`,
  'info-api': `is ${NETWORK}.infoApi here, a list of such objects, and may be left out where it is the P-Chain API's`,
  'api-port': `is ${NETWORK}.goApi.apiPort here; server.port has the same path beside all others`,
  'metrics-port': `is ${NETWORK}.goApi.metricsPort here, with the same names; ours are at /metrics on server.port`,
  'signature-cache-size': 'is aggregation.signatureCacheSize here, and counts signatures',
  'allow-private-ips': `is ${NETWORK}.allowPrivateAddresses here`,
  'tracked-subnet-ids': `is ${NETWORK}.trackedSubnetIds here`,
  'manually-tracked-peers': `is ${NETWORK}.manuallyTrackedPeers here, objects {nodeId, address} in place of {id, ip}`,
  'tls-cert-path': 'is identity.certificatePath here',
  'tls-key-path': 'is identity.privateKeyPath here',
  'max-p-chain-lookback': `is ${NETWORK}.l1Index.lookback here, the blocks that are read for the registrations of L1 validators`,
  'validator-refresh-period-seconds': `is ${NETWORK}.validatorRefreshMs here, in milliseconds`,
};
/** Keys below these. */
const GO_INNER_KEYS: Readonly<Record<string, string>> = {
  'base-url': 'is baseUrl here',
  'query-parameters': 'is queryParameters here',
  'http-headers': 'is httpHeaders here',
  id: 'is nodeId here',
  ip: 'is address here',
};

/** Keys of this service's own files before they had sections. */
const FLAT_KEYS: readonly Renamed[] = [
  { from: 'pChainApi', to: `${NETWORK}.pChainApi` },
  { from: 'infoApi', to: `${NETWORK}.infoApi` },
  { from: 'host', to: 'server.host' },
  { from: 'port', to: 'server.port' },
  { from: 'logLevel', to: 'log.level' },
  { from: 'stakingCertPath', to: 'identity.certificatePath' },
  { from: 'stakingKeyPath', to: 'identity.privateKeyPath' },
  { from: 'allowPrivateAddresses', to: `${NETWORK}.allowPrivateAddresses` },
  { from: 'trackedSubnetIds', to: `${NETWORK}.trackedSubnetIds` },
  { from: 'manuallyTrackedPeers', to: `${NETWORK}.manuallyTrackedPeers` },
  { from: 'readyQuorumPercentage', to: `${NETWORK}.readyQuorumPercentage` },
  { from: 'validatorRefreshMs', to: `${NETWORK}.validatorRefreshMs` },
  ...[
    ...['requestTimeoutMs', 'peerTimeoutMs', 'hedgeAfterMs', 'connectTimeoutMs', 'maxAggregationsInFlight'],
    ...[
      'maxQueriesInFlight',
      'maxConcurrentQueries',
      'signatureCacheSize',
      'signatureCachePerSigner',
      'resultCacheBytes',
    ],
  ].map((name) => ({ from: name, to: `aggregation.${name}` })),
  { from: 'dialsPerSecond', to: `${NETWORK}.dialsPerSecond` },
  { from: 'apiTimeoutMs', to: `${NETWORK}.apiTimeoutMs` },
  { from: 'storePath', to: 'store.path' },
  { from: 'sharedStoreUrl', to: 'store.sharedUrl' },
  { from: 'sharedStoreKeyPrefix', to: 'store.sharedKeyPrefix' },
  { from: 'l1IndexLookback', to: `${NETWORK}.l1Index.lookback` },
  { from: 'l1IndexBlocksPerSecond', to: `${NETWORK}.l1Index.blocksPerSecond` },
  { from: 'dataApi', to: `${NETWORK}.dataApi` },
  { from: 'apiKeys', to: 'access.apiKeys' },
  { from: 'rateLimitPerMinute', to: 'access.unitsPerMinute' },
  { from: 'trustedProxies', to: 'server.trustedProxies' },
  { from: 'corsOrigins', to: 'server.corsOrigins' },
  { from: 'shutdownTimeoutMs', to: 'server.shutdownTimeoutMs' },
];

export interface ForeignFile {
  readonly heading: string;
  readonly lines: readonly string[];
}

/**
 * A line for each key of a file in the Go aggregator's format, or in this service's own before it had sections; undefined for other
 * files. Values are not looked at.
 */
export function explainForeignFile(json: unknown): ForeignFile | undefined {
  if (!isObject(json) || Object.hasOwn(json, 'networks')) return undefined;
  const keys = Object.keys(json);
  if (keys.some((key) => Object.hasOwn(GO_KEYS, key))) {
    return {
      heading: 'this is a file of the Go signature aggregator; its keys have other names here',
      lines: explainGoFile(json),
    };
  }
  const renamed = new Map(FLAT_KEYS.map(({ from, to }) => [from, to]));
  if (!keys.some((key) => renamed.has(key) || key === 'network')) return undefined;
  const name = typeof json['network'] === 'string' ? json['network'] : 'NAME';
  const lines = keys.map((key) => {
    if (key === 'network') return `network: is a key of networks now: {"networks": {"${name}": {…}}}`;
    const to = renamed.get(key)?.replace(NETWORK, `networks.${name}`);
    return `${key}: ${to === undefined ? 'is as it was' : `is ${to} now`}`;
  });
  return { heading: 'this file is of an older form; settings are in sections now', lines };
}

function explainGoFile(json: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(json).flatMap((key) => {
    const meaning = Object.hasOwn(GO_KEYS, key) ? GO_KEYS[key] : 'is nothing here';
    return [`${key}: ${meaning}`, ...innerKeys(json, key)];
  });
}

function innerKeys(json: unknown, key: string): string[] {
  const value = partAt(json, [key]);
  const objects = (Array.isArray(value) ? value : [value]).filter(isObject);
  const inner = new Set(objects.flatMap((object) => Object.keys(object)));
  return [...inner]
    .filter((name) => Object.hasOwn(GO_INNER_KEYS, name))
    .map((name) => `${key}.${name}: ${GO_INNER_KEYS[name]}`);
}

/** The variable that has taken the place of one that was read before settings had sections. */
export function renamedVariable(variable: string): string | undefined {
  const renamed = FLAT_KEYS.find(({ from }) => variableName([from]) === variable);
  return renamed && variableName(renamed.to.split('.')).replace('NETWORKS__NAME__', 'NETWORKS__<NAME>__');
}
