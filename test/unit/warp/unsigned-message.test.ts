import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteWriter } from '../../../src/lib/encoding/byte-writer.ts';
import { type BlockchainID, idBytes, P_CHAIN_ID } from '../../../src/warp/ids.ts';
import { encodeSignedMessage } from '../../../src/warp/signed-message.ts';
import {
  createUnsignedMessage,
  MAX_PAYLOAD_LENGTH,
  MAX_UNSIGNED_MESSAGE_LENGTH,
  parseUnsignedMessage,
} from '../../../src/warp/unsigned-message.ts';
import { readCases } from '../../vectors/vectors.ts';
import { signedMessages, unsignedMessages } from './arbitrary-messages.ts';
import { testCodec } from './codec-properties.ts';

const codec = {
  encode: ({ networkID, sourceChainID, payload }: ReturnType<typeof parseUnsignedMessage>) =>
    createUnsignedMessage(networkID, sourceChainID, payload).bytes,
  parse: parseUnsignedMessage,
};

test.each(readCases())('$name', (vector) => {
  const message = parseUnsignedMessage(vector.unsignedMessage);
  expect(message).toEqual({
    networkID: vector.networkID,
    sourceChainID: vector.sourceChainID,
    payload: vector.payload,
    bytes: vector.unsignedMessage,
    id: vector.unsignedMessageID,
  });
  expect(idBytes(message.id)).toEqual(vector.unsignedMessageIDBytes);
  expect(createUnsignedMessage(vector.networkID, vector.sourceChainID as BlockchainID, vector.payload)).toEqual(
    message,
  );
});

testCodec(codec, unsignedMessages);

test('the longest payload is accepted, one byte more is not', () => {
  const longest = createUnsignedMessage(1, P_CHAIN_ID, new Uint8Array(MAX_PAYLOAD_LENGTH));
  expect(longest.bytes).toHaveLength(MAX_UNSIGNED_MESSAGE_LENGTH);
  expect(parseUnsignedMessage(longest.bytes).id).toBe(longest.id);
  const tooLong = new ByteWriter()
    .u16(0)
    .u32(1)
    .bytes(new Uint8Array(32))
    .lengthPrefixed(new Uint8Array(MAX_PAYLOAD_LENGTH + 1))
    .finish();
  expect(() => parseUnsignedMessage(tooLong)).toThrowError(
    `UnsignedMessage: payload has ${MAX_PAYLOAD_LENGTH + 1} bytes, at most ${MAX_PAYLOAD_LENGTH} are allowed`,
  );
});

test('a signed message is recognised, and the error says where its unsigned message ends', () => {
  fc.assert(
    fc.property(signedMessages, (message) => {
      expect(() => parseUnsignedMessage(encodeSignedMessage(message))).toThrowError(
        `is a signed message; the unsigned one is its first ${message.unsignedMessage.bytes.length} bytes`,
      );
    }),
  );
});

test.each<[string, (signature: Uint8Array) => Uint8Array]>([
  ['cut short', (signature) => signature.subarray(0, -1)],
  ['with a byte more', (signature) => Uint8Array.of(...signature, 0)],
  ['with another type of signature', (signature) => signature.with(3, 1)],
  ['whose signers are longer than it', (signature) => signature.with(4, 0xff)],
])('a signed message %s is only a message with trailing bytes', (_name, spoil) => {
  const [vector] = readCases().filter(({ signed }) => signed !== undefined);
  const { length } = vector?.unsignedMessage ?? [];
  const signedMessage = vector?.signed?.signedMessage ?? new Uint8Array();
  const signature = spoil(signedMessage.slice(length));
  const bytes = Uint8Array.of(...signedMessage.subarray(0, length), ...signature);
  expect(() => parseUnsignedMessage(bytes)).toThrowError(`UnsignedMessage: ${signature.length} trailing bytes`);
});
