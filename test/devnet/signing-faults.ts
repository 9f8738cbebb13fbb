import { bls12_381 } from '@noble/curves/bls12-381.js';
import type { KeyRing } from '../../src/devnet/key-ring.ts';
import { seededBytes } from '../../src/devnet/seeded-random.ts';
import { concatBytes } from '../../src/lib/encoding/bytes.ts';
import { BLS_SIGNATURE_LENGTH } from '../../src/warp/bls-lengths.ts';
import type { Behaviour } from './behaviour.ts';

const { G2 } = bls12_381;
type G2Point = typeof G2.Point.BASE;

/** Marks what is signed in place of the message. */
const OTHER = Uint8Array.of(0);
const ERROR = Uint8Array.of(1);
/** The neutral element, compressed. */
export const INFINITY = Uint8Array.of(0xc0, ...new Uint8Array(BLS_SIGNATURE_LENGTH - 1));
/** The point with x = 2, which is on the curve and outside the subgroup, as nearly all its points. */
export const OFF_SUBGROUP = Uint8Array.of(0x80, ...new Uint8Array(BLS_SIGNATURE_LENGTH - 2), 2);

/** What a validator gives as its signature of a message. Only a signing fault makes it something else. */
export function signAs(behaviour: Behaviour, keys: KeyRing, keyIndex: number, message: Uint8Array): Uint8Array {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- all others sign as they should
  switch (behaviour.kind) {
    case 'wrong signature':
      return keys.sign(keyIndex, concatBytes(message, OTHER));
    case 'foreign signature':
      return keys.sign((keyIndex + 1) % keys.publicKeys.length, message);
    case 'random signature':
      return seededBytes(keyIndex, `random signature of ${message.length} bytes`, BLS_SIGNATURE_LENGTH);
    case 'garbage signature':
      // This encodes no point: its flags say infinity, and the rest is not zero.
      return new Uint8Array(behaviour.length ?? BLS_SIGNATURE_LENGTH).fill(0xff);
    case 'infinity':
      return INFINITY;
    case 'off subgroup':
      return OFF_SUBGROUP;
    case 'colluding':
      return withError(keys, keyIndex, message, behaviour.error);
    default:
      return keys.sign(keyIndex, message);
  }
}

/** The error is a signature of something else, so that it is of the subgroup: only the pairing can tell. */
function withError(keys: KeyRing, keyIndex: number, message: Uint8Array, sign: 'plus' | 'minus'): Uint8Array {
  const point = (bytes: Uint8Array): G2Point => G2.Point.fromBytes(bytes);
  const error = point(keys.sign(0, concatBytes(message, ERROR)));
  const signature = point(keys.sign(keyIndex, message));
  return signature.add(sign === 'plus' ? error : error.negate()).toBytes();
}
