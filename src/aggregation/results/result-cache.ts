import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import { PRIMARY_NETWORK_ID } from '../../warp/ids.ts';
import type { AggregationLimits } from '../aggregation-limits.ts';
import { AggregatorError, withoutStack } from '../aggregator-error.ts';
import type { AggregatorMetrics } from '../aggregator-metrics.ts';
import { describeFailure } from '../collection/collection-failure.ts';
import type { Insufficient, SignedEnd } from '../collection/job.ts';
import type { AggregationResult } from '../request/aggregation-request.ts';
import type { SigningPlan } from '../signers/signing-plan.ts';
import type { SignatureSource } from '../validators/signature-source.ts';
import { createNegativeCache } from './negative-cache.ts';
import { toResult } from './signed-result.ts';

/** Results and failures of earlier requests, by the keys of their plans. */
export interface ResultCache {
  result(plan: SigningPlan): AggregationResult | undefined;
  /** Returns a recent failure of an equal request, as a new error at this plan's height. */
  failure(plan: SigningPlan): AggregatorError | undefined;
  /** Keeps a result that reaches quorum plus buffer: otherwise a later request may. */
  keep(plan: SigningPlan, end: SignedEnd): AggregationResult;
  /** Keeps a failure for its life, and returns the error. */
  fail(plan: SigningPlan, outcome: Insufficient): AggregatorError;
}

export interface ResultCacheOptions {
  readonly clock: Clock;
  readonly metrics: Pick<AggregatorMetrics, 'resultCacheHits'>;
  readonly limits: Pick<AggregationLimits, 'resultCacheBytes'>;
  readonly source: Pick<SignatureSource, 'isConnected'>;
}

export function createResultCache({ clock, metrics, limits, source }: ResultCacheOptions): ResultCache {
  const results = new LRUCache<string, AggregationResult>({
    maxSize: limits.resultCacheBytes,
    sizeCalculation: sizeOf,
  });
  const failures = createNegativeCache(clock);
  const connectedWeightOf = ({ validators }: WarpSet): bigint =>
    validators.reduce(
      (sum, { nodeIDs, weight }) => (nodeIDs.some((nodeID) => source.isConnected(nodeID)) ? sum + weight : sum),
      0n,
    );
  return {
    result({ key, pChainHeight }) {
      const cached = results.get(key);
      if (cached === undefined) return undefined;
      metrics.resultCacheHits.inc();
      const result = resultAt(pChainHeight, cached);
      // Equal requests at the same height share one object, so that its encoding is cached.
      if (result !== cached) results.set(key, result);
      return result;
    },
    failure({ key, warpSet, pChainHeight }) {
      const failure = failures.find(key, () => connectedWeightOf(warpSet));
      return failure && failureAt(pChainHeight, failure);
    },
    keep(plan, end) {
      const result = toResult(plan, end);
      if (end.isTargetReached) results.set(plan.key, result);
      return result;
    },
    fail(plan, outcome) {
      const error = toError(plan, outcome);
      failures.remember(plan.key, error, connectedWeightOf(plan.warpSet));
      return error;
    },
  };
}

/** Returns the result at the height of another caller, whose validator set is the same. */
export function resultAt(pChainHeight: bigint, result: AggregationResult): AggregationResult {
  return result.pChainHeight === pChainHeight ? result : { ...result, pChainHeight };
}

export function failureAt(pChainHeight: bigint, error: AggregatorError): AggregatorError {
  const { report } = error;
  const isOther = report !== undefined && report.pChainHeight !== pChainHeight;
  return isOther ? error.with({ report: { ...report, pChainHeight } }) : error;
}

export function toError(
  { message, quorumNum, sourceSubnetID, signingSubnetID, pChainHeight }: SigningPlan,
  { summary, refusedForGood }: Insufficient,
): AggregatorError {
  const isOfL1 = sourceSubnetID !== PRIMARY_NETWORK_ID;
  const failure = describeFailure({ summary, quorumNum, isOfL1, refusedForGood });
  const { id: messageID, sourceChainID } = message;
  const report = { messageID, sourceChainID, signingSubnetID, pChainHeight, tally: summary };
  // Kept for minutes: a stack would keep all of the job.
  return withoutStack(() => new AggregatorError(failure.code, failure.message, { report }));
}

/** The message as bytes and as hex in the encoded answer; NodeIDs belong to the set, and are written once more in the answer. */
function sizeOf({ signedMessage, signers }: AggregationResult): number {
  return 3 * signedMessage.length + SIGNER_BYTES * signers.length + RESULT_OVERHEAD_BYTES;
}

/** A reference, and a NodeID in quotes with its comma. */
const SIGNER_BYTES = 8 + 45;
/** The other fields, twice, the key, and the weights by outcome. */
const RESULT_OVERHEAD_BYTES = 1_280;
