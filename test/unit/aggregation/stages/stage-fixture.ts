import { Registry } from 'prom-client';
import { createAggregatorMetrics } from '../../../../src/aggregation/aggregator-metrics.ts';
import type { JobEnd } from '../../../../src/aggregation/collection/job.ts';
import type { AggregationResult } from '../../../../src/aggregation/request/aggregation-request.ts';
import { resultKey } from '../../../../src/aggregation/request/result-key.ts';
import type { SigningPlan } from '../../../../src/aggregation/signers/signing-plan.ts';
import { signingQuestion } from '../../../../src/aggregation/signers/signing-question.ts';
import type { AskedCall, Caller, PlannedCall } from '../../../../src/aggregation/stages/calls.ts';
import { NO_WEIGHTS } from '../../../../src/aggregation/validators/validator-outcome.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { createWarpSet } from '../../../../src/validators/warp-set.ts';
import { MESSAGE, nodeOf, SUBNET, validatorSet } from '../aggregator-fixture.ts';

const NEVER = new AbortController().signal;

export const RESULT: AggregationResult = {
  signedMessage: Uint8Array.of(1, 2, 3),
  signingSubnetID: SUBNET,
  pChainHeight: 98n,
  signedWeight: 70n,
  totalWeight: 100n,
  signers: [nodeOf(1)],
  weights: NO_WEIGHTS,
};

export const SIGNED: Extract<JobEnd, { kind: 'signed' }> = {
  kind: 'signed',
  signedMessage: Uint8Array.of(1),
  signedWeight: 70n,
  signers: [],
  weights: NO_WEIGHTS,
  isTargetReached: true,
};

export function createStageMetrics() {
  const registry = new Registry();
  return { registry, metrics: createAggregatorMetrics(createMetrics(registry)) };
}

/** A plan for {@link MESSAGE} and validators of these weights. */
export function planOf(more: Partial<SigningPlan> = {}, weights = [40n, 30n, 20n, 10n]): SigningPlan {
  const question = signingQuestion({}, { kind: 'message', message: MESSAGE, justification: new Uint8Array() });
  const parts = {
    message: MESSAGE,
    justification: new Uint8Array(),
    sourceSubnetID: SUBNET,
    signingSubnetID: SUBNET,
    rule: 'source_subnet' as const,
    quorumNum: 67n,
    quorumBuffer: 0n,
    pChainHeight: 98n,
    warpSet: createWarpSet(validatorSet(...weights)),
    avoided: new Set<number>(),
    target: undefined,
    question,
    ...more,
  };
  return { ...parts, key: resultKey(parts) };
}

export function wait(untilMs = 0) {
  return { untilMs, signersUntilMs: untilMs, ends: undefined, spentMs: 0, [Symbol.dispose]: () => undefined };
}

export function askedCall(request: AskedCall['request'], caller: Partial<Caller> = {}): AskedCall {
  return { request, caller: { signal: NEVER, ...caller }, wait: wait() };
}

/** A place that records what becomes of it. */
export function recordedPlace(acquire: PlannedCall['place']['acquire'] = async () => undefined) {
  const events: string[] = [];
  const permit = {
    rest: () => void events.push('rest'),
    resume: async () => void events.push('resume'),
    suspend: () => void events.push('suspend'),
    [Symbol.dispose]: () => void events.push('released'),
  };
  const place: PlannedCall['place'] = {
    async acquire(...until) {
      events.push('queued');
      await acquire(...until);
      events.push('acquired');
    },
    move() {
      events.push('moved');
      return permit;
    },
    [Symbol.dispose]: () => void events.push('left'),
  };
  return { events, place, permit };
}

export function plannedCall(
  plan: SigningPlan,
  caller: Partial<Caller> = {},
  more: Partial<PlannedCall> = {},
): PlannedCall {
  return { plan, caller: { signal: NEVER, ...caller }, wait: wait(), place: recordedPlace().place, ...more };
}
