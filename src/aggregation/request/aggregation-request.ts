import type { BlockchainID, NodeID, SubnetID } from '../../warp/ids.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { AggregatorError } from '../aggregator-error.ts';
import type { TransactionSubject } from '../l1/l1-messages.ts';
import type { OutcomeWeights } from '../validators/validator-outcome.ts';

export interface AggregationRequest {
  readonly subject: Subject;
  /** Default: the subnet that validates the source chain, or the chain of the L1's validator manager. */
  readonly signingSubnetID?: SubnetID | undefined;
  /** Percent of the signing subnet's weight that must sign, 0 to 100. Default: {@link DEFAULT_QUORUM_NUM}. */
  readonly quorumNum?: bigint | undefined;
  /** Percent beyond the quorum that are collected if possible; the sum is at most 100. Default: 0. */
  readonly quorumBuffer?: bigint | undefined;
  /** 0, the default: the height of the destination's epoch if there is one, else the proposed height. */
  readonly pChainHeight?: bigint | undefined;
  /**
   * The chain that will verify the message, at the height of its current epoch (ACP-181). Excludes a height other than 0.
   * Messages about transactions use the chain of the L1's validator manager, if its epoch is available.
   */
  readonly destinationChainID?: BlockchainID | undefined;
}

export type Subject =
  /** An empty justification counts as none. */
  | { readonly kind: 'message'; readonly message: UnsignedMessage; readonly justification: Uint8Array }
  | { readonly kind: 'justification'; readonly justification: Uint8Array }
  | ({ readonly kind: 'transaction' } & TransactionSubject);

export const DEFAULT_QUORUM_NUM = 67n;
const MAX_QUORUM = 100n;

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
  /** Outcomes of the collection that made the message; this replica asks no validator for a message from another replica. */
  readonly weights: OutcomeWeights;
}

export interface RequestSettings {
  readonly quorumNum: bigint;
  readonly quorumBuffer: bigint;
  readonly pChainHeight: bigint;
}

export function settingsOf(request: Omit<AggregationRequest, 'subject'>): RequestSettings {
  const { quorumNum = DEFAULT_QUORUM_NUM, quorumBuffer = 0n, pChainHeight = 0n, destinationChainID } = request;
  if (quorumNum < 0n || quorumNum > MAX_QUORUM) {
    throw invalid('quorumNum', `the quorum must be between 0 and ${MAX_QUORUM} percent, is ${quorumNum}`);
  }
  if (quorumBuffer < 0n) throw invalid('quorumBuffer', `the quorum's buffer must not be negative, is ${quorumBuffer}`);
  if (quorumNum + quorumBuffer > MAX_QUORUM) {
    throw invalid(
      'quorumBuffer',
      `the quorum and its buffer must add up to at most ${MAX_QUORUM} percent, are ${quorumNum + quorumBuffer}`,
    );
  }
  if (pChainHeight < 0n) throw invalid('pChainHeight', `the P-Chain height must not be negative, is ${pChainHeight}`);
  if (pChainHeight !== 0n && destinationChainID !== undefined) {
    throw invalid(
      'destinationChainID',
      'the destination chain must not be given together with a P-Chain height: each of them determines the height',
    );
  }
  return { quorumNum, quorumBuffer, pChainHeight };
}

function invalid(field: 'quorumNum' | 'quorumBuffer' | 'pChainHeight' | 'destinationChainID', message: string) {
  return new AggregatorError('invalid_request', message, { field });
}
