import { describe, expect, test } from 'vitest';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { createMemorySignatureStore } from '../../../../src/store/local/signature-store.ts';
import { openValidationStore } from '../../../../src/store/local/validation-store.ts';
import { createSeal } from '../../../../src/store/redis/seal.ts';
import { createSharedSignatureStore } from '../../../../src/store/redis/shared-signature-store.ts';
import { createSharedValidationStore } from '../../../../src/store/redis/shared-validation-store.ts';
import { createSharedValidatorSets } from '../../../../src/store/redis/shared-validator-sets.ts';
import type { Validator } from '../../../../src/validators/validator.ts';
import {
  idFromBytes,
  type NodeID,
  nodeIDFromBytes,
  PRIMARY_NETWORK_ID,
  type SubnetID,
  type ValidationID,
} from '../../../../src/warp/ids.ts';
import { conversionValidationID } from '../../../../src/warp/l1-message.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { createStoreInMemory } from './store-in-memory.ts';

const seal = createSeal('the secret of the replicas', 'test:');
const unsealed = createSeal(undefined, 'test:');

describe('signatures', () => {
  const keys = ['a', 'b', 'c'].map((letter) => bytesToHex(new Uint8Array(48).fill(letter.charCodeAt(0))));
  const [A = '', B = '', C = ''] = keys;
  const signature = (byte: number) => new Uint8Array(96).fill(byte);

  function createReplicas(secret = seal) {
    const clock = new FakeClock();
    const store = createStoreInMemory(clock);
    const open = () => {
      const own = createMemorySignatureStore({ clock, maxSignatures: 100, maxPerSigner: 10 });
      return createSharedSignatureStore(own, store.values, secret);
    };
    return { ...store, clock, one: open(), other: open() };
  }

  test('of one replica are available to the other, by message, and accumulate', async () => {
    const { one, other } = createReplicas();
    await one.putMany('m', new Map([[A, signature(1)]]));
    await settle();
    await other.putMany('m', new Map([[B, signature(2)]]));
    await settle();
    const both = new Map([
      [A, signature(1)],
      [B, signature(2)],
    ]);
    for (const replica of [one, other]) expect(await replica.getMany('m', [A, B, C])).toEqual(both);
    expect(await other.getMany('another', [A, B])).toEqual(new Map());
  });

  test('expire after two minutes, and all of a message are deleted if one is invalid', async () => {
    const { clock, entries, one, other } = createReplicas();
    const both = [A, B].map((signer) => [signer, signature(1)] as const);
    await one.putMany('m', new Map(both));
    await settle();
    await other.delete('m', A);
    expect(await other.getMany('m', [A, B])).toEqual(new Map());
    await one.putMany('n', new Map([[A, signature(1)]]));
    await settle();
    await clock.advance(120_000);
    expect(await other.getMany('n', [A])).toEqual(new Map());
    expect([...entries.values()].every(({ endsMs }) => endsMs <= 120_000)).toBe(true);
  });

  test('that take more than 1 MiB together are not shared', async () => {
    const { entries, one, other } = createReplicas();
    const signerOf = (index: number): string => index.toString(16).padStart(96, '0');
    const signedBy = (count: number) =>
      new Map(Array.from({ length: count }, (_, index) => [signerOf(index), signature(1)]));
    await one.putMany('m', signedBy(8_000));
    await settle();
    expect(entries.size).toBe(0);
    await one.putMany('m', signedBy(7_000));
    await settle();
    expect(await other.getMany('m', [signerOf(6_999)])).toEqual(new Map([[signerOf(6_999), signature(1)]]));
  });

  test('without a seal are rejected, unless there is no secret', async () => {
    const sealed = createReplicas();
    const open = createReplicas(unsealed);
    for (const { plant } of [sealed, open]) {
      plant('signatures:m', Buffer.concat([Buffer.from(A, 'hex'), signature(9), Buffer.from('rest')]));
    }
    expect(await sealed.one.getMany('m', [A])).toEqual(new Map());
    expect(await open.one.getMany('m', [A])).toEqual(new Map([[A, signature(9)]]));
  });
});

describe('validator sets', () => {
  const SUBNET = idFromBytes<SubnetID>(new Uint8Array(32).fill(3), 'subnet');
  const validators = (weight: bigint): Validator[] => [
    { nodeID: nodeIDFromBytes(new Uint8Array(20).fill(1)), weight, publicKey: new Uint8Array(48).fill(1) },
    { nodeID: nodeIDFromBytes(new Uint8Array(20).fill(2)), weight: 2n ** 64n - 1n - weight, publicKey: undefined },
  ];

  function createReplicas(secret = seal) {
    const clock = new FakeClock();
    const store = createStoreInMemory(clock);
    const open = () => createSharedValidatorSets(store.values, secret, clock);
    return { ...store, one: open(), other: open() };
  }

  test('of one replica are available to the other, by subnet and height', async () => {
    const { one, other } = createReplicas();
    one.put(SUBNET, 7n, validators(5n));
    one.put(SUBNET, 8n, validators(6n));
    one.put(PRIMARY_NETWORK_ID, 7n, []);
    expect(await other.at(SUBNET, 7n)).toEqual(validators(5n));
    expect(await other.at(SUBNET, 8n)).toEqual(validators(6n));
    expect(await other.at(PRIMARY_NETWORK_ID, 7n)).toEqual([]);
    expect(await other.at(SUBNET, 9n)).toBeUndefined();
  });

  test('that are valid for many heights are written and fetched once', async () => {
    const { values, one, other } = createReplicas();
    const writes: string[] = [];
    const reads: string[] = [];
    const { set, get } = values;
    values.set = (key, ...rest) => (writes.push(key), set(key, ...rest));
    values.get = (key, ...rest) => (reads.push(key), get(key, ...rest));
    const set5 = validators(5n);
    for (let height = 1n; height <= 20n; height += 1n) one.put(SUBNET, height, set5);
    for (let height = 1n; height <= 20n; height += 1n) await other.at(SUBNET, height);
    expect(writes.filter((key) => !key.includes('@'))).toHaveLength(1);
    expect(reads.filter((key) => !key.includes('@'))).toHaveLength(1);
  });

  test('that take more than 1 MiB are not shared', () => {
    const { entries, one } = createReplicas();
    const publicKey = new Uint8Array(48).fill(1);
    const setOf = (count: number): Validator[] =>
      Array.from({ length: count }, (_, index) => ({ nodeID: `NodeID-${index}` as NodeID, weight: 1n, publicKey }));
    one.put(SUBNET, 1n, setOf(16_000));
    expect(entries.size).toBe(0);
    one.put(SUBNET, 1n, setOf(12_000));
    expect(entries.size).toBe(2);
  });

  test('that were deleted are written again with the next height', async () => {
    const { entries, one, other } = createReplicas();
    one.put(SUBNET, 1n, validators(5n));
    for (const key of entries.keys()) if (!key.includes('@')) entries.delete(key);
    expect(await other.at(SUBNET, 1n)).toBeUndefined();
    other.put(SUBNET, 2n, validators(5n));
    expect(await other.at(SUBNET, 2n)).toEqual(validators(5n));
    expect([...entries.keys()].filter((key) => !key.includes('@'))).toHaveLength(1);
  });

  test('that were forged, moved or changed are rejected', async () => {
    const { plant, planted, entries, one, other } = createReplicas();
    one.put(SUBNET, 1n, validators(5n));
    one.put(SUBNET, 2n, validators(6n));
    plant(`set:${SUBNET}@1`, planted(`set:${SUBNET}@2`));
    expect(await other.at(SUBNET, 1n)).toBeUndefined();
    const [five = '', six = ''] = [...entries.keys()].filter((key) => !key.includes('@'));
    for (const value of [planted(five), Buffer.from('lie')]) {
      plant(six, value);
      expect(await other.at(SUBNET, 2n)).toBeUndefined();
    }
  });

  test('are not shared without a secret, because they cannot be verified', async () => {
    const { entries, plant, one, other } = createReplicas(unsealed);
    one.put(SUBNET, 1n, validators(5n));
    expect(entries.size).toBe(0);
    plant(`set:${SUBNET}@1`, new Uint8Array(32));
    expect(await other.at(SUBNET, 1n)).toBeUndefined();
  });
});

describe('L1 validations', () => {
  const SUBNET = idFromBytes<SubnetID>(new Uint8Array(32).fill(4), 'subnet');
  const validationID = conversionValidationID(SUBNET, 0);
  const justification = { kind: 'SubnetIDIndex', subnetID: SUBNET, index: 0 } as const;
  const position = {
    top: { height: 1n, id: 'a' },
    low: { height: 1n, parentID: 'b', isFloor: false },
  };

  test('of one replica are available to the other, which has its own position', async () => {
    const { values, entries, plant, planted } = createStoreInMemory(new FakeClock());
    using ownOfOne = openValidationStore({ directory: undefined, networkID: 1 });
    using ownOfOther = openValidationStore({ directory: undefined, networkID: 1 });
    const one = createSharedValidationStore(ownOfOne, values);
    const other = createSharedValidationStore(ownOfOther, values);
    await one.commit({ position, entries: [{ height: 1n, origins: [{ validationID, justification }] }] });
    expect(await other.originOf(validationID)).toEqual(justification);
    expect(await other.position()).toBeUndefined();
    expect(await one.position()).toEqual(position);
    // The preimage of another ID, and an invalid value.
    const another: ValidationID = conversionValidationID(SUBNET, 1);
    const [key = ''] = entries.keys();
    for (const value of [planted(key), Buffer.from('lie')]) {
      plant(`validation:${another}`, value);
      expect(await other.originOf(another)).toBeUndefined();
    }
  });

  test('are written with limited concurrency', async () => {
    const { values, entries } = createStoreInMemory(new FakeClock());
    const { set } = values;
    let [underWay, most] = [0, 0];
    values.set = async (...entry) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await settle();
      await set(...entry);
      underWay -= 1;
    };
    using own = openValidationStore({ directory: undefined, networkID: 1 });
    const origins = Array.from({ length: 200 }, (_, index) => ({
      validationID: conversionValidationID(SUBNET, index),
      justification: { ...justification, index },
    }));
    await createSharedValidationStore(own, values).commit({ position, entries: [{ height: 1n, origins }] });
    expect(most).toBe(32);
    expect(entries.size).toBe(200);
  });
});
