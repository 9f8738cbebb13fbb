import type { ShownSet, ShownValidator } from '../../../api/aggregation/signing-progress.ts';
import type { VerificationResult } from '../../../api/messages/verification-record.ts';

/** What can be done about a message that no destination accepts. */
export const PROBLEM_ADVICE: Readonly<Record<NonNullable<VerificationResult['problem']>['kind'], string>> = {
  'no signers': 'It has no signature. Have it signed.',
  'unknown signer':
    'Its signers are of another validator set: the set has changed since, or the message is of another subnet. Choose the height at which it was signed, or have it signed anew.',
  'insufficient weight':
    'Have it signed anew, or look whether the destination asks for less. The set may have changed since it was signed; a buffer beyond the quorum guards against that.',
  'malformed signature': 'The bytes of the signature are damaged. Get the message again from where it was made.',
  'wrong signature':
    'Either the message or the signature was changed, or others signed than it names. Get it again from where it was made, or have it signed anew.',
};

/** The signers as a set to draw, and all other validators as one. */
export function drawnSigners({ signers, ...result }: VerificationResult): ShownSet {
  const totalWeight = BigInt(result.totalWeight);
  const validators = signers.map(({ nodeIds, weight }, index): ShownValidator => {
    return { index, nodeIds, weight: BigInt(weight), status: 'signed', sinceMs: 0 };
  });
  const rest = totalWeight - validators.reduce((sum, { weight }) => sum + weight, 0n);
  const index = validators.length;
  if (rest > 0n) validators.push({ index, nodeIds: ['all others'], weight: rest, status: 'not_asked', sinceMs: 0 });
  return { validators, totalWeight };
}
