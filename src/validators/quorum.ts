/** Quorums are in percent of the signing subnet's total weight. Without imports, for the console. */
const QUORUM_DENOMINATOR = 100n;
/** WarpDefaultQuorumNumerator of subnet-evm; the C-Chain and the P-Chain have no other. */
export const DEFAULT_QUORUM_NUM = 67n;

/** VerifyWeight of avalanchego `vms/platformvm/warp/signature.go`, in exact integers. */
export function isQuorumReached(quorumNum: bigint, signedWeight: bigint, totalWeight: bigint): boolean {
  return quorumNum * totalWeight <= QUORUM_DENOMINATOR * signedWeight;
}

/** The least weight with which {@link isQuorumReached} holds. */
export function quorumWeight(quorumNum: bigint, totalWeight: bigint): bigint {
  return (quorumNum * totalWeight + QUORUM_DENOMINATOR - 1n) / QUORUM_DENOMINATOR;
}
