import type { VerificationBody } from '../../../api/messages/messages.ts';
import { DEFAULT_QUORUM } from '../sign/quorum.ts';
import type { ValidatorsAt } from '../sign/sign-request.ts';

/** The destination for which a message is verified, as typed. */
export interface Where extends ValidatorsAt {
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

/** The body of the request; undefined while the form is incomplete, so that no verdict on another height or chain is shown. */
export function verificationBody(signedMessage: string, where: Where): VerificationBody | undefined {
  const signingSubnetId = where.signingSubnetId.trim();
  const destinationBlockchainId = where.destinationBlockchainId.trim();
  const pChainHeight = where.pChainHeight.trim();
  const body = { signedMessage, quorumPercentage: where.quorum, ...(signingSubnetId !== '' && { signingSubnetId }) };
  switch (where.at) {
    case 'now':
      return body;
    case 'destination':
      return destinationBlockchainId === '' ? undefined : { ...body, destinationBlockchainId };
    case 'height':
      return /^\d+$/.test(pChainHeight) ? { ...body, pChainHeight: Number(pChainHeight) } : undefined;
  }
}
