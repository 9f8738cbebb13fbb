import { expect, test } from 'vitest';
import { createSeal } from '../../../../src/store/redis/seal.ts';

const VALUE = Uint8Array.of(1, 2, 3);

test('opens only values sealed with the same secret, key and scope', () => {
  const seal = createSeal('a secret of replicas', 'mainnet:');
  const sealed = seal.seal('key', VALUE);
  expect(Uint8Array.from(seal.open('key', sealed)!)).toEqual(VALUE);
  expect(createSeal('a secret of replicas', 'mainnet:').open('key', sealed)).toBeDefined();
  expect(seal.open('another', sealed)).toBeUndefined();
  expect(createSeal('another secret', 'mainnet:').open('key', sealed)).toBeUndefined();
  expect(createSeal('a secret of replicas', 'fuji:').open('key', sealed)).toBeUndefined();
  for (let position = 0; position < sealed.length; position += 1) {
    const changed = Uint8Array.from(sealed);
    changed[position]! ^= 1;
    expect(seal.open('key', changed)).toBeUndefined();
  }
  for (const length of [0, 15, sealed.length - 1]) expect(seal.open('key', sealed.subarray(0, length))).toBeUndefined();
});

test('the seal separates key and value', () => {
  const seal = createSeal('a secret of replicas', '');
  const text = (value: string) => new TextEncoder().encode(value);
  const sealed = seal.seal('ab', text('c'));
  const moved = Buffer.concat([sealed.subarray(0, 16), text('bc')]);
  expect(seal.open('a', moved)).toBeUndefined();
});
