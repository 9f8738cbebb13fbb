import { keccak_256 } from '@noble/hashes/sha3.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { consoleLinkOf, readPasted } from '../../../../../src/console/page/input/pasted-input.ts';
import { bytesToHex } from '../../../../../src/lib/encoding/bytes.ts';
import { SEND_WARP_MESSAGE } from '../../../../../src/pchain/codec/send-warp-log.ts';
import { readCases } from '../../../../vectors/vectors.ts';

const MESSAGE = '00000000053900ff';
const CB58 = '2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC';
const pad = (hex: string) => hex.padEnd(Math.ceil(hex.length / 64) * 64, '0');
const word = (value: number) => value.toString(16).padStart(64, '0');
const logData = (message: string) => `0x${word(32)}${word(message.length / 2)}${pad(message)}`;
const log = (message: string) => ({
  address: '0x0200000000000000000000000000000000000005',
  topics: [SEND_WARP_MESSAGE, `0x${word(1)}`, `0x${word(2)}`],
  data: logData(message),
});
const hexOf = (pasted: string) => {
  const read = readPasted(pasted);
  return read.kind === 'bytes' ? read.hex : read;
};

test('the topic of the log is the hash of its signature', () => {
  const hash = keccak_256(new TextEncoder().encode('SendWarpMessage(address,bytes32,bytes)'));
  expect(`0x${bytesToHex(hash)}`).toBe(SEND_WARP_MESSAGE);
});

test.each([
  MESSAGE,
  `0x${MESSAGE}`,
  `  0X${MESSAGE.toUpperCase()}\n`,
  `"0x${MESSAGE}",`,
  `0x${MESSAGE.slice(0, 6)}\n  ${MESSAGE.slice(6)}`,
])('the hex of %j is taken as it is meant', (pasted) => {
  expect(hexOf(pasted)).toBe(MESSAGE);
});

test.each([
  ['0x', /nothing after 0x/],
  ['0x123', /3 hex digits, an odd number/],
  ['0x12zz', /"z", at position 5, is no hex digit/],
  ['12 34 5g', /"g", at position 6, is no hex digit/],
  ['NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg', /NodeID of a validator/],
  [
    Buffer.from('a message of 30 bytes, in base64').toString('base64'),
    /^This looks like base64\. Paste the bytes in hex/,
  ],
  [`0x${'12'.repeat(20)}zz`, /"z", at position 43, is no hex digit/],
  ['https://subnets.avax.network/c-chain/block/7', /^This is the address of a web page\./],
  ['http://127.0.0.1:8080/#/activity/abc', /^This is an address of the console, of its view Activity: open it/],
  ['https://a.test/x/#/sign', /^This is an address of the console, of its view Sign/],
  ['{"message": ', /^This looks like JSON, but is none: /],
  ['{"a": [1, null, "x"]}', /^This JSON has no log/],
])('%j is refused, and why', (pasted, reason) => {
  expect(readPasted(pasted)).toEqual({ kind: 'unreadable', reason: expect.stringMatching(reason) });
});

test('32 bytes are an ID, in hex and in cb58; the address of a transaction has its chain, its log and its signers, too', () => {
  const id = `0x${word(7)}`;
  for (const pasted of [id, word(7)]) expect(readPasted(pasted)).toEqual({ kind: 'id', id });
  expect(readPasted(CB58)).toEqual({ kind: 'id', id: CB58 });
  const read = { kind: 'id', id, chain: 'C', fields: {} };
  expect(readPasted(`http://a.test/v1/x/aggregateSignatures/${id}?blockchainId=C`)).toEqual(read);
  expect(readPasted(`${id}?blockchainId=C&logIndex=3`)).toEqual({ ...read, logIndex: '3' });
  expect(readPasted(`${id}?quorumPercentage=80&signingSubnetId=${CB58}&pChainHeight=x`)).toEqual({
    kind: 'id',
    id,
    fields: { quorumPercentage: 80, signingSubnetId: CB58 },
  });
});

test.each([
  `https://snowtrace.io/tx/0x${word(7)}`,
  `https://subnets.avax.network/c-chain/tx/0x${word(7)}?tab=logs`,
  `http://127.0.0.1:8080/v1/signatureAggregator/fuji/aggregateSignatures/0x${word(7)}`,
])('the transaction in the address of a page is taken: %s', (pasted) => {
  expect(readPasted(pasted)).toMatchObject({ kind: 'id', id: `0x${word(7)}` });
});

test("the message in the console's own address is taken, and its options can be read", () => {
  const link = `http://127.0.0.1:8080/#/sign?message=0x${MESSAGE}&quorum=80`;
  expect(hexOf(link)).toBe(MESSAGE);
  expect(consoleLinkOf(link)).toEqual({ view: 'sign', query: new URLSearchParams(link.split('?')[1]) });
  expect(consoleLinkOf(`#/sign?message=${encodeURIComponent(link)}`)?.query.get('message')).toBe(link);
  for (const other of ['', MESSAGE, 'https://a.test/', 'https://a.test/#/nonsense']) {
    expect(consoleLinkOf(other)).toBeUndefined();
  }
});

test('blanks are nothing', () => {
  expect(readPasted(' \n')).toEqual({ kind: 'empty' });
});

test.each([
  ['a log', log(MESSAGE)],
  ['logs', [{ topics: ['0x12'], data: '0x' }, log(MESSAGE)]],
  ['an answer to eth_getLogs', { jsonrpc: '2.0', id: 1, result: [log(MESSAGE)] }],
  ['a receipt', { jsonrpc: '2.0', id: 1, result: { status: '0x1', logs: [log(MESSAGE)] } }],
])('the message of SendWarpMessage is read in %s', (_, json) => {
  const read = { kind: 'bytes', hex: MESSAGE, source: 'log', fields: {}, more: 0 };
  expect(readPasted(JSON.stringify(json, null, 1))).toEqual(read);
});

test('the data of a log alone is read; of several logs the first is taken, and the others are counted', () => {
  expect(readPasted(logData(MESSAGE))).toMatchObject({ kind: 'bytes', hex: MESSAGE, source: 'log' });
  expect(readPasted(JSON.stringify([log(MESSAGE), log('00'), log('01')]))).toMatchObject({ hex: MESSAGE, more: 2 });
});

test('a log whose data is cut off has no message', () => {
  const cut = { ...log(MESSAGE), data: logData(MESSAGE).slice(0, 140) };
  expect(readPasted(JSON.stringify(cut))).toMatchObject({ kind: 'unreadable' });
});

test('a request of this API brings its fields', () => {
  const quorum = { quorumPercentage: 80, quorumPercentageBuffer: 3 };
  const fields = { justification: '0xab', ...quorum, signingSubnetId: 'abc', pChainHeight: 7 };
  expect(readPasted(JSON.stringify({ message: `0x${MESSAGE}`, ...fields }))).toEqual({
    kind: 'bytes',
    hex: MESSAGE,
    source: 'request',
    fields,
    more: 0,
  });
});

test.each(['pchain-height', 'p-chain-height'])(
  'a request of the Go aggregator brings its fields, its height as %s',
  (name) => {
    const body = { message: MESSAGE, 'signing-subnet-id': 'abc', 'quorum-percentage': 80, [name]: 7 };
    expect(readPasted(JSON.stringify(body))).toMatchObject({
      fields: { signingSubnetId: 'abc', quorumPercentage: 80, pChainHeight: 7 },
    });
  },
);

test('the curl line of a request brings its fields', () => {
  const line = `curl -s http://127.0.0.1:8080/v1/x \\\n -H 'content-type: application/json' -d '{"message":"0x${MESSAGE}","quorumPercentage":50}'`;
  expect(readPasted(line)).toMatchObject({ hex: MESSAGE, source: 'request', fields: { quorumPercentage: 50 } });
});

test('a request with a justification alone asks for its message', () => {
  expect(readPasted('{"justification":"0xabcd"}')).toMatchObject({ hex: 'abcd', source: 'request', fields: {} });
});

test.each(['signedMessage', 'signed-message'])('an answer with %s is read', (name) => {
  expect(readPasted(JSON.stringify({ [name]: MESSAGE }))).toMatchObject({ hex: MESSAGE, source: 'answer' });
});

test('an answer of platform.getTx has the message of the transaction, or its ID', () => {
  const answer = (unsignedTx: object, id = CB58) =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tx: { unsignedTx, id }, encoding: 'json' } });
  expect(readPasted(answer({ networkID: 5 }))).toEqual({ kind: 'id', id: CB58 });
  expect(readPasted(answer({ networkID: 5, message: `0x${MESSAGE}` }))).toMatchObject({ hex: MESSAGE });
  expect(readPasted(answer({ networkID: 5 }, 'x'))).toMatchObject({ kind: 'unreadable' });
});

test.each(readCases())('the request of the captured vector $name is read', ({ unsignedMessage, justification }) => {
  const hex = bytesToHex(unsignedMessage);
  const request = { message: hex, justification: bytesToHex(justification), 'pchain-height': 0 };
  expect([hexOf(JSON.stringify(request)), hexOf(hex)]).toEqual([hex, hex]);
});

test('whatever is pasted is answered', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.json(), fc.string({ unit: fc.constantFrom(...'0123456789abcdefx {}[]",:') })),
      (text) => {
        expect(['empty', 'bytes', 'id', 'unreadable']).toContain(readPasted(text).kind);
      },
    ),
  );
});
