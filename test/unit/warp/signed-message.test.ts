import { expect, test } from 'vitest';
import { ByteWriter } from '../../../src/lib/encoding/byte-writer.ts';
import { P_CHAIN_ID } from '../../../src/warp/ids.ts';
import { encodeSignedMessage, parseSignedMessage } from '../../../src/warp/signed-message.ts';
import { createUnsignedMessage, parseUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { readCases } from '../../vectors/vectors.ts';
import { signedMessages } from './arbitrary-messages.ts';
import { testCodec } from './codec-properties.ts';

const signedCases = readCases().flatMap(({ signed, ...vector }) =>
  signed === undefined ? [] : [{ ...vector, signed }],
);

test.each(signedCases)('$name', ({ signed, unsignedMessage }) => {
  const message = parseSignedMessage(signed.signedMessage);
  expect(message).toEqual({
    unsignedMessage: parseUnsignedMessage(unsignedMessage),
    signature: { signers: signed.signerIndices, signature: signed.aggregateSignature },
  });
  expect(encodeSignedMessage(message)).toEqual(signed.signedMessage);
});

testCodec({ encode: encodeSignedMessage, parse: parseSignedMessage }, signedMessages);

const unsignedMessage = createUnsignedMessage(1, P_CHAIN_ID, Uint8Array.of(1, 2, 3));

function encodeWith(typeID: number, signers: Uint8Array, signature = new Uint8Array(96)): Uint8Array {
  return new ByteWriter().bytes(unsignedMessage.bytes).u32(typeID).lengthPrefixed(signers).bytes(signature).finish();
}

test.each<[string, Uint8Array, string]>([
  ['an unsigned message', unsignedMessage.bytes, 'signed message: too short: signature type ID needs 4 bytes'],
  ['another signature type', encodeWith(1, Uint8Array.of(1)), 'signed message: signature type ID is 1, expected 0'],
  ['padded signers', encodeWith(0, Uint8Array.of(0, 1)), 'signed message: signers are padded'],
  [
    'a short signature',
    encodeWith(0, Uint8Array.of(1), new Uint8Array(95)),
    'signed message: too short: signature needs 96',
  ],
  ['a long signature', encodeWith(0, Uint8Array.of(1), new Uint8Array(97)), 'signed message: 1 trailing bytes'],
  [
    'more signers than the network can have',
    encodeWith(0, new Uint8Array(8193).fill(0xff)),
    'signed message: signers has 8193 bytes, at most 8192 are allowed',
  ],
])('refuses %s', (_name, bytes, reason) => {
  expect(() => parseSignedMessage(bytes)).toThrowError(reason);
});

test('65,536 signers fit', () => {
  const message = parseSignedMessage(encodeWith(0, new Uint8Array(8192).fill(0xff)));
  expect(message.signature.signers).toEqual(Array.from({ length: 65_536 }, (_, index) => index));
});

test('a message without signers is parsed, like in the reference', () => {
  expect(parseSignedMessage(encodeWith(0, new Uint8Array())).signature.signers).toEqual([]);
});
