import type { NetworkConfig } from '../config/settings.ts';
import type { ApiEndpoint } from '../lib/net/api-endpoint.ts';
import { DEFAULT_DIAL_LIMITS } from '../p2p/discovery/dial-schedule.ts';
import { publicNetworkNamed } from '../warp/networks.ts';

/** Limits of one network that no operator has to choose. */
export interface NetworkLimits {
  /** For all P-Chain API calls of one request. */
  readonly apiTimeoutMs: number;
  readonly dialsPerSecond: number;
  /** To validators and other peers. */
  readonly maxPeerConnections: number;
  /** P-Chain blocks that the index of L1 validations reads back without a store. */
  readonly indexLookback: bigint;
  readonly maxBlocksPerSecond: number;
}

export function networkLimits({ name, pChainApi }: Pick<NetworkConfig, 'name' | 'pChainApi'>): NetworkLimits {
  const isPublic = publicNetworkNamed(name) !== undefined;
  return {
    apiTimeoutMs: 5_000,
    dialsPerSecond: isPublic ? 100 : 1_000,
    maxPeerConnections: DEFAULT_DIAL_LIMITS.maxConnections,
    // About half a day of mainnet.
    indexLookback: 10_000n,
    // A public API is shared with others.
    maxBlocksPerSecond: isPublic && !pChainApi.every(isNear) ? 50 : 1_000,
  };
}

/** Tests for a private address or a host name without a domain. */
function isNear({ baseUrl }: ApiEndpoint): boolean {
  const { hostname } = new URL(baseUrl);
  return /^([^.:]+|\[(::1|f[cd].*)\]|(127|10|192\.168|172\.(1[6-9]|2\d|3[01]))\.[\d.]+)$/.test(hostname);
}
