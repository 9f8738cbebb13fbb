/** Figures of the service for the console. */
export interface ActivityBody {
  readonly version: string;
  /** Version of Node. */
  readonly node: string;
  readonly blsBackend: string;
  /** This and other times are Unix time in milliseconds. */
  readonly startedAt: number;
  readonly now: number;
  /** Resident memory of the process. */
  readonly memoryBytes: number;
  readonly requestsInFlight: number;
  readonly intervalMs: number;
  /** The last hour, the oldest first; the last one is not over. */
  readonly intervals: readonly RequestInterval[];
  readonly workers: { readonly threads: number; readonly jobsRunning: number; readonly jobsWaiting: number };
  readonly networks: readonly NetworkActivity[];
  /** Undefined without a Redis. */
  readonly sharedStore: { readonly isConnected: boolean } | undefined;
  readonly upstreams: readonly {
    readonly name: string;
    /** Whether its circuit breaker is open. */
    readonly isSuspended: boolean;
    readonly requests: readonly { readonly outcome: string; readonly count: number }[];
  }[];
}

/** Requests to the API within one interval, without probes, scrapes and the console's own files. */
export interface RequestInterval {
  readonly endsAt: number;
  /** Number by the class of the status; `gone` if the client left before its answer. */
  readonly requests: Readonly<Record<StatusClass, number>>;
  readonly aggregations: { readonly signed: number; readonly failed: number };
  /** Undefined without answers. */
  readonly medianMs?: number | undefined;
  readonly p99Ms?: number | undefined;
}

export const STATUS_CLASSES = ['2xx', '4xx', '5xx', 'gone'] as const;
export type StatusClass = (typeof STATUS_CLASSES)[number];

interface NetworkActivity {
  readonly name: string;
  /** 0 until it is known. */
  readonly pChainHeight: number;
  readonly peersConnected: number;
  readonly peersWanted: number;
  readonly peersConnecting: number;
  readonly aggregationsInFlight: number;
  readonly aggregationsLimit: number;
  readonly subnets: readonly { readonly subnetId: string; readonly samples: readonly WeightSample[] }[];
}

/** Weight of a subnet as shares of the total weight, from 0 to 1. */
export interface WeightSample {
  readonly at: number;
  readonly connected: number;
  readonly signable: number;
}
