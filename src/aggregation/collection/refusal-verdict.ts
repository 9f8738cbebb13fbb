import type { SignatureFailure } from '../validators/validator-outcome.ts';
import type { Tally } from './tally.ts';

/** What a refusal's code says of asking the same validator again. */
type RefusalVerdict =
  /** The validator may be a block or two behind, or busy. */
  | 'may pass'
  /** It will refuse again within this request; later it may not. */
  | 'final for now'
  /** No later block changes it: the message will never be signed. */
  | 'for good';

/** Generic codes (avalanchego `network/p2p/error.go`). */
export const NO_HANDLER = -2;
/** The node answers validators only; a later block may make one of us. */
const NOT_A_VALIDATOR = -3;
/**
 * Codes of the P-Chain that no later block changes (`vms/platformvm/network/warp.go`): they say that the message or its
 * justification is malformed, that the two do not belong together, or that the message contradicts what is decided for
 * good: a subnet is converted once (7), and the weight that belongs to a nonce stays (17).
 */
const FINAL_P_CHAIN_CODES: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 7, 8, 9, 10, 13, 15, 17]);

export function judgeRefusal(code: number, isPChainMessage: boolean): RefusalVerdict {
  if (code === NOT_A_VALIDATOR) return 'final for now';
  // The chain's virtual machine signs nothing at all: that changes with the node's software, and with no block.
  if (code === NO_HANDLER || (isPChainMessage && FINAL_P_CHAIN_CODES.has(code))) return 'for good';
  return 'may pass';
}

/** It was asked again after each of the pauses. */
export function hasRefusedToTheEnd(failure: SignatureFailure, isPChainMessage: boolean): boolean {
  return failure.kind === 'refused' && judgeRefusal(failure.code, isPChainMessage) === 'may pass';
}

/** Weight of the validators that have refused and, whatever happens, will refuse again. */
export function weightRefusedForGood(tally: Tally, isPChainMessage: boolean): bigint {
  return tally.warpSet.validators.reduce((sum, { index, weight }) => {
    const state = tally.states[index];
    const isForGood =
      state?.kind === 'failed' &&
      state.failure.kind === 'refused' &&
      judgeRefusal(state.failure.code, isPChainMessage) === 'for good';
    return isForGood ? sum + weight : sum;
  }, 0n);
}
