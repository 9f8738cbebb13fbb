import type { VerificationResult } from '../../../api/messages/verification-record.ts';
import { SigningProgress } from '../sign/signing-progress.ts';

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
export function drawnSigners(result: VerificationResult): SigningProgress {
  const progress = new SigningProgress();
  const { signers, signedWeight, totalWeight, neededWeight } = result;
  const rest = BigInt(totalWeight) - signers.reduce((sum, { weight }) => sum + BigInt(weight), 0n);
  const drawn = signers.map(({ nodeIds, weight }, index) => ({
    index,
    nodeIds,
    weight,
    isConnected: true,
    status: 'signed' as const,
  }));
  const others = {
    index: drawn.length,
    nodeIds: ['all others'],
    weight: String(rest),
    isConnected: true,
    status: 'not_asked' as const,
  };
  progress.apply(
    {
      event: 'resolved',
      data: {
        network: '',
        signingSubnetId: result.signingSubnetId,
        pChainHeight: result.pChainHeight,
        quorumPercentage: result.quorumPercentage,
        quorumPercentageBuffer: 0,
        totalWeight,
        quorumWeight: neededWeight,
        targetWeight: neededWeight,
        signedWeight,
        isVerifying: false,
        validators: rest > 0n ? [...drawn, others] : drawn,
      },
    },
    0,
  );
  return progress;
}
