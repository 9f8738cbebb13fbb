import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import { PRIMARY_NETWORK_ID } from '../../warp/ids.ts';
import { msUntilExpiry } from '../../warp/l1-message.ts';
import type { AggregationLimits } from '../aggregation-limits.ts';
import { AggregatorError, withoutStack } from '../aggregator-error.ts';
import type { AggregatorMetrics } from '../aggregator-metrics.ts';
import { describeFailure } from '../collection/collection-failure.ts';
import type { Insufficient, SignedEnd } from '../collection/job.ts';
import type { AggregationResult } from '../request/aggregation-request.ts';
import { signatureKey } from '../request/result-key.ts';
import { whatEndsSet } from '../signers/delivery-warnings.ts';
import type { SigningPlan } from '../signers/signing-plan.ts';
import { endedRegistration } from '../transactions/l1-justification.ts';
import type { SignatureSource } from '../validators/signature-source.ts';
import { createNegativeCache, MAX_PENDING_MS, REFUSAL_TTL_MS } from './negative-cache.ts';
import { toResult } from './signed-result.ts';

/** Results and failures of earlier requests, by the keys of their plans. */
export interface ResultCache {
  result(plan: SigningPlan): AggregationResult | undefined;
  /** Returns a recent failure of an equal request, as a new error at this plan's height. */
  failure(plan: SigningPlan): AggregatorError | undefined;
  /**
   * Returns the failure of an equal request whose registration the P-Chain might still accept, whatever validators the subnet has now.
   *
   * @param isRegistered whether the P-Chain has accepted the registration since; undefined if that is not known
   */
  pendingRegistration(plan: SigningPlan, isRegistered: boolean | undefined): AggregatorError | undefined;
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
    pendingRegistration(plan, isRegistered) {
      const key = pendingKey(plan);
      if (isRegistered === true) failures.forget(key);
      const maxAgeMs = isRegistered === undefined ? REFUSAL_TTL_MS : undefined;
      const failure = failures.find(key, () => 0n, maxAgeMs);
      return failure && failureAt(plan.pChainHeight, failure);
    },
    keep(plan, end) {
      const result = toResult(plan, end);
      if (end.isTargetReached) results.set(plan.key, result);
      return result;
    },
    fail(plan, outcome) {
      const error = toError(plan, outcome, clock.now());
      const key = error.code === 'registration_pending' ? pendingKey(plan) : plan.key;
      failures.remember(key, error, connectedWeightOf(plan.warpSet));
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

/** @param nowMs Unix time */
export function toError(plan: SigningPlan, outcome: Insufficient, nowMs: number): AggregatorError {
  const { message, quorumNum, sourceSubnetID, signingSubnetID, pChainHeight } = plan;
  const isOfL1 = sourceSubnetID !== PRIMARY_NETWORK_ID;
  const registration = endedRegistration(plan);
  const setEnds = whatEndsSet(plan.target, pChainHeight);
  const { code, message: text } = describeFailure({ ...outcome, quorumNum, isOfL1, registration, setEnds });
  const { id: messageID, sourceChainID } = message;
  const report = { messageID, sourceChainID, signingSubnetID, pChainHeight, tally: outcome.summary };
  const isPending = code === 'registration_pending' && registration !== undefined;
  const more = isPending ? { retryAfterMs: Math.min(MAX_PENDING_MS, msUntilExpiry(registration, nowMs)) } : {};
  const registrableUntil = isPending ? registration.expiry : undefined;
  // Kept for minutes: a stack would keep all of the job.
  return withoutStack(() => new AggregatorError(code, text, { ...more, report: { ...report, registrableUntil } }));
}

/** Without the validators, which change several times in the life of a registration: those that refused were enough. */
function pendingKey(plan: SigningPlan): string {
  return `pending ${signatureKey(plan)} ${plan.signingSubnetID} ${plan.quorumNum}`;
}

/** The message as bytes and as hex in the encoded answer; NodeIDs belong to the set, and are written once more in the answer. */
function sizeOf({ signedMessage, signers }: AggregationResult): number {
  return 3 * signedMessage.length + SIGNER_BYTES * signers.length + RESULT_OVERHEAD_BYTES;
}

/** A reference, and a NodeID in quotes with its comma. */
const SIGNER_BYTES = 8 + 45;
/** The other fields, twice, the key, and the weights by outcome. */
const RESULT_OVERHEAD_BYTES = 1_280;
