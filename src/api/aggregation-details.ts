import type { TallySummary, WeightCount } from '../aggregator/tally.ts';

/** {@link TallySummary} for JSON: weights are strings, since they exceed 2^53. */
export function presentDetails(summary: TallySummary): unknown {
  const { outcomes } = summary;
  const { unreachable, refused } = outcomes;
  return {
    weightNeeded: String(summary.neededWeight),
    weightSigned: String(summary.signedWeight),
    totalWeight: String(summary.totalWeight),
    outcomes: {
      signed: present(outcomes.signed),
      refused: {
        ...present(refused),
        reasons: refused.reasons.map((reason) => ({ code: reason.code, text: reason.text, ...present(reason) })),
      },
      silent: present(outcomes.silent),
      ignored: present(outcomes.ignored),
      unreachable: {
        ...present(unreachable),
        reasons: unreachable.reasons.map((reason) => ({ reason: reason.reason, ...present(reason) })),
      },
      invalid_signature: present(outcomes.invalid_signature),
      unanswered: present(outcomes.unanswered),
      not_asked: present(outcomes.not_asked),
      without_key: present(outcomes.without_key),
    },
    missing: summary.missing.map(({ nodeID, weight, ...rest }) => ({
      nodeId: nodeID,
      weight: String(weight),
      ...rest,
    })),
    missingOmitted: summary.missingOmitted,
  };
}

function present({ weight, count }: WeightCount): { weight: string; count: number } {
  return { weight: String(weight), count };
}
