import type { BlockchainID, SubnetID } from '../../warp/ids.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { teleporterDestination } from '../destinations/message-destination.ts';
import { unwrapJustification } from '../transactions/l1-justification.ts';
import type { L1Messages } from '../transactions/l1-messages.ts';
import { type AggregationRequest, type RequestSettings, type Subject, settingsOf } from './aggregation-request.ts';

export interface CompleteRequest extends RequestSettings {
  readonly message: UnsignedMessage;
  readonly justification: Uint8Array;
  /** Undefined: the one that the destination accepts, else the subnet that validates the source chain. */
  readonly signingSubnetID: SubnetID | undefined;
  readonly destination: Destination | undefined;
  /** A destination that the message names and the request does not ask for: only warnings consider it. */
  readonly likelyDestinationID?: BlockchainID | undefined;
}

/** A request whose quorum is known, as it is once the destination is. */
export interface SettledRequest extends CompleteRequest {
  readonly quorumNum: bigint;
}

export interface Destination {
  readonly chainID: BlockchainID;
  /** Whether the client named it: then the request fails if the chain is unknown or its epoch cannot be read. */
  readonly isRequired: boolean;
}

/** Adds the defaults, and finds the message of a justification or a transaction. */
export async function completeRequest(
  request: AggregationRequest,
  l1Messages: Pick<L1Messages, 'ofTransaction' | 'ofJustification'>,
  signal: AbortSignal,
): Promise<CompleteRequest> {
  signal.throwIfAborted();
  const { subject } = request;
  if (subject.kind === 'message') return completeMessage(request, subject);
  const settings = settingsOf(request);
  const isOfTransaction = subject.kind === 'transaction';
  const { managerChainID, message, justification, signingSubnetID } = isOfTransaction
    ? await l1Messages.ofTransaction(subject, signal)
    : await l1Messages.ofJustification(subject.justification, signal);
  const inMessage = isOfTransaction ? managerChainID && { chainID: managerChainID, isRequired: false } : undefined;
  const destination = destinationOf(request, message) ?? inMessage;
  return {
    ...settings,
    message,
    justification,
    // With a destination, its rule finds the subnet.
    signingSubnetID: request.signingSubnetID ?? (destination === undefined ? signingSubnetID : undefined),
    destination,
    likelyDestinationID: managerChainID ?? teleporterDestination(message),
  };
}

export function completeMessage(
  request: Omit<AggregationRequest, 'subject'>,
  { message, justification }: Extract<Subject, { kind: 'message' }>,
): CompleteRequest {
  return {
    ...settingsOf(request),
    message,
    justification: unwrapJustification(message, justification),
    signingSubnetID: request.signingSubnetID,
    destination: destinationOf(request, message),
    likelyDestinationID: teleporterDestination(message),
  };
}

/** Returns the destination that a client names, or the one in a Teleporter message where the request follows it. */
export function destinationOf(
  request: Omit<AggregationRequest, 'subject'>,
  message?: UnsignedMessage,
): Destination | undefined {
  const { destinationChainID, followsTeleporter, signingSubnetID, quorumNum, pChainHeight = 0n } = request;
  if (destinationChainID !== undefined) return { chainID: destinationChainID, isRequired: true };
  if (message === undefined || followsTeleporter !== true) return undefined;
  if (signingSubnetID !== undefined || quorumNum !== undefined || pChainHeight !== 0n) return undefined;
  const chainID = teleporterDestination(message);
  return chainID && { chainID, isRequired: false };
}
