import { LRUCache } from 'lru-cache';
import type { BlsService } from '../bls/aggregation.ts';
import { JobsOverloaded } from '../bls/job-runner.ts';
import { PRIMARY_NETWORK_ID, type SubnetID } from '../primitives/ids.ts';
import { SingleFlight } from '../primitives/single-flight.ts';
import type { SignatureStore } from '../store/signature-store.ts';
import { inSpan, NO_SPAN, type Span } from '../telemetry/spans.ts';
import type { WarpSet } from '../validators/warp-set.ts';
import { warpSetHash } from '../validators/warp-set-hash.ts';
import { Admission, type Place } from './admission.ts';
import type { AggregationRequest, AggregationResult } from './aggregation-request.ts';
import { AggregatorError } from './aggregator-error.ts';
import type { AggregatorMetrics, RequestOutcome } from './aggregator-metrics.ts';
import { createAnswerHistory } from './answer-history.ts';
import {
  type CollectionDeps,
  type CollectionLimits,
  type CollectionOutcome,
  collectSignatures,
} from './collect-signatures.ts';
import { describeFailure } from './collection-failure.ts';
import { type CompleteRequest, completeRequest } from './complete-request.ts';
import { createFailureMemory, isRemembered } from './failure-memory.ts';
import type { L1Messages } from './l1-messages.ts';
import { ProgressFeed, type ProgressListener } from './progress.ts';
import { QueryRoom } from './query-room.ts';
import { createRefusedChains } from './refused-chains.ts';
import { requestKey, resultKey, signatureKey } from './result-key.ts';
import type { SignatureSource } from './signature-source.ts';
import { createSigningResolver, type Signing, type SigningResolverOptions } from './signing-resolver.ts';
import { StageTimer } from './stage-timer.ts';
import type { SubnetPolicy } from './subnet-policy.ts';
import type { Suspects } from './suspects.ts';

export interface AggregatorLimits extends CollectionLimits {
  /**
   * The most different aggregations under way at once, their lookups included; fewer where the machine cannot do so many. One more
   * is refused as overloaded. Equal ones count once.
   */
  readonly maxAggregationsInFlight: number;
  /** Signature requests in flight over all aggregations. */
  readonly maxQueriesInFlight: number;
  /** Time for all questions to the P-Chain API that one request has. */
  readonly resolveTimeoutMs: number;
  /** Bytes of signed messages kept for equal requests. */
  readonly resultCacheBytes: number;
}

export interface AggregatorOptions extends Omit<SigningResolverOptions, 'resolveTimeoutMs'> {
  /** Finds the message of a request that names only a justification or a transaction. */
  readonly l1Messages: L1Messages;
  readonly source: SignatureSource;
  readonly store: SignatureStore;
  readonly bls: BlsService;
  readonly suspects: Suspects;
  readonly subnets: SubnetPolicy;
  readonly metrics: AggregatorMetrics;
  readonly limits: AggregatorLimits;
}

export interface AggregateOptions {
  /** The caller's interest: when it aborts, only its own wait ends. */
  readonly signal: AbortSignal;
  /** Names whoever asks, in any form; each has a fair share of what the service does. Undefined counts for nobody. */
  readonly client?: string | undefined;
  /** Of the request that this is part of. By default nothing is traced. */
  readonly span?: Span;
  /**
   * Gets the state of the collection first, then each event. It gets nothing where no validator is asked, as the request was
   * answered from memory or failed before.
   */
  readonly onProgress?: ProgressListener | undefined;
}

export interface Aggregator {
  /**
   * The signed message for a request. Equal requests under way share one run.
   *
   * @throws {AggregatorError}, or the signal's reason
   */
  aggregate(request: AggregationRequest, options: AggregateOptions): Promise<AggregationResult>;
}

export function createAggregator(options: AggregatorOptions): Aggregator {
  const { metrics, clock, limits, subnets } = options;
  const { maxAggregationsInFlight } = limits;
  const admission = new Admission({ clock, metrics, maxAggregationsInFlight, subnets });
  const signingResolver = createSigningResolver({ ...options, resolveTimeoutMs: limits.resolveTimeoutMs });
  const sharedSigning = new SharedSigning({ ...options, bls: admission.watch(options.bls) });

  async function run(request: AggregationRequest, waiter: AggregateOptions): Promise<AggregationResult> {
    waiter.signal.throwIfAborted();
    const key = requestKey(request);
    const subnetID = knownSubnet(request);
    using place = admission.enter({ key, client: waiter.client, subnetID });
    try {
      const result = await sign(request, waiter, place);
      admission.remember(key);
      return result;
    } catch (error) {
      if (error instanceof AggregatorError && isRemembered(error)) admission.remember(key);
      throw error;
    }
  }

  async function resolve(request: AggregationRequest, { signal, span = NO_SPAN }: AggregateOptions, place: Place) {
    using _ = new StageTimer(clock, metrics, 'resolve');
    return await inSpan(span.child('resolve'), async () => {
      const complete = await completeRequest(request, options.l1Messages, signal);
      const signing = await signingResolver.resolve(complete, signal, (subnetID) => {
        subnets.requireAllowed(subnetID);
        place.belongTo(subnetID);
      });
      return { complete, signing };
    });
  }

  /** Whose validators will be asked, where that is known; one that may not be asked for costs nothing. */
  function knownSubnet(request: AggregationRequest): SubnetID | undefined {
    const { signingSubnetID: given } = request;
    if (given !== undefined) subnets.requireAllowed(given);
    const known = signingResolver.knownSigningSubnet(request);
    if (known !== undefined) subnets.requireAllowed(known);
    // Whoever tracks a subnet knows that it is there.
    return known ?? (given !== undefined && subnets.isTracked(given) ? given : undefined);
  }

  async function sign(request: AggregationRequest, waiter: AggregateOptions, place: Place): Promise<AggregationResult> {
    const { signal, span = NO_SPAN } = waiter;
    const { complete, signing: first } = await resolve(request, waiter, place);
    let signing = first;
    for (let rebuilds = 0; ; rebuilds += 1) {
      const { result, isNew } = await sharedSigning.sign(complete, signing, waiter, place);
      // A known result took no time in which anything could change.
      if (!isNew || complete.pChainHeight !== 0n || rebuilds === MAX_REBUILDS) return result;
      const known = signing;
      const now = await inSpan(span.child('resolve again'), () =>
        signingResolver.resolveAgain(complete, known, signal),
      );
      if (warpSetHash(now.warpSet) === warpSetHash(signing.warpSet)) return result;
      // The validators have changed meanwhile, so the signer bits would name others. Most signatures are in the store by now.
      signing = now;
    }
  }

  return {
    async aggregate(request, waiter) {
      const startMs = clock.monotonicMs();
      metrics.inFlight.inc();
      let outcome: RequestOutcome = 'internal_error';
      try {
        const result = await run(request, waiter);
        outcome = 'signed';
        return result;
      } catch (error) {
        if (error instanceof AggregatorError) outcome = error.code;
        else if (waiter.signal.aborted) outcome = 'aborted';
        throw error;
      } finally {
        metrics.inFlight.dec();
        metrics.observeDuration(outcome, (clock.monotonicMs() - startMs) / 1000);
      }
    },
  };
}

/**
 * Signs for a known validator set. Equal requests share one collection; what came of it is remembered: a signed message while
 * there is room, a failure for a while.
 */
class SharedSigning {
  readonly #options: AggregatorOptions;
  readonly #collection: CollectionDeps;
  readonly #flights = new SingleFlight<string, AggregationResult>();
  /** Of the flights. */
  readonly #feeds = new Map<string, ProgressFeed>();
  /** Of the flights, where they are traced. */
  readonly #spans = new Map<string, Span>();
  readonly #results: LRUCache<string, AggregationResult>;
  readonly #failures: ReturnType<typeof createFailureMemory>;

  constructor(options: AggregatorOptions) {
    const { limits, clock } = options;
    this.#options = options;
    const room = new QueryRoom(limits.maxQueriesInFlight);
    options.metrics.showQueryRoom(() => room.usage());
    this.#collection = {
      ...options,
      history: createAnswerHistory(clock, limits.hedgeAfterMs),
      refusedChains: createRefusedChains(clock),
      room,
    };
    this.#results = new LRUCache({
      maxSize: limits.resultCacheBytes,
      sizeCalculation: ({ signedMessage, signers }) =>
        signedMessage.length + 8 * signers.length + RESULT_OVERHEAD_BYTES,
    });
    this.#failures = createFailureMemory(clock);
  }

  async sign(
    request: CompleteRequest,
    signing: Signing,
    { signal, span = NO_SPAN, onProgress }: AggregateOptions,
    place: Place,
  ): Promise<{ result: AggregationResult; isNew: boolean }> {
    const { metrics } = this.#options;
    const { pChainHeight } = signing;
    const key = resultKey({ ...request, ...signing });
    const known = this.#results.get(key);
    if (known !== undefined) {
      metrics.resultCacheHits.inc();
      return { result: { ...known, pChainHeight }, isNew: false };
    }
    const failure = this.#failures.find(key, () => this.#connectedWeight(signing.warpSet));
    if (failure !== undefined) {
      metrics.rememberedFailures.inc({ code: failure.code });
      throw atHeight(failure, pChainHeight);
    }
    place.requireSeat();
    const running = this.#flights.run(
      key,
      (flight) => this.#trace(key, signing, span, (own) => this.#fly(key, request, signing, flight, own)),
      signal,
    );
    // The flight has begun, so its feed exists, and so does its span.
    const shared = this.#spans.get(key);
    if (shared !== undefined) span.link(shared);
    const unsubscribe = onProgress && this.#feeds.get(key)?.subscribe(onProgress);
    try {
      return { result: { ...(await running), pChainHeight }, isNew: true };
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

  async #fly(
    key: string,
    request: CompleteRequest,
    signing: Signing,
    signal: AbortSignal,
    span: Span,
  ): Promise<AggregationResult> {
    const { source } = this.#options;
    const progress = new ProgressFeed({ ...signing, isConnected: (nodeID) => source.isConnected(nodeID) });
    this.#feeds.set(key, progress);
    try {
      const job = { ...request, ...signing, signatureKey: signatureKey(request), progress, span };
      const outcome = await collectSignatures(job, this.#collection, signal);
      if (outcome.kind === 'insufficient') {
        const error = toError(request, signing, outcome);
        this.#failures.remember(key, error, this.#connectedWeight(signing.warpSet));
        throw error;
      }
      const result = toResult(signing, outcome);
      if (outcome.isTargetReached) this.#results.set(key, result);
      return result;
    } catch (error) {
      if (error instanceof JobsOverloaded) throw new AggregatorError('overloaded', error.message, { cause: error });
      throw error;
    } finally {
      // If everybody has left and somebody has come again, another flight has the same key.
      if (this.#feeds.get(key) === progress) this.#feeds.delete(key);
    }
  }

  #connectedWeight({ validators }: WarpSet): bigint {
    const { source } = this.#options;
    return validators.reduce(
      (sum, { nodeIDs, weight }) => (nodeIDs.some((nodeID) => source.isConnected(nodeID)) ? sum + weight : sum),
      0n,
    );
  }
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

/** Requests at different heights with the same validators share a failure; each is told its own height. */
function atHeight(error: AggregatorError, pChainHeight: bigint): AggregatorError {
  const { code, message, field, report, retryAfterMs, cause } = error;
  if (report === undefined || report.pChainHeight === pChainHeight) return error;
  return new AggregatorError(code, message, { field, report: { ...report, pChainHeight }, retryAfterMs, cause });
}

/** Sets change with some blocks, and a block takes seconds: a request follows two changes, and leaves a third to the caller. */
const MAX_REBUILDS = 2;

/** An answer's fields beside the message; the names of the signers are those of the validator set. */
const RESULT_OVERHEAD_BYTES = 512;
