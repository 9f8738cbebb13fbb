/** Limits of the aggregations of one network: the settings, what follows from them, and those that no operator has to choose. */
export interface AggregationLimits {
  /** Longest time of a request in the queue, and then for collecting the signatures. */
  readonly requestTimeoutMs: number;
  /** Timeout of one attempt at one node. */
  readonly peerTimeoutMs: number;
  /** Time after which a validator is late, and the next ones are asked too; less if its usual latency is known. */
  readonly hedgeAfterMs: number;
  /** Time from the first request for a subnet during which its validators may still be connecting. */
  readonly connectTimeoutMs: number;
  /** Time in which a connection that broke may come back. */
  readonly reconnectGraceMs: number;
  /** Delays before validators whose refusal may pass are asked again; the last one repeats. */
  readonly refusalDelaysMs: readonly number[];
  /** Part of a caller's time during which validators whose refusal may pass are asked again. */
  readonly repeatForMs: number;
  /** Delays before a validator whose connection broke or whose queue was full is asked again. */
  readonly unreachableDelaysMs: readonly number[];
  /** Requests to validators at a time, of one aggregation. */
  readonly maxConcurrentQueries: number;
  /** Requests to validators at a time, of all aggregations. */
  readonly maxQueriesInFlight: number;
  /** Different aggregations and lookups at a time. Equal requests count once; other aggregations wait in a queue. */
  readonly maxAggregationsInFlight: number;
  /** Signatures of validators in memory. */
  readonly signatureCacheSize: number;
  readonly signatureCachePerSigner: number;
  /** Bytes of signed messages kept for equal requests. */
  readonly resultCacheBytes: number;
}

const LEAST_RESULT_CACHE_BYTES = 1024 * 1024;

/** @param settings the section `aggregation` of the configuration */
export function aggregationLimits(
  settings: Pick<AggregationLimits, 'requestTimeoutMs' | 'signatureCacheSize'>,
): AggregationLimits {
  const { requestTimeoutMs, signatureCacheSize } = settings;
  return {
    requestTimeoutMs,
    // Nodes accept deadlines of at most 10 s.
    peerTimeoutMs: 3_000,
    hedgeAfterMs: 500,
    connectTimeoutMs: 5_000,
    reconnectGraceMs: 1_000,
    // Validators execute a block of the C-Chain milliseconds to seconds after accepting it (ACP-194), and sign its messages then.
    refusalDelaysMs: [50, 100, 250, 400],
    repeatForMs: 5_000,
    unreachableDelaysMs: [300, 900],
    maxConcurrentQueries: 2_048,
    maxQueriesInFlight: 8_192,
    maxAggregationsInFlight: 256,
    signatureCacheSize,
    // A flood of messages of one L1 must not evict those of all others.
    signatureCachePerSigner: Math.ceil(signatureCacheSize / 20),
    resultCacheBytes: Math.max(LEAST_RESULT_CACHE_BYTES, 80 * signatureCacheSize),
  };
}
