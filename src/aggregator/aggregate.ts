import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import type { BlsService } from '../bls/aggregation.ts';
import { JobsOverloaded } from '../bls/job-runner.ts';
import { PRIMARY_NETWORK_ID, type SubnetID } from '../primitives/ids.ts';
import { SingleFlight } from '../primitives/single-flight.ts';
import type { SignatureStore } from '../store/signature-store.ts';
import { type AggregationRequest, type AggregationResult, requestKey, signatureKey } from './aggregation-request.ts';
import { AggregatorError } from './aggregator-error.ts';
import type { AggregatorMetrics, RequestOutcome } from './aggregator-metrics.ts';
import { type CollectionDeps, type CollectionLimits, collectSignatures } from './collect-signatures.ts';
import { describeInsufficientWeight, describeNotConnected } from './failure-message.ts';
import type { SignatureSource } from './signature-source.ts';
import { createSigningResolver, type Signing, type SigningResolverOptions } from './signing-resolver.ts';
import { createSuspects } from './suspects.ts';

export interface AggregatorLimits extends CollectionLimits {
  /** Different aggregations under way at once; one more is refused as overloaded. Equal ones count once. */
  readonly maxAggregationsInFlight: number;
  /** Signature requests in flight over all aggregations. */
  readonly maxQueriesInFlight: number;
  /** Time for all questions to the P-Chain API that one request has. */
  readonly resolveTimeoutMs: number;
  /** Bytes of signed messages kept for equal requests. */
  readonly resultCacheBytes: number;
}

export interface AggregatorOptions extends Omit<SigningResolverOptions, 'resolveTimeoutMs'> {
  readonly source: SignatureSource;
  readonly store: SignatureStore;
  readonly bls: BlsService;
  readonly metrics: AggregatorMetrics;
  readonly limits: AggregatorLimits;
}

export interface Aggregator {
  /**
   * The signed message for a request. Equal requests under way share one run; a caller's abort ends only its own wait.
   *
   * @throws {AggregatorError}, or the signal's reason
   */
  aggregate(request: AggregationRequest, signal: AbortSignal): Promise<AggregationResult>;
}

export function createAggregator(options: AggregatorOptions): Aggregator {
  const { metrics, limits, clock } = options;
  const signingResolver = createSigningResolver({ ...options, resolveTimeoutMs: limits.resolveTimeoutMs });
  const flights = new SingleFlight<string, AggregationResult>();
  const results = new LRUCache<string, AggregationResult>({
    maxSize: limits.resultCacheBytes,
    sizeCalculation: ({ signedMessage, signers }) => signedMessage.length + 8 * signers.length + RESULT_OVERHEAD_BYTES,
  });
  const nameOf = createObjectNames();
  const collection: CollectionDeps = {
    ...options,
    suspects: createSuspects(options.clock),
    querying: pLimit(limits.maxQueriesInFlight),
  };

  async function aggregate(request: AggregationRequest, signal: AbortSignal): Promise<AggregationResult> {
    const startMs = clock.monotonicMs();
    metrics.inFlight.inc();
    let outcome: RequestOutcome = 'internal error';
    try {
      const result = await run(request, signal);
      outcome = 'signed';
      return result;
    } catch (error) {
      if (error instanceof AggregatorError) outcome = error.code;
      else if (signal.aborted) outcome = 'aborted';
      throw error;
    } finally {
      metrics.inFlight.dec();
      metrics.duration.observe({ outcome }, (clock.monotonicMs() - startMs) / 1000);
    }
  }

  async function run(request: AggregationRequest, signal: AbortSignal): Promise<AggregationResult> {
    let signing = await signingResolver.resolve(request, signal);
    for (let rebuilds = 0; ; rebuilds += 1) {
      const { result, isNew } = await sign(request, signing, signal);
      // A known result took no time in which anything could change.
      if (!isNew || request.pChainHeight !== 0n || rebuilds === MAX_REBUILDS) return result;
      const now = await signingResolver.resolveAgain(request, signing, signal);
      if (now.warpSet === signing.warpSet) return result;
      // The validators changed meanwhile, and the bits would mean others. Most signatures are in the store by now.
      signing = now;
    }
  }

  async function sign(
    request: AggregationRequest,
    signing: Signing,
    signal: AbortSignal,
  ): Promise<{ result: AggregationResult; isNew: boolean }> {
    const { signingSubnetID, pChainHeight, warpSet, avoided } = signing;
    const resolved = { ...request, signingSubnetID };
    // A validator set is one object for all heights at which it is the same: so is the answer.
    const resultKey = `${requestKey({ ...resolved, pChainHeight: 0n })}|${nameOf(warpSet)}|${[...avoided].join(',')}`;
    const known = results.get(resultKey);
    if (known !== undefined) {
      metrics.resultCacheHits.inc();
      return { result: { ...known, pChainHeight }, isNew: false };
    }
    if (flights.size >= limits.maxAggregationsInFlight && !flights.has(resultKey)) {
      throw new AggregatorError(
        'overloaded',
        `${limits.maxAggregationsInFlight} aggregations are under way, which is all this service takes at once`,
      );
    }
    const result = await flights.run(
      resultKey,
      async (flight) => {
        const made = await collect(resolved, signing, flight);
        if (made.isTargetReached) results.set(resultKey, made.result);
        return made.result;
      },
      signal,
    );
    return { result: { ...result, pChainHeight }, isNew: true };
  }

  async function collect(
    request: AggregationRequest & { readonly signingSubnetID: SubnetID },
    { sourceSubnetID, warpSet, pChainHeight, avoided }: Signing,
    signal: AbortSignal,
  ): Promise<{ result: AggregationResult; isTargetReached: boolean }> {
    const { message, justification, signingSubnetID, quorumNum, quorumBuffer } = request;
    const outcome = await collectSignatures(
      {
        message,
        justification,
        signatureKey: signatureKey(request),
        signingSubnetID,
        warpSet,
        avoided,
        quorumNum,
        quorumBuffer,
      },
      collection,
      signal,
    ).catch((error: unknown) => {
      if (error instanceof JobsOverloaded) throw new AggregatorError('overloaded', error.message, { cause: error });
      throw error;
    });
    switch (outcome.kind) {
      case 'signed': {
        const { signedMessage, signedWeight, signers, isTargetReached } = outcome;
        const { totalWeight } = warpSet;
        return {
          result: {
            signedMessage,
            signingSubnetID,
            pChainHeight,
            signedWeight,
            totalWeight,
            signers: signers.flatMap(({ nodeIDs: [nodeID] }) => nodeID ?? []),
          },
          isTargetReached,
        };
      }
      case 'insufficient': {
        const { summary: details, reachableWeight } = outcome;
        // Validators that are out of reach may be back in a moment; ones that refuse, or cannot sign, will not change.
        const isForWantOfConnections =
          reachableWeight < details.neededWeight &&
          details.totalWeight - details.withoutKey.weight >= details.neededWeight;
        const { id: messageID, sourceChainID } = message;
        const report = { messageID, sourceChainID, signingSubnetID, pChainHeight, tally: details };
        if (isForWantOfConnections)
          throw new AggregatorError('not_connected', describeNotConnected(details), { report });
        const isOfL1 = sourceSubnetID !== PRIMARY_NETWORK_ID;
        throw new AggregatorError('insufficient_weight', describeInsufficientWeight(quorumNum, isOfL1, details), {
          report,
        });
      }
    }
  }

  return { aggregate };
}

/** Sets change with some blocks, and a block takes seconds: more than two changes in one request are not to be waited for. */
const MAX_REBUILDS = 2;

/** An answer's fields beside the message; the names of the signers are those of the validator set. */
const RESULT_OVERHEAD_BYTES = 512;

/** Names for objects, so that identity can be part of a text key. Holds no object alive. */
function createObjectNames(): (object: object) => number {
  const names = new WeakMap<object, number>();
  let last = 0;
  return (object) => {
    const known = names.get(object);
    if (known !== undefined) return known;
    last += 1;
    names.set(object, last);
    return last;
  };
}
