import { WARP_PRECOMPILE } from '../../../pchain/codec/send-warp-log.ts';
import { withoutPrefix } from '../ui/hex.ts';

/** Encodings in which a signed message is delivered to the destination chain. */

/** Function selectors of the precompile and of Teleporter's messenger: the first bytes of the hash of their signatures. */
export const GET_VERIFIED_WARP_MESSAGE = '6f825350';
export const RECEIVE_CROSS_CHAIN_MESSAGE = 'ccb5f809';
const WORD_DIGITS = 64;

/**
 * The bytes of the predicate: the message, one byte that ends it, and zeros up to whole words (subnet-evm `predicate.PackPredicate`). They
 * are storage keys in the transaction's access list, under the precompile's address.
 */
export function packPredicate(signedMessage: string): string {
  const ended = `${withoutPrefix(signedMessage)}ff`;
  return ended.padEnd(Math.ceil(ended.length / WORD_DIGITS) * WORD_DIGITS, '0');
}

export function accessListOf(signedMessage: string): { readonly address: string; readonly storageKeys: string[] }[] {
  const packed = packPredicate(signedMessage);
  const storageKeys = (packed.match(/.{64}/g) ?? []).map((word) => `0x${word}`);
  return [{ address: WARP_PRECOMPILE, storageKeys }];
}

/** Calldata for the first message of a transaction's access list. */
export function readCalldata(): string {
  return `0x${GET_VERIFIED_WARP_MESSAGE}${''.padStart(WORD_DIGITS, '0')}`;
}

/** Calldata for Teleporter's messenger: deliver the first message of the access list, and reward this address. */
export function deliverCalldata(rewardAddress: string): string {
  const address = withoutPrefix(rewardAddress).toLowerCase().padStart(WORD_DIGITS, '0');
  return `0x${RECEIVE_CROSS_CHAIN_MESSAGE}${''.padStart(WORD_DIGITS, '0')}${address}`;
}
