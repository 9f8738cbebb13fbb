import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteWriter } from '../../../src/lib/encoding/byte-writer.ts';
import { bytesToHex, parseHex } from '../../../src/lib/encoding/bytes.ts';
import { encodeWarpPayload, MAX_WARP_PAYLOAD_LENGTH, parseWarpPayload } from '../../../src/warp/payload.ts';
import { readCases } from '../../vectors/vectors.ts';
import { warpPayloads } from './arbitrary-messages.ts';
import { testCodec } from './codec-properties.ts';

test.each(readCases())('$name is an addressed call', ({ name, payload }) => {
  const call = parseWarpPayload(payload);
  if (call.kind !== 'AddressedCall') throw new Error('a Hash');
  // The P-Chain speaks for itself, and contracts for the account that sent the message.
  const account = /^(bad_)?p_/.test(name) ? '' : '8db97c7cece249c2b98bdc0226cc4c2a57bf52fc';
  expect(bytesToHex(call.sourceAddress)).toBe(account);
  expect(encodeWarpPayload(call)).toEqual(payload);
});

test('the text of a C-Chain message', () => {
  const payload = readCases().find(({ name }) => name === 'c_warp_0')?.payload ?? new Uint8Array();
  expect(parseWarpPayload(payload)).toMatchObject({ payload: Uint8Array.from(Buffer.from('hello from C 0')) });
});

test('a block hash', () => {
  const hash = '0405060708'.padEnd(64, '0');
  const bytes = parseHex(`000000000000${hash}`, 'payload');
  expect(parseWarpPayload(bytes)).toEqual({ kind: 'Hash', hash: parseHex(hash, 'hash') });
  expect(encodeWarpPayload({ kind: 'Hash', hash: parseHex(hash, 'hash') })).toEqual(bytes);
});

testCodec({ encode: encodeWarpPayload, parse: parseWarpPayload }, warpPayloads);

test('24 KiB with the header are accepted, one byte more is not', () => {
  fc.assert(
    fc.property(fc.nat(40), (sourceAddressLength) => {
      const encoded = (length: number): Uint8Array =>
        encodeWarpPayload({
          kind: 'AddressedCall',
          sourceAddress: new Uint8Array(sourceAddressLength),
          payload: new Uint8Array(length),
        });
      const room = MAX_WARP_PAYLOAD_LENGTH - 14 - sourceAddressLength;
      expect(parseWarpPayload(encoded(room))).toMatchObject({ kind: 'AddressedCall' });
      expect(() => parseWarpPayload(encoded(room + 1))).toThrowError(
        'Warp payload: has 24577 bytes, at most 24576 are allowed',
      );
    }),
    { numRuns: 10 },
  );
});

test.each<[string, Uint8Array, string]>([
  ['another type', new ByteWriter().u16(0).u32(2).finish(), 'Warp payload: unknown type ID 2'],
  ['a hash of 31 bytes', new ByteWriter().u16(0).u32(0).bytes(new Uint8Array(31)).finish(), 'Warp payload: too short'],
  ['a hash of 33 bytes', new ByteWriter().u16(0).u32(0).bytes(new Uint8Array(33)).finish(), '1 trailing bytes'],
  ['an address of 4 GiB', new ByteWriter().u16(0).u32(1).u32(0xffff_ffff).finish(), 'at most 24576 are allowed'],
])('refuses %s', (_name, bytes, reason) => {
  expect(() => parseWarpPayload(bytes)).toThrowError(reason);
});

test('a hash of another length throws', () => {
  expect(() => encodeWarpPayload({ kind: 'Hash', hash: new Uint8Array(31) })).toThrowError(RangeError);
});
