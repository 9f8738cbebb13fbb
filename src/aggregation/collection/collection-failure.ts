import { describeExpiry, type RegisterL1Validator, registrationValidationID } from '../../warp/l1-message.ts';
import type { OutcomeReason, TallySummary, WeightCount } from '../validators/validator-outcome.ts';
import type { FinalRefusals } from './tally.ts';

export interface CollectionFailure {
  readonly code:
    | 'signing_refused'
    | 'registration_pending'
    | 'quorum_unreachable'
    | 'not_connected'
    | 'overloaded'
    | 'insufficient_weight';
  readonly message: string;
}

export interface FailureFacts extends FinalRefusals {
  readonly summary: TallySummary;
  readonly quorumNum: bigint;
  readonly isOfL1: boolean;
  /** The registration whose end the message confirms. */
  readonly registration: RegisterL1Validator | undefined;
  /** What changes the validators, if they are those of an epoch: a clause. */
  readonly setEnds?: string | undefined;
}

export function describeFailure(facts: FailureFacts): CollectionFailure {
  const { summary, quorumNum, isOfL1, refusedForGood, refusedUntilExpiry, registration, setEnds } = facts;
  const { neededWeight, totalWeight, outcomes } = summary;
  if (totalWeight - refusedForGood < neededWeight) {
    // The others alone would leave enough weight.
    const isPending = totalWeight - (refusedForGood - refusedUntilExpiry) >= neededWeight;
    if (registration !== undefined && isPending) {
      return { code: 'registration_pending', message: describePending(registration) };
    }
    const refusal = describeInsufficientWeight(quorumNum, summary, describeRefusals(summary));
    return { code: 'signing_refused', message: `${refusal}; no later block changes this, so do not try again` };
  }
  if (totalWeight - outcomes.no_key.weight < neededWeight) {
    const cause = describeInsufficientWeight(quorumNum, summary, describeKeyless(summary));
    const until = setEnds === undefined ? '' : `: ${setEnds}`;
    const message = `${cause}; it stays out of reach until the validators change${until}`;
    return { code: 'quorum_unreachable', message };
  }
  // Unreachable validators may return.
  const reachable = reachableWeight(summary);
  if (reachable < neededWeight) {
    return { code: 'not_connected', message: describeNotConnected(summary) };
  }
  if (reachable >= neededWeight && reachable - withReason(outcomes.not_asked, 'queue_full').weight < neededWeight) {
    return { code: 'overloaded', message: describeQueueFull(summary) };
  }
  const cause = mainCause(isOfL1, summary);
  return { code: 'insufficient_weight', message: describeInsufficientWeight(quorumNum, summary, cause) };
}

function describePending(registration: RegisterL1Validator): string {
  return (
    `validation ${registrationValidationID(registration)} could still be registered until ${describeExpiry(registration)}: the P-Chain's ` +
    'validators confirm only after that time that it never will be; ask again then'
  );
}

function reachableWeight({ totalWeight, outcomes }: TallySummary): bigint {
  return totalWeight - outcomes.no_key.weight - outcomes.unreachable.weight;
}

/** Clients search the message for "threshold of stake" and for the inequality, as the Go aggregator writes them. */
function describeInsufficientWeight(quorumNum: bigint, summary: TallySummary, cause: string | undefined): string {
  const { totalWeight, signedWeight } = summary;
  // At a quorum of 0 the inequality would be false.
  const inequality = quorumNum === 0n ? 'nobody signed' : `${quorumNum}*${totalWeight} > 100*${signedWeight}`;
  const reason = cause === undefined ? '' : ` (${cause})`;
  return `failed to collect a threshold of stake: signature weight is insufficient: ${inequality}${reason}`;
}

function describeKeyless({ neededWeight, totalWeight, outcomes: { no_key } }: TallySummary): string {
  const [noKey, inactive] = [withReason(no_key, 'no_key'), withReason(no_key, 'inactive')];
  const parts = [
    ...(noKey.count > 0 ? [`${noKey.count} without a BLS key have ${noKey.weight}`] : []),
    ...(inactive.count > 0 ? [`inactive L1 validators, without balance, have ${inactive.weight}`] : []),
  ];
  return `${parts.join(', ')}: the others have ${totalWeight - no_key.weight}, the quorum needs ${neededWeight}`;
}

function describeNotConnected(summary: TallySummary): string {
  const { neededWeight, totalWeight, outcomes } = summary;
  const { unreachable } = outcomes;
  const [main] = unreachable.reasons;
  const why = main === undefined ? '' : ` (unreachable: ${main.reason})`;
  return (
    `too little weight is connected: the quorum needs ${neededWeight} of ${totalWeight}, ${reachableWeight(summary)} can be reached, ` +
    `${unreachable.weight} cannot${why}; try again in a moment`
  );
}

function describeQueueFull({ neededWeight, totalWeight, outcomes }: TallySummary): string {
  const { weight } = withReason(outcomes.not_asked, 'queue_full');
  return (
    `validators with the weight ${weight} could not be asked, as too many bytes wait to be sent: the quorum needs ` +
    `${neededWeight} of ${totalWeight}; try again in a moment`
  );
}

function mainCause(isOfL1: boolean, summary: TallySummary): string | undefined {
  const { neededWeight, signedWeight, outcomes } = summary;
  const { refused, unreachable, invalid_signature: invalid, no_key } = outcomes;
  const noAnswer = withReason(outcomes.timed_out, 'no_answer');
  const dropped = withReason(outcomes.timed_out, 'request_dropped');
  const pending = withReason(outcomes.timed_out, 'request_ended');
  const queueFull = withReason(outcomes.not_asked, 'queue_full');
  // Validators that were still pending when the quorum was lost did not cause it.
  const isQuorumOpen = signedWeight + pending.weight >= neededWeight;
  const withoutAnswer = add([noAnswer, ...(isOfL1 ? [] : [dropped]), ...(isQuorumOpen ? [pending] : [])]);
  const [whyUnreachable] = unreachable.reasons;
  const causes = [
    { weight: refused.weight, text: describeRefusals(summary) },
    { weight: withoutAnswer.weight, text: `no answer from ${withoutAnswer.count}` },
    { weight: isOfL1 ? dropped.weight : 0n, text: `ignored by ${dropped.count}: ${NOT_ADMITTED}` },
    { weight: unreachable.weight, text: `${unreachable.count} unreachable: ${whyUnreachable?.reason}` },
    { weight: queueFull.weight, text: `${queueFull.count} not asked: too many bytes wait to be sent` },
    { weight: invalid.weight, text: `invalid signatures from ${invalid.count}` },
    { weight: no_key.weight, text: `${no_key.count} without an active BLS key` },
  ];
  const heaviest = causes.reduce((a, b) => (b.weight > a.weight ? b : a));
  return heaviest.weight > 0n ? heaviest.text : undefined;
}

function describeRefusals({ outcomes: { refused } }: TallySummary): string | undefined {
  const [main] = refused.reasons;
  return main && `refused by ${refused.count}: ${main.text} (code ${main.code})`;
}

/** The meaning of dropped requests on an L1. The primary network's chains are open to all peers. */
const NOT_ADMITTED =
  'they are connected and answer pings, but drop requests for this blockchain; they may run it only for the peers on their ' +
  "subnet's list (validatorOnly, allowedNodes), or not at all";

function withReason({ reasons }: { readonly reasons: readonly OutcomeReason[] }, reason: string): WeightCount {
  return reasons.find((one) => one.reason === reason) ?? { weight: 0n, count: 0 };
}

function add(counts: readonly WeightCount[]): WeightCount {
  return counts.reduce((a, b) => ({ weight: a.weight + b.weight, count: a.count + b.count }));
}
