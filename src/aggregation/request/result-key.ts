import { hash } from 'node:crypto';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import { warpSetHash } from '../../validators/warp-set-hash.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { type AggregationRequest, type Subject, settingsOf } from './aggregation-request.ts';
import type { SettledRequest } from './complete-request.ts';
import type { SignersAtHeight } from './signers-at-height.ts';

/** Equal for equal requests, whether settings are given or left to their defaults. */
export function requestKey(request: AggregationRequest): string {
  const { quorumNum, quorumBuffer, pChainHeight } = settingsOf(request);
  const { signingSubnetID = '', destinationChainID = '', followsTeleporter = false } = request;
  // A destination has a quorum of its own, and so has the one in a message.
  const hasOwnQuorum = destinationChainID !== '' || followsTeleporter || request.subject.kind === 'transaction';
  const quorum = quorumNum ?? (hasOwnQuorum ? '' : DEFAULT_QUORUM_NUM);
  const settings = [signingSubnetID, quorum, quorumBuffer, pChainHeight, destinationChainID, followsTeleporter];
  return [subjectKey(request.subject), ...settings].join('|');
}

export function subjectKey(subject: Subject): string {
  switch (subject.kind) {
    case 'message':
      return signatureKey(subject);
    case 'justification':
      return `justification ${bytesToHex(sha256(subject.justification))}`;
    case 'transaction':
      return ['transaction', subject.txID, subject.evm?.chain ?? subject.evm !== undefined, subject.evm?.logIndex].join(
        ' ',
      );
  }
}

/**
 * Covers everything that determines an answer: the validator set, not its height. Equal for requests with the same answer, in every
 * replica. The length is bounded, so the indices of avoided validators are hashed.
 */
export function resultKey(
  request: SignatureKeyParts & Pick<SettledRequest, 'quorumNum' | 'quorumBuffer'>,
  { signingSubnetID, warpSet, avoided }: Omit<SignersAtHeight, 'pChainHeight'>,
): string {
  const last = avoided.size === 0 ? '' : hash('sha256', [...avoided].sort((a, b) => a - b).join(','));
  const signed = `${signatureKey(request)}|${signingSubnetID}|${warpSetHash(warpSet)}`;
  const { quorumNum, quorumBuffer } = request;
  return `${signed}|${quorumNum}|${quorumBuffer}|${last}`;
}

export interface SignatureKeyParts {
  readonly message: Pick<UnsignedMessage, 'id'>;
  readonly justification: Uint8Array;
}

/** The facts that determine a signature. A validator that signs with a justification may refuse without one. */
export function signatureKey({ message, justification }: SignatureKeyParts): string {
  return justification.length === 0 ? message.id : `${message.id}/${bytesToHex(sha256(justification))}`;
}
