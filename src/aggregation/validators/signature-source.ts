import type { BlockchainID, NodeID, SubnetID } from '../../warp/ids.ts';
import type { SignatureOutcome } from './validator-outcome.ts';

/** Where signatures come from: the peer-to-peer network. */
export interface SignatureSource {
  /**
   * Says that these validators of a subnet are to be connected, from now until nobody has named them for a while.
   *
   * @returns milliseconds of the monotonic clock at which the last of them was first named
   */
  track(subnetID: SubnetID, nodeIDs: ReadonlySet<NodeID>): number;
  isConnected(nodeID: NodeID): boolean;
  /** Why a node that is not connected is not, in a few words. */
  whyUnreachable(nodeID: NodeID): string;
  /** Calls back after every change of any connection; returns the unsubscription. */
  onConnectionChange(listener: () => void): () => void;
  /** Rejects only with the signal's reason. */
  requestSignature(
    nodeID: NodeID,
    request: SignatureQuery,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<SignatureOutcome>;
}

/** What all validators of a collection are asked. */
export interface SignatureQuery {
  readonly sourceChainID: BlockchainID;
  readonly message: Uint8Array;
  readonly justification: Uint8Array;
  /** Message and justification as ACP-118 has them. Encoded once, and shared by all attempts: nobody may change it. */
  readonly appBytes: Uint8Array;
}
