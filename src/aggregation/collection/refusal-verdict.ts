type RefusalVerdict =
  /** The validator may lag by a block or two, or be busy. */
  | 'may pass'
  /** It will refuse again during this request, perhaps not later. */
  | 'final for now'
  /** No block before the registration's expiry changes it, except one that registers the validator. */
  | 'until expiry'
  /** No later block changes it. */
  | 'for good';

/** Generic codes (avalanchego `network/p2p/error.go`). */
export const NO_HANDLER = -2;
/** The node answers validators only; a later block may make this service's node one. */
const NOT_A_VALIDATOR = -3;
/** Code of the P-Chain for the end of a validation whose registration it may still accept. */
export const COULD_BE_REGISTERED = 14;
/**
 * Codes of the P-Chain that no later block changes (`vms/platformvm/network/warp.go`): the message or its justification is
 * malformed, they do not belong together, or the message contradicts final state: a subnet is converted once (7), and the
 * weight of a nonce is fixed (17).
 */
const FINAL_P_CHAIN_CODES: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 7, 8, 9, 10, 13, 15, 17]);

export interface RefusedMessage {
  readonly isPChainMessage: boolean;
  /** Whether it says that a validation is over whose registration has not expired by our clock. */
  readonly isRegistrable: boolean;
}

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
export function judgeRefusal(code: number, { isPChainMessage, isRegistrable }: RefusedMessage): RefusalVerdict {
  if (code === NOT_A_VALIDATOR) return 'final for now';
  if (code === COULD_BE_REGISTERED && isRegistrable) return 'until expiry';
  // The chain's virtual machine does not sign: only other software on the node changes that.
  if (code === NO_HANDLER || (isPChainMessage && FINAL_P_CHAIN_CODES.has(code))) return 'for good';
  return 'may pass';
}
