import type { BlockchainID, SubnetID } from '../../warp/ids.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { unwrapJustification } from '../l1/l1-justification.ts';
import type { L1Messages } from '../l1/l1-messages.ts';
import { type AggregationRequest, type RequestSettings, type Subject, settingsOf } from './aggregation-request.ts';

export interface CompleteRequest extends RequestSettings {
  readonly message: UnsignedMessage;
  readonly justification: Uint8Array;
  /** Undefined: the subnet that validates the source chain. */
  readonly signingSubnetID: SubnetID | undefined;
  readonly destination: Destination | undefined;
}

export interface Destination {
  readonly chainID: BlockchainID;
  /** Whether the request fails if the chain's API cannot be asked; otherwise the proposed height is used. */
  readonly isRequired: boolean;
}

/** Adds the defaults, and finds the message of a justification or a transaction. */
export async function completeRequest(
  request: AggregationRequest,
  l1Messages: L1Messages,
  signal: AbortSignal,
): Promise<CompleteRequest> {
  signal.throwIfAborted();
  const { subject } = request;
  if (subject.kind === 'message') return completeMessage(request, subject);
  const settings = settingsOf(request);
  const isOfTransaction = subject.kind === 'transaction';
  const { managerChainID, ...found } = isOfTransaction
    ? await l1Messages.ofTransaction(subject, signal)
    : await l1Messages.ofJustification(subject.justification, signal);
  const ofManager = isOfTransaction && managerChainID !== undefined && { chainID: managerChainID, isRequired: false };
  return {
    ...settings,
    ...found,
    signingSubnetID: request.signingSubnetID ?? found.signingSubnetID,
    destination: destinationOf(request) ?? (ofManager || undefined),
  };
}

export function completeMessage(
  request: Omit<AggregationRequest, 'subject'>,
  { message, justification }: Extract<Subject, { kind: 'message' }>,
): CompleteRequest {
  const { quorumNum, quorumBuffer, pChainHeight } = settingsOf(request);
  return {
    quorumNum,
    quorumBuffer,
    pChainHeight,
    message,
    justification: unwrapJustification(message, justification),
    signingSubnetID: request.signingSubnetID,
    destination: destinationOf(request),
  };
}

/** The destination that a client names. */
export function destinationOf({ destinationChainID: chainID }: Pick<AggregationRequest, 'destinationChainID'>) {
  return chainID && { chainID, isRequired: true };
}
