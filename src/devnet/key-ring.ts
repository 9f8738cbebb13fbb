import type * as Blst from '@chainsafe/blst';
import { normalizeZ } from '@noble/curves/abstract/curve.js';
import { bls12_381 } from '@noble/curves/bls12-381.js';
import { LRUCache } from 'lru-cache';
import { SIGNATURE_DST } from '../bls/backends/bls-backend.ts';
import { concatBytes } from '../lib/encoding/bytes.ts';
import { createSeededRandom, seededBytes } from './seeded-random.ts';

/** The BLS keys of all validators, and their signatures. */
export interface KeyRing {
  readonly backend: 'native' | 'noble';
  /** 48 bytes each, compressed G1. */
  readonly publicKeys: readonly Uint8Array[];
  /** Returns 96 bytes, compressed G2. */
  sign(index: number, message: Uint8Array): Uint8Array;
  /** Signs the key itself in the domain of proofs of possession. Takes some 20 ms. */
  provePossession(index: number): Uint8Array;
  /** Whether 96 bytes decode to a point of G2's subgroup, as a node demands of the signature in a Handshake. */
  isSignature(bytes: Uint8Array): boolean;
}

interface KeyRingOptions {
  readonly count: number;
  readonly seed: number;
  /** By default the native library if it is installed, else noble. */
  readonly backend?: 'noble';
}

/**
 * Up to this many keys, each has a separate secret. Beyond that, each key is the sum of {@link SHARES_PER_KEY} out of this many
 * secrets, and a signature is the sum of as many signatures. 2,000 validators then cost what 64 do, plus some additions, so that
 * a benchmark measures the aggregator and not them. The keys are linearly dependent, which weakens nothing here: all of them
 * follow from the seed anyway.
 */
const SHARE_COUNT = 64;
const SHARES_PER_KEY = 4;
/** Messages whose signature shares are kept, 64 points of some 300 bytes each: enough for one burst of requests. */
const MAX_MESSAGES = 64;
/** Cached verdicts on signatures in Handshakes: a client sends the same one to every validator. */
const MAX_KNOWN_SIGNATURES = 64;

const PROOF_OF_POSSESSION_DST = 'BLS_POP_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_';
/** Bytes that noble needs to derive a secret key without bias. */
const SECRET_KEY_SEED_LENGTH = 48;

export async function createKeyRing({ count, seed, backend }: KeyRingOptions): Promise<KeyRing> {
  const native = backend === 'noble' ? undefined : await loadNative();
  return native === undefined ? createRing(noble, count, seed) : createRing(native, count, seed);
}

/** Interface to the native library and to noble. */
interface Library<Secret, PublicKey, Signature> {
  readonly backend: 'native' | 'noble';
  parseSecret(bytes: Uint8Array): Secret;
  publicKey(secret: Secret): PublicKey;
  /** A signer of one message, which hashes to the curve no more than once if the library can. */
  signer(message: Uint8Array): (secret: Secret) => Signature;
  addPublicKeys(keys: PublicKey[]): PublicKey;
  addSignatures(signatures: Signature[]): Signature;
  encodePublicKeys(keys: PublicKey[]): Uint8Array[];
  encodeSignature(signature: Signature): Uint8Array;
  /** Throws if the bytes are no point of the subgroup. */
  checkSignature(bytes: Uint8Array): void;
}

function createRing<Secret, PublicKey, Signature>(
  library: Library<Secret, PublicKey, Signature>,
  count: number,
  seed: number,
): KeyRing {
  const secretBytes = Array.from({ length: Math.min(count, SHARE_COUNT) }, (_, share) =>
    bls12_381.utils.randomSecretKey(seededBytes(seed, `BLS key ${share}`, SECRET_KEY_SEED_LENGTH)),
  );
  const secrets = secretBytes.map((bytes) => library.parseSecret(bytes));
  const shareKeys = secrets.map((secret) => library.publicKey(secret));
  const sharesOfKey = count <= SHARE_COUNT ? secrets.map((_, share) => [share]) : chooseShares(count, seed);
  const publicKeys = library.encodePublicKeys(
    sharesOfKey.map((shares) => library.addPublicKeys(shares.map((share) => at(shareKeys, share)))),
  );

  const signers = new LRUCache<string, (share: number) => Signature, Uint8Array>({
    max: MAX_MESSAGES,
    memoMethod: (_key, _stale, { context }) => createSigner(context),
  });
  const validities = new LRUCache<string, boolean, Uint8Array>({
    max: MAX_KNOWN_SIGNATURES,
    memoMethod: (_key, _stale, { context }) => isValid(context),
  });

  /** Signs a message with each share at most once. */
  function createSigner(message: Uint8Array): (share: number) => Signature {
    const sign = library.signer(message);
    const signatures = new Map<number, Signature>();
    return (share) => {
      const signature = signatures.get(share) ?? sign(at(secrets, share));
      signatures.set(share, signature);
      return signature;
    };
  }

  function isValid(bytes: Uint8Array): boolean {
    try {
      library.checkSignature(bytes);
      return true;
    } catch {
      return false;
    }
  }

  return {
    backend: library.backend,
    publicKeys,
    sign(index, message) {
      const signShare = signers.memo(keyOf(message), { context: message });
      const shares = at(sharesOfKey, index).map((share) => signShare(share));
      return library.encodeSignature(library.addSignatures(shares));
    },
    provePossession(index) {
      const { longSignatures, fields } = bls12_381;
      const secret = at(sharesOfKey, index)
        .map((share) => fields.Fr.fromBytes(at(secretBytes, share)))
        .reduce((sum, share) => fields.Fr.add(sum, share));
      const hashed = longSignatures.hash(at(publicKeys, index), PROOF_OF_POSSESSION_DST);
      return longSignatures.Signature.toBytes(longSignatures.sign(hashed, fields.Fr.toBytes(secret)));
    },
    isSignature: (bytes) => validities.memo(keyOf(bytes), { context: bytes }),
  };
}

function keyOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

/** Distinct sets of shares: two keys with the same set would be one key. */
function chooseShares(count: number, seed: number): number[][] {
  const random = createSeededRandom(seed);
  const chosen = new Map<string, number[]>();
  while (chosen.size < count) {
    const shares = new Set<number>();
    while (shares.size < SHARES_PER_KEY) shares.add(Math.floor(random() * SHARE_COUNT));
    const sorted = [...shares].toSorted((a, b) => a - b);
    chosen.set(sorted.join(), sorted);
  }
  return [...chosen.values()];
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new RangeError(`there is no key ${index}`);
  return item;
}

const { G1, G2, longSignatures } = bls12_381;
type G1Point = typeof G1.Point.BASE;
type G2Point = typeof G2.Point.BASE;

const noble: Library<Uint8Array, G1Point, G2Point> = {
  backend: 'noble',
  parseSecret: (bytes) => bytes,
  publicKey: (secret) => longSignatures.getPublicKey(secret),
  signer(message) {
    const hashed = longSignatures.hash(message, SIGNATURE_DST);
    return (secret) => longSignatures.sign(hashed, secret);
  },
  addPublicKeys: (keys) => keys.reduce((sum, key) => sum.add(key)),
  addSignatures: (signatures) => signatures.reduce((sum, signature) => sum.add(signature)),
  // One inversion for all instead of one for each.
  encodePublicKeys: (keys) => normalizeZ(G1.Point, keys).map((key) => compress([key.x], [key.y])),
  encodeSignature(signature) {
    const { x, y } = signature.toAffine();
    return compress([x.c1, x.c0], [y.c1, y.c0]);
  },
  checkSignature(bytes) {
    const point = G2.Point.fromBytes(bytes);
    if (!point.isTorsionFree()) throw new RangeError('not in the subgroup');
  },
};

/**
 * The compressed form of a point by its coordinates, highest coefficient first. noble's own encoder proves the subgroup of every
 * point, which costs as much as a signature; ours are sums of multiples of generators.
 */
function compress(x: readonly bigint[], y: readonly bigint[]): Uint8Array {
  const { Fp } = bls12_381.fields;
  const bytes = concatBytes(...x.map((coefficient) => Fp.toBytes(coefficient)));
  const decisive = y.find((coefficient) => coefficient !== 0n) ?? 0n;
  const isLargerY = decisive > (Fp.ORDER - 1n) / 2n;
  bytes[0] = (bytes[0] ?? 0) | COMPRESSED_FLAG | (isLargerY ? LARGER_Y_FLAG : 0);
  return bytes;
}

const COMPRESSED_FLAG = 0x80;
const LARGER_Y_FLAG = 0x20;

/** The optional dependency: undefined if it is not installed for this machine. */
async function loadNative() {
  let blst: typeof Blst;
  try {
    // A CommonJS module: its exports are the default one.
    ({ default: blst } = (await import('@chainsafe/blst')) as unknown as { default: typeof Blst });
  } catch {
    return undefined;
  }
  const library: Library<Blst.SecretKey, Blst.PublicKey, Blst.Signature> = {
    backend: 'native',
    parseSecret: (bytes) => blst.SecretKey.fromBytes(bytes),
    publicKey: (secret) => secret.toPublicKey(),
    signer: (message) => (secret) => secret.sign(message),
    addPublicKeys: (keys) => blst.aggregatePublicKeys(keys, false),
    addSignatures: (signatures) => blst.aggregateSignatures(signatures, false),
    encodePublicKeys: (keys) => keys.map((key) => key.toBytes()),
    encodeSignature: (signature) => signature.toBytes(),
    checkSignature: (bytes) => void blst.Signature.fromBytes(bytes, true, false),
  };
  return library;
}
