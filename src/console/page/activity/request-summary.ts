import type { RequestRecord } from '../../../api/requests/request-record.ts';
import { type Failure, partsOf } from '../console-api.ts';
import { type OutcomeSum, sumOutcomes } from '../sign/outcomes.ts';

const STAGES = ['resolve', 'connect', 'collect', 'verify', 'execution'] as const;

export interface Stage {
  readonly name: (typeof STAGES)[number] | 'waiting';
  readonly ms: number;
}

/** The stages of a request; what they leave of its duration is waiting. */
export function stagesOf({ stages, durationMs }: Pick<RequestRecord, 'stages' | 'durationMs'>): Stage[] {
  const timed = STAGES.map((name) => ({ name, ms: stages[name] ?? 0 }));
  const waiting = durationMs - timed.reduce((sum, { ms }) => sum + ms, 0);
  return [...timed, { name: 'waiting' as const, ms: Math.max(0, waiting) }].filter(({ ms }) => ms > 0);
}

interface FailureCount {
  readonly subnetId: string | undefined;
  readonly outcome: RequestRecord['outcome'];
  readonly count: number;
}

/** Failures by subnet and code, the most frequent first. */
export function countFailures(
  requests: readonly Pick<RequestRecord, 'outcome' | 'signingSubnetId'>[],
): readonly FailureCount[] {
  const counts = new Map<string, FailureCount>();
  for (const { outcome, signingSubnetId } of requests) {
    if (outcome === 'signed') continue;
    const key = `${signingSubnetId} ${outcome}`;
    const count = (counts.get(key)?.count ?? 0) + 1;
    counts.set(key, { subnetId: signingSubnetId, outcome, count });
  }
  return [...counts.values()].sort((a, b) => b.count - a.count);
}

/** Returns the failure as the client of the request saw it; undefined if there was none, or no answer. */
export function failureOfRecord({ outcome, errorMessage, status, details }: RequestRecord): Failure | undefined {
  if (outcome === 'signed' || outcome === 'aborted') return undefined;
  return { code: outcome, message: errorMessage ?? outcome, statusCode: status, ...partsOf(details) };
}

/** The outcomes of a record; its weights together are that of the validator set. */
export function outcomesOfRecord(weights: NonNullable<RequestRecord['weights']>): OutcomeSum[] {
  const totalWeight = Object.values(weights).reduce((sum, weight) => sum + BigInt(weight), 0n);
  const counted = Object.entries(weights).map(([outcome, weight]) => [outcome, { count: 0, weight }]);
  return sumOutcomes(Object.fromEntries(counted), totalWeight);
}
