import { expect, test } from 'vitest';
import { bytesToHex, parseHex } from '../../../src/lib/encoding/bytes.ts';
import { encodeTeleporterMessage, parseTeleporterMessage } from '../../../src/warp/teleporter-message.ts';
import { teleporterMessages } from './arbitrary-messages.ts';
import { testCodec } from './codec-properties.ts';

const word = (hex: string): string => hex.padStart(64, '0');

test('has the layout of the ABI', () => {
  const sender = '11'.repeat(20);
  const receiver = '22'.repeat(20);
  const relayer = '33'.repeat(20);
  const payee = '44'.repeat(20);
  const encoded = [
    word('20'),
    word('5'),
    word(sender),
    'ab'.repeat(32),
    word(receiver),
    word('186a0'),
    // Offsets from the start of the struct: eight words of head, then two of relayers, three of receipts.
    word('100'),
    word('140'),
    word('1a0'),
    word('1'),
    word(relayer),
    word('1'),
    word('4'),
    word(payee),
    word('3'),
    'c0ffee'.padEnd(64, '0'),
  ].join('');
  const message = parseTeleporterMessage(parseHex(encoded, 'message'));
  expect(message).toMatchObject({
    messageNonce: 5n,
    originSenderAddress: parseHex(sender, 'sender'),
    destinationAddress: parseHex(receiver, 'receiver'),
    requiredGasLimit: 100_000n,
    allowedRelayerAddresses: [parseHex(relayer, 'relayer')],
    receipts: [{ receivedMessageNonce: 4n, relayerRewardAddress: parseHex(payee, 'payee') }],
    message: parseHex('c0ffee', 'message'),
  });
  expect(bytesToHex(encodeTeleporterMessage(message))).toBe(encoded);
});

testCodec({ encode: encodeTeleporterMessage, parse: parseTeleporterMessage }, teleporterMessages);

test('a huge count is rejected at once', () => {
  const head = [word('20'), ...Array.from({ length: 8 }, () => word('0')), 'f'.repeat(64)].join('');
  expect(() => parseTeleporterMessage(parseHex(head, 'message'))).toThrow(
    /allowedRelayerAddresses has \d+ items, more than fit/,
  );
});
