import { bls12_381 } from '@noble/curves/bls12-381.js';
import { expect, test } from 'vitest';
import { createKeyRing } from '../../../src/devnet/key-ring.ts';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import { signAs } from '../../devnet/signing-faults.ts';
import { misbehaviourFromSeed } from '../../faults/misbehaviour.ts';

const VALIDATORS = [7n, 1n, 9n, 4n, 4n, 12n, 3n, 8n].map((weight, index) => ({ index, weight }));
const TOTAL = 48n;
const MESSAGE = Buffer.from('message');
const { G2 } = bls12_381;
const keys = await createKeyRing({ count: 3, seed: 1 });

test('misbehaving validators have at most their share of the weight, and no other fits in', () => {
  for (let seed = 0; seed < 200; seed += 1) {
    const drawn = misbehaviourFromSeed(seed, VALIDATORS, 0.33);
    const validatorsThat = (misbehave: boolean) => VALIDATORS.filter(({ index }) => drawn.has(index) === misbehave);
    const weight = validatorsThat(true).reduce((sum, validator) => sum + validator.weight, 0n);
    expect(weight * 100n).toBeLessThanOrEqual(33n * TOTAL);
    for (const other of validatorsThat(false)) expect((weight + other.weight) * 100n).toBeGreaterThan(33n * TOTAL);
  }
});

test('the errors of colluders cancel in a plain sum, and only there', () => {
  const point = (bytes: Uint8Array) => G2.Point.fromBytes(bytes);
  const plus = point(signAs({ kind: 'colluding', error: 'plus' }, keys, 1, MESSAGE));
  const minus = point(signAs({ kind: 'colluding', error: 'minus' }, keys, 2, MESSAGE));
  const [one, two] = [point(keys.sign(1, MESSAGE)), point(keys.sign(2, MESSAGE))];
  expect(plus.add(minus).equals(one.add(two))).toBe(true);
  expect([plus.equals(one), minus.equals(two)]).toEqual([false, false]);
});

test('infinity is the neutral element; off the subgroup is a point of the curve that no decoder of signatures takes', () => {
  expect(G2.Point.fromBytes(signAs({ kind: 'infinity' }, keys, 0, MESSAGE)).equals(G2.Point.ZERO)).toBe(true);
  const bytes = signAs({ kind: 'off subgroup' }, keys, 0, MESSAGE);
  const { Fp2 } = bls12_381.fields;
  const x = { c0: BigInt(`0x${bytesToHex(bytes.subarray(48))}`), c1: BigInt(bytes.at(0) === 0x80 ? 0 : -1) };
  const y = Fp2.sqrt(Fp2.add(Fp2.mul(Fp2.sqr(x), x), { c0: 4n, c1: 4n }));
  expect(G2.Point.fromAffine({ x, y }).isTorsionFree()).toBe(false);
});
