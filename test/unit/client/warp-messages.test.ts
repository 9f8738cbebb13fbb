import { expect, test } from 'vitest';
import {
  fromReceipt,
  gasOfDelivery,
  messageIdOf,
  toAccessList,
  toPredicate,
  unsignedMessageOf,
  WARP_PRECOMPILE,
} from '../../../src/client/warp-messages.ts';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import { encodeLogData, SEND_WARP_MESSAGE } from '../../../src/pchain/codec/send-warp-log.ts';
import { readCase, readCases } from '../../vectors/vectors.ts';

const OF_TWO = [readCase('c_warp_0'), readCase('l1_warp_0')];
const SENDER = '0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc';
const OTHER = { address: SENDER, topics: [SEND_WARP_MESSAGE], data: '0x' };

/** The log that the precompile emits, with the fields of `eth_getTransactionReceipt`. */
function logOf({ unsignedMessage, unsignedMessageIDHex }: (typeof OF_TWO)[number]) {
  return {
    address: WARP_PRECOMPILE,
    topics: [SEND_WARP_MESSAGE, `0x${SENDER.slice(2).padStart(64, '0')}`, `0x${unsignedMessageIDHex}`],
    data: encodeLogData(bytesToHex(unsignedMessage)),
  };
}

test('the ID of a message is that of a real network, also of a signed one', () => {
  for (const { unsignedMessage, unsignedMessageID, signed } of readCases()) {
    expect(messageIdOf(unsignedMessage)).toBe(unsignedMessageID);
    expect(messageIdOf(`0x${bytesToHex(unsignedMessage)}`)).toBe(unsignedMessageID);
    if (signed !== undefined) expect(messageIdOf(bytesToHex(signed.signedMessage))).toBe(unsignedMessageID);
  }
});

test('a predicate is the signed message, a byte that ends it, and zeros up to whole words', () => {
  for (const { signed } of readCases().filter((one) => one.signed !== undefined)) {
    const digits = bytesToHex(signed!.signedMessage);
    const predicate = toPredicate(digits);
    expect(predicate).toMatch(new RegExp(`^0x${digits}ff(00){0,31}$`));
    expect(predicate.length % 64).toBe(2);
    expect(toAccessList(`0x${digits}`)).toEqual([
      { address: '0x0200000000000000000000000000000000000005', storageKeys: expect.any(Array) },
    ]);
    const [{ storageKeys } = { storageKeys: [] }] = toAccessList(signed!.signedMessage);
    expect(storageKeys.every((key) => /^0x[0-9a-f]{64}$/.test(key))).toBe(true);
    expect(storageKeys.map((key) => key.slice(2)).join('')).toBe(predicate.slice(2));
  }
});

test('a signed message begins with the unsigned one', () => {
  for (const { unsignedMessage, signed } of readCases().filter((one) => one.signed !== undefined)) {
    const unsigned = bytesToHex(unsignedMessage);
    const digits = bytesToHex(signed!.signedMessage);
    expect([unsignedMessageOf(digits), unsignedMessageOf(`0x${digits}`)]).toEqual([unsigned, `0x${unsigned}`]);
  }
});

test('the gas of a delivery grows with the words of the predicate and the signers of the message', () => {
  const { unsignedMessage, signed } = readCase('c_warp_0');
  const signers = signed!.signerIndices.length;
  const words = Math.ceil((signed!.signedMessage.length + 1) / 32);
  expect(gasOfDelivery(signed!.signedMessage)).toBe(BigInt(21_000 + 125_000 + 750 + 2 * 512 * words + 250 * signers));
  expect(gasOfDelivery(bytesToHex(signed!.signedMessage), 1_000)).toBe(
    gasOfDelivery(signed!.signedMessage) + BigInt(250 * (1_000 - signers)),
  );
  expect(() => gasOfDelivery(unsignedMessage)).toThrow('the message is not signed');
});

test.each<[string, (position: number) => object]>([
  ['ethers', (index) => ({ index })],
  ['viem', (logIndex) => ({ logIndex })],
  ['JSON-RPC', (position) => ({ logIndex: `0x${position.toString(16)}` })],
])('a receipt of %s has the messages in the order of its logs', (_, position) => {
  const logs = [OTHER, ...OF_TWO.map((one, at) => ({ ...logOf(one), ...position(at + 17) }))];
  expect(fromReceipt({ logs })).toEqual(
    OF_TWO.map(({ unsignedMessage, unsignedMessageID }, at) => ({
      message: `0x${bytesToHex(unsignedMessage)}`,
      messageId: unsignedMessageID,
      sender: SENDER,
      logIndex: at + 17,
    })),
  );
});

test('what is no message is refused', () => {
  const log = logOf(OF_TWO[0]!);
  for (const wrong of ['0x1', 'zz', '0x', '00'.repeat(41), '01'.repeat(80), `0000${'00'.repeat(36)}00000009`]) {
    expect(() => messageIdOf(wrong), wrong).toThrow(TypeError);
    expect(() => toPredicate(wrong), wrong).toThrow(TypeError);
    expect(() => fromReceipt({ logs: [{ ...log, data: wrong }] }), wrong).toThrow(TypeError);
  }
  const { topics } = logOf(OF_TWO[1]!);
  expect(() => fromReceipt({ logs: [{ ...log, topics }] })).toThrow('the log has the ID of another message');
});
