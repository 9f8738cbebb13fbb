import { expect, test } from 'vitest';
import { ByteWriter } from '../../../src/lib/encoding/byte-writer.ts';
import { bytesToHex, parseHex } from '../../../src/lib/encoding/bytes.ts';
import { encodeWarpPayload, MAX_WARP_PAYLOAD_LENGTH, parseWarpPayload } from '../../../src/warp/payload.ts';
import { readCases } from '../../vectors/vectors.ts';
import { warpPayloads } from './arbitrary-messages.ts';
import { testCodec } from './codec-properties.ts';

test('the payloads of the reference are addressed calls', () => {
  for (const { name, payload } of readCases()) {
    const call = parseWarpPayload(payload);
    if (call.kind !== 'AddressedCall') throw new Error('a Hash');
    // The P-Chain speaks for itself, and contracts for the account that sent the message.
    const account = /^(bad_)?p_/.test(name) ? '' : '8db97c7cece249c2b98bdc0226cc4c2a57bf52fc';
    expect(bytesToHex(call.sourceAddress), name).toBe(account);
    expect(encodeWarpPayload(call), name).toEqual(payload);
    if (name === 'c_warp_0') expect(Buffer.from(call.payload).toString()).toBe('hello from C 0');
  }
});

test('a block hash', () => {
  const hash = '0405060708'.padEnd(64, '0');
  const bytes = parseHex(`000000000000${hash}`, 'payload');
  expect(parseWarpPayload(bytes)).toEqual({ kind: 'Hash', hash: parseHex(hash, 'hash') });
  expect(encodeWarpPayload({ kind: 'Hash', hash: parseHex(hash, 'hash') })).toEqual(bytes);
});

testCodec({ encode: encodeWarpPayload, parse: parseWarpPayload }, warpPayloads);

test('24 KiB with the header are accepted, one byte more is not', () => {
  const encoded = (length: number): Uint8Array =>
    encodeWarpPayload({
      kind: 'AddressedCall',
      sourceAddress: new Uint8Array(20),
      payload: new Uint8Array(length),
    });
  const room = MAX_WARP_PAYLOAD_LENGTH - 14 - 20;
  expect(parseWarpPayload(encoded(room))).toMatchObject({ kind: 'AddressedCall' });
  expect(() => parseWarpPayload(encoded(room + 1))).toThrowError('has 24577 bytes, at most 24576 are allowed');
});

test.each<[string, Uint8Array, string]>([
  ['another type', new ByteWriter().u16(0).u32(2).finish(), 'Warp payload: unknown type ID 2'],
  ['a hash of 31 bytes', new ByteWriter().u16(0).u32(0).bytes(new Uint8Array(31)).finish(), 'Warp payload: too short'],
  ['a hash of 33 bytes', new ByteWriter().u16(0).u32(0).bytes(new Uint8Array(33)).finish(), '1 trailing bytes'],
  ['an address of 4 GiB', new ByteWriter().u16(0).u32(1).u32(0xffff_ffff).finish(), 'at most 24576 are allowed'],
])('refuses %s', (_name, bytes, reason) => {
  expect(() => parseWarpPayload(bytes)).toThrowError(reason);
});
