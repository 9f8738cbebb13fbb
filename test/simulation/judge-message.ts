import type { BlsScheme } from './bls-scheme.ts';
import type { LedgerSet } from './ledger.ts';

/**
 * Whether a destination would accept a signed message, judged without any code of the service: from the bytes on, by the set that the
 * P-Chain has at the height, with integers and the scheme's own word on the signature.
 *
 * @returns what is wrong with it; undefined where nothing is
 */
export function problemOf(
  signedMessage: Uint8Array,
  {
    unsignedMessage,
    set,
    quorum,
    scheme,
    reported,
  }: {
    readonly unsignedMessage: Uint8Array;
    readonly set: LedgerSet;
    readonly quorum: number;
    readonly scheme: BlsScheme;
    readonly reported: { readonly signedWeight: bigint; readonly totalWeight: bigint };
  },
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

  const canonical = canonicalOrder(set, scheme);
  const signers: Canonical[] = [];
  for (let bit = 0; bit < 8 * length; bit += 1) {
    if ((((bits[length - 1 - (bit >> 3)] ?? 0) >> (bit & 7)) & 1) === 0) continue;
    const signer = canonical[bit];
    if (signer === undefined) return `names signer ${bit} of a set of ${canonical.length}`;
    signers.push(signer);
  }
  const weight = signers.reduce((sum, signer) => sum + signer.weight, 0n);
  const total = set.reduce((sum, entry) => sum + entry.weight, 0n);
  if (100n * weight < BigInt(quorum) * total) return `has ${weight} of ${total}, below ${quorum} %`;
  if (weight !== reported.signedWeight || total !== reported.totalWeight) {
    return `has ${weight} of ${total}, but ${reported.signedWeight} of ${reported.totalWeight} were reported`;
  }
  const keys = signers.map(({ key }) => key);
  return scheme.isSignedBy(keys, unsignedMessage, rest.subarray(8 + length))
    ? undefined
    : 'is not signed by its signers';
}

export interface Canonical {
  readonly key: number;
  readonly weight: bigint;
}

/** One entry for each key, in the order of the keys' points. */
export function canonicalOrder(set: LedgerSet, scheme: BlsScheme): Canonical[] {
  const weights = new Map<number, bigint>();
  for (const { key, weight } of set) if (key !== undefined) weights.set(key, (weights.get(key) ?? 0n) + weight);
  // Without the flags in its first bits, a compressed key is the x of its point; no two keys here share one.
  const xOf = (key: number): bigint => {
    const bytes = Buffer.from(scheme.publicKey(key));
    bytes[0] = (bytes[0] ?? 0) & 0x1f;
    return BigInt(`0x${bytes.toString('hex')}`);
  };
  return [...weights].map(([key, weight]) => ({ key, weight, x: xOf(key) })).sort((a, b) => (a.x < b.x ? -1 : 1));
}
