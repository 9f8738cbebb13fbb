import type { BlsService } from '../../bls/service/aggregation.ts';
import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import type { SignatureStore } from '../../store/local/signature-store.ts';
import type { SharedWork } from '../../store/redis/shared-work.ts';
import { inSpan, NO_SPAN, type Span } from '../../telemetry/spans.ts';
import { warpSetHash } from '../../validators/warp-set-hash.ts';
import type { SubnetID } from '../../warp/ids.ts';
import { Admission } from '../admission/admission.ts';
import type { Penalties } from '../admission/penalties.ts';
import { StageTimer } from '../admission/stage-timer.ts';
import type { SubnetPolicy } from '../admission/subnet-policy.ts';
import { AggregatorError } from '../aggregator-error.ts';
import type { AggregatorMetrics, RequestOutcome } from '../aggregator-metrics.ts';
import type { CollectionLimits } from '../collection/collect-signatures.ts';
import type { ProgressListener } from '../collection/progress.ts';
import type { L1Messages } from '../l1/l1-messages.ts';
import type { AnswerHistories } from '../validators/answer-history.ts';
import type { InvalidSigners } from '../validators/invalid-signers.ts';
import type { SignatureSource } from '../validators/signature-source.ts';
import type { AggregationRequest, AggregationResult } from './aggregation-request.ts';
import { type CompleteRequest, completeMessage, completeRequest } from './complete-request.ts';
import { requestKey } from './result-key.ts';
import { SharedSigning } from './shared-signing.ts';
import { createSigningResolver, type Signing, type SigningResolverOptions } from './signing-resolver.ts';

export interface AggregatorLimits extends CollectionLimits {
  /** Different aggregations and lookups at a time, those that wait included. Equal ones count once. */
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
  readonly invalidSigners: InvalidSigners;
  readonly subnets: SubnetPolicy;
  readonly histories: AnswerHistories;
  /** Shared with all other routes that look something up. */
  readonly penalties: Penalties;
  readonly metrics: AggregatorMetrics;
  readonly limits: AggregatorLimits;
}

export interface AggregateOptions {
  /** The caller's interest: when it aborts, only its own wait ends. Not asked for where there is nothing to wait for. */
  readonly signal: AbortSignal;
  /** Client ID for fair shares; undefined for internal requests. */
  readonly client?: string | undefined;
  /** Of the request that this is part of. By default nothing is traced. */
  readonly span?: Span;
  /**
   * Gets the state of the collection first, then each event. It gets nothing where no validator is asked, as the request was
   * answered from memory or failed before.
   */
  readonly onProgress?: ProgressListener | undefined;
  /** Called before any work for an answer that is not cached; waited for. What it throws refuses the request. */
  readonly onCacheMiss?: (() => Promise<void> | undefined) | undefined;
  /** Told how many validators may have to be asked, before any of them is; waited for. */
  readonly onSigners?: ((validators: number) => Promise<void> | undefined) | undefined;
}

export interface Aggregator {
  /**
   * The signed message for a request: at once where it is in memory. Equal requests under way share one run.
   *
   * @throws {AggregatorError}, or the signal's reason; what is thrown at once is a promise that rejects, too
   */
  aggregate(request: AggregationRequest, options: AggregateOptions): AggregationResult | Promise<AggregationResult>;
}

export function createAggregator(options: AggregatorOptions): Aggregator {
  const { metrics, clock, limits, subnets, penalties } = options;
  const admission = new Admission({
    ...{ clock, metrics, subnets },
    maxAggregationsInFlight: limits.maxAggregationsInFlight,
    queueTimeoutMs: limits.requestTimeoutMs,
  });
  const signingResolver = createSigningResolver({ ...options, resolveTimeoutMs: limits.resolveTimeoutMs });
  const sharedSigning = new SharedSigning({
    ...options,
    admission,
    observeDelay: (signal, delayMs) => admission.observeDelay(signal, delayMs),
  });
  const lookups = new SingleFlight<string, Resolved>();

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
    return sign(recalled ?? (await resolve(request, waiter)), waiter);
  }

  async function resolve(
    request: AggregationRequest,
    { signal, client, span = NO_SPAN }: AggregateOptions,
  ): Promise<Resolved> {
    using _ = new StageTimer(clock, metrics, 'resolve');
    const known = knownSubnet(request);
    const find = async (until: AbortSignal): Promise<Resolved> => {
      const complete = await completeRequest(request, options.l1Messages, until);
      const signing = await signingResolver.resolve(complete, until, (subnetID) => subnets.requireAllowed(subnetID));
      return { complete, signing };
    };
    const admitAndFind = async (until: AbortSignal): Promise<Resolved> => {
      using _permit = admission.admit({ client, subnetID: known ?? trackedSubnet(request) });
      return await find(until);
    };
    return await inSpan(span.child('resolve'), () => {
      // The proposed height and the validators at it are asked for once for all requests, most of which are then answered from a cache.
      const isShared = known !== undefined && isAtProposedHeight(request);
      if (isShared) return find(signal);
      return lookups.run(
        requestKey(request),
        (flight) => (known === undefined ? penalties.lookUp(client, () => admitAndFind(flight)) : admitAndFind(flight)),
        signal,
      );
    });
  }

  /** The subnet whose validators will be asked, where chain and subnet are known. One that may not be asked costs nothing. */
  function knownSubnet(request: AggregationRequest): SubnetID | undefined {
    const { signingSubnetID: given } = request;
    if (given !== undefined) subnets.requireAllowed(given);
    const known = signingResolver.knownSigningSubnet(request);
    if (known !== undefined) subnets.requireAllowed(known);
    return known;
  }

  function trackedSubnet({ signingSubnetID: given }: AggregationRequest): SubnetID | undefined {
    return given !== undefined && subnets.isTracked(given) ? given : undefined;
  }

  async function sign({ complete, signing: first }: Resolved, waiter: AggregateOptions): Promise<AggregationResult> {
    const { signal, span = NO_SPAN } = waiter;
    await charge(first, waiter);
    let signing = first;
    for (let rebuilds = 0; ; rebuilds += 1) {
      const { result, isNew } = await sharedSigning.sign(complete, signing, waiter);
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
      const work = () => follow(waiter, startMs, () => run(request, recalled, waiter));
      const admitAndWork = (): Promise<AggregationResult> => {
        const admitted = waiter.onCacheMiss?.();
        return admitted === undefined ? work() : admitted.then(work);
      };
      if (recalled === undefined) return admitAndWork();
      const tookS = (clock.monotonicMs() - startMs) / 1_000;
      metrics.observeStage('resolve', tookS);
      waiter.span?.child('resolve').end();
      const { result } = recalled;
      if (result === undefined) return admitAndWork();
      metrics.observeDuration('signed', tookS);
      return result;
    },
  };
}

function charge({ warpSet }: Signing, { onSigners }: AggregateOptions): Promise<void> | undefined {
  return onSigners?.(warpSet.validators.length);
}

function isAtProposedHeight({ pChainHeight = 0n, destinationChainID }: AggregationRequest): boolean {
  return pChainHeight === 0n && destinationChainID === undefined;
}

interface Resolved {
  readonly complete: CompleteRequest;
  readonly signing: Signing;
}

interface Recalled extends Resolved {
  readonly result: AggregationResult | undefined;
}

/** Sets change with some blocks, and a block takes seconds: a request follows two changes, and leaves a third to the caller. */
const MAX_REBUILDS = 2;
