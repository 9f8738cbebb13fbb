import type { NetworkConfig } from '../config/settings.ts';
import type { ApiEndpoint } from '../lib/net/api-endpoint.ts';
import { DEFAULT_DIAL_LIMITS } from '../p2p/discovery/dial-schedule.ts';
import type { JsonRpcLimits } from '../pchain/rpc/json-rpc.ts';
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

/** Returns the limits of a network, some of which `limits` may replace. */
export function limitsOf(options: {
  readonly network: Pick<NetworkConfig, 'name' | 'pChainApi'>;
  readonly limits?: Partial<NetworkLimits> | undefined;
}): NetworkLimits {
  return { ...networkLimits(options.network), ...options.limits };
}

/** A third of the connections to a base URL, and of the node's time, because it handles one call at a time. */
const LOOKUP_CONNECTIONS = 4;
/** Includes calls that wait for a connection. Later ones would miss the deadlines of their requests. */
const MAX_LOOKUPS_IN_FLIGHT = 128;
export const LOOKUP_LIMITS: Partial<JsonRpcLimits> = {
  maxConnections: LOOKUP_CONNECTIONS,
  maxCallsInFlight: MAX_LOOKUPS_IN_FLIGHT,
};
/** The RPC of a chain may be anybody's, and its receipts have up to 32 MB: one of them is read at a time. */
export const EVM_LIMITS: Partial<JsonRpcLimits> = { ...LOOKUP_LIMITS, maxLongResponses: 1 };

/** Tests for a private address or a host name without a domain. */
function isNear({ baseUrl }: ApiEndpoint): boolean {
  const { hostname } = new URL(baseUrl);
  return /^([^.:]+|\[(::1|f[cd].*)\]|(127|10|192\.168|172\.(1[6-9]|2\d|3[01]))\.[\d.]+)$/.test(hostname);
}
