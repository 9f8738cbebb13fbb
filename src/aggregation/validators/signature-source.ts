import type { BlockchainID, NodeID, SubnetID } from '../../warp/ids.ts';
import type { SignatureOutcome } from './validator-outcome.ts';

/** Source of signatures: the peer-to-peer network. */
export interface SignatureSource {
  /**
   * Keeps these validators of a subnet connected for a while.
   *
   * @returns milliseconds of the monotonic clock at which the last of them was first tracked
   */
  track(subnetID: SubnetID, nodeIDs: ReadonlySet<NodeID>): number;
  isConnected(nodeID: NodeID): boolean;
  whyUnreachable(nodeID: NodeID): string;
  /** Calls back after every change of a connection; returns a function that unsubscribes. */
  onConnectionChange(listener: () => void): () => void;
  /** Rejects only with the signal's reason. */
  requestSignature(
    nodeID: NodeID,
    request: SignatureQuery,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<SignatureOutcome>;
}

/** The request to all validators of a collection. */
export interface SignatureQuery {
  readonly sourceChainID: BlockchainID;
  readonly message: Uint8Array;
  readonly justification: Uint8Array;
  /** Message and justification encoded as ACP-118 requires. Shared by all attempts, so it must not be changed. */
  readonly appBytes: Uint8Array;
}
