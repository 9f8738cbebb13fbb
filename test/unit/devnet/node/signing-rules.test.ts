import { beforeEach, describe, expect, test } from 'vitest';
import type { NetworkModel } from '../../../../src/devnet/network-model.ts';
import { verifyEvmMessage, verifyPlatformMessage } from '../../../../src/devnet/node/signing-rules.ts';
import { concatBytes, parseHex } from '../../../../src/lib/encoding/bytes.ts';
import { conversionID } from '../../../../src/warp/conversion-data.ts';
import {
  idBytes,
  idFromBytes,
  type NodeID,
  P_CHAIN_ID,
  parseId,
  type SubnetID,
  type ValidationID,
} from '../../../../src/warp/ids.ts';
import { encodeJustification } from '../../../../src/warp/justification.ts';
import {
  conversionValidationID,
  encodeL1Message,
  type L1Message,
  type RegisterL1Validator,
  registrationValidationID,
} from '../../../../src/warp/l1-message.ts';
import { encodeWarpPayload } from '../../../../src/warp/payload.ts';
import { createUnsignedMessage, type UnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { createUptimeMessage, encodeValidatorUptime } from '../../../../src/warp/validator-uptime.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { modelNode, testModel } from '../test-model.ts';

const NOTHING: Uint8Array = new Uint8Array();
const UNKNOWN_SUBNET = parseId<SubnetID>('BKBZ6xXTnT86B4L5fp8rvtcmNSpvtNz8En9jG61ywV2uWyeHy', 'subnet');

let clock: FakeClock;
let model: NetworkModel;
beforeEach(() => {
  clock = new FakeClock();
  model = testModel(clock);
});

/** The code of the P-Chain's refusal, or undefined if it signs. */
function codeOfPayload(payload: Uint8Array, justification = NOTHING): number | undefined {
  return verifyPlatformMessage(model, createUnsignedMessage(1337, P_CHAIN_ID, payload), justification)?.code;
}

function codeOfCall(payload: Uint8Array, justification = NOTHING, sourceAddress = NOTHING): number | undefined {
  return codeOfPayload(encodeWarpPayload({ kind: 'AddressedCall', sourceAddress, payload }), justification);
}

function codeOf(message: L1Message, justification = NOTHING): number | undefined {
  return codeOfCall(encodeL1Message(message), justification);
}

/** The name of a case starts with its code. */
function expectCode(name: string, code: () => number | undefined): void {
  expect(code()).toBe(Number.parseInt(name, 10));
}

describe('the P-Chain looks first whether it is an addressed call of its own', () => {
  test.each([
    ['1: no payload', () => codeOfPayload(Uint8Array.of(1, 2, 3))],
    ['1: a block hash', () => codeOfPayload(encodeWarpPayload({ kind: 'Hash', hash: new Uint8Array(32) }))],
    ['2: a source address', () => codeOfCall(NOTHING, NOTHING, new Uint8Array(20))],
    ['3: no L1 message in it', () => codeOfCall(Uint8Array.of(0, 0, 0))],
    ['3: more than a message in it', () => codeOfCall(concatBytes(encodeL1Message(weightChange()), Uint8Array.of(0)))],
    ['4: a message that only L1s send', () => codeOf(model.l1.story.removedRegistration)],
  ])('%s', expectCode);
});

describe('SubnetToL1Conversion', () => {
  const signed = (): L1Message => ({ kind: 'SubnetToL1Conversion', conversionID: conversionID(model.l1.conversion) });

  test('is signed with the subnet ID as justification', () => {
    expect(codeOf(signed(), idBytes(model.l1.subnetID))).toBeUndefined();
  });

  test.each([
    ['5: no justification', () => codeOf(signed())],
    ['5: the justification of a registration', () => codeOf(signed(), justifyIndex(0))],
    ['6: a subnet that is no L1', () => codeOf(signed(), idBytes(UNKNOWN_SUBNET))],
    [
      '7: another conversion',
      () => codeOf({ kind: 'SubnetToL1Conversion', conversionID: new Uint8Array(32) }, idBytes(model.l1.subnetID)),
    ],
  ])('%s', expectCode);
});

describe('L1ValidatorRegistration, registered', () => {
  const codeOfValidator = (validationID: ValidationID, justification = NOTHING) =>
    codeOf({ kind: 'L1ValidatorRegistration', validationID, registered: true }, justification);

  test('is signed of active and inactive validators, whatever the justification', () => {
    const { subnetID, story } = model.l1;
    const ids = [story.registered, conversionValidationID(subnetID, 0), conversionValidationID(subnetID, 3)];
    for (const id of ids)
      expect([codeOfValidator(id), codeOfValidator(id, Uint8Array.of(255))]).toEqual([undefined, undefined]);
  });

  test('11: one that was removed', () => {
    expect(codeOfValidator(model.l1.story.removed.validationID)).toBe(11);
  });
});

describe('L1ValidatorRegistration, not registered', () => {
  const removal = (validationID = model.l1.story.removed.validationID): L1Message => ({
    kind: 'L1ValidatorRegistration',
    validationID,
    registered: false,
  });

  test('is signed of a validator removed from the conversion, and of one that it never had', () => {
    expect(codeOf(removal(), justifyIndex(model.l1.story.removed.index))).toBeUndefined();
    expect(codeOf(removal(conversionValidationID(model.l1.subnetID, 77)), justifyIndex(77))).toBeUndefined();
  });

  test('is signed of a registration that was used up, before its expiry', () => {
    const { removedRegistration } = model.l1.story;
    expect(removedRegistration.expiry > model.timestamp()).toBe(true);
    expect(codeOfRegistration(removedRegistration)).toBeUndefined();
  });

  test('is signed of a registration that expired, from its very second on', async () => {
    const expiry = model.timestamp() + 60n;
    const neverUsed = { ...model.l1.story.removedRegistration, expiry };
    await clock.advance(59_999);
    expect(codeOfRegistration(neverUsed)).toBe(14);
    await clock.advance(1);
    expect(codeOfRegistration(neverUsed)).toBeUndefined();
  });

  test.each([
    ['5: no protobuf', () => codeOf(removal(), Uint8Array.of(255))],
    [
      '6: a subnet that is no L1',
      () => codeOf(removal(conversionValidationID(UNKNOWN_SUBNET, 0)), justifyIndex(0, UNKNOWN_SUBNET)),
    ],
    ['8: an empty justification', () => codeOf(removal())],
    ['9: a short subnet ID', () => codeOf(removal(), Uint8Array.of(0x0a, 0x03, 0x0a, 0x01, 0x00))],
    ['10: another index', () => codeOf(removal(), justifyIndex(0))],
    ['10: another registration', () => codeOf(removal(), justifyRegistration(model.l1.story.removedRegistration))],
    [
      '12: a current validator of the conversion',
      () => codeOf(removal(conversionValidationID(model.l1.subnetID, 0)), justifyIndex(0)),
    ],
    ['13: the whole Warp message', () => codeOf(removal(), justifyBytes(model.l1Chain.prepare(NOTHING).bytes))],
    ['13: another L1 message', () => codeOf(removal(), justifyBytes(encodeL1Message(weightChange())))],
  ])('%s', expectCode);

  test('12: a current registered validator', () => {
    const registration = currentRegistration();
    expect(registrationValidationID(registration)).toBe(model.l1.story.registered);
    expect(codeOfRegistration(registration)).toBe(12);
  });

  function codeOfRegistration(registration: RegisterL1Validator): number | undefined {
    return codeOf(removal(registrationValidationID(registration)), justifyRegistration(registration));
  }
});

describe('L1ValidatorWeight', () => {
  test('is signed with the last nonce and the weight', () => {
    expect(codeOf(weightChange())).toBeUndefined();
  });

  test.each([
    ['11: a validator that was removed', () => ({ validationID: model.l1.story.removed.validationID })],
    ['15: the nonce that nobody can have', () => ({ nonce: 2n ** 64n - 1n })],
    ['16: an older nonce', () => ({ nonce: 0n })],
    ['16: a later nonce', () => ({ nonce: 2n })],
    [
      '16: a validator whose weight never changed',
      () => ({ validationID: conversionValidationID(model.l1.subnetID, 0), nonce: 0n }),
    ],
    ['17: another weight', () => ({ weight: 351n })],
  ])('%s', (name, change) => {
    expect(codeOf({ ...weightChange(), ...change() })).toBe(Number(name.slice(0, 2)));
  });
});

describe('an EVM chain', () => {
  test.each([
    ['cChain', 'l1Chain', { unknownMessage: 3, unknownBlock: 4, noPayload: 2 }],
    ['l1Chain', 'cChain', { unknownMessage: 1, unknownBlock: 2, noPayload: 1 }],
  ] as const)('%s signs what it emitted and the blocks it accepted', (name, other, codes) => {
    const chain = model[name];
    const codeOfMessage = (message: UnsignedMessage) => verifyEvmMessage(chain, message)?.code;
    const ofPayload = (payload: Uint8Array) => createUnsignedMessage(1337, chain.blockchainID, payload);
    expect(codeOfMessage(chain.emit(Buffer.from('a')))).toBeUndefined();
    expect(codeOfMessage(chain.acceptBlock(new Uint8Array(32).fill(7)))).toBeUndefined();
    expect({
      unknownMessage: codeOfMessage(chain.prepare(Buffer.from('b'))),
      unknownBlock: codeOfMessage(ofPayload(encodeWarpPayload({ kind: 'Hash', hash: new Uint8Array(32) }))),
      noPayload: codeOfMessage(ofPayload(NOTHING)),
    }).toEqual(codes);
    expect(codeOfMessage(model[other].emit(Buffer.from('of the other')))).toBe(codes.unknownMessage);
  });

  test('of the C-Chain signs messages once it has executed their block, and the block at once', async () => {
    model = testModel(clock, 1_500);
    const { cChain, l1Chain } = model;
    const { messages, block } = cChain.transact([Buffer.from('a')]);
    const codes = (executionLagMs?: number) => [
      verifyEvmMessage(cChain, messages[0]!, { executionLagMs })?.code,
      verifyEvmMessage(cChain, hashMessage(block.hash), { executionLagMs })?.code,
    ];
    const hashMessage = (hash: string) =>
      createUnsignedMessage(
        1337,
        cChain.blockchainID,
        encodeWarpPayload({ kind: 'Hash', hash: parseHex(hash, 'hash') }),
      );
    expect(codes()).toEqual([3, undefined]);
    expect(verifyEvmMessage(l1Chain, l1Chain.emit(Buffer.from('a')), { executionLagMs: 1_500 })).toBeUndefined();
    await clock.advance(1_499);
    expect(codes()).toEqual([3, undefined]);
    expect(codes(100)).toEqual([undefined, undefined]);
    await clock.advance(1);
    expect(codes()).toEqual([undefined, undefined]);
    expect(codes(2_000)).toEqual([3, undefined]);
  });

  test('of an L1 signs uptimes up to what the node that is asked has seen', async () => {
    const { l1Chain } = model;
    const [validator, , other] = model.l1Validators();
    if (!validator || !other) throw new Error('the L1 has too few validators');
    const { validationID } = validator;
    const judge = (totalUptime: bigint, nodeID: NodeID = validator.nodeID) => {
      const uptime = { kind: 'ValidatorUptime' as const, validationID, totalUptime };
      return verifyEvmMessage(l1Chain, createUptimeMessage(1337, l1Chain.blockchainID, uptime), { nodeID });
    };
    expect(judge(86_400n)).toBeUndefined();
    expect(judge(86_401n)).toEqual({
      code: 2,
      message: `current uptime 86400 is less than queried uptime 86401 for validationID ${validationID}`,
    });
    // Another node has seen less of it, and both see more of it as time goes by.
    expect(judge(86_400n, other.nodeID)).toMatchObject({ code: 2 });
    await clock.advance(1_000);
    expect(judge(86_401n)).toBeUndefined();
  });

  test('of an L1 refuses uptimes of nobody, from an account, and of the C-Chain', () => {
    const validationID = idFromBytes<ValidationID>(new Uint8Array(32).fill(9), 'ID');
    const nobody = { kind: 'ValidatorUptime', validationID, totalUptime: 0n } as const;
    const { l1Chain, cChain } = model;
    const judge = (chain: typeof l1Chain, message = createUptimeMessage(1337, chain.blockchainID, nobody)) =>
      verifyEvmMessage(chain, message, modelNode(1));
    expect(judge(l1Chain)).toMatchObject({ code: 2, message: expect.stringContaining('failed to get uptime') });
    expect(judge(l1Chain, l1Chain.prepare(encodeValidatorUptime(nobody)))).toMatchObject({
      code: 2,
      message: expect.stringContaining('source address'),
    });
    expect(judge(cChain)?.code).toBe(3);
  });
});

function weightChange() {
  return { kind: 'L1ValidatorWeight', ...model.l1.story.weightChange } as const;
}

function currentRegistration(): RegisterL1Validator {
  const { removedRegistration, registered } = model.l1.story;
  const validator = model.l1Validators().find(({ validationID }) => validationID === registered);
  if (validator === undefined) throw new Error('the registered validator is gone');
  return {
    ...removedRegistration,
    nodeID: new Uint8Array(20).fill(7),
    blsPublicKey: validator.publicKey,
    weight: validator.weight,
  };
}

function justifyIndex(index: number, subnetID = model.l1.subnetID): Uint8Array {
  return encodeJustification({ kind: 'SubnetIDIndex', subnetID, index });
}

function justifyRegistration(message: RegisterL1Validator): Uint8Array {
  return justifyBytes(encodeL1Message(message));
}

function justifyBytes(message: Uint8Array): Uint8Array {
  return encodeJustification({ kind: 'RegisterL1ValidatorMessage', message });
}
