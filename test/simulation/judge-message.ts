/** A validator as the P-Chain has it. */
interface Member {
  /** 48 bytes, compressed. */
  readonly publicKey: Uint8Array | undefined;
  readonly weight: bigint;
}

export interface Expectations {
  readonly unsignedMessage: Uint8Array;
  readonly set: readonly Member[];
  readonly quorum: number;
  readonly reported: { readonly signedWeight: bigint; readonly totalWeight: bigint };
  /** Verifies an aggregate without the code under test. */
  isSignedBy(publicKeys: readonly Uint8Array[], message: Uint8Array, signature: Uint8Array): boolean;
}

/**
 * Whether a destination would accept a signed message, judged without any code of the service: from the bytes on, by the set that the
 * P-Chain has at the height, with integers.
 *
 * @returns what is wrong with it; undefined if nothing is
 */
export function problemOf(
  signedMessage: Uint8Array,
  { unsignedMessage, set, quorum, reported, isSignedBy }: Expectations,
): string | undefined {
  const head = Buffer.from(signedMessage.subarray(0, unsignedMessage.length));
  if (!head.equals(unsignedMessage)) return 'does not start with the message that was asked for';
  const rest = signedMessage.subarray(unsignedMessage.length);
  const view = new DataView(rest.buffer, rest.byteOffset, rest.byteLength);
  if (rest.length < 8 || view.getUint32(0) !== 0) return 'has another type of signature';
  const length = view.getUint32(4);
  if (rest.length !== 8 + length + 96) return 'has another length than its parts';
  const bits = rest.subarray(8, 8 + length);
  if (length === 0 || bits[0] === 0) return 'has no signers, or padded ones';

  const canonical = canonicalOrder(set);
  const signers: { publicKey: Uint8Array; weight: bigint }[] = [];
  for (let bit = 0; bit < 8 * length; bit += 1) {
    if ((((bits[length - 1 - (bit >> 3)] ?? 0) >> (bit & 7)) & 1) === 0) continue;
    const signer = canonical[bit];
    if (signer === undefined) return `names signer ${bit} of a set of ${canonical.length}`;
    signers.push(signer);
  }
  const weight = signers.reduce((sum, signer) => sum + signer.weight, 0n);
  const total = set.reduce((sum, member) => sum + member.weight, 0n);
  if (100n * weight < BigInt(quorum) * total) return `has ${weight} of ${total}, below ${quorum} %`;
  if (weight !== reported.signedWeight || total !== reported.totalWeight) {
    return `has ${weight} of ${total}, but ${reported.signedWeight} of ${reported.totalWeight} were reported`;
  }
  const keys = signers.map(({ publicKey }) => publicKey);
  return isSignedBy(keys, unsignedMessage, rest.subarray(8 + length)) ? undefined : 'is not signed by its signers';
}

/** One entry for each key, in the order of the keys' points. */
function canonicalOrder(set: readonly Member[]) {
  const byX = new Map<bigint, { publicKey: Uint8Array; weight: bigint }>();
  for (const { publicKey, weight } of set) {
    if (publicKey === undefined) continue;
    const x = xOf(publicKey);
    byX.set(x, { publicKey, weight: weight + (byX.get(x)?.weight ?? 0n) });
  }
  return [...byX].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, member]) => member);
}

/** Without the flags in its first bits, a compressed key is the x of its point; no two keys here share one. */
function xOf(publicKey: Uint8Array): bigint {
  const bytes = Buffer.from(publicKey);
  bytes[0] = (bytes[0] ?? 0) & 0x1f;
  return BigInt(`0x${bytes.toString('hex')}`);
}
