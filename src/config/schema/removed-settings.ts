import type { Path } from './setting.ts';
import { variableName } from './variables.ts';

/** Removed settings of earlier versions, and what to do about each. `*` is the name of a network. */
const REMOVED: Readonly<Record<string, string>> = {
  'aggregation.peerTimeoutMs':
    'leave it out: a validator has 3 s for an answer; aggregation.requestTimeoutMs bounds the whole',
  'aggregation.hedgeAfterMs': 'leave it out: the time is measured for each validator, and is at most 500 ms',
  'aggregation.connectTimeoutMs':
    'leave it out: a request waits 5 s for a connection; aggregation.requestTimeoutMs bounds the whole',
  'aggregation.maxAggregationsInFlight':
    'leave it out: 256 run or wait; access.unitsPerMinute bounds one client, more replicas take more',
  'aggregation.maxQueriesInFlight': 'leave it out: it is 8192',
  'aggregation.maxConcurrentQueries': 'leave it out: it is 2048',
  'aggregation.signatureCachePerSigner': 'leave it out: it is a twentieth of aggregation.signatureCacheSize',
  'aggregation.resultCacheBytes':
    'leave it out: it follows aggregation.signatureCacheSize, 80 bytes for each signature',
  'bls.auditPercentage': 'leave it out: it is 1; bls.backend "native" needs no audit',
  'server.maxConnections':
    'leave it out: it is 4096, above which a new connection closes an idle one; add replicas for more',
  'upstream.maxRpcBatch': 'leave it out: a batch has at most 20 calls',
  'upstream.maxResponseBytes': 'leave it out: an answer has at most 64 MiB',
  'networks.*.apiTimeoutMs':
    'leave it out: it is 5 s; where the API needs longer, name a nearer one first in pChainApi',
  'networks.*.dialsPerSecond': 'leave it out: it is 100 on a public network and 1000 on a private one',
  'networks.*.l1Index':
    'leave it out: with store.path all blocks since L1s exist are read, else the newest 10000; 50 a second from a public API of a ' +
    'public network, else 1000',
  'store.sharedKind':
    'leave it out: with sharedMaster (mymaster, where none was given) it is a sentinel, else with sharedNodes a cluster, else one server',
};

export function removedSetting(path: Path): string | undefined {
  return removedVariable(variableName(path.map(String)));
}

export function removedVariable(variable: string): string | undefined {
  return Object.entries(REMOVED).find(([name]) => {
    const pattern = variableName(name.split('.')).replace('*', '[A-Z0-9_]+');
    return new RegExp(`^${pattern}(__.*)?$`).test(variable);
  })?.[1];
}
