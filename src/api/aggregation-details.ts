import type { TallySummary, WeightCount } from '../aggregator/tally.ts';

/** {@link TallySummary} for JSON: weights are strings, since they exceed 2^53. */
export function presentDetails(summary: TallySummary): unknown {
  const { unreachable, refused } = summary;
  return {
    weightNeeded: String(summary.neededWeight),
    weightSigned: String(summary.signedWeight),
    totalWeight: String(summary.totalWeight),
    outcomes: {
      signed: present(summary.signed),
      refused: {
        ...present(refused),
        reasons: refused.reasons.map((reason) => ({ code: reason.code, text: reason.text, ...present(reason) })),
      },
      timedOut: present(summary.timedOut),
      ignored: present(summary.ignored),
      unreachable: {
        ...present(unreachable),
        reasons: unreachable.reasons.map((reason) => ({ reason: reason.reason, ...present(reason) })),
      },
      invalidSignature: present(summary.invalidSignature),
      unanswered: present(summary.unanswered),
      notAsked: present(summary.notAsked),
      withoutKey: present(summary.withoutKey),
    },
  };
}

function present({ weight, count }: WeightCount): { weight: string; count: number } {
  return { weight: String(weight), count };
}
