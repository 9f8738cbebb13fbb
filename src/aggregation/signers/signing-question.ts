import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import { type BlockchainID, P_CHAIN_ID, type SubnetID } from '../../warp/ids.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { type AggregationRequest, type MessageSubject, settingsOf } from '../request/aggregation-request.ts';
import { signatureKey } from '../request/result-key.ts';
import { unwrapJustification } from '../transactions/l1-justification.ts';
import { isForPChain, teleporterDestination } from './message-destination.ts';

/** A message, and what a client says about its signers: what has to be known to find them. */
export interface SigningQuestion {
  readonly message: UnsignedMessage;
  readonly justification: Uint8Array;
  /** Undefined: the one that the destination accepts, else the subnet that validates the source chain. */
  readonly signingSubnetID: SubnetID | undefined;
  /** Undefined: the destination's, else 67. */
  readonly quorumNum: bigint | undefined;
  readonly quorumBuffer: bigint;
  /** 0: the height of the destination's epoch if there is one, else the proposed height. */
  readonly pChainHeight: bigint;
  readonly destination: Destination | undefined;
  /** A destination that the message names and the request does not ask for: only warnings consider it. */
  readonly likelyDestinationID?: BlockchainID | undefined;
}

export interface Destination {
  readonly chainID: BlockchainID;
  /** Whether the client named it: then the request fails if the chain is unknown or its epoch cannot be read. */
  readonly isRequired: boolean;
  /** Whether the proposed height is signed nevertheless, and the epoch is read for a warning only. */
  readonly isWarnedOf?: boolean;
}

/**
 * Adds the defaults to a request for a message.
 *
 * @throws {AggregatorError} if the settings make no sense, or the justification is of another message
 */
export function signingQuestion(
  request: Omit<AggregationRequest, 'subject'>,
  { message, justification, origin }: MessageSubject,
): SigningQuestion {
  const settings = settingsOf(request);
  const managerChainID = origin?.managerChainID;
  const isForManager = managerChainID !== undefined && origin?.kind === 'transaction';
  const destination =
    destinationOf(request, message) ?? (isForManager ? { chainID: managerChainID, isRequired: false } : undefined);
  return {
    ...settings,
    message,
    justification: unwrapJustification(message, justification),
    // With a destination, its rule finds the subnet.
    signingSubnetID: request.signingSubnetID ?? (destination === undefined ? origin?.signingSubnetID : undefined),
    destination,
    likelyDestinationID: managerChainID ?? teleporterDestination(message),
  };
}

/** Equal for equal questions, whether settings are given or left to their defaults. */
export function questionKey(question: SigningQuestion): string {
  const { signingSubnetID = '', quorumBuffer, pChainHeight, destination } = question;
  // A destination has a quorum of its own.
  const quorumNum = question.quorumNum ?? (destination === undefined ? DEFAULT_QUORUM_NUM : '');
  const { chainID = '', isRequired = false, isWarnedOf = false } = destination ?? {};
  const ofDestination = [chainID, isRequired, isWarnedOf];
  return [signatureKey(question), signingSubnetID, quorumNum, quorumBuffer, pChainHeight, ...ofDestination].join('|');
}

/** Returns the destination that a client names, the P-Chain for a validator manager's message, or the one in a Teleporter message. */
export function destinationOf(
  request: Omit<AggregationRequest, 'subject'>,
  message?: UnsignedMessage,
): Destination | undefined {
  const { destinationChainID, followsTeleporter, pChainMessages, signingSubnetID, quorumNum } = request;
  const { pChainHeight = 0n } = request;
  if (destinationChainID !== undefined) return { chainID: destinationChainID, isRequired: true };
  if (message === undefined) return undefined;
  if (pChainMessages !== undefined && pChainHeight === 0n && isForPChain(message)) {
    return { chainID: P_CHAIN_ID, isRequired: false, isWarnedOf: pChainMessages === 'proposed' };
  }
  if (followsTeleporter !== true) return undefined;
  if (signingSubnetID !== undefined || quorumNum !== undefined || pChainHeight !== 0n) return undefined;
  const chainID = teleporterDestination(message);
  return chainID && { chainID, isRequired: false };
}
