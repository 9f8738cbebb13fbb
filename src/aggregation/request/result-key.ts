import { hash } from 'node:crypto';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import { warpSetHash } from '../../validators/warp-set-hash.ts';
import type { SubnetID } from '../../warp/ids.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import type { Subject } from './aggregation-request.ts';

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
export function resultKey(parts: ResultKeyParts): string {
  const { signingSubnetID, warpSet, avoided, quorumNum, quorumBuffer } = parts;
  const last = avoided.size === 0 ? '' : hash('sha256', [...avoided].sort((a, b) => a - b).join(','));
  const signed = `${signatureKey(parts)}|${signingSubnetID}|${warpSetHash(warpSet)}`;
  return `${signed}|${quorumNum}|${quorumBuffer}|${last}`;
}

export interface ResultKeyParts extends SignatureKeyParts {
  readonly signingSubnetID: SubnetID;
  readonly warpSet: WarpSet;
  readonly avoided: ReadonlySet<number>;
  readonly quorumNum: bigint;
  readonly quorumBuffer: bigint;
}

export interface SignatureKeyParts {
  readonly message: Pick<UnsignedMessage, 'id'>;
  readonly justification: Uint8Array;
}

/** The facts that determine a signature. A validator that signs with a justification may refuse without one. */
export function signatureKey({ message, justification }: SignatureKeyParts): string {
  return justification.length === 0 ? message.id : `${message.id}/${bytesToHex(sha256(justification))}`;
}
