import { hash } from 'node:crypto';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import { warpSetHash } from '../../validators/warp-set-hash.ts';
import type { SubnetID } from '../../warp/ids.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { type AggregationRequest, type Subject, settingsOf } from './aggregation-request.ts';

/** Equal for equal requests, whether settings are given or left to their defaults. */
export function requestKey(request: AggregationRequest): string {
  const { quorumNum, quorumBuffer, pChainHeight } = settingsOf(request);
  const { signingSubnetID = '', destinationChainID = '' } = request;
  const settings = [signingSubnetID, quorumNum, quorumBuffer, pChainHeight, destinationChainID];
  return [subjectKey(request.subject), ...settings].join('|');
}

function subjectKey(subject: Subject): string {
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

/** Everything that determines an answer: the validator set, not its height. */
export interface ResultKeyParts extends SignatureKeyParts {
  readonly signingSubnetID: SubnetID;
  readonly warpSet: WarpSet;
  readonly quorumNum: bigint;
  readonly quorumBuffer: bigint;
  readonly avoided: ReadonlySet<number>;
}

export interface SignatureKeyParts {
  readonly message: Pick<UnsignedMessage, 'id'>;
  readonly justification: Uint8Array;
}

/** Equal for requests with the same answer, in every replica: 64 hex digits of a hash. */
export function resultKey(parts: ResultKeyParts): string {
  const { message, justification, signingSubnetID, warpSet, quorumNum, quorumBuffer, avoided } = parts;
  // Few requests have a justification or avoided validators.
  if (justification.length > 0 || avoided.size > 0) return makeKey(parts);
  const setHash = warpSetHash(warpSet);
  const last = lastKeys.get(message);
  if (
    last !== undefined &&
    last.setHash === setHash &&
    last.signingSubnetID === signingSubnetID &&
    last.quorumNum === quorumNum &&
    last.quorumBuffer === quorumBuffer
  ) {
    return last.key;
  }
  const key = makeKey(parts);
  lastKeys.set(message, { setHash, signingSubnetID, quorumNum, quorumBuffer, key });
  return key;
}

/** The last key of each message. The set itself is not kept, since hundreds of messages may be requested at different heights. */
const lastKeys = new WeakMap<object, LastKey>();

interface LastKey extends Pick<ResultKeyParts, 'signingSubnetID' | 'quorumNum' | 'quorumBuffer'> {
  readonly setHash: string;
  readonly key: string;
}

function makeKey(parts: ResultKeyParts): string {
  const { signingSubnetID, warpSet, quorumNum, quorumBuffer, avoided } = parts;
  const last = avoided.size === 0 ? '' : [...avoided].sort((a, b) => a - b).join(',');
  const signed = `${signatureKey(parts)}|${signingSubnetID}|${warpSetHash(warpSet)}`;
  return hash('sha256', `${signed}|${quorumNum}|${quorumBuffer}|${last}`);
}

/** What determines a signature. A validator that signs with a justification may refuse without one. */
export function signatureKey({ message, justification }: SignatureKeyParts): string {
  return justification.length === 0 ? message.id : `${message.id}/${bytesToHex(sha256(justification))}`;
}
