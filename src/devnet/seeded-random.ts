import { hash } from 'node:crypto';
import type { Random } from '../lib/concurrency/clock.ts';
import { concatBytes } from '../lib/encoding/bytes.ts';
import { type BlockchainID, ID_LENGTH, idFromBytes, type SubnetID, type TxID } from '../warp/ids.ts';

const DIGEST_LENGTH = 32;

/**
 * Bytes that look random and depend on the arguments alone: SHA-256 in counter mode. The text must not change, because the keys depend on
 * it.
 */
export function seededBytes(seed: number, label: string, length: number): Uint8Array {
  const blocks = Array.from({ length: Math.ceil(length / DIGEST_LENGTH) }, (_, counter) =>
    hash('sha256', `embedded network ${seed} ${label} ${counter}`, 'buffer'),
  );
  return concatBytes(...blocks).slice(0, length);
}

export function seededId<T extends BlockchainID | SubnetID | TxID>(seed: number, label: string): T {
  return idFromBytes<T>(seededBytes(seed, label, ID_LENGTH), label);
}

/** Uniform in [0, 1) as `Math.random`, and the same at every run (xorshift32). */
export function createSeededRandom(seed: number): Random {
  // Zero is the one state that xorshift never leaves.
  let state = new DataView(seededBytes(seed, 'random', 4).buffer).getUint32(0) || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
