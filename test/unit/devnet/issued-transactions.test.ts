import { beforeEach, describe, expect, test } from 'vitest';
import { nobleBackend } from '../../../src/bls/backends/noble-backend.ts';
import { createKeyRing, type KeyRing } from '../../../src/devnet/key-ring.ts';
import { createNetworkModel, createRegistration, type NetworkModel } from '../../../src/devnet/network-model.ts';
import { verifyPlatformMessage } from '../../../src/devnet/node/signing-rules.ts';
import type { EvmChain } from '../../../src/devnet/pchain/evm-chain.ts';
import { parsePChainTransaction } from '../../../src/pchain/codec/l1-transaction.ts';
import { createWarpSet } from '../../../src/validators/warp-set.ts';
import { conversionID } from '../../../src/warp/conversion-data.ts';
import {
  idBytes,
  idFromBytes,
  nodeIDBytes,
  nodeIDFromBytes,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type SubnetID,
  type ValidationID,
} from '../../../src/warp/ids.ts';
import { encodeJustification } from '../../../src/warp/justification.ts';
import { encodeL1Message, type L1Message, registrationValidationID } from '../../../src/warp/l1-message.ts';
import { encodeWarpPayload } from '../../../src/warp/payload.ts';
import { encodeSignedMessage } from '../../../src/warp/signed-message.ts';
import { createUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** Nodes 0 to 4 validate the primary network, 5 and 6 the devnet's L1 alone. */
const keys: KeyRing = await createKeyRing({ count: 8, seed: 1 });
const nodes = keys.publicKeys.map((publicKey, index) => ({
  nodeID: nodeIDFromBytes(new Uint8Array(20).fill(index + 1)),
  publicKey,
}));
const SUBNET = idFromBytes<SubnetID>(new Uint8Array(32).fill(7), 'subnet');
const OTHER_SUBNET = idFromBytes<SubnetID>(new Uint8Array(32).fill(8), 'subnet');
const BLOCK_MS = 10_000;

let clock: FakeClock;
let model: NetworkModel;
beforeEach(() => {
  clock = new FakeClock();
  const [primaryNodes, l1OnlyNodes, inactiveNode] = [nodes.slice(0, 5), nodes.slice(5, 7), nodes[7]!];
  model = createNetworkModel({ seed: 1, clock, primaryNodes, l1OnlyNodes, inactiveNode });
});

const nextBlock = () => clock.advance(BLOCK_MS);

interface Sending {
  readonly chain?: EvmChain;
  readonly sender?: Uint8Array;
  readonly height?: bigint;
}

/** A message of a manager, signed by all validators of its chain's subnet at a height; by default that of the epoch. */
function signed(
  message: L1Message,
  { chain = model.cChain, sender, height = model.epoch().pChainHeight }: Sending = {},
) {
  const [unsignedMessage] = chain.transact([encodeL1Message(message)], 'succeeded', sender).messages;
  return signBy(unsignedMessage!.bytes, unsignedMessage!, model.validatedBy(chain.blockchainID)!, height);
}

function signBy(
  bytes: Uint8Array,
  unsignedMessage: ReturnType<EvmChain['prepare']>,
  subnetID: SubnetID,
  height: bigint,
) {
  const { validators } = createWarpSet(model.validatorsAt(subnetID, height));
  const signatures = validators.map(({ publicKey }) => {
    const index = keys.publicKeys.findIndex((key) => Buffer.compare(key, publicKey) === 0);
    return nobleBackend.parseSignature(keys.sign(index, bytes));
  });
  const signature = nobleBackend.encodeSignature(nobleBackend.aggregateSignatures(signatures));
  return encodeSignedMessage({ unsignedMessage, signature: { signers: [...validators.keys()], signature } });
}

const validatorOf = (index: number, weight: bigint) => {
  const { nodeID, publicKey } = nodes[index]!;
  return { nodeID: nodeIDBytes(nodeID), blsPublicKey: publicKey, weight };
};

function convert(managerChain = model.cChain, validators = [validatorOf(0, 100n), validatorOf(1, 100n)]) {
  const { blockchainID: managerChainID, account: managerAddress } = managerChain;
  const data = { subnetID: SUBNET, managerChainID, managerAddress, validators };
  return { data, ...model.issue({ name: 'ConvertSubnetToL1Tx', data }) };
}

const registrationOf = (index: number, weight: bigint, { subnetID = SUBNET, lifetime = 3_600n } = {}) =>
  createRegistration(subnetID, validatorOf(index, weight), model.timestamp() + lifetime);

/** Why validators of the P-Chain refuse its message; undefined if they sign. */
function refusal(message: L1Message, justification: Uint8Array = new Uint8Array()) {
  const payload = encodeWarpPayload({
    kind: 'AddressedCall',
    sourceAddress: new Uint8Array(),
    payload: encodeL1Message(message),
  });
  return verifyPlatformMessage(model, createUnsignedMessage(model.networkID, P_CHAIN_ID, payload), justification);
}

const weights = (subnetID = SUBNET) => model.validatorsAt(subnetID, model.height()).map(({ weight }) => weight);

test('the life of an L1: conversion, two registrations, a weight, a removal, and a registration that expires', async () => {
  const { data, transaction, height, acceptedInMs } = convert();
  const conversion = { kind: 'SubnetToL1Conversion', conversionID: conversionID(data) } as const;
  expect([height, acceptedInMs, weights()]).toEqual([201n, BLOCK_MS, []]);
  expect(refusal(conversion, idBytes(SUBNET))).toMatchObject({ code: 6 });
  await nextBlock();
  expect(weights()).toEqual([100n, 100n]);
  expect(refusal(conversion, idBytes(SUBNET))).toBeUndefined();
  expect(parsePChainTransaction(transaction.bytes)).toMatchObject({ kind: 'ConvertSubnetToL1Tx', conversion: data });

  const [first, second] = [registrationOf(2, 50n), registrationOf(3, 60n)];
  for (const message of [first, second]) {
    model.issue({ name: 'RegisterL1ValidatorTx', message: signed(message), balance: 5n });
  }
  const validationID = registrationValidationID(first);
  const registered = { kind: 'L1ValidatorRegistration', validationID, registered: true } as const;
  expect(refusal(registered)).toMatchObject({ code: 11 });
  await nextBlock();
  expect([refusal(registered), weights()]).toEqual([undefined, [100n, 100n, 50n, 60n]]);

  const change = { kind: 'L1ValidatorWeight', validationID, nonce: 0n, weight: 80n } as const;
  expect(model.nextNonce(validationID)).toBe(0n);
  model.issue({ name: 'SetL1ValidatorWeightTx', message: signed(change) });
  expect(model.nextNonce(validationID)).toBe(1n);
  await nextBlock();
  expect([refusal(change), weights()]).toEqual([undefined, [100n, 100n, 80n, 60n]]);

  model.issue({ name: 'SetL1ValidatorWeightTx', message: signed({ ...change, nonce: 1n, weight: 0n }) });
  await nextBlock();
  const removed = { ...registered, registered: false } as const;
  const justify = (message: L1Message) =>
    encodeJustification({ kind: 'RegisterL1ValidatorMessage', message: encodeL1Message(message) });
  expect([refusal(removed, justify(first)), weights()]).toEqual([undefined, [100n, 100n, 60n]]);

  const unused = registrationOf(4, 70n, { lifetime: 15n });
  const expired = { ...removed, validationID: registrationValidationID(unused) };
  const message = signed(unused);
  expect(refusal(expired, justify(unused))).toMatchObject({ code: 14 });
  await clock.advance(15_000);
  expect(refusal(expired, justify(unused))).toBeUndefined();
  expect(() => model.issue({ name: 'RegisterL1ValidatorTx', message, balance: 5n })).toThrow(
    `couldn't issue tx: failed execution: warp message expired at ${unused.expiry} and it is currently ${unused.expiry}`,
  );
});

test('a validator is inactive while it has no balance', async () => {
  const { added } = convert();
  const { validationID, nodeID } = added[0]!;
  await nextBlock();
  model.issue({ name: 'DisableL1ValidatorTx', validationID });
  await nextBlock();
  expect(model.l1Validator(validationID)).toMatchObject({ isActive: false, balance: 0n });
  expect(model.validatorsAt(SUBNET, model.height()).map((validator) => validator.nodeID)).not.toContain(nodeID);
  model.issue({ name: 'IncreaseL1ValidatorBalanceTx', validationID, balance: 7n });
  await nextBlock();
  expect(model.l1Validator(validationID)).toMatchObject({ isActive: true, balance: 7n });
});

test('several transactions are in one block, each with an ID of its own, and processing until then', async () => {
  const ids = [1, 2, 3].map(() => model.issue({ name: 'BaseTx' }).transaction.id);
  expect(new Set(ids).size).toBe(3);
  const { json } = (await nextBlock(), model.ledger.block(201n)) as { json: { txs: { id: string }[] } };
  expect(json.txs.map(({ id }) => id)).toEqual(ids);
});

describe('the P-Chain verifies a message at the height of its epoch, and refuses', () => {
  const byL1 = (message: L1Message, height?: bigint) =>
    signed(message, { chain: model.l1Chain, ...(height !== undefined && { height }) });
  const register = (message: Uint8Array) => () => model.issue({ name: 'RegisterL1ValidatorTx', message, balance: 5n });

  test('the second registration of an epoch, signed at the proposed height', async () => {
    const { subnetID } = model.l1;
    register(byL1(registrationOf(3, 900n, { subnetID })))();
    await nextBlock();
    await nextBlock();
    // The last block of the epoch: the change is proposed, and not verified yet.
    expect([model.proposedHeight(), model.epoch().pChainHeight]).toEqual([201n, 199n]);
    const next = registrationOf(4, 50n, { subnetID });
    expect(register(byL1(next, model.proposedHeight()))).toThrow(
      "couldn't issue tx: failed verifying warp messages: unknown validator: NumIndices (4) >= NumFilteredValidators (4)",
    );
    register(byL1(next))();
  });

  test('too little weight, other bytes, another network', () => {
    const message = registrationOf(3, 50n, { subnetID: model.l1.subnetID });
    const bytes = byL1(message);
    const [unsignedMessage] = model.l1Chain.transact([encodeL1Message(message)]).messages;
    const few = encodeSignedMessage({
      unsignedMessage: unsignedMessage!,
      signature: { signers: [0], signature: bytes.slice(-96) },
    });
    expect(register(few)).toThrow(
      /failed verifying warp messages: signature weight is insufficient: 67\*910 > 100\*\d+$/,
    );
    const wrong = encodeSignedMessage({
      unsignedMessage: unsignedMessage!,
      signature: { signers: [0, 1, 2, 3], signature: keys.sign(0, new Uint8Array(1)) },
    });
    expect(register(wrong)).toThrow('failed verifying warp messages: signature is invalid');
    const other = createUnsignedMessage(5, unsignedMessage!.sourceChainID, unsignedMessage!.payload);
    const ofOther = encodeSignedMessage({
      unsignedMessage: other,
      signature: { signers: [0], signature: bytes.slice(-96) },
    });
    expect(register(ofOther)).toThrow('failed verifying warp messages: wrong networkID');
    expect(register(new Uint8Array(10))).toThrow(/failed verifying warp messages: /);
  });

  test('what is not of the manager, was used, or names a validator that is there', async () => {
    const { subnetID } = model.l1;
    const message = registrationOf(3, 50n, { subnetID });
    expect(register(signed(message))).toThrow(
      /failed execution: wrong warp message source chain ID expected \S+ but had \S+$/,
    );
    const stranger = signed(message, { chain: model.l1Chain, sender: new Uint8Array(20).fill(9) });
    expect(register(stranger)).toThrow(/wrong warp message source address expected 0x[0-9a-f]{40} but got 0x(09){20}$/);
    expect(register(signed(registrationOf(3, 50n)))).toThrow(
      `could not load subnet conversion for ${SUBNET} with: not found`,
    );
    register(byL1(message))();
    expect(register(byL1(message))).toThrow(
      `warp message already issued for validationID ${registrationValidationID(message)}`,
    );
    expect(register(byL1({ ...message, weight: 51n }))).toThrow(
      'L1 validator contains duplicate subnetID + nodeID pair',
    );
    expect(register(byL1(registrationOf(4, 50n, { subnetID, lifetime: 86_401n })))).toThrow(
      'warp message not yet allowed because time is 86401 seconds in the future but the limit is 86400',
    );
  });

  test('a stale nonce, an unknown validator, and the removal of the last one', async () => {
    const { added } = convert(model.cChain, [validatorOf(0, 100n)]);
    const { validationID } = added[0]!;
    const set =
      (nonce: bigint, weight: bigint, of = validationID) =>
      () =>
        model.issue({
          name: 'SetL1ValidatorWeightTx',
          message: signed({ kind: 'L1ValidatorWeight', validationID: of, nonce, weight }),
        });
    set(3n, 70n)();
    expect(set(3n, 60n)).toThrow('failed execution: warp message contains stale nonce 3 must be at least 4');
    expect(set(4n, 0n)).toThrow('attempting to remove the last L1 validator from a converted subnet');
    const unknown = SUBNET as string as ValidationID;
    expect(set(0n, 1n, unknown)).toThrow('could not load L1 validator: not found');
    expect(() => model.issue({ name: 'DisableL1ValidatorTx', validationID: unknown })).toThrow('not found');
  });

  test.each<[string, (data: ReturnType<typeof convert>['data']) => object, string]>([
    ['a second conversion', (data) => data, `"${SUBNET}" is immutable`],
    ['the primary network', () => ({ subnetID: PRIMARY_NETWORK_ID }), 'cannot convert a permissionless subnet'],
    ['no validators', () => ({ subnetID: OTHER_SUBNET, validators: [] }), 'must include at least one validator'],
    [
      'a validator twice',
      ({ validators: [one] }) => ({ subnetID: OTHER_SUBNET, validators: [one, one] }),
      'must be sorted and unique',
    ],
    [
      'a validator without weight',
      () => ({ subnetID: OTHER_SUBNET, validators: [validatorOf(0, 0n)] }),
      'validator weight must be non-zero',
    ],
  ])('%s', (_, change, text) => {
    const { data } = convert();
    expect(() => model.issue({ name: 'ConvertSubnetToL1Tx', data: { ...data, ...change(data) } })).toThrow(text);
  });
});
