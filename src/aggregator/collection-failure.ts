import type { TallySummary, WeightCount } from './tally.ts';

/** Clients look for "threshold of stake" and for the inequality: both are part of the interface. */
export function describeInsufficientWeight(quorumNum: bigint, isOfL1: boolean, summary: TallySummary): string {
  const { totalWeight, signedWeight } = summary;
  // At a quorum of 0 the inequality would be false: what is missing there is any signature at all.
  const inequality = quorumNum === 0n ? 'nobody signed' : `${quorumNum}*${totalWeight} > 100*${signedWeight}`;
  const reason = mainReason(isOfL1, summary);
  return `failed to collect a threshold of stake: signature weight is insufficient: ${inequality}${reason}`;
}

export function describeNotConnected({ neededWeight, totalWeight, unreachable, withoutKey }: TallySummary): string {
  const reachable = totalWeight - unreachable.weight - withoutKey.weight;
  const [main] = unreachable.reasons;
  const why = main === undefined ? '' : ` (refused or unreachable: ${main.reason})`;
  return (
    `too little weight is connected: the quorum needs ${neededWeight} of ${totalWeight}, ${reachable} can be reached, ` +
    `${unreachable.weight} cannot${why}; try again in a moment`
  );
}

/** The heaviest cause, in words, so that a person who sees only the message knows where to look. */
function mainReason(isOfL1: boolean, summary: TallySummary): string {
  const {
    neededWeight,
    signedWeight,
    refused,
    timedOut,
    ignored,
    unreachable,
    invalidSignature,
    unanswered,
    withoutKey,
  } = summary;
  const [refusal] = refused.reasons;
  // Those still asked when the quorum was lost already are not to blame for it.
  const isQuorumOpen = signedWeight + unanswered.weight >= neededWeight;
  const silent = add([timedOut, ...(isOfL1 ? [] : [ignored]), ...(isQuorumOpen ? [unanswered] : [])]);
  const causes = [
    { weight: refused.weight, text: refusal && `refused by ${refused.count}: ${refusal.text} (code ${refusal.code})` },
    { weight: silent.weight, text: `no answer from ${silent.count}` },
    { weight: isOfL1 ? ignored.weight : 0n, text: `${ignored.count} refused or unreachable: ${NOT_ADMITTED}` },
    {
      weight: unreachable.weight,
      text: `${unreachable.count} refused or unreachable: ${unreachable.reasons[0]?.reason}`,
    },
    { weight: invalidSignature.weight, text: `invalid signatures from ${invalidSignature.count}` },
    { weight: withoutKey.weight, text: `${withoutKey.count} without an active BLS key` },
  ];
  const heaviest = causes.reduce((a, b) => (b.weight > a.weight ? b : a));
  return heaviest.weight > 0n ? ` (${heaviest.text})` : '';
}

/** What the silence of nodes means that answer a Ping meanwhile. Every primary-network validator runs the primary chains. */
const NOT_ADMITTED =
  "not admitted: connected, but silent about this blockchain; they may run it for the peers on their subnet's list only " +
  '(validatorOnly, allowedNodes), or not at all';

function add(counts: readonly WeightCount[]): WeightCount {
  return counts.reduce((a, b) => ({ weight: a.weight + b.weight, count: a.count + b.count }));
}
