import { expect, test } from 'vitest';
import { openPublicKeys, PublicKeyTable } from '../../../../src/bls/backends/public-key-table.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { createModelSigner, modelBackend } from './model-backend.ts';

const { packedPublicKeyBytes } = modelBackend;

test('gives each key one slot, from which it is read, decoded once, however many there are', () => {
  const table = new PublicKeyTable(packedPublicKeyBytes);
  const keys = Array.from({ length: 600 }, (_, index) => createModelSigner(BigInt(index + 2)).publicKey);
  const slots = keys.map((key) => table.slotOf(bytesToHex(key), key));
  expect(new Set(slots).size).toBe(keys.length);
  expect(keys.map((key) => table.slotOf(bytesToHex(key), key))).toEqual(slots);
  let parsed = 0;
  const backend = {
    ...modelBackend,
    parsePublicKey: (bytes: Uint8Array) => {
      parsed += 1;
      return modelBackend.parsePublicKey(bytes);
    },
  };
  const read = openPublicKeys(backend, table.memory);
  for (let time = 0; time < 2; time += 1) {
    for (const [position, slot] of slots.entries()) {
      const key = read(slot);
      expect(key).toEqual(modelBackend.parsePublicKey(keys[position] as Uint8Array));
    }
  }
  expect(parsed).toBe(keys.length);
});

test('what is no key is refused each time, and looked at once', () => {
  const table = new PublicKeyTable(packedPublicKeyBytes);
  const bytes = new Uint8Array(48).fill(0xff);
  const slot = table.slotOf(bytesToHex(bytes), bytes);
  for (let time = 0; time < 2; time += 1) {
    expect(() => openPublicKeys(modelBackend, table.memory)(slot)).toThrow(ParseError);
  }
  expect(() => table.slotOf('00', new Uint8Array(47))).toThrow(RangeError);
});

test('is full at the bound, and still takes the keys of requests that began with it', () => {
  const table = new PublicKeyTable(packedPublicKeyBytes);
  const key = new Uint8Array(48);
  for (let index = 0; index < 20_000; index += 1) {
    expect(table.isFull).toBe(false);
    table.slotOf(String(index), key);
  }
  expect(table.isFull).toBe(true);
  expect(table.slotOf('one more', key)).toBe(20_000);
});
