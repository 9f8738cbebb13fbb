import type { FailureDetails } from '../api-client.ts';
import { percentOf } from '../ui/figures.ts';

type Outcome = keyof FailureDetails['outcomes'];

/** Below this share of the weight an outcome decides nothing. */
const NOTABLE_PERCENT = 5n;

/** What can be done about what validators did, the heaviest cause first. */
export function adviceOn({ outcomes, totalWeight }: FailureDetails): string[] {
  const total = BigInt(totalWeight);
  const weightOf = (name: Outcome) => BigInt(outcomes[name].weight);
  const causes: (readonly [weight: bigint, text: (share: string) => string])[] = [
    [
      weightOf('refused'),
      (share) =>
        `${share} refused. Where the message was sent seconds ago, they may lag behind: try again. Else these are not the bytes that the chain has sent, or a justification is missing.`,
    ],
    [
      weightOf('timed_out'),
      (share) =>
        `${share} did not answer. They may be busy or stopped, or let in listed nodes only: try again, and look under Subnets which they are.`,
    ],
    [
      weightOf('unreachable'),
      (share) =>
        `${share} cannot be reached. Subnets says of each why: try again once they are connected, or ask for less.`,
    ],
    [
      weightWithReason(outcomes.not_asked.reasons, 'queue_full'),
      (share) => `${share} were not asked, as the service is too busy: try again.`,
    ],
    [weightOf('invalid_signature'), (share) => `${share} gave bad signatures. Others have to sign in their place.`],
    [weightOf('no_key'), (share) => `${share} can never sign: their validators have no key, or no balance.`],
  ];
  return causes
    .filter(([weight]) => total > 0n && weight * 100n >= NOTABLE_PERCENT * total)
    .sort(([a], [b]) => (a < b ? 1 : a > b ? -1 : 0))
    .map(([weight, text]) => text(`Validators with ${percentOf(weight, total)} of the weight`));
}

function weightWithReason(reasons: readonly { reason: string; weight: string }[], reason: string): bigint {
  return BigInt(reasons.find((one) => one.reason === reason)?.weight ?? 0);
}
