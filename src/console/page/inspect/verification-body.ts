import { DEFAULT_QUORUM } from '../sign/quorum.ts';

/** For whom a message is verified, as it stands in the form. */
export interface Where {
  readonly at: 'now' | 'destination' | 'height';
  readonly destinationBlockchainId: string;
  readonly pChainHeight: string;
  readonly signingSubnetId: string;
  readonly quorum: number;
}

export const HERE: Where = {
  at: 'now',
  destinationBlockchainId: '',
  pChainHeight: '',
  signingSubnetId: '',
  quorum: DEFAULT_QUORUM,
};

export interface VerificationBody {
  readonly signedMessage: string;
  readonly quorumPercentage: number;
  readonly signingSubnetId?: string;
  readonly destinationBlockchainId?: string;
  readonly pChainHeight?: number;
}

/**
 * What to ask the service; undefined while the form is not filled in, as a verdict for another height or chain than the one that is being
 * typed would be taken for its own.
 */
export function verificationBody(signedMessage: string, where: Where): VerificationBody | undefined {
  const [signingSubnetId, destinationBlockchainId, pChainHeight] = [
    where.signingSubnetId.trim(),
    where.destinationBlockchainId.trim(),
    where.pChainHeight.trim(),
  ];
  const body = {
    ...{ signedMessage, quorumPercentage: where.quorum },
    ...(signingSubnetId !== '' && { signingSubnetId }),
  };
  switch (where.at) {
    case 'now':
      return body;
    case 'destination':
      return destinationBlockchainId === '' ? undefined : { ...body, destinationBlockchainId };
    case 'height':
      return /^\d+$/.test(pChainHeight) ? { ...body, pChainHeight: Number(pChainHeight) } : undefined;
  }
}
