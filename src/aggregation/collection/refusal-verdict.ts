type RefusalVerdict =
  /** The validator may lag by a block or two, or be busy. */
  | 'may pass'
  /** It will refuse again during this request, perhaps not later. */
  | 'final for now'
  /** No later block changes it. */
  | 'for good';

/** Generic codes (avalanchego `network/p2p/error.go`). */
export const NO_HANDLER = -2;
/** The node answers validators only; a later block may make this service's node one. */
const NOT_A_VALIDATOR = -3;
/**
 * Codes of the P-Chain that no later block changes (`vms/platformvm/network/warp.go`): the message or its justification is
 * malformed, they do not belong together, or the message contradicts final state: a subnet is converted once (7), and the
 * weight of a nonce is fixed (17).
 */
const FINAL_P_CHAIN_CODES: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 7, 8, 9, 10, 13, 15, 17]);

/**
 * The codes of EVM chains are not final, because one code means different things by VM and release, which a refusal does not name:
 *
 * | Code | C-Chain since Helicon | subnet-evm, C-Chain before Helicon |
 * |---|---|---|
 * | 1 | storage failed | message not known, or payload not parsed |
 * | 2 | payload not parsed | block not known, or uptime not reached |
 * | 3 | message not known: its block may be accepted and not executed | – |
 * | 4 | block not accepted | – |
 */
export function judgeRefusal(code: number, isPChainMessage: boolean): RefusalVerdict {
  if (code === NOT_A_VALIDATOR) return 'final for now';
  // The chain's virtual machine does not sign: only other software on the node changes that.
  if (code === NO_HANDLER || (isPChainMessage && FINAL_P_CHAIN_CODES.has(code))) return 'for good';
  return 'may pass';
}
