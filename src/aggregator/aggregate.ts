import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import type { BlsBackend } from '../bls/bls-backend.ts';
import { PublicKeyCache } from '../bls/public-key-cache.ts';
import { ApiError } from '../pchain/api-error.ts';
import type { SubnetDirectory } from '../pchain/subnet-directory.ts';
import { HeightNotReached, type ValidatorSets } from '../pchain/validator-sets.ts';
import type { Clock } from '../primitives/clock.ts';
import { startDeadline } from '../primitives/deadline.ts';
import type { SubnetID } from '../primitives/ids.ts';
import { SingleFlight } from '../primitives/single-flight.ts';
import type { SignatureStore } from '../store/signature-store.ts';
import type { WarpSet } from '../validators/warp-set.ts';
import { type AggregationRequest, type AggregationResult, requestKey, signatureKey } from './aggregation-request.ts';
import { AggregatorError } from './aggregator-error.ts';
import type { AggregatorMetrics, RequestOutcome } from './aggregator-metrics.ts';
import { type CollectionDeps, type CollectionLimits, collectSignatures } from './collect-signatures.ts';
import type { SignatureSource } from './signature-source.ts';
import type { TallySummary } from './tally.ts';

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

export interface AggregatorOptions {
  readonly networkID: number;
  readonly directory: SubnetDirectory;
  readonly validatorSets: ValidatorSets<WarpSet>;
  readonly source: SignatureSource;
  readonly store: SignatureStore;
  readonly backend: BlsBackend;
  readonly clock: Clock;
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
  const { networkID, directory, validatorSets, metrics, limits, clock } = options;
  const flights = new SingleFlight<string, AggregationResult>();
  const results = new LRUCache<string, AggregationResult>({
    maxSize: limits.resultCacheBytes,
    sizeCalculation: ({ signedMessage }) => signedMessage.length + RESULT_OVERHEAD_BYTES,
  });
  const nameOf = createObjectNames();
  const collection: CollectionDeps = {
    ...options,
    publicKeys: new PublicKeyCache(options.backend),
    querying: pLimit(limits.maxQueriesInFlight),
    decoding: pLimit(1),
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
    const { signingSubnetID, pChainHeight, warpSet } = await resolve(request, signal);
    const resolved = { ...request, signingSubnetID };
    // A validator set is one object for all heights at which it is the same: so is the answer.
    const resultKey = `${requestKey({ ...resolved, pChainHeight: 0n })}|${nameOf(warpSet)}`;
    const known = results.get(resultKey);
    if (known !== undefined) {
      metrics.resultCacheHits.inc();
      return { ...known, pChainHeight };
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
        const made = await collect(resolved, warpSet, pChainHeight, flight);
        if (made.isTargetReached) results.set(resultKey, made.result);
        return made.result;
      },
      signal,
    );
    return { ...result, pChainHeight };
  }

  /** Who must sign, at which height. */
  async function resolve(request: AggregationRequest, parent: AbortSignal) {
    if (request.message.networkID !== networkID) {
      throw new AggregatorError(
        'invalid request',
        `message is of network ID ${request.message.networkID}, this service serves network ID ${networkID}`,
        { field: 'message' },
      );
    }
    using deadline = startDeadline(clock, limits.resolveTimeoutMs, 'asking the P-Chain API', parent);
    const { signal } = deadline;
    try {
      const sourceSubnetID = await directory.validatedBy(request.message.sourceChainID, signal);
      if (sourceSubnetID === undefined) {
        throw new AggregatorError(
          'unknown source chain',
          `message has the source chain ${request.message.sourceChainID}, which the P-Chain does not know`,
          { field: 'message' },
        );
      }
      const signingSubnetID = request.signingSubnetID ?? sourceSubnetID;
      const pChainHeight =
        request.pChainHeight === 0n ? await validatorSets.proposedHeight(signal) : request.pChainHeight;
      const warpSet = await validatorSets.at(signingSubnetID, pChainHeight, signal);
      if (warpSet.totalWeight === 0n) throw await withoutValidators(signingSubnetID, pChainHeight, signal);
      return { signingSubnetID, pChainHeight, warpSet };
    } catch (error) {
      parent.throwIfAborted();
      throw fromApi(error, request, signal);
    }
  }

  async function withoutValidators(subnetID: SubnetID, height: bigint, signal: AbortSignal): Promise<AggregatorError> {
    if (!(await directory.exists(subnetID, signal))) {
      return new AggregatorError('unknown subnet', `signingSubnetId: the P-Chain knows no subnet ${subnetID}`, {
        field: 'signingSubnetId',
      });
    }
    return new AggregatorError(
      'invalid request',
      `signingSubnetId: subnet ${subnetID} has no validators at P-Chain height ${height}`,
      { field: 'signingSubnetId' },
    );
  }

  async function collect(
    request: AggregationRequest & { readonly signingSubnetID: SubnetID },
    warpSet: WarpSet,
    pChainHeight: bigint,
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
        quorumNum,
        quorumBuffer,
      },
      collection,
      signal,
    );
    switch (outcome.kind) {
      case 'signed': {
        const { signedMessage, signedWeight, signerCount, isTargetReached } = outcome;
        const { totalWeight } = warpSet;
        return {
          result: { signedMessage, signingSubnetID, pChainHeight, signedWeight, totalWeight, signerCount },
          isTargetReached,
        };
      }
      case 'insufficient': {
        const { summary: details, reachableWeight } = outcome;
        // Validators that are out of reach may be back in a moment; ones that refuse, or cannot sign, will not change.
        const isForWantOfConnections =
          reachableWeight < details.neededWeight &&
          details.totalWeight - details.withoutKey.weight >= details.neededWeight;
        if (isForWantOfConnections) throw new AggregatorError('not connected', notConnected(details), { details });
        throw new AggregatorError('insufficient weight', insufficientWeight(quorumNum, details), { details });
      }
    }
  }

  return { aggregate };
}

/** An answer's fields beside the message. */
const RESULT_OVERHEAD_BYTES = 512;

/** Clients look for "threshold of stake" and for the inequality: both are part of the interface. */
function insufficientWeight(quorumNum: bigint, summary: TallySummary): string {
  const { totalWeight, signedWeight } = summary;
  // At a quorum of 0 the inequality would be false: what is missing there is any signature at all.
  const inequality = quorumNum === 0n ? 'nobody signed' : `${quorumNum}*${totalWeight} > 100*${signedWeight}`;
  return `failed to collect a threshold of stake: signature weight is insufficient: ${inequality}${mainReason(summary)}`;
}

function notConnected({ neededWeight, totalWeight, unreachable, withoutKey }: TallySummary): string {
  const reachable = totalWeight - unreachable.weight - withoutKey.weight;
  const [main] = unreachable.reasons;
  const why = main === undefined ? '' : ` (${main.reason})`;
  return (
    `too little weight is connected: the quorum needs ${neededWeight} of ${totalWeight}, ${reachable} can be reached, ` +
    `${unreachable.weight} cannot${why}; try again in a moment`
  );
}

/** The heaviest cause, in words, so that a person who sees only the message knows where to look. */
function mainReason(summary: TallySummary): string {
  const { neededWeight, signedWeight, refused, timedOut, unreachable, invalidSignature, unanswered, withoutKey } =
    summary;
  const [refusal] = refused.reasons;
  // Those still asked when the quorum was lost already are not to blame for it.
  const isQuorumOpen = signedWeight + unanswered.weight >= neededWeight;
  const silent = isQuorumOpen ? unanswered : { weight: 0n, count: 0 };
  const causes = [
    { weight: refused.weight, text: refusal && `refused by ${refused.count}: ${refusal.text} (code ${refusal.code})` },
    { weight: timedOut.weight + silent.weight, text: `no answer from ${timedOut.count + silent.count}` },
    { weight: unreachable.weight, text: `${unreachable.count} unreachable: ${unreachable.reasons[0]?.reason}` },
    { weight: invalidSignature.weight, text: `invalid signatures from ${invalidSignature.count}` },
    { weight: withoutKey.weight, text: `${withoutKey.count} without an active BLS key` },
  ];
  const heaviest = causes.reduce((a, b) => (b.weight > a.weight ? b : a));
  return heaviest.weight > 0n ? ` (${heaviest.text})` : '';
}

function fromApi(error: unknown, request: AggregationRequest, signal: AbortSignal): unknown {
  if (error instanceof HeightNotReached) {
    if (request.pChainHeight === 0n) {
      return new AggregatorError('api unavailable', `a P-Chain API node lags behind: ${error.message}`, {
        cause: error,
      });
    }
    return new AggregatorError('invalid request', `pChainHeight: ${error.message}`, {
      field: 'pChainHeight',
      cause: error,
    });
  }
  if (error instanceof ApiError) {
    const code = error.kind === 'unavailable' ? 'api unavailable' : 'api invalid';
    return new AggregatorError(code, `the P-Chain API failed: ${error.message}`, { cause: error });
  }
  if (signal.aborted && error === signal.reason) {
    return new AggregatorError('api unavailable', 'the P-Chain API did not answer in time', { cause: error });
  }
  return error;
}

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
