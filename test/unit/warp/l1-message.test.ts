import { expect, test } from 'vitest';
import { ByteWriter } from '../../../src/lib/encoding/byte-writer.ts';
import { parseId, type SubnetID } from '../../../src/warp/ids.ts';
import {
  conversionValidationID,
  encodeL1Message,
  type L1Message,
  parseL1Message,
} from '../../../src/warp/l1-message.ts';
import { parseWarpPayload } from '../../../src/warp/payload.ts';
import { readCases, readTransaction } from '../../vectors/vectors.ts';
import { l1Messages } from './arbitrary-messages.ts';
import { testCodec } from './codec-properties.ts';

function innerPayload(payload: Uint8Array): Uint8Array {
  const call = parseWarpPayload(payload);
  if (call.kind !== 'AddressedCall') throw new Error('not an addressed call');
  return call.payload;
}

const subnetID = parseId<SubnetID>('BKBZ6xXTnT86B4L5fp8rvtcmNSpvtNz8En9jG61ywV2uWyeHy', 'subnetID');

test('messages of the P-Chain are read, and encode to the same bytes', () => {
  const read = new Map<string, L1Message>();
  for (const { name, payload } of readCases().filter((each) => /^(bad_)?p_/.test(each.name))) {
    const bytes = innerPayload(payload);
    read.set(name, parseL1Message(bytes));
    expect(encodeL1Message(parseL1Message(bytes)), name).toEqual(bytes);
  }
  expect(read.get('p_registration_true')).toMatchObject({ kind: 'L1ValidatorRegistration', registered: true });
  expect(read.get('p_weight')).toMatchObject({ kind: 'L1ValidatorWeight', nonce: 1n, weight: 350n });
});

test('a validation of a conversion has the ID by which the P-Chain disables it', () => {
  const { validationID } = readTransaction('DisableL1ValidatorTx_node1').unsignedTx;
  expect(conversionValidationID(subnetID, 1)).toBe(validationID);
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
