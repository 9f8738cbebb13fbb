import { expect, test } from 'vitest';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { attempt, ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { parseBlockReceipts, parseEvmBlock, parseWarpLogs } from '../../../../src/pchain/codec/evm-block.ts';
import { encodeLogData, SEND_WARP_MESSAGE, WARP_PRECOMPILE } from '../../../../src/pchain/codec/send-warp-log.ts';
import { type BlockchainID, idBytes, idFromBytes } from '../../../../src/warp/ids.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';

const hash = (digits: string): string => `0x${digits.repeat(32)}`;
const CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(3), 'chain');
const OTHER_CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(4), 'chain');
const SENDER = `0x${'5a'.repeat(20)}`;
const BLOCK = {
  number: '0x10',
  hash: hash('aa'),
  parentHash: hash('bb'),
  timestamp: '0x64',
  transactions: [hash('01'), hash('02')],
};

function logOf(text: string, { chain = CHAIN, logIndex = 0, blockNumber = 16 } = {}) {
  const message = createUnsignedMessage(1, chain, new TextEncoder().encode(text));
  return {
    message,
    log: {
      address: WARP_PRECOMPILE,
      topics: [SEND_WARP_MESSAGE, `0x${'0'.repeat(24)}${SENDER.slice(2)}`, `0x${bytesToHex(idBytes(message.id))}`],
      data: encodeLogData(bytesToHex(message.bytes)),
      logIndex: `0x${logIndex.toString(16)}`,
      blockNumber: `0x${blockNumber.toString(16)}`,
      blockHash: hash('aa'),
      transactionHash: hash('02'),
    },
  };
}

function block(more: object = {}) {
  const parsed = parseEvmBlock({ ...BLOCK, ...more });
  if (parsed === undefined) throw new Error('no block');
  return parsed;
}

const IN_BLOCK = { first: 16, last: 16, hash: hash('aa') };

const receipt = (tx: string, logs: readonly unknown[] = [], blockHash = hash('aa')) => ({
  transactionHash: hash(tx),
  blockHash,
  logs,
});

test('a block has its place, time and transactions', () => {
  expect(block()).toEqual({
    number: 16,
    hash: hash('aa'),
    parentHash: hash('bb'),
    timeMs: 100_000,
    txHashes: [hash('01'), hash('02')],
  });
  expect(block({ timestampMilliseconds: '0x186a1' }).timeMs).toBe(100_001);
  expect(parseEvmBlock(null)).toBeUndefined();
});

test.each([
  ['no object', 7],
  ['a short hash', { ...BLOCK, hash: '0xaa' }],
  ['a height beyond 2^48', { ...BLOCK, number: '0x1000000000000' }],
  ['whole transactions', { ...BLOCK, transactions: [{ hash: hash('01') }] }],
  ['the same transaction twice', { ...BLOCK, transactions: [hash('01'), hash('01')] }],
  ['a time beyond the year 9999', { ...BLOCK, timestamp: '0x1fffffffffffff' }],
  ['milliseconds of another second', { ...BLOCK, timestampMilliseconds: '0x1869f' }],
])('a block with %s is refused', (_, result) => {
  expect(attempt(() => parseEvmBlock(result))).toBeInstanceOf(ParseError);
});

test('receipts give the messages with their place', () => {
  const { message, log } = logOf('one', { logIndex: 3 });
  const other = { ...log, address: SENDER };
  expect(parseBlockReceipts([receipt('01'), receipt('02', [other, log])], block(), CHAIN)).toEqual([
    { logIndex: 3, message, sender: SENDER, txHash: hash('02'), blockHash: hash('aa'), blockNumber: 16 },
  ]);
});

test('a block with no or too few receipts is not executed yet', () => {
  expect(parseBlockReceipts(null, block(), CHAIN)).toBeUndefined();
  expect(parseBlockReceipts([], block(), CHAIN)).toBeUndefined();
  expect(parseBlockReceipts([receipt('01')], block(), CHAIN)).toBeUndefined();
  expect(parseBlockReceipts([], block({ transactions: [] }), CHAIN)).toEqual([]);
});

test.each([
  ['another block', [receipt('01', [], hash('cc')), receipt('02')]],
  ['another transaction', [receipt('01'), receipt('03')]],
  ['another chain', [receipt('01'), receipt('02', [logOf('one', { chain: OTHER_CHAIN }).log])]],
  ['one transaction twice', [receipt('01'), receipt('01'), receipt('02')]],
  ['the block, with a log of another height', [receipt('01'), receipt('02', [logOf('1', { blockNumber: 17 }).log])]],
  [
    'the block, with a log of another hash',
    [receipt('01'), receipt('02', [{ ...logOf('1').log, blockHash: hash('cc') }])],
  ],
  ['the block, with a log of another transaction', [receipt('01', [logOf('1').log]), receipt('02')]],
  ['the block, with one place twice', [receipt('01'), receipt('02', [logOf('1').log, logOf('2').log])]],
])('receipts of %s are refused', (_, receipts) => {
  expect(attempt(() => parseBlockReceipts(receipts, block(), CHAIN))).toBeInstanceOf(ParseError);
});

test('logs give their messages in the order of the chain', () => {
  const [first, second, third] = [
    logOf('1', { blockNumber: 9, logIndex: 10 }),
    logOf('2', { blockNumber: 10, logIndex: 9 }),
    logOf('3', { blockNumber: 10, logIndex: 11 }),
  ];
  const parsed = parseWarpLogs([third.log, first.log, second.log], CHAIN, { first: 9, last: 10 });
  expect(parsed.map(({ message }) => message.id)).toEqual([first, second, third].map(({ message }) => message.id));
});

test.each([
  ['before the range', [logOf('1', { blockNumber: 15 }).log], { first: 16, last: 17 }],
  ['after the range', [logOf('1', { blockNumber: 18 }).log], { first: 16, last: 17 }],
  ['of another block than the one asked for', [{ ...logOf('1').log, blockHash: hash('cc') }], IN_BLOCK],
  ['of one place twice', [logOf('1').log, logOf('2').log], IN_BLOCK],
  ['behind all places', [logOf('1', { logIndex: 0xffff_ffff }).log], IN_BLOCK],
])('logs %s are refused', (_, logs, range) => {
  expect(attempt(() => parseWarpLogs(logs, CHAIN, range))).toBeInstanceOf(ParseError);
});
