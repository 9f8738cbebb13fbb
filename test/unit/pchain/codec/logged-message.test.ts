import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesToHex, parseHex } from '../../../../src/lib/encoding/bytes.ts';
import { ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { loggedMessage } from '../../../../src/pchain/codec/logged-message.ts';
import { encodeLogData } from '../../../../src/pchain/codec/send-warp-log.ts';
import { encodeSignedMessage } from '../../../../src/warp/signed-message.ts';
import { signedMessages, unsignedMessages } from '../../warp/arbitrary-messages.ts';

const logData = (message: Uint8Array) => parseHex(encodeLogData(bytesToHex(message)), 'log');
const anyBytes = fc.uint8Array({ maxLength: 200 });

test('the bytes in the data of a log are returned, whatever they are', () => {
  fc.assert(
    fc.property(anyBytes, (bytes) => {
      expect(loggedMessage(logData(bytes), 'data')).toEqual(bytes);
    }),
  );
});

test('no Warp message of a network, signed or not, is taken for the data of a log', () => {
  const messages = fc.oneof(
    unsignedMessages,
    signedMessages.map((signed) => ({ ...signed.unsignedMessage, bytes: encodeSignedMessage(signed) })),
  );
  fc.assert(
    fc.property(messages, ({ networkID, bytes }) => {
      fc.pre(networkID !== 0);
      expect(loggedMessage(bytes, 'data')).toBeUndefined();
    }),
  );
});

test('data that is cut off, has more bytes after it, or another byte in its padding is rejected', () => {
  const faults = fc.oneof(
    fc.tuple(anyBytes, fc.nat(500)).map(([bytes, cut]) => {
      const data = logData(bytes);
      return data.subarray(0, 32 + (cut % (data.length - 32)));
    }),
    fc
      .tuple(anyBytes, fc.uint8Array({ minLength: 1, maxLength: 70 }))
      .map(([bytes, more]) => Uint8Array.of(...logData(bytes), ...more)),
    fc.uint8Array({ minLength: 1, maxLength: 31 }).map((bytes) => logData(bytes).with(95, 1)),
    fc.bigInt({ min: 2n ** 32n, max: 2n ** 256n - 1n }).map((length) => {
      return parseHex(`${'20'.padStart(64, '0')}${length.toString(16).padStart(64, '0')}${'00'.repeat(32)}`, 'log');
    }),
  );
  fc.assert(
    fc.property(faults, (data) => {
      expect(() => loggedMessage(data, 'data')).toThrow(ParseError);
    }),
  );
});
