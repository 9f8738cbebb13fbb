import { LRUCache } from 'lru-cache';
import { JobsOverloaded } from '../../bls/service/job-runner.ts';
import { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import type { SharedTask, SharedWork } from '../../store/redis/shared-work.ts';
import { inSpan, NO_SPAN, type Span } from '../../telemetry/spans.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import { PRIMARY_NETWORK_ID } from '../../warp/ids.ts';
import type { Admission } from '../admission/admission.ts';
import type { Penalties } from '../admission/penalties.ts';
import { QueryConcurrency } from '../admission/query-concurrency.ts';
import { AggregatorError } from '../aggregator-error.ts';
import {
  type CollectionDeps,
  type CollectionLimits,
  type CollectionOutcome,
  collectSignatures,
  isDoubtful,
} from '../collection/collect-signatures.ts';
import { describeFailure } from '../collection/collection-failure.ts';
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
  /** What is done once among replicas; undefined where there are none. */
  readonly sharedWork?: SharedWork | undefined;
  readonly limits: CollectionLimits & { readonly maxQueriesInFlight: number; readonly resultCacheBytes: number };
}

/**
 * Signs for a known validator set. Equal requests share one collection, those of other replicas included where there is a store
 * that they share; what came of it is remembered: a signed message while there is room, a failure for a while.
 */
export class SharedSigning {
  readonly #options: SharedSigningOptions;
  readonly #collection: CollectionDeps;
  readonly #flights = new SingleFlight<string, Signed>();
  /** Of the flights: what all who wait for one have in common. */
  readonly #works = new Map<string, Pick<Work, 'progress' | 'run'>>();
  /** Of the flights, where they are traced. */
  readonly #spans = new Map<string, Span>();
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

  /** The signed message where it is in memory. */
  known(request: CompleteRequest, signing: Signing): AggregationResult | undefined {
    return this.#find(keyOf(request, signing), signing);
  }

  async sign(
    request: CompleteRequest,
    signing: Signing,
    { signal, client, span = NO_SPAN, onProgress }: Waiter,
  ): Promise<Signed> {
    const { metrics } = this.#options;
    const { pChainHeight } = signing;
    const key = keyOf(request, signing);
    const known = this.#find(key, signing);
    if (known !== undefined) return { result: known, isNew: false };
    const failure = this.#failures.find(key, () => this.#connectedWeight(signing.warpSet));
    if (failure !== undefined) {
      metrics.rememberedFailures.inc({ code: failure.code });
      throw atHeight(failure, pChainHeight);
    }
    const running = this.#flights.run(
      key,
      (flight) =>
        this.#trace(key, signing, span, (own) => this.#fly(key, { request, signing, client, span: own }, flight)),
      signal,
    );
    // The flight has begun, so what it has for all who wait exists, and so does its span.
    const shared = this.#spans.get(key);
    if (shared !== undefined) span.link(shared);
    const work = this.#works.get(key);
    work?.run.join(client);
    const unsubscribe = onProgress && work?.progress.subscribe(toldAt(pChainHeight, onProgress));
    try {
      const { result, isNew } = await running;
      return { result: resultAt(pChainHeight, result), isNew };
    } catch (error) {
      throw error instanceof AggregatorError ? atHeight(error, pChainHeight) : error;
    } finally {
      unsubscribe?.();
    }
  }

  /** In a span below the request that began the flight, and linked from all that share it. */
  async #trace<T>(key: string, signing: Signing, parent: Span, fly: (span: Span) => Promise<T>): Promise<T> {
    const span = parent.child('collect signatures');
    if (!span.isRecorded) return fly(NO_SPAN);
    span.set('signing.subnet_id', signing.signingSubnetID);
    span.set('p_chain.height', String(signing.pChainHeight));
    span.set('validators', signing.warpSet.validators.length);
    this.#spans.set(key, span);
    try {
      return await inSpan(span, () => fly(span));
    } finally {
      if (this.#spans.get(key) === span) this.#spans.delete(key);
    }
  }

  async #fly(key: string, { client, ...flight }: Flight, signal: AbortSignal): Promise<Signed> {
    const { request, signing } = flight;
    const { source, sharedWork, bls, admission, penalties } = this.#options;
    penalties.requireSignable(client, request.message.sourceChainID);
    using _permit = admission.admit({ client, subnetID: signing.signingSubnetID });
    // Beside the question to the store: whether the message is there or has to be signed, its hash is needed, unless nobody signs it.
    if (sharedWork !== undefined && !isDoubtful({ ...request, ...signing, client }, penalties)) {
      bls.hashAhead(request.message.bytes);
    }
    const progress = new ProgressFeed({ ...signing, isConnected: (nodeID) => source.isConnected(nodeID) });
    const shared = { progress, run: new SharedRun(admission, client) };
    this.#works.set(key, shared);
    let isNew = false;
    const collect = (waitedMs: number): Promise<Ending> => {
      isNew = true;
      return this.#collect(key, { ...flight, ...shared, waitedMs }, signal);
    };
    let mirror: MirroredProgress | undefined;
    const task: SharedTask<Ending> = {
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
      const ending = await (sharedWork === undefined ? collect(0) : sharedWork.run(`work:${key}`, task, signal));
      if (ending.kind === 'failed') throw ending.error;
      return { result: ending.result, isNew };
    } catch (error) {
      if (error instanceof JobsOverloaded) throw new AggregatorError('overloaded', error.message, { cause: error });
      throw error;
    } finally {
      // If everybody has left and somebody has come again, another flight has the same key.
      if (this.#works.get(key) === shared) this.#works.delete(key);
    }
  }

  async #collect(key: string, work: Work, signal: AbortSignal): Promise<Ending> {
    const { request, signing, progress, waitedMs, span } = work;
    const { sourceChainID } = request.message;
    const check = (client: string | undefined): void => this.#options.penalties.requireSignable(client, sourceChainID);
    using permit = await work.run.acquire(signing.signingSubnetID, check, signal);
    const job = {
      ...request,
      ...signing,
      signatureKey: signatureKey(request),
      progress,
      client: permit.client,
      span,
      permit,
    };
    const { limits } = this.#collection;
    // Who has waited for another replica in vain has less time, but enough: the whole takes half as long again at most.
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

  /** What another replica found out. Its failure is not remembered here: it has its time in the store, and no longer. */
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

  /** Answers to equal requests at the same height are one object, so that what is made of it is made once. */
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

interface Waiter {
  readonly client?: string | undefined;
  readonly signal: AbortSignal;
  readonly span?: Span;
  readonly onProgress?: ProgressListener | undefined;
}

interface Signed {
  readonly result: AggregationResult;
  /** Whether it took time, in which the validators may have changed. */
  readonly isNew: boolean;
}

interface Work {
  readonly request: CompleteRequest;
  readonly signing: Signing;
  readonly progress: ProgressFeed;
  readonly run: SharedRun;
  /** Of the flight. */
  readonly span: Span;
  readonly waitedMs: number;
}

interface Flight extends Pick<Work, 'request' | 'signing' | 'span'> {
  /** The first client. */
  readonly client: string | undefined;
}

/** By each part's name: copying what has them takes longer than looking the key up. */
function keyOf(request: CompleteRequest, { signingSubnetID, warpSet, avoided }: Signing): string {
  const { message, justification, quorumNum, quorumBuffer } = request;
  return resultKey({ message, justification, signingSubnetID, warpSet, quorumNum, quorumBuffer, avoided });
}

function toResult(
  { signingSubnetID, pChainHeight, warpSet }: Signing,
  { signedMessage, signedWeight, signers }: Extract<CollectionOutcome, { kind: 'signed' }>,
): AggregationResult {
  return {
    ...{ signedMessage, signingSubnetID, pChainHeight, signedWeight },
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
 * Requests at different heights with the same validators share a collection; each is told its own height. Those at the same height are told
 * one state, so that what is made of it is made once: some 300 KB for 2,000 validators.
 */
function toldAt(pChainHeight: bigint, listener: ProgressListener): ProgressListener {
  return (event) =>
    listener(
      event.kind === 'state' && event.state.pChainHeight !== pChainHeight
        ? { ...event, state: { ...event.state, pChainHeight } }
        : event,
    );
}

/** And a failure. */
function atHeight(error: AggregatorError, pChainHeight: bigint): AggregatorError {
  const { code, message, field, report, retryAfterMs, cause } = error;
  if (report === undefined || report.pChainHeight === pChainHeight) return error;
  return new AggregatorError(code, message, { field, report: { ...report, pChainHeight }, retryAfterMs, cause });
}

/**
 * The message as bytes and, in the answer that is made of it, as hex; the names of the signers are those of the validator set, and are
 * written once more in the answer.
 */
function sizeOf({ signedMessage, signers }: AggregationResult): number {
  return 3 * signedMessage.length + SIGNER_BYTES * signers.length + RESULT_OVERHEAD_BYTES;
}

/** A reference, and a NodeID in quotes with its comma. */
const SIGNER_BYTES = 8 + 45;
/** The other fields, twice, and the key. */
const RESULT_OVERHEAD_BYTES = 768;
