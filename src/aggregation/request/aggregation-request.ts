import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import type { BlockchainID, NodeID, SubnetID } from '../../warp/ids.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { AggregatorError } from '../aggregator-error.ts';
import type { TransactionSubject } from '../transactions/l1-messages.ts';
import type { OutcomeWeights } from '../validators/validator-outcome.ts';

export interface AggregationRequest {
  readonly subject: Subject;
  /**
   * Default: the subnet that the destination accepts, else the one that validates the source chain, or the chain of the L1's validator
   * manager.
   */
  readonly signingSubnetID?: SubnetID | undefined;
  /** Percent of the signing subnet's weight that must sign, 0 to 100. Default: the destination's, else {@link DEFAULT_QUORUM_NUM}. */
  readonly quorumNum?: bigint | undefined;
  /** Percent beyond the quorum that are collected if possible; the sum is at most 100. Default: 0. */
  readonly quorumBuffer?: bigint | undefined;
  /** 0, the default: the height of the destination's epoch if there is one, else the proposed height. */
  readonly pChainHeight?: bigint | undefined;
  /**
   * The chain that will verify the message, at the height of its current epoch (ACP-181) unless a height is given. Messages about
   * transactions use the chain of the L1's validator manager, if its epoch is available.
   */
  readonly destinationChainID?: BlockchainID | undefined;
  /** Whether a Teleporter message is signed for the destination in it, unless signers, quorum, height or a destination are given. */
  readonly followsTeleporter?: boolean | undefined;
  /**
   * The height for messages of a validator manager to the P-Chain, unless a height or a destination is given: that of the P-Chain's
   * epoch, or the proposed one with a warning where the P-Chain may refuse it. `undefined`: the proposed one, and the epoch is not read.
   */
  readonly pChainMessages?: PChainMessages | undefined;
}

export type PChainMessages = 'epoch' | 'proposed';

export type Subject =
  | MessageSubject
  | { readonly kind: 'justification'; readonly justification: Uint8Array }
  | ({ readonly kind: 'transaction' } & TransactionSubject);

export interface MessageSubject {
  readonly kind: 'message';
  readonly message: UnsignedMessage;
  /** An empty one counts as none. */
  readonly justification: Uint8Array;
  /** What the message was made of; undefined if the client gave it. */
  readonly origin?: MessageOrigin | undefined;
}

export interface MessageOrigin {
  readonly kind: 'transaction' | 'justification';
  /** The chain of the L1's validator manager, which will verify the message; undefined for a message of an EVM chain. */
  readonly managerChainID?: BlockchainID | undefined;
  /** The subnet that validates it. */
  readonly signingSubnetID?: SubnetID | undefined;
}

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

/** Returns the settings with their defaults. The default of the quorum may be the destination's, which is not known here. */
export function settingsOf(request: Omit<AggregationRequest, 'subject'>) {
  const { quorumNum, quorumBuffer = 0n, pChainHeight = 0n, destinationChainID, followsTeleporter } = request;
  if (quorumNum !== undefined && (quorumNum < 0n || quorumNum > MAX_QUORUM)) {
    throw invalid('quorumNum', `the quorum must be between 0 and ${MAX_QUORUM} percent, is ${quorumNum}`);
  }
  if (quorumBuffer < 0n) throw invalid('quorumBuffer', `the quorum's buffer must not be negative, is ${quorumBuffer}`);
  // Otherwise the quorum may be the destination's.
  const isQuorumKnown = quorumNum !== undefined || (destinationChainID === undefined && followsTeleporter !== true);
  if (isQuorumKnown) requireSum(quorumNum ?? DEFAULT_QUORUM_NUM, quorumBuffer);
  if (pChainHeight < 0n) throw invalid('pChainHeight', `the P-Chain height must not be negative, is ${pChainHeight}`);
  return { quorumNum, quorumBuffer, pChainHeight };
}

/** @throws {AggregatorError} if the quorum with its buffer is above 100 % */
export function requireSum(quorumNum: bigint, quorumBuffer: bigint): void {
  if (quorumNum + quorumBuffer <= MAX_QUORUM) return;
  throw invalid(
    'quorumBuffer',
    `the quorum and its buffer must add up to at most ${MAX_QUORUM} percent, are ${quorumNum + quorumBuffer}`,
  );
}

function invalid(field: 'quorumNum' | 'quorumBuffer' | 'pChainHeight', message: string) {
  return new AggregatorError('invalid_request', message, { field });
}
