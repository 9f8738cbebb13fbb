import type { ApiEndpoint } from '../lib/net/api-endpoint.ts';
import type { RedisServers } from '../lib/net/redis-address.ts';
import type { EvmChainID } from '../pchain/rpc/evm-api.ts';
import type { NodeID, SubnetID } from '../warp/ids.ts';
import type { Settings } from './schema/schema.ts';

/**
 * The configuration, checked as a whole and frozen, with a section for each consumer. This folder is the only reader of environment
 * variables and configuration files; it decides nothing about the service. `schema/` declares every setting, `load/` reads and checks
 * them, `go-aggregator/` converts files of the Go aggregator.
 */
export interface Config {
  readonly server: Settings['server'] & { readonly maxConnections: number };
  readonly log: Settings['log'];
  readonly metrics: MetricsConfig;
  readonly access: Settings['access'];
  /** The staking identity on all networks; undefined if each start has a new one. */
  readonly identity: IdentityConfig | undefined;
  readonly bls: { readonly backend: 'noble' | 'native'; readonly workers: number; readonly auditPercentage: number };
  readonly aggregation: AggregationConfig;
  readonly store: StoreConfig;
  readonly upstream: UpstreamConfig;
  readonly traces: TracesConfig;
  /** At least one; no two share a name. */
  readonly networks: readonly NetworkConfig[];
}

export interface MetricsConfig {
  readonly host: string;
  /** Undefined if the metrics are on the service's own port. */
  readonly port: number | undefined;
}

export interface IdentityConfig {
  /** The folder of both files, where other users of the identity are detected; undefined if each file has its own path. */
  readonly directory: string | undefined;
  readonly certificatePath: string;
  readonly privateKeyPath: string;
}

/** Limits of each network. */
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
  /** The folder of the validation index. */
  readonly path: string | undefined;
  readonly shared: SharedStoreConfig | undefined;
}

/** The Redis that replicas share. */
export interface SharedStoreConfig {
  readonly servers: RedisServers;
  readonly keyPrefix: string;
  /** Seals shared values; if undefined, replicas share only values that can be verified. */
  readonly secret: string | undefined;
}

/** Tracing by the standard variables of OpenTelemetry. */
export interface TracesConfig {
  /** Undefined if traces are off. `ratio` is the share of sampled traces among those that begin here, from 0 to 1. */
  readonly exported: { readonly sampling: { readonly ratio: number; readonly isParentBased: boolean } } | undefined;
  /** A line for each unusable value. */
  readonly ignored: readonly string[];
}

/** The services that requests are forwarded to. */
export interface UpstreamConfig {
  readonly endpoints: Readonly<Partial<Record<'mainnet' | 'fuji' | 'evm' | 'metrics' | 'node', ApiEndpoint>>>;
  readonly passUnknown: boolean;
  readonly rpcMethods: readonly string[];
  readonly maxRpcBatch: number;
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** 0 disables the cache. */
  readonly cacheBytes: number;
}

/** One Avalanche network. */
export interface NetworkConfig {
  /** Its key in the file and first name in paths. `mainnet` and `fuji` are the public networks, all others are private. */
  readonly name: string;
  /** Further names in paths; no two networks share one. */
  readonly aliases: readonly string[];
  /** Makes the network a devnet in this process; `pChainApi` and `infoApi` are then empty. */
  readonly embedded: { readonly validators: number } | undefined;
  readonly pChainApi: readonly ApiEndpoint[];
  readonly infoApi: readonly ApiEndpoint[];
  /** The data API for transactions of L1 validations that are not in the index. */
  readonly dataApi: ApiEndpoint | undefined;
  /** RPC of EVM chains that the node does not run. */
  readonly chainRpc: ReadonlyMap<EvmChainID, ApiEndpoint>;
  readonly apiTimeoutMs: number;
  readonly trackedSubnetIDs: readonly SubnetID[];
  /** Allowed subnets beside the primary network and those tracked; undefined allows all. */
  readonly allowedSubnetIDs: readonly SubnetID[] | undefined;
  readonly manuallyTrackedPeers: readonly { readonly nodeID: NodeID; readonly host: string; readonly port: number }[];
  readonly allowPrivateAddresses: boolean;
  readonly dialsPerSecond: number;
  readonly validatorRefreshMs: number;
  readonly readyQuorumNum: bigint;
  /** Extra ports with the Go aggregator's API and metrics. */
  readonly goApi: { readonly apiPort?: number | undefined; readonly metricsPort?: number | undefined };
  readonly l1Index: {
    /** P-Chain blocks below the newest; only without a store. */
    readonly lookback: bigint;
    readonly blocksPerSecond: number;
  };
}
