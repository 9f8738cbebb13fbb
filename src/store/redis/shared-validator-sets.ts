import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { ByteReader } from '../../lib/encoding/byte-reader.ts';
import { ByteWriter } from '../../lib/encoding/byte-writer.ts';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { tryParse } from '../../lib/encoding/parse-error.ts';
import type { Validator } from '../../validators/validator.ts';
import { BLS_PUBLIC_KEY_LENGTH } from '../../warp/bls-lengths.ts';
import type { NodeID, SubnetID } from '../../warp/ids.ts';
import type { Seal } from './seal.ts';
import type { SharedValues } from './shared-values.ts';

/** The validator sets that replicas have read from the P-Chain. */
export type SharedValidatorSets = ReturnType<typeof createSharedValidatorSets>;

/** Requests for a height end within minutes. */
const HEIGHT_LIFETIME_MS = 10 * 60_000;
/** A set is valid for many heights: it is written once for all, and outlives the last of them. */
const SET_LIFETIME_MS = 60 * 60_000;
const SET_REWRITTEN_MS = SET_LIFETIME_MS - 2 * HEIGHT_LIFETIME_MS;
/** 9,000 validators; mainnet has less than 2,000. Larger sets are not shared. */
const MAX_SET_BYTES = 1024 * 1024;
const MAX_POINTER_BYTES = 64;
/** Sets that are not fetched again. Most are in memory for other reasons. */
const MAX_KNOWN_SETS = 64;
const MAX_KNOWN_VALIDATORS = 50_000;

/**
 * Stores the sealed hash of the set under each height, and the set once under its hash. A set cannot be verified, unlike a signed message,
 * so nothing is shared without a secret.
 */
export function createSharedValidatorSets(values: SharedValues, seal: Seal, clock: Clock) {
  const known = new LRUCache<string, readonly Validator[]>({
    max: MAX_KNOWN_SETS,
    maxSize: MAX_KNOWN_VALIDATORS,
    sizeCalculation: (validators) => validators.length + 1,
  });
  /** The times at which this replica wrote sets. */
  const written = new LRUCache<string, number>({ max: MAX_KNOWN_SETS });
  /** Encodings by set, which is one object while it is valid. */
  const encoded = new WeakMap<readonly Validator[], { readonly setHash: string; readonly bytes: Uint8Array }>();

  async function fetchSet(setHash: string): Promise<readonly Validator[] | undefined> {
    const bytes = await values.get(setKey(setHash), MAX_SET_BYTES);
    if (bytes === undefined || hash('sha256', bytes) !== setHash) {
      // It is written again with the next height.
      written.delete(setHash);
      return undefined;
    }
    return tryParse(() => decode(bytes));
  }

  function encodeOnce(validators: readonly Validator[]) {
    let entry = encoded.get(validators);
    if (entry === undefined) {
      const bytes = encode(validators);
      entry = { setHash: hash('sha256', bytes), bytes };
      encoded.set(validators, entry);
    }
    return entry;
  }

  return {
    async at(subnetID: SubnetID, height: bigint): Promise<readonly Validator[] | undefined> {
      const key = heightKey(subnetID, height);
      const sealed = await values.get(key, MAX_POINTER_BYTES);
      const pointer = sealed && seal.open(key, sealed);
      if (pointer === undefined || !seal.isOfSecret) return undefined;
      const setHash = bytesToHex(pointer);
      const validators = known.get(setHash) ?? (await fetchSet(setHash));
      if (validators !== undefined) known.set(setHash, validators);
      return validators;
    },
    /** Returns at once. */
    put(subnetID: SubnetID, height: bigint, validators: readonly Validator[]): void {
      if (!seal.isOfSecret) return;
      const { setHash, bytes } = encodeOnce(validators);
      if (bytes.length > MAX_SET_BYTES) return;
      known.set(setHash, validators);
      const nowMs = clock.monotonicMs();
      if (nowMs - (written.get(setHash) ?? Number.NEGATIVE_INFINITY) >= SET_REWRITTEN_MS) {
        written.set(setHash, nowMs);
        void values.set(setKey(setHash), bytes, SET_LIFETIME_MS);
      }
      const key = heightKey(subnetID, height);
      void values.set(key, seal.seal(key, Buffer.from(setHash, 'hex')), HEIGHT_LIFETIME_MS);
    },
  };
}

function heightKey(subnetID: SubnetID, height: bigint): string {
  return `set:${subnetID}@${height}`;
}

function setKey(setHash: string): string {
  return `set:${setHash}`;
}

const WHAT = 'shared validator set';
const MAX_NODE_ID_TEXT = 64;

/** `u32` count, and for each validator NodeID, weight and optional public key. */
function encode(validators: readonly Validator[]): Uint8Array {
  const encoder = new TextEncoder();
  const writer = new ByteWriter().u32(validators.length);
  for (const { nodeID, weight, publicKey } of validators) {
    // Text, because decoding the cb58 of thousands of node IDs takes tens of milliseconds.
    writer.lengthPrefixed(encoder.encode(nodeID)).u64(weight);
    writer.u8(publicKey === undefined ? 0 : 1);
    if (publicKey !== undefined) writer.fixedBytes(publicKey, BLS_PUBLIC_KEY_LENGTH);
  }
  return writer.finish();
}

/** @throws {ParseError} */
function decode(bytes: Uint8Array): readonly Validator[] {
  const decoder = new TextDecoder();
  const reader = new ByteReader(bytes, WHAT);
  const count = reader.u32('count');
  const validators: Validator[] = [];
  for (let index = 0; index < count; index += 1) {
    // Not parsed again: the seal proves that a replica wrote it.
    const nodeID = decoder.decode(reader.lengthPrefixed(MAX_NODE_ID_TEXT, 'NodeID')) as NodeID;
    const weight = reader.u64('weight');
    const hasKey = reader.u8('whether it has a key') === 1;
    validators.push({ nodeID, weight, publicKey: hasKey ? reader.bytes(BLS_PUBLIC_KEY_LENGTH, 'key') : undefined });
  }
  reader.end();
  return validators;
}
