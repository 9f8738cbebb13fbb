import { sha256 } from '@noble/hashes/sha2.js';
import { ByteWriter } from '../lib/encoding/byte-writer.ts';
import { bytesToHex } from '../lib/encoding/bytes.ts';
import type { WarpSet } from './warp-set.ts';

/** Sets are immutable and shared by many requests: each is hashed once. */
const hashes = new WeakMap<WarpSet, string>();

/**
 * Returns the sha256 of a set's content as 64 hex digits. Node IDs are included, because results name the signers by them.
 *
 * The hash covers `u32 count · validators{u32 len publicKey · u64 weight · u32 count · nodeIDs{u32 len text}} · u64 totalWeight ·
 * u32 keyless count · u64 keyless weight · keyless validators{u32 len nodeID text · u64 weight}`. Every part has a length, so different sets cannot encode to the same bytes.
 */
export function warpSetHash(warpSet: WarpSet): string {
  const known = hashes.get(warpSet);
  if (known !== undefined) return known;
  const hash = bytesToHex(sha256(encodeWarpSet(warpSet)));
  hashes.set(warpSet, hash);
  return hash;
}

function encodeWarpSet({ validators, totalWeight, keyless }: WarpSet): Uint8Array {
  const encoder = new TextEncoder();
  const writer = new ByteWriter().u32(validators.length);
  for (const { publicKey, weight, nodeIDs } of validators) {
    writer.lengthPrefixed(publicKey).u64(weight).u32(nodeIDs.length);
    // Text, because decoding the cb58 of thousands of node IDs would take longer than the hash.
    for (const nodeID of nodeIDs) writer.lengthPrefixed(encoder.encode(nodeID));
  }
  writer.u64(totalWeight).u32(keyless.count).u64(keyless.weight);
  for (const { nodeID, weight } of keyless.validators) writer.lengthPrefixed(encoder.encode(nodeID)).u64(weight);
  return writer.finish();
}
