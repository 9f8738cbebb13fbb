import { WARP_PRECOMPILE } from './send-warp-log.ts';

const WORD_DIGITS = 64;

/** An entry of a transaction's access list (EIP-2930), as JSON-RPC, ethers, viem and cast take it. */
export interface AccessListEntry {
  readonly address: string;
  /** Words of 32 bytes in hex, with `0x`. */
  readonly storageKeys: string[];
}

/**
 * Returns the bytes of the predicate in hex: the message, one byte 0xff, and zeros up to whole words (avalanchego `vms/evm/predicate`).
 *
 * @param signedMessage hex, with or without `0x`
 */
export function packPredicate(signedMessage: string): string {
  const ended = `${signedMessage.replace(/^0x/, '')}ff`;
  return ended.padEnd(Math.ceil(ended.length / WORD_DIGITS) * WORD_DIGITS, '0');
}

/** Returns the access list with which a transaction of an EVM chain delivers the message: the Warp precompile, and its predicate as storage keys. */
export function accessListOf(signedMessage: string): AccessListEntry[] {
  const words = packPredicate(signedMessage).match(/.{64}/g) ?? [];
  return [{ address: WARP_PRECOMPILE, storageKeys: words.map((word) => `0x${word}`) }];
}
