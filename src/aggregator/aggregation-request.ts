import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '../primitives/bytes.ts';
import type { BlockchainID, NodeID, SubnetID, TxID } from '../primitives/ids.ts';
import type { UnsignedMessage } from '../warp/unsigned-message.ts';

/** What one client asks for. */
export interface AggregationRequest {
  readonly subject: Subject;
  readonly signingSubnetID?: SubnetID | undefined;
  readonly quorumNum?: bigint | undefined;
  readonly quorumBuffer?: bigint | undefined;
  readonly pChainHeight?: bigint | undefined;
  readonly destinationChainID?: BlockchainID | undefined;
}

export type Subject =
  | { readonly kind: 'message'; readonly message: UnsignedMessage; readonly justification: Uint8Array }
  | { readonly kind: 'justification'; readonly justification: Uint8Array }
  | { readonly kind: 'transaction'; readonly txID: TxID };

export const DEFAULT_QUORUM_NUM = 67n;

export interface CompleteRequest {
  readonly message: UnsignedMessage;
  /** Empty where none was given. */
  readonly justification: Uint8Array;
  /** Undefined: the subnet that validates the source chain. */
  readonly signingSubnetID: SubnetID | undefined;
  /** Percent of the signing subnet's weight that must sign, 0 to 100. */
  readonly quorumNum: bigint;
  /** Percent beyond the quorum that is tried for; the sum is at most 100. */
  readonly quorumBuffer: bigint;
  /** 0: the height of the destination's epoch where one is given, else the one that the P-Chain proposes now. */
  readonly pChainHeight: bigint;
  /** Not together with a height other than 0. */
  readonly destination?: Destination | undefined;
}

/** The chain that will verify the message, at the height of its current epoch (ACP-181). */
export interface Destination {
  readonly chainID: BlockchainID;
  /** Whether the proposed height will not do where the chain's API cannot be asked. */
  readonly isRequired: boolean;
}

export interface AggregationResult {
  /** Bytes of the signed message, verified. */
  readonly signedMessage: Uint8Array;
  readonly signingSubnetID: SubnetID;
  /** The height whose validator set the signer bits refer to. */
  readonly pChainHeight: bigint;
  readonly signedWeight: bigint;
  readonly totalWeight: bigint;
  /** A node of each signer, in the order of the canonical set. */
  readonly signers: readonly NodeID[];
}

/** Two requests with the same key have the same answer. */
export function requestKey(request: CompleteRequest): string {
  const { message, signingSubnetID, quorumNum, quorumBuffer, pChainHeight } = request;
  return [signatureKey(request), message.networkID, signingSubnetID, quorumNum, quorumBuffer, pChainHeight].join('|');
}

/**
 * What a validator's signature depends on: the message, and the justification it was asked with. A signature got with a good
 * justification says nothing of what the validator would do without one, so the two never share a cache entry.
 */
export function signatureKey({ message, justification }: Pick<CompleteRequest, 'message' | 'justification'>): string {
  return justification.length === 0 ? message.id : `${message.id}/${bytesToHex(sha256(justification))}`;
}
