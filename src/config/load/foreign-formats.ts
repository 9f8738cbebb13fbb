import { isGoFile } from '../go-aggregator/go-file.ts';
import { removedSetting } from '../schema/removed-settings.ts';
import { isObject } from '../schema/setting.ts';
import { variableName } from './variables.ts';

/** A key that a file of another format has, and what it is called here. */
interface Renamed {
  readonly from: string;
  readonly to: string;
}

const NETWORK = 'networks.NAME';

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

/** What to do with a file in the Go aggregator's format, or in this service's own before it had sections; undefined for other files. */
export function explainForeignFile(json: unknown): ForeignFile | undefined {
  if (!isObject(json) || Object.hasOwn(json, 'networks')) return undefined;
  const keys = Object.keys(json);
  if (isGoFile(json)) {
    return {
      heading: 'this is a file of the Go signature aggregator',
      lines: [
        'to run it as it is: signature-aggregator --config-file FILE',
        'to print it in the form of this service: warp-signature-aggregator convert FILE',
      ],
    };
  }
  const renamed = new Map(FLAT_KEYS.map(({ from, to }) => [from, to]));
  if (!keys.some((key) => renamed.has(key) || key === 'network')) return undefined;
  const name = typeof json['network'] === 'string' ? json['network'] : 'NAME';
  const lines = keys.map((key) => {
    if (key === 'network') return `network: is a key of networks now: {"networks": {"${name}": {…}}}`;
    const to = renamed.get(key)?.replace(NETWORK, `networks.${name}`);
    return `${key}: ${to === undefined ? 'is as it was' : nowCalled(to, to)}`;
  });
  return { heading: 'this file is of an older form; settings are in sections now', lines };
}

function nowCalled(setting: string, text: string): string {
  const removed = removedSetting(setting.split('.'));
  return removed === undefined ? `is ${text} now` : `is gone: ${removed}`;
}

/** What has become of a variable that was read before settings had sections. */
export function renamedVariable(variable: string): string | undefined {
  const renamed = FLAT_KEYS.find(({ from }) => variableName([from]) === variable);
  if (renamed === undefined) return undefined;
  const { to } = renamed;
  return `it ${nowCalled(to, variableName(to.split('.')).replace('NETWORKS__NAME__', 'NETWORKS__<NAME>__'))}`;
}
