import type { AggregationDetails } from '../../../client/gen/api.ts';
import type { Failure } from '../console-api.ts';
import { missingOf, percentOf, unixTime } from '../ui/figures.ts';
import { type OutcomeSum, sumOutcomes } from './outcomes.ts';

/** Below this share of the weight an outcome decides nothing. */
const NOTABLE_PERCENT = 5n;

/** The outcomes of a failure, as the legend shows them. */
export function outcomesOf({ outcomes, totalWeight }: AggregationDetails): OutcomeSum[] {
  return sumOutcomes(outcomes, BigInt(totalWeight));
}

/** Meaning of an outcome, and advice. */
const CAUSES: Readonly<Partial<Record<OutcomeSum['outcome'], { readonly verb: string; readonly advice: string }>>> = {
  refused: {
    verb: 'refused',
    advice:
      'If the message was sent seconds ago, they may lag behind: try again. Otherwise these are not the bytes that the chain has sent, or a justification is missing.',
  },
  timed_out: {
    verb: 'did not answer',
    advice:
      'They may be busy or stopped, or answer listed nodes only: try again, and look under Subnets which they are.',
  },
  unreachable: {
    verb: 'cannot be reached',
    advice: 'Subnets shows why for each: try again once they are connected, or ask for a lower quorum.',
  },
  not_asked: { verb: 'were not asked', advice: 'The service is too busy: try again.' },
  invalid_signature: { verb: 'sent invalid signatures', advice: 'Others have to sign in their place.' },
  no_key: { verb: 'have no key', advice: 'They can never sign: they have no BLS key, or no balance.' },
};

/**
 * The sentence for people about a failure.
 *
 * @param meaning of the failure's code
 */
export function sentenceOf(
  { code, message, details }: Failure,
  meaning: string | undefined,
  isOfPChain: boolean,
): string {
  if (details === undefined) return meaning ?? message;
  if (details.registrableUntil !== undefined) {
    return `The P-Chain could still accept the registration until ${unixTime(String(details.registrableUntil))}: ask again after that time.`;
  }
  const sums = outcomesOf(details);
  const count = sums.reduce((sum, one) => sum + one.count, 0);
  const main = sums.filter(({ outcome }) => outcome !== 'signed').reduce((a, b) => (b.weight > a.weight ? b : a), NONE);
  const cause = `${main.count} of ${count} ${CAUSES[main.outcome]?.verb}`;
  if (code === 'quorum_unreachable') {
    const share = sums.find(({ outcome }) => outcome === 'no_key')?.share;
    return `The quorum cannot be reached: validators with ${share} of the weight cannot sign.`;
  }
  if (code === 'not_connected') return `Too few validators are connected: ${cause}.`;
  if (details.outcomes.signed.count > 0 || main.count === 0) {
    const total = BigInt(details.totalWeight);
    const [signed, needed] = [BigInt(details.weightSigned), BigInt(details.weightNeeded)];
    return `Only ${percentOf(signed, total)} of the weight signed, ${percentOf(needed, total)} is needed: ${cause}.`;
  }
  if (main.outcome !== 'refused') return `No validator signed: ${cause}.`;
  return `No validator ${isOfPChain ? 'confirms' : 'knows'} this message: ${cause}.`;
}

const NONE: OutcomeSum = { outcome: 'not_asked', count: 0, weight: -1n, share: '' };

/** Advice on the outcomes of validators, the one with the most weight first. */
export function adviceOn(details: AggregationDetails): string[] {
  const total = BigInt(details.totalWeight);
  return outcomesOf(details)
    .filter(({ weight }) => weight * 100n >= NOTABLE_PERCENT * total)
    .sort((a, b) => (a.weight < b.weight ? 1 : -1))
    .flatMap(({ outcome, share }) => {
      const cause = outcome === 'not_asked' && !isQueueFull(details) ? undefined : CAUSES[outcome];
      return cause === undefined ? [] : [`Validators with ${share} of the weight ${cause.verb}. ${cause.advice}`];
    });
}

function isQueueFull({ outcomes }: AggregationDetails): boolean {
  return outcomes.not_asked.reasons.some(({ reason }) => reason === 'queue_full');
}

/** How much was signed, needed, and is missing. */
export function standOf({ weightSigned, weightNeeded, totalWeight }: AggregationDetails): string {
  const [signed, needed, total] = [BigInt(weightSigned), BigInt(weightNeeded), BigInt(totalWeight)];
  return `${percentOf(signed, total)} signed, ${percentOf(needed, total)} is needed: ${missingOf(signed, needed, total)} of the weight is missing.`;
}
