import { expect, test } from 'vitest';
import { bytesToHex, parseHex } from '../../../src/lib/encoding/bytes.ts';
import { idBytes, parseId, type SubnetID } from '../../../src/warp/ids.ts';
import { encodeJustification, parseJustification } from '../../../src/warp/justification.ts';
import { justifications } from './arbitrary-messages.ts';
import { testCodec } from './codec-properties.ts';

const subnetID = parseId<SubnetID>('BKBZ6xXTnT86B4L5fp8rvtcmNSpvtNz8En9jG61ywV2uWyeHy', 'subnetID');
const subnetHex = bytesToHex(idBytes(subnetID));

test.each([
  // Tag and length of field 1, within it field 1 (bytes) and field 2 (varint), by hand from the protobuf encoding.
  [{ kind: 'SubnetIDIndex', subnetID, index: 300 } as const, `0a25${'0a20'}${subnetHex}${'10ac02'}`],
  [{ kind: 'SubnetIDIndex', subnetID, index: 0 } as const, `0a22${'0a20'}${subnetHex}`],
  [{ kind: 'RegisterL1ValidatorMessage', message: Uint8Array.of(1, 2, 3) } as const, '1203010203'],
])('%j', (justification, hex) => {
  expect(bytesToHex(encodeJustification(justification))).toBe(hex);
  expect(parseJustification(parseHex(hex, 'justification'))).toEqual(justification);
});

testCodec({ encode: encodeJustification, parse: parseJustification }, justifications, { isCanonical: false });

test('unknown fields are ignored', () => {
  expect(parseJustification(parseHex('1203010203780118ff01', 'justification'))).toMatchObject({
    kind: 'RegisterL1ValidatorMessage',
  });
});

test.each([
  ['nothing', '', 'has neither'],
  ['only an unknown field', '7801', 'has neither'],
  ['a subnet ID of 31 bytes', `0a210a1f${'11'.repeat(31)}`, 'must have 32 bytes, has 31'],
  ['an index and no subnet', '0a021005', 'must have 32 bytes, has 0'],
  // The raw subnet ID belongs to another message, SubnetToL1Conversion.
  ['a raw subnet ID', subnetHex, 'is not the protobuf message'],
  ['a length beyond the end', '12ff01', 'is not the protobuf message'],
  ['a length of 4 GiB', '12ffffffff0f00', 'is not the protobuf message'],
  ['an endless varint', `10${'ff'.repeat(20)}`, 'is not the protobuf message'],
  ['groups nested ten thousand deep', '1b'.repeat(10_000), 'is not the protobuf message'],
])('refuses %s', (_name, hex, reason) => {
  expect(() => parseJustification(parseHex(hex, 'justification'))).toThrowError(
    expect.objectContaining({ name: 'ParseError', message: expect.stringContaining(reason) }),
  );
});
