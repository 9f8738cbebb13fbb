import { describe, expect, test } from 'vitest';
import { ByteWriter } from '../../../src/lib/encoding/byte-writer.ts';
import { bytesToHex, parseHex } from '../../../src/lib/encoding/bytes.ts';
import { nodeIDFromBytes, parseId, type SubnetID, type ValidationID } from '../../../src/warp/ids.ts';
import {
  conversionValidationID,
  encodeL1Message,
  type L1Message,
  parseL1Message,
  type RegisterL1Validator,
  registrationValidationID,
} from '../../../src/warp/l1-message.ts';
import { parseWarpPayload } from '../../../src/warp/payload.ts';
import { parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { readCase, readCases, readRpcExchanges, readTransaction, rpcResult } from '../../vectors/vectors.ts';
import { l1Messages } from './arbitrary-messages.ts';
import { testCodec } from './codec-properties.ts';

function innerPayload(payload: Uint8Array): Uint8Array {
  const call = parseWarpPayload(payload);
  if (call.kind !== 'AddressedCall') throw new Error('not an addressed call');
  return call.payload;
}

/** The L1 message within the Warp message that a transaction carries. */
function messageOfTransaction(name: string): { message: L1Message; bytes: Uint8Array } {
  const warpMessage = parseSignedMessage(parseHex(readTransaction(name).unsignedTx.message as string, 'message'));
  const bytes = innerPayload(warpMessage.unsignedMessage.payload);
  return { message: parseL1Message(bytes), bytes };
}

function registrationOfNode5(): RegisterL1Validator {
  const { message } = messageOfTransaction('RegisterL1ValidatorTx_register_node5');
  if (message.kind !== 'RegisterL1Validator') throw new Error(message.kind);
  return message;
}

interface CurrentL1Validator {
  readonly nodeID: string;
  readonly validationID: ValidationID;
  readonly weight: string;
  readonly minNonce: string;
  readonly publicKey: string;
}

const subnetID = parseId<SubnetID>('BKBZ6xXTnT86B4L5fp8rvtcmNSpvtNz8En9jG61ywV2uWyeHy', 'subnetID');
const currentValidators = rpcResult<{ validators: CurrentL1Validator[] }>(
  readRpcExchanges('pchain'),
  'platform.getCurrentValidators',
  { subnetID },
).validators;

describe('vectors', () => {
  test('messages of the P-Chain are read, and encode to the same bytes', () => {
    for (const { name, payload } of readCases().filter((each) => /^(bad_)?p_/.test(each.name))) {
      const bytes = innerPayload(payload);
      expect(encodeL1Message(parseL1Message(bytes)), name).toEqual(bytes);
    }
  });

  test('a registration names its validator', () => {
    const { bytes } = messageOfTransaction('RegisterL1ValidatorTx_register_node5');
    const registration = registrationOfNode5();
    expect(encodeL1Message(registration)).toEqual(bytes);
    expect(registration.subnetID).toBe(subnetID);
    expect(registration.weight).toBe(250n);
    expect(registration.remainingBalanceOwner.threshold).toBe(1);
    expect(registration.disableOwner.addresses.map(bytesToHex)).toEqual(['3cb7d3842e8cee6a0ebd09f1fe884f6861e1b29c']);
    const validator = currentValidators.find(({ nodeID }) => nodeID === nodeIDFromBytes(registration.nodeID));
    expect(validator).toMatchObject({ weight: '250', publicKey: `0x${bytesToHex(registration.blsPublicKey)}` });
    expect(registrationValidationID(registration)).toBe(validator?.validationID);
  });

  test('the P-Chain’s message about it names the validation', () => {
    const message = parseL1Message(innerPayload(readCase('p_registration_true').payload));
    expect(message).toEqual({
      kind: 'L1ValidatorRegistration',
      validationID: registrationValidationID(registrationOfNode5()),
      registered: true,
    });
  });

  test('validations of the conversion are hashes of the subnet and an index', () => {
    const { validators } = readTransaction('ConvertSubnetToL1Tx').unsignedTx as {
      validators: { nodeID: string; weight: number }[];
    };
    const expected = validators.flatMap(({ nodeID }, index) => {
      const text = nodeIDFromBytes(parseHex(nodeID, 'nodeID'));
      const current = currentValidators.find((validator) => validator.nodeID === text);
      return current === undefined ? [] : [[index, current.validationID] as const];
    });
    // All but the first, which was removed later.
    expect(expected.map(([index]) => index)).toEqual([1, 2, 3, 4]);
    for (const [index, validationID] of expected) expect(conversionValidationID(subnetID, index)).toBe(validationID);
    expect(conversionValidationID(subnetID, 1)).toBe(
      readTransaction('DisableL1ValidatorTx_node1').unsignedTx.validationID,
    );
  });

  test('a weight has the nonce before the next one of the validator', () => {
    const { message } = messageOfTransaction('SetL1ValidatorWeightTx_weight_node4');
    expect(message).toMatchObject({ kind: 'L1ValidatorWeight', nonce: 1n, weight: 350n });
    expect(parseL1Message(innerPayload(readCase('p_weight').payload))).toEqual(message);
    const validator = currentValidators.find(({ weight }) => weight === '350');
    expect(message).toHaveProperty('validationID', validator?.validationID);
    expect(validator?.minNonce).toBe('2');
  });
});

testCodec({ encode: encodeL1Message, parse: parseL1Message }, l1Messages);

function header(typeID: number): ByteWriter {
  return new ByteWriter().u16(0).u32(typeID);
}

function registrationUpToOwners(): ByteWriter {
  return header(1).bytes(new Uint8Array(32)).lengthPrefixed(new Uint8Array(20)).bytes(new Uint8Array(48)).u64(0n);
}

test.each<[string, Uint8Array, string]>([
  ['another type', header(4).finish(), 'L1 message: unknown type ID 4'],
  ['a boolean of 2', header(2).bytes(new Uint8Array(32)).u8(2).finish(), 'registered is 2, expected 0 or 1'],
  ['a node ID of 4 GiB', header(1).bytes(new Uint8Array(32)).u32(0xffff_ffff).finish(), 'at most 1024 are allowed'],
  [
    'four billion owners',
    registrationUpToOwners().u32(1).u32(0xffff_ffff).bytes(new Uint8Array(100)).finish(),
    'remainingBalanceOwner has 4294967295 addresses, more than fit',
  ],
  [
    'one owner more than there are bytes for',
    registrationUpToOwners().u32(1).u32(0).u32(1).u32(3).bytes(new Uint8Array(59)).finish(),
    'disableOwner has 3 addresses, more than fit',
  ],
])('refuses %s', (_name, bytes, reason) => {
  expect(() => parseL1Message(bytes)).toThrowError(reason);
});
