import { bytesToHex, compareBytes } from '../lib/encoding/bytes.ts';
import { ParseError } from '../lib/encoding/parse-error.ts';
import { INACTIVE_NODE_ID, type NodeID } from '../warp/ids.ts';
import type { Validator } from './validator.ts';

/**
 * The canonical validator set that signer bits refer to (avalanchego `snow/validators/warp.go`). Validators that share a BLS
 * key count as one, and the set is ordered by uncompressed public key, ascending.
 *
 * `src/validators` is pure: sets and their hash, quorum arithmetic, and the verification of a destination chain. It does not read sets.
 */
export interface WarpSet {
  readonly validators: readonly WarpValidator[];
  /** Includes validators without a key and inactive ones: they cannot sign, but they count for the quorum. */
  readonly totalWeight: bigint;
  readonly keyless: Keyless;
}

interface Keyless {
  readonly count: number;
  readonly weight: bigint;
  /** In text order of their NodeIDs. */
  readonly validators: readonly KeylessValidator[];
}

/** An entry of the set that cannot sign. */
export interface KeylessValidator {
  readonly nodeID: NodeID;
  readonly weight: bigint;
  /** `no_key`: it registered no BLS key. `inactive`: all inactive L1 validators, under {@link INACTIVE_NODE_ID}. */
  readonly reason: 'no_key' | 'inactive';
}

export interface WarpValidator {
  /** Its bit in the set of signers. */
  readonly index: number;
  /** 48 bytes, compressed G1. */
  readonly publicKey: Uint8Array;
  /** The same as hex: a key for maps. */
  readonly publicKeyHex: string;
  readonly weight: bigint;
  /** All nodes that hold this key, in text order. Any of them can sign for the whole weight. */
  readonly nodeIDs: readonly NodeID[];
}

/** Weights are u64 on the chain, and so is their sum. */
const MAX_WEIGHT = 2n ** 64n - 1n;

/** @throws {ParseError} if the sum of the weights exceeds a u64, which the chain never allows */
export function createWarpSet(validators: readonly Validator[]): WarpSet {
  let totalWeight = 0n;
  const keyless: KeylessValidator[] = [];
  const byKey = new Map<string, { publicKey: Uint8Array; weight: bigint; nodeIDs: NodeID[] }>();
  for (const { nodeID, publicKey, weight } of validators) {
    totalWeight += weight;
    if (publicKey === undefined) {
      keyless.push({ nodeID, weight, reason: nodeID === INACTIVE_NODE_ID ? 'inactive' : 'no_key' });
      continue;
    }
    const key = bytesToHex(publicKey);
    const known = byKey.get(key);
    if (known === undefined) {
      byKey.set(key, { publicKey, weight, nodeIDs: [nodeID] });
    } else {
      known.weight += weight;
      known.nodeIDs.push(nodeID);
    }
  }
  if (totalWeight > MAX_WEIGHT) throw new ParseError('validator set', `weights sum to ${totalWeight}, beyond u64`);
  const ordered = [...byKey].toSorted(([, a], [, b]) => compareUncompressed(a.publicKey, b.publicKey));
  return {
    totalWeight,
    keyless: {
      count: keyless.length,
      weight: keyless.reduce((sum, { weight }) => sum + weight, 0n),
      validators: keyless.toSorted((a, b) => (a.nodeID < b.nodeID ? -1 : 1)),
    },
    validators: ordered.map(([publicKeyHex, { publicKey, weight, nodeIDs }], index) => ({
      index,
      publicKey,
      publicKeyHex,
      weight,
      nodeIDs: nodeIDs.toSorted(),
    })),
  };
}

const FLAG_BITS = 0xe0;
const LARGER_Y_FLAG = 0x20;

/**
 * Compares two compressed G1 points by their uncompressed encodings `x · y` without decompression, which costs a square root for each
 * key: x is the compressed form without its three flag bits, and for equal x the flag "larger y" decides.
 */
function compareUncompressed(a: Uint8Array, b: Uint8Array): number {
  const [headA = 0, headB = 0] = [a[0], b[0]];
  const byHead = (headA & ~FLAG_BITS) - (headB & ~FLAG_BITS);
  if (byHead !== 0) return byHead;
  const byTail = compareBytes(a.subarray(1), b.subarray(1));
  if (byTail !== 0) return byTail;
  return (headA & LARGER_Y_FLAG) - (headB & LARGER_Y_FLAG);
}
