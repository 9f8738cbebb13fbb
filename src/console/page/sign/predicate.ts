import { withoutPrefix } from '../ui/hex.ts';

/** Calls with which a signed message is delivered to the destination chain. */

/** Function selectors of the precompile and of Teleporter's messenger: the first bytes of the hash of their signatures. */
export const GET_VERIFIED_WARP_MESSAGE = '6f825350';
export const RECEIVE_CROSS_CHAIN_MESSAGE = 'ccb5f809';
const WORD_DIGITS = 64;

/** Calldata for the first message of a transaction's access list. */
export function readCalldata(): string {
  return `0x${GET_VERIFIED_WARP_MESSAGE}${''.padStart(WORD_DIGITS, '0')}`;
}

/** Calldata for Teleporter's messenger: deliver the first message of the access list, and reward this address. */
export function deliverCalldata(rewardAddress: string): string {
  const address = withoutPrefix(rewardAddress).toLowerCase().padStart(WORD_DIGITS, '0');
  return `0x${RECEIVE_CROSS_CHAIN_MESSAGE}${''.padStart(WORD_DIGITS, '0')}${address}`;
}
