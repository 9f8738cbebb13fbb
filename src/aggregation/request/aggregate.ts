import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import { inSpan, NO_SPAN } from '../../telemetry/spans.ts';
import { warpSetHash } from '../../validators/warp-set-hash.ts';
import type { SubnetID } from '../../warp/ids.ts';
import { createAdmission } from '../admission/admission.ts';
import { AggregatorError } from '../aggregator-error.ts';
import type { RequestOutcome } from '../aggregator-metrics.ts';
import type { L1Messages } from '../l1/l1-messages.ts';
import type { SubnetPolicy } from '../subnet-policy.ts';
import type { AggregationRequest, AggregationResult } from './aggregation-request.ts';
import { type CompleteRequest, completeMessage, completeRequest } from './complete-request.ts';
import { requestKey } from './result-key.ts';
import { createSharedSigning, type SharedSigningOptions, type SigningLimits, type Waiter } from './shared-signing.ts';
import type { Signing, SigningResolver } from './signing-resolver.ts';

export interface AggregatorLimits extends SigningLimits {
  /** Different aggregations and lookups at a time, including queued ones. Equal requests count once. */
  readonly maxAggregationsInFlight: number;
}

export interface AggregatorOptions extends Omit<SharedSigningOptions, 'admission' | 'observeDelay'> {
  readonly resolver: SigningResolver;
  readonly directory: Pick<SubnetDirectory, 'knownSubnetOf'>;
  readonly l1Messages: L1Messages;
  readonly subnets: SubnetPolicy;
  readonly limits: AggregatorLimits;
}

export interface AggregateOptions extends Waiter {
  /** Called and awaited before any work for an answer that is not cached. An error that it throws refuses the request. */
  readonly onCacheMiss?: (() => Promise<void>) | undefined;
  /** Called and awaited with the number of validators that may be asked, and the bytes of the message. */
  readonly onSigners?: ((validators: number, messageBytes: number) => Promise<void>) | undefined;
  /** Called once the validator set is known; not for a cached result, which has the same facts. */
  onResolved?(request: CompleteRequest, signing: Signing): void;
}

export type Aggregator = ReturnType<typeof createAggregator>;

/**
 * Signs messages: the entry of `aggregation`. A request is resolved to a validator set (`signing-resolver.ts`), admitted
 * (`../admission`), shared with equal requests and cached (`shared-signing.ts`), and collected (`../collection`). `../validators`
 * keeps connections and histories of validators, `../l1` finds messages of the P-Chain, and `../subnets` answers about subnets.
 * Parsing requests, HTTP and the P2P protocol belong to `api`, `http` and `p2p`.
 */
export function createAggregator(options: AggregatorOptions) {
  const { metrics, clock, limits, subnets, penalties, resolver } = options;
  const admission = createAdmission({
    clock,
    metrics,
    subnets,
    maxAggregationsInFlight: limits.maxAggregationsInFlight,
    queueTimeoutMs: limits.requestTimeoutMs,
  });
  const sharedSigning = createSharedSigning({ ...options, admission, observeDelay: admission.observeDelay });
  const lookups = new SingleFlight<string, Resolved>();

  /** Resolves a request from caches only; undefined if that is not possible. A cached answer needs no admission. */
  function recall(request: AggregationRequest): Recalled | undefined {
    const { subject } = request;
    if (subject.kind !== 'message') return undefined;
    const complete = completeMessage(request, subject);
    const signing = resolver.known(complete);
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

  async function resolve(request: AggregationRequest, waiter: AggregateOptions): Promise<Resolved> {
    const { signal, client, span = NO_SPAN } = waiter;
    const startMs = clock.monotonicMs();
    using _ = { [Symbol.dispose]: () => void endResolve(waiter, startMs) };
    const known = knownSubnet(request);
    const find = async (until: AbortSignal): Promise<Resolved> => {
      const complete = await completeRequest(request, options.l1Messages, until);
      const signing = await resolver.resolve(complete, until, (subnetID) => subnets.requireAllowed(subnetID));
      return { complete, signing };
    };
    const admitAndFind = async (until: AbortSignal): Promise<Resolved> => {
      using _permit = admission.admit({ client, subnetID: known ?? trackedSubnet(request) });
      return await find(until);
    };
    return await inSpan(span.child('resolve'), () => {
      // Concurrent requests share the reading of the proposed height and of its validators.
      const isShared = known !== undefined && isAtProposedHeight(request);
      if (isShared) return find(signal);
      return lookups.run(
        requestKey(request),
        (flight) =>
          namesUnknown(request) ? penalties.lookUp(client, () => admitAndFind(flight)) : admitAndFind(flight),
        signal,
      );
    });
  }

  /** @returns the seconds that it took */
  function endResolve(waiter: AggregateOptions, startMs: number): number {
    const tookMs = clock.monotonicMs() - startMs;
    metrics.observeStage('resolve', tookMs / 1_000);
    waiter.onStage?.('resolve', tookMs);
    return tookMs / 1_000;
  }

  /** The signing subnet, if it is known without a lookup. */
  function knownSubnet(request: AggregationRequest): SubnetID | undefined {
    const { signingSubnetID: given } = request;
    if (given !== undefined) subnets.requireAllowed(given);
    const known = resolver.knownSigningSubnet(request);
    if (known !== undefined) subnets.requireAllowed(known);
    return known;
  }

  /** Whether the P-Chain may not know what the request names. */
  function namesUnknown(request: AggregationRequest): boolean {
    const { destinationChainID: destination } = request;
    if (resolver.knownSigningSubnet(request) === undefined) return true;
    return destination !== undefined && options.directory.knownSubnetOf(destination) === undefined;
  }

  function trackedSubnet({ signingSubnetID: given }: AggregationRequest): SubnetID | undefined {
    return given !== undefined && subnets.isTracked(given) ? given : undefined;
  }

  async function sign({ complete, signing: first }: Resolved, waiter: AggregateOptions): Promise<AggregationResult> {
    const { signal, span = NO_SPAN } = waiter;
    waiter.onResolved?.(complete, first);
    await waiter.onSigners?.(first.warpSet.validators.length, complete.message.bytes.length);
    let signing = first;
    for (let rebuilds = 0; ; rebuilds += 1) {
      const { result, isNew } = await sharedSigning.sign(complete, signing, waiter);
      // A cached result took no time in which the set could change.
      if (!isNew || complete.pChainHeight !== 0n || rebuilds === MAX_REBUILDS) return result;
      const known = signing;
      const now = await inSpan(span.child('resolve again'), () => resolver.resolveAgain(complete, known, signal));
      if (warpSetHash(now.warpSet) === warpSetHash(signing.warpSet)) return result;
      // The set has changed, so the signer bits would name other validators. Most signatures are stored by now.
      signing = now;
    }
  }

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
    /** Returns the signed message. Equal concurrent requests share one run. */
    async aggregate(request: AggregationRequest, waiter: AggregateOptions): Promise<AggregationResult> {
      const startMs = clock.monotonicMs();
      let recalled: Recalled | undefined;
      try {
        recalled = recall(request);
      } catch (error) {
        return follow(waiter, startMs, () => Promise.reject(error));
      }
      if (recalled !== undefined) {
        const tookS = endResolve(waiter, startMs);
        waiter.span?.child('resolve').end();
        if (recalled.result !== undefined) {
          metrics.observeDuration('signed', tookS);
          return recalled.result;
        }
      }
      await waiter.onCacheMiss?.();
      return follow(waiter, startMs, () => run(request, recalled, waiter));
    },
  };
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

/** A request follows two changes of the set. */
const MAX_REBUILDS = 2;
