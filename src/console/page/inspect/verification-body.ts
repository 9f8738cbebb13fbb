import type { VerificationBody } from '../../../api/messages/messages.ts';
import { type Destination, isHeight, signersOf } from '../sign/sign-request.ts';

export const HERE: Destination = {
  destinationBlockchainId: '',
  pChainHeight: '',
  signingSubnetId: '',
  quorum: undefined,
};

/** The body of the request; undefined while the height is none, so that no verdict on another one is shown. */
export function verificationBody(signedMessage: string, destination: Destination): VerificationBody | undefined {
  if (!isHeight(destination)) return undefined;
  return { signedMessage, ...signersOf(destination) };
}
