import type { BlsService } from '../bls/aggregation.ts';
import type { SubnetID } from '../primitives/ids.ts';
import type { SharedWork } from '../store/shared-work.ts';
import type { SignatureStore } from '../store/signature-store.ts';
import { inSpan, NO_SPAN, type Span } from '../telemetry/spans.ts';
import { warpSetHash } from '../validators/warp-set-hash.ts';
import { Admission, type Place } from './admission.ts';
import type { AggregationRequest, AggregationResult } from './aggregation-request.ts';
import { AggregatorError, type AggregatorErrorCode } from './aggregator-error.ts';
import type { AggregatorMetrics, RequestOutcome } from './aggregator-metrics.ts';
import type { AnswerHistories } from './answer-history.ts';
import type { CollectionLimits } from './collect-signatures.ts';
import { type CompleteRequest, completeMessage, completeRequest } from './complete-request.ts';
import { isRemembered } from './failure-memory.ts';
import type { L1Messages } from './l1-messages.ts';
import type { ProgressListener } from './progress.ts';
import { requestKey } from './result-key.ts';
import { SharedSigning } from './shared-signing.ts';
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
  /** What is done once among replicas; undefined where there are none. */
  readonly sharedWork?: SharedWork | undefined;
  readonly bls: BlsService;
  readonly suspects: Suspects;
  readonly subnets: SubnetPolicy;
  readonly histories: AnswerHistories;
  readonly metrics: AggregatorMetrics;
  readonly limits: AggregatorLimits;
}

export interface AggregateOptions {
  /** The caller's interest: when it aborts, only its own wait ends. Not asked for where there is nothing to wait for. */
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
  /** Told how many validators may have to be asked, before any of them is; waited for. */
  readonly onSigners?: ((validators: number) => Promise<void> | undefined) | undefined;
}

export interface Aggregator {
  /**
   * The signed message for a request: at once where it is in memory, and nobody has to wait for `onSigners`. Equal requests under
   * way share one run.
   *
   * @throws {AggregatorError}, or the signal's reason; what is thrown at once is a promise that rejects, too
   */
  aggregate(request: AggregationRequest, options: AggregateOptions): AggregationResult | Promise<AggregationResult>;
}

export function createAggregator(options: AggregatorOptions): Aggregator {
  const { metrics, clock, limits, subnets } = options;
  const admission = new Admission({
    ...{ clock, metrics, subnets },
    maxAggregationsInFlight: limits.maxAggregationsInFlight,
    turnTimeoutMs: limits.requestTimeoutMs,
  });
  const signingResolver = createSigningResolver({ ...options, resolveTimeoutMs: limits.resolveTimeoutMs });
  const sharedSigning = new SharedSigning({
    ...{ ...options, bls: admission.watch(options.bls) },
    onExcess: (excessMs) => admission.answered(excessMs),
  });

  /**
   * What is in memory of a request's message and signers, where that is all of it; nobody is waited for. With its answer of a moment ago it
   * costs nothing that would have to be admitted.
   */
  function recall(request: AggregationRequest): Recalled | undefined {
    const { subject } = request;
    if (subject.kind !== 'message') return undefined;
    const complete = completeMessage(request, subject);
    const signing = signingResolver.known(complete);
    if (signing === undefined || !subnets.isAllowed(signing.signingSubnetID)) return undefined;
    return { complete, signing, result: sharedSigning.known(complete, signing) };
  }

  async function run(
    request: AggregationRequest,
    recalled: Resolved | undefined,
    waiter: AggregateOptions,
  ): Promise<AggregationResult> {
    waiter.signal.throwIfAborted();
    const key = requestKey(request);
    const subnetID = recalled?.signing.signingSubnetID ?? knownSubnet(request);
    using place = admission.enter({ key, client: waiter.client, subnetID });
    try {
      const result = await sign(recalled ?? (await resolve(request, waiter, place)), waiter, place);
      admission.remember(key);
      return result;
    } catch (error) {
      if (error instanceof AggregatorError && isRemembered(error)) admission.remember(key);
      if (error instanceof AggregatorError && NOT_FOUND.has(error.code)) place.foundNothing();
      throw error;
    }
  }

  async function resolve(
    request: AggregationRequest,
    { signal, span = NO_SPAN }: AggregateOptions,
    place: Place,
  ): Promise<Resolved> {
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

  async function sign(
    { complete, signing: first }: Resolved,
    waiter: AggregateOptions,
    place: Place,
  ): Promise<AggregationResult> {
    const { signal, span = NO_SPAN } = waiter;
    await charge(first, waiter);
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

  /** Counts work from its start to its end. */
  async function follow(
    waiter: AggregateOptions,
    startMs: number,
    work: () => Promise<AggregationResult>,
  ): Promise<AggregationResult> {
    metrics.inFlight.inc();
    let outcome: RequestOutcome = 'internal_error';
    try {
      const result = await work();
      outcome = 'signed';
      return result;
    } catch (error) {
      if (error instanceof AggregatorError) outcome = error.code;
      else if (waiter.signal.aborted) outcome = 'aborted';
      throw error;
    } finally {
      metrics.inFlight.dec();
      metrics.observeDuration(outcome, (clock.monotonicMs() - startMs) / 1_000);
    }
  }

  return {
    aggregate(request, waiter) {
      const startMs = clock.monotonicMs();
      let recalled: Recalled | undefined;
      try {
        recalled = recall(request);
      } catch (error) {
        return follow(waiter, startMs, () => Promise.reject(error));
      }
      if (recalled === undefined) return follow(waiter, startMs, () => run(request, undefined, waiter));
      const tookS = (clock.monotonicMs() - startMs) / 1_000;
      metrics.observeStage('resolve', tookS);
      waiter.span?.child('resolve').end();
      const { result, signing } = recalled;
      if (result === undefined) return follow(waiter, startMs, () => run(request, recalled, waiter));
      const told = charge(signing, waiter);
      if (told !== undefined) return follow(waiter, startMs, () => told.then(() => result));
      metrics.observeDuration('signed', tookS);
      return result;
    },
  };
}

function charge({ warpSet }: Signing, { onSigners }: AggregateOptions): Promise<void> | undefined {
  return onSigners?.(warpSet.validators.length);
}

interface Resolved {
  readonly complete: CompleteRequest;
  readonly signing: Signing;
}

interface Recalled extends Resolved {
  readonly result: AggregationResult | undefined;
}

/** What had to be asked for, and is not there. */
const NOT_FOUND: ReadonlySet<AggregatorErrorCode> = new Set<AggregatorErrorCode>([
  'unknown_source_chain',
  'unknown_subnet',
  'unknown_transaction',
  'unknown_validation',
]);

/** Sets change with some blocks, and a block takes seconds: a request follows two changes, and leaves a third to the caller. */
const MAX_REBUILDS = 2;
