import type { ApiEndpoint } from '../lib/net/api-endpoint.ts';
import type { RedisServers } from '../lib/net/redis-address.ts';
import type { NodeID, SubnetID } from '../warp/ids.ts';

/** The configuration: checked as a whole, completed with its defaults, and frozen. One section for each consumer. */
export interface Config {
  readonly server: ServerConfig;
  readonly log: { readonly level: LogLevelName };
  readonly metrics: MetricsConfig;
  readonly access: AccessConfig;
  /** Undefined where the identity lives as long as the process. All networks know us by the same one. */
  readonly identity: IdentityConfig | undefined;
  readonly bls: { readonly backend: 'noble' | 'native'; readonly workers: number; readonly auditPercentage: number };
  readonly aggregation: AggregationConfig;
  readonly store: StoreConfig;
  readonly upstream: UpstreamConfig;
  readonly traces: TracesConfig;
  /** At least one; no two share a name. */
  readonly networks: readonly NetworkConfig[];
}

export type LogLevelName = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

export interface ServerConfig {
  readonly host: string;
  readonly port: number;
  /** Whether anything listens on `port`; if not, the networks have ports of `goApi`. */
  readonly ownApi: boolean;
  /** Origins of pages that may use the service from a browser, as browsers write them; `*` alone is all. */
  readonly corsOrigins: readonly string[];
  /** Of clients, at a time. */
  readonly maxConnections: number;
  /** Between SIGTERM and the end of listening: for those who send requests here to see that the replica is not ready any more. */
  readonly drainDelayMs: number;
  /** For requests under way when the service stops. */
  readonly shutdownTimeoutMs: number;
  /** Whether browsers get the console at `/`. */
  readonly console: boolean;
  /** Proxies whose X-Forwarded-For is believed: addresses or CIDR blocks. */
  readonly trustedProxies: readonly string[];
}

export interface AccessConfig {
  readonly apiKeys: readonly ApiKeyConfig[];
  /** Units for each client address; 0 is no limit, for keys neither. */
  readonly unitsPerMinute: number;
}

export interface ApiKeyConfig {
  readonly name: string;
  /** In lower-case hex. */
  readonly sha256: string;
  readonly unitsPerMinute: number;
  readonly routes: readonly ('aggregation' | 'data' | 'rpc')[];
}

export interface MetricsConfig {
  readonly host: string;
  /** Undefined where the metrics are at the service's own address. */
  readonly port: number | undefined;
}

export interface IdentityConfig {
  /** The folder that both files are in, and that tells of others who use it; undefined where each file has a path of its own. */
  readonly directory: string | undefined;
  readonly certificatePath: string;
  readonly privateKeyPath: string;
}

/** Of each network. */
export interface AggregationConfig {
  readonly requestTimeoutMs: number;
  readonly peerTimeoutMs: number;
  readonly hedgeAfterMs: number;
  readonly connectTimeoutMs: number;
  readonly maxAggregationsInFlight: number;
  readonly maxQueriesInFlight: number;
  readonly maxConcurrentQueries: number;
  readonly signatureCacheSize: number;
  readonly signatureCachePerSigner: number;
  readonly resultCacheBytes: number;
}

export interface StoreConfig {
  /** A folder for what is to outlive the process. */
  readonly path: string | undefined;
  readonly shared: SharedStoreConfig | undefined;
}

/** The Redis that replicas share. */
export interface SharedStoreConfig {
  readonly servers: RedisServers;
  /** What all keys start with. */
  readonly keyPrefix: string;
  /** What is shared is sealed with it; undefined shares only what proves itself. */
  readonly secret: string | undefined;
}

/** By the standard variables of OpenTelemetry. */
export interface TracesConfig {
  /** Undefined: nothing is traced. `ratio` is of the traces that begin here, from 0 to 1. */
  readonly exported: { readonly sampling: { readonly ratio: number; readonly isParentBased: boolean } } | undefined;
  /** A line for each value that cannot be used. */
  readonly ignored: readonly string[];
}

/** The services that requests are passed on to. */
export interface UpstreamConfig {
  readonly endpoints: Readonly<Partial<Record<'mainnet' | 'fuji' | 'evm' | 'metrics' | 'node', ApiEndpoint>>>;
  readonly passUnknown: boolean;
  readonly rpcMethods: readonly string[];
  readonly maxRpcBatch: number;
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** 0 is no cache. */
  readonly cacheBytes: number;
}

/** One Avalanche network, under the name that is its key in the file. */
export interface NetworkConfig {
  /** Its first name in paths. `mainnet` and `fuji` are the public networks; any other name is a network of one's own. */
  readonly name: string;
  /** Further names in paths; no two networks share one. */
  readonly aliases: readonly string[];
  /** The network is run by this process itself; its API is known when it is up, and `pChainApi` and `infoApi` are empty. */
  readonly embedded: { readonly validators: number } | undefined;
  readonly pChainApi: readonly ApiEndpoint[];
  readonly infoApi: readonly ApiEndpoint[];
  /** The data API that names the transactions of L1 validations which the index does not have. */
  readonly dataApi: ApiEndpoint | undefined;
  readonly apiTimeoutMs: number;
  readonly trackedSubnetIDs: readonly SubnetID[];
  /** Beside the primary network and those tracked; undefined is all. */
  readonly allowedSubnetIDs: readonly SubnetID[] | undefined;
  readonly manuallyTrackedPeers: readonly { readonly nodeID: NodeID; readonly host: string; readonly port: number }[];
  readonly allowPrivateAddresses: boolean;
  readonly dialsPerSecond: number;
  readonly validatorRefreshMs: number;
  readonly readyQuorumNum: bigint;
  /** Where the Go aggregator's API and metrics are on ports of their own. */
  readonly goApi: { readonly apiPort?: number | undefined; readonly metricsPort?: number | undefined };
  readonly l1Index: {
    /** P-Chain blocks below the newest; without a store only. */
    readonly lookback: bigint;
    readonly blocksPerSecond: number;
  };
}
