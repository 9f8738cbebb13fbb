import type { NodeID } from '../warp/ids.ts';

/** One entry of a subnet's validator set at a height, as `platform.getValidatorsAt` returns it. */
export interface Validator {
  readonly nodeID: NodeID;
  /** 48 bytes, compressed G1. Undefined for validators without a key and for inactive L1 validators. */
  readonly publicKey: Uint8Array | undefined;
  readonly weight: bigint;
}
