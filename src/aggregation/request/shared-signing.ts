import { LRUCache } from 'lru-cache';
import { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import type { DistributedSingleFlight, SingleFlightTask } from '../../store/redis/distributed-single-flight.ts';
import { inSpan, NO_SPAN, type Span } from '../../telemetry/spans.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import { PRIMARY_NETWORK_ID } from '../../warp/ids.ts';
import type { Admission } from '../admission/admission.ts';
import { unlessThreadsOverloaded } from '../admission/overloaded.ts';
import type { Penalties } from '../admission/penalties.ts';
import { QueryConcurrency } from '../admission/query-concurrency.ts';
import { AggregatorError } from '../aggregator-error.ts';
import type { AggregationStage, StageInterval } from '../aggregator-metrics.ts';
import { type CollectionOutcome, collectSignatures } from '../collection/collect-signatures.ts';
import { describeFailure } from '../collection/collection-failure.ts';
import type { CollectionDeps, CollectionLimits } from '../collection/collection-job.ts';
import { ProgressFeed, type ProgressListener } from '../collection/progress.ts';
import type { AggregationResult } from './aggregation-request.ts';
import type { CompleteRequest } from './complete-request.ts';
import { createNegativeCache } from './negative-cache.ts';
import { resultKey, signatureKey } from './result-key.ts';
import { decodeFailure, type Ending, toShared, verifiedResult } from './shared-outcome.ts';
import { encodeProgress, MirroredProgress } from './shared-progress.ts';
import { SharedRun } from './shared-run.ts';
import type { Signing } from './signing-resolver.ts';

export interface SharedSigningOptions extends Omit<CollectionDeps, 'queries' | 'scheduler' | 'limits'> {
  readonly admission: Pick<Admission, 'admit' | 'run'>;
  readonly penalties: Penalties;
  readonly sharedWork?: DistributedSingleFlight | undefined;
  readonly limits: CollectionLimits & { readonly maxQueriesInFlight: number; readonly resultCacheBytes: number };
}

/** Signs for a known validator set. Equal requests share one collection, also over replicas; endings are cached. */
export class SharedSigning {
  readonly #options: SharedSigningOptions;
  readonly #collection: CollectionDeps;
  readonly #flights = new SingleFlight<string, Signed>();
  readonly #works = new Map<string, Pick<Work, 'progress' | 'run' | 'stages' | 'span'>>();
  readonly #results: LRUCache<string, AggregationResult>;
  readonly #failures: ReturnType<typeof createNegativeCache>;

  constructor(options: SharedSigningOptions) {
    const { limits, clock } = options;
    this.#options = options;
    const queries = new QueryConcurrency({ clock, maxQueries: limits.maxQueriesInFlight });
    options.metrics.showQueries(queries);
    this.#collection = { ...options, queries, scheduler: new EventLoopScheduler(clock, 1) };
    this.#results = new LRUCache({
      maxSize: limits.resultCacheBytes,
      sizeCalculation: sizeOf,
    });
    this.#failures = createNegativeCache(clock);
  }

  known(request: CompleteRequest, signing: Signing): AggregationResult | undefined {
    return this.#find(keyOf(request, signing), signing);
  }

  async sign(request: CompleteRequest, signing: Signing, waiter: Waiter): Promise<Signed> {
    const { signal, client, span = NO_SPAN, onProgress } = waiter;
    const { metrics, clock } = this.#options;
    const { pChainHeight } = signing;
    const key = keyOf(request, signing);
    const known = this.#find(key, signing);
    if (known !== undefined) return { result: known, isNew: false };
    const failure = this.#failures.find(key, () => this.#connectedWeight(signing.warpSet));
    if (failure !== undefined) {
      metrics.rememberedFailures.inc({ code: failure.code });
      throw atHeight(failure, pChainHeight);
    }
    const joinedMs = clock.monotonicMs();
    const running = this.#flights.run(
      key,
      (flight) => {
        const own = startSpan(signing, span);
        return inSpan(own, () => this.#fly(key, { request, signing, client, span: own }, flight));
      },
      signal,
    );
    // The flight has begun, so its shared state exists.
    const work = this.#works.get(key);
    if (work?.span.isRecorded) span.link(work.span);
    work?.run.join(client);
    const unsubscribe = onProgress && work?.progress.subscribe(toldAt(pChainHeight, onProgress));
    try {
      const { result, isNew } = await running;
      return { result: resultAt(pChainHeight, result), isNew };
    } catch (error) {
      throw error instanceof AggregatorError ? atHeight(error, pChainHeight) : error;
    } finally {
      unsubscribe?.();
      const nowMs = clock.monotonicMs();
      for (const { stage, sinceMs, untilMs = nowMs } of work?.stages ?? []) {
        // The collection may have begun before this request.
        if (untilMs >= joinedMs) waiter.onStage?.(stage, untilMs - Math.max(sinceMs, joinedMs));
      }
    }
  }

  async #fly(key: string, { client, ...flight }: Flight, signal: AbortSignal): Promise<Signed> {
    const { request, signing } = flight;
    const { source, sharedWork, admission, penalties } = this.#options;
    penalties.requireSignable(client, request.message.sourceChainID);
    using _permit = admission.admit({ client, subnetID: signing.signingSubnetID });
    const progress = new ProgressFeed({ ...signing, isConnected: (nodeID) => source.isConnected(nodeID) });
    const shared = { progress, run: new SharedRun(admission, client), stages: [], span: flight.span };
    this.#works.set(key, shared);
    let isNew = false;
    const collect = (waitedMs: number): Promise<Ending> => {
      isNew = true;
      return this.#collect(key, { ...flight, ...shared, waitedMs }, signal);
    };
    let mirror: MirroredProgress | undefined;
    const task: SingleFlightTask<Ending> = {
      patienceMs: this.#options.limits.requestTimeoutMs,
      work: collect,
      share: toShared,
      accept: ({ bytes, isProven }) => this.#accept(key, bytes, isProven, { request, signing }, signal),
      progress: () => encodeProgress(progress),
      onProgress(told) {
        isNew = true;
        mirror ??= new MirroredProgress(progress, request, signing);
        mirror.show(told);
      },
    };
    try {
      const work = sharedWork === undefined ? collect(0) : sharedWork.run(`work:${key}`, task, signal);
      const ending = await unlessThreadsOverloaded(work);
      if (ending.kind === 'failed') throw ending.error;
      return { result: ending.result, isNew };
    } finally {
      // After all clients have left, another flight may have the same key.
      if (this.#works.get(key) === shared) this.#works.delete(key);
    }
  }

  async #collect(key: string, work: Work, signal: AbortSignal): Promise<Ending> {
    const { request, signing, progress, stages, waitedMs, span } = work;
    const { sourceChainID } = request.message;
    const check = (client: string | undefined): void => this.#options.penalties.requireSignable(client, sourceChainID);
    using permit = await work.run.acquire(signing.signingSubnetID, check, signal);
    const job = {
      ...request,
      ...signing,
      signatureKey: signatureKey(request),
      progress,
      stages,
      client: permit.client,
      span,
      permit,
    };
    const { limits } = this.#collection;
    // A replica that waited for another one has less time left, but at least half.
    const requestTimeoutMs = Math.max(limits.requestTimeoutMs - waitedMs, limits.requestTimeoutMs / 2);
    const outcome = await collectSignatures(
      job,
      { ...this.#collection, limits: { ...limits, requestTimeoutMs } },
      signal,
    );
    if (outcome.kind === 'insufficient') {
      const error = toError(request, signing, outcome);
      const connectedWeight = this.#connectedWeight(signing.warpSet);
      this.#failures.remember(key, error, connectedWeight);
      return { kind: 'failed', error, connectedWeight };
    }
    const { isTargetReached } = outcome;
    return this.#keep(key, { kind: 'signed', result: toResult(signing, outcome), isTargetReached });
  }

  /** Accepts the result of another replica. Its failure is not cached here: it expires in the store. */
  async #accept(
    key: string,
    bytes: Uint8Array,
    isProven: boolean,
    { request, signing }: Pick<Work, 'request' | 'signing'>,
    signal: AbortSignal,
  ): Promise<Ending | undefined> {
    if (!isProven) return decodeFailure(bytes, () => this.#connectedWeight(signing.warpSet));
    const ending = await verifiedResult(bytes, request, signing, this.#options.bls, signal);
    return ending && this.#keep(key, ending);
  }

  /** Equal requests at the same height share one object, so that its encoding is cached. */
  #find(key: string, { pChainHeight }: Signing): AggregationResult | undefined {
    const known = this.#results.get(key);
    if (known === undefined) return undefined;
    this.#options.metrics.resultCacheHits.inc();
    const result = resultAt(pChainHeight, known);
    if (result !== known) this.#results.set(key, result);
    return result;
  }

  #keep(key: string, ending: Extract<Ending, { kind: 'signed' }>): Ending {
    if (ending.isTargetReached) this.#results.set(key, ending.result);
    return ending;
  }

  #connectedWeight({ validators }: WarpSet): bigint {
    const { source } = this.#options;
    return validators.reduce(
      (sum, { nodeIDs, weight }) => (nodeIDs.some((nodeID) => source.isConnected(nodeID)) ? sum + weight : sum),
      0n,
    );
  }
}

/** A child of the span of the request that begins a flight; other requests link to it. */
function startSpan({ signingSubnetID, pChainHeight, warpSet }: Signing, parent: Span): Span {
  const span = parent.child('collect signatures');
  if (!span.isRecorded) return NO_SPAN;
  span.set('signing.subnet_id', signingSubnetID);
  span.set('p_chain.height', String(pChainHeight));
  span.set('validators', warpSet.validators.length);
  return span;
}

interface Waiter {
  readonly client?: string | undefined;
  readonly signal: AbortSignal;
  readonly span?: Span;
  readonly onProgress?: ProgressListener | undefined;
  onStage?(stage: AggregationStage, durationMs: number): void;
}

interface Signed {
  readonly result: AggregationResult;
  /** Whether validators may have changed since. */
  readonly isNew: boolean;
}

interface Work {
  readonly request: CompleteRequest;
  readonly signing: Signing;
  readonly progress: ProgressFeed;
  readonly stages: StageInterval[];
  readonly run: SharedRun;
  readonly span: Span;
  readonly waitedMs: number;
}

interface Flight extends Pick<Work, 'request' | 'signing' | 'span'> {
  readonly client: string | undefined;
}

/** Lists the parts by name: this is the hot path, and a spread costs more than the lookup. */
function keyOf(request: CompleteRequest, { signingSubnetID, warpSet, avoided }: Signing): string {
  const { message, justification, quorumNum, quorumBuffer } = request;
  return resultKey({ message, justification, signingSubnetID, warpSet, quorumNum, quorumBuffer, avoided });
}

function toResult(
  { signingSubnetID, pChainHeight, warpSet }: Signing,
  { signedMessage, signedWeight, signers, weights }: Extract<CollectionOutcome, { kind: 'signed' }>,
): AggregationResult {
  return {
    ...{ signedMessage, signingSubnetID, pChainHeight, signedWeight, weights },
    totalWeight: warpSet.totalWeight,
    signers: signers.flatMap(({ nodeIDs: [nodeID] }) => nodeID ?? []),
  };
}

function toError(
  { message, quorumNum }: CompleteRequest,
  { sourceSubnetID, signingSubnetID, pChainHeight }: Signing,
  { summary, refusedForGood }: Extract<CollectionOutcome, { kind: 'insufficient' }>,
): AggregatorError {
  const isOfL1 = sourceSubnetID !== PRIMARY_NETWORK_ID;
  const failure = describeFailure({ summary, quorumNum, isOfL1, refusedForGood });
  const { id: messageID, sourceChainID } = message;
  return new AggregatorError(failure.code, failure.message, {
    report: { messageID, sourceChainID, signingSubnetID, pChainHeight, tally: summary },
  });
}

function resultAt(pChainHeight: bigint, result: AggregationResult): AggregationResult {
  return result.pChainHeight === pChainHeight ? result : { ...result, pChainHeight };
}

/**
 * Rewrites the height: requests at different heights share a collection if the set is the same. Events at the same height stay
 * one object, because encoding one takes 300 KB for 2,000 validators.
 */
function toldAt(pChainHeight: bigint, listener: ProgressListener): ProgressListener {
  return (event) =>
    listener(
      event.kind === 'state' && event.state.pChainHeight !== pChainHeight
        ? { ...event, state: { ...event.state, pChainHeight } }
        : event,
    );
}

function atHeight(error: AggregatorError, pChainHeight: bigint): AggregatorError {
  const { report } = error;
  const isOther = report !== undefined && report.pChainHeight !== pChainHeight;
  return isOther ? error.with({ report: { ...report, pChainHeight } }) : error;
}

/** The message as bytes and as hex in the encoded answer; NodeIDs belong to the set, and are written once more in the answer. */
function sizeOf({ signedMessage, signers }: AggregationResult): number {
  return 3 * signedMessage.length + SIGNER_BYTES * signers.length + RESULT_OVERHEAD_BYTES;
}

/** A reference, and a NodeID in quotes with its comma. */
const SIGNER_BYTES = 8 + 45;
/** The other fields, twice, the key, and the weights by outcome. */
const RESULT_OVERHEAD_BYTES = 1_280;
