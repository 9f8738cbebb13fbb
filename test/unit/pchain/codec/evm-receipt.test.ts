import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { attempt, ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { parseEvmReceipt } from '../../../../src/pchain/codec/evm-receipt.ts';
import { encodeLogData, SEND_WARP_MESSAGE, WARP_PRECOMPILE } from '../../../../src/pchain/codec/send-warp-log.ts';
import { type BlockchainID, idBytes, idFromBytes } from '../../../../src/warp/ids.ts';
import { createUnsignedMessage, type UnsignedMessage } from '../../../../src/warp/unsigned-message.ts';

const HASH = `0x${'ab'.repeat(32)}`;
const CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(3), 'chain');
const FIRST = createUnsignedMessage(1, CHAIN, new TextEncoder().encode('one'));
const SECOND = createUnsignedMessage(1, CHAIN, new TextEncoder().encode('two'));
const OTHER = { address: `0x${'11'.repeat(20)}`, topics: [], data: '0x', logIndex: '0x0' };

function logOf({ id, bytes }: UnsignedMessage, logIndex: string): Record<string, unknown> {
  return {
    address: WARP_PRECOMPILE,
    topics: [SEND_WARP_MESSAGE, `0x${'0'.repeat(64)}`, `0x${bytesToHex(idBytes(id))}`],
    data: encodeLogData(bytesToHex(bytes)),
    logIndex,
  };
}

const receiptOf = (logs: readonly unknown[], more: object = {}) => ({
  transactionHash: HASH,
  status: '0x1',
  logs,
  ...more,
});
const parse = (result: unknown, chain: BlockchainID | undefined = CHAIN) => parseEvmReceipt(result, HASH, chain);

test('the receipt gives its messages, with the indices of their logs', () => {
  expect(parse(receiptOf([OTHER, logOf(FIRST, '0x3'), logOf(SECOND, '0x1f')]))).toEqual({
    hasFailed: false,
    logCount: 3,
    messages: [
      { logIndex: 3, message: FIRST },
      { logIndex: 31, message: SECOND },
    ],
  });
});

test('the receipt is undefined where the chain has none, and says where the transaction failed', () => {
  expect(parse(null)).toBeUndefined();
  expect(parse(receiptOf([], { status: '0x0' }))).toEqual({ hasFailed: true, logCount: 0, messages: [] });
});

test('the receipt may have its hash, addresses and topics in upper case', () => {
  const log = logOf(FIRST, '0x0');
  const upper = { ...log, topics: (log['topics'] as string[]).map((topic) => `0x${topic.slice(2).toUpperCase()}`) };
  const receipt = receiptOf([upper], { transactionHash: `0x${'AB'.repeat(32)}` });
  expect(parse(receipt)?.messages).toEqual([{ logIndex: 0, message: FIRST }]);
});

test.each([
  ['another event of the precompile', { topics: [`0x${'22'.repeat(32)}`] }],
  ['the event of another contract', { address: OTHER.address }],
])('the receipt with %s has no message', (_, more) => {
  expect(parse(receiptOf([{ ...logOf(FIRST, '0x0'), ...more }]))?.messages).toEqual([]);
});

test('the receipt is of any blockchain where its ID is not known', () => {
  const otherChain = idFromBytes<BlockchainID>(new Uint8Array(32).fill(4), 'chain');
  const other = createUnsignedMessage(1, otherChain, FIRST.payload);
  expect(() => parse(receiptOf([logOf(other, '0x0')]))).toThrow('have a message of another blockchain');
  expect(parseEvmReceipt(receiptOf([logOf(other, '0x0')]), HASH, undefined)?.messages).toHaveLength(1);
});

test.each<[string, unknown]>([
  ['a missing receipt', undefined],
  ['another transaction', receiptOf([], { transactionHash: `0x${'ac'.repeat(32)}` })],
  ['no status', receiptOf([], { status: undefined })],
  ['a status of 2', receiptOf([], { status: '0x2' })],
  ['logs that are no list', receiptOf([], { logs: {} })],
  ['too many logs', receiptOf(Array.from({ length: 16_385 }, () => OTHER))],
  ['one log index twice', receiptOf([logOf(FIRST, '0x1'), logOf(SECOND, '0x1')])],
  ['a log index with a leading zero', receiptOf([logOf(FIRST, '0x01')])],
  ['a log index beyond 32 bits', receiptOf([logOf(FIRST, '0x100000000')])],
  ['the ID of another message', receiptOf([{ ...logOf(FIRST, '0x0'), topics: logOf(SECOND, '0x0')['topics'] }])],
  ['no message ID', receiptOf([{ ...logOf(FIRST, '0x0'), topics: [SEND_WARP_MESSAGE] }])],
  ['data that is cut off', receiptOf([{ ...logOf(FIRST, '0x0'), data: encodeLogData('0000').slice(0, -62) }])],
  [
    'data with a huge length',
    receiptOf([{ ...logOf(FIRST, '0x0'), data: `0x${'20'.padStart(64, '0')}${'f'.repeat(64)}` }]),
  ],
  ['data that is no message', receiptOf([{ ...logOf(FIRST, '0x0'), data: encodeLogData('00'.repeat(40)) }])],
])('the receipt is refused with %s', (_, result) => {
  expect(() => parse(result)).toThrow(ParseError);
});

test('the receipt of any JSON is parsed or refused, with nothing invented', () => {
  const part = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom<unknown>(WARP_PRECOMPILE, SEND_WARP_MESSAGE, '0x0', '0x1', HASH, encodeLogData('00')),
  );
  const parts = fc.oneof(part, fc.array(part, { maxLength: 4 }));
  const changed = fc.constantFrom('address', 'topics', 'data', 'logIndex', 'none');
  const log = fc
    .tuple(fc.constantFrom(FIRST, SECOND), changed, parts)
    .map(([message, name, value]) => ({ ...logOf(message, '0x5'), [name]: value }));
  const receipt = fc.record({
    transactionHash: fc.oneof(fc.constant(HASH), part),
    status: fc.constantFrom('0x1', '0x0', 1, null),
    logs: fc.oneof(part, fc.array(log)),
  });
  fc.assert(
    fc.property(fc.oneof(receipt, part), (result) => {
      const parsed = attempt(() => parse(result));
      if (parsed instanceof ParseError || parsed === undefined) return;
      for (const { message } of parsed.messages) expect([FIRST.id, SECOND.id]).toContain(message.id);
    }),
    { numRuns: 500 },
  );
});
