import type { BlockchainID, NodeID, SubnetID } from '../../warp/ids.ts';
import type { AttemptOutcome } from './validator-outcome.ts';

export interface SignatureSource {
  /** Keeps these validators connected for a while. Returns when the last of them was first tracked, in monotonic ms. */
  track(subnetID: SubnetID, nodeIDs: ReadonlySet<NodeID>): number;
  isConnected(nodeID: NodeID): boolean;
  whyUnreachable(nodeID: NodeID): string;
  onConnectionChange(listener: () => void): () => void;
  /** Rejects only with the signal's reason. */
  requestSignature(
    nodeID: NodeID,
    request: SignatureQuery,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<AttemptOutcome>;
}

export interface SignatureQuery {
  readonly sourceChainID: BlockchainID;
  readonly message: Uint8Array;
  readonly justification: Uint8Array;
  /** Message and justification encoded as ACP-118 requires. Shared by all attempts, so it must not be changed. */
  readonly appBytes: Uint8Array;
}
