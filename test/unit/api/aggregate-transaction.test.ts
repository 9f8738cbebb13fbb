import { describe, expect, test } from 'vitest';
import { AggregatorError } from '../../../src/aggregation/aggregator-error.ts';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import {
  type BlockchainID,
  idBytes,
  idFromBytes,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type TxID,
} from '../../../src/warp/ids.ts';
import { MAINNET } from '../../../src/warp/networks.ts';
import { createTestServer, expectError, PATH, RESULT, scriptedAggregator } from './api-fixture.ts';

const TX = idFromBytes<TxID>(new Uint8Array(32).fill(1), 'txID');
const CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(2), 'chain');
const OTHER_CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(4), 'chain');

async function get(path: string, failure?: Error) {
  const { aggregator, asked } = scriptedAggregator(async () => {
    if (failure !== undefined) throw failure;
    return RESULT;
  });
  const server = await createTestServer({ aggregator });
  return { response: await server.inject(`${PATH}/${path}`), asked };
}

describe('GET by transaction', () => {
  test('asks for the message of the transaction, with all defaults', async () => {
    const { response, asked } = await get(TX);
    expect(response.statusCode).toBe(201);
    expect(asked).toEqual([{ subject: { kind: 'transaction', txID: TX } }]);
  });

  test('answers with the signed message and its details', async () => {
    const { response } = await get(TX);
    expect(response.json()).toEqual({
      signedMessage: 'ab01ff',
      pChainHeight: 7,
      signingSubnetId: PRIMARY_NETWORK_ID,
      signedWeight: '80',
      totalWeight: '100',
      signers: [...RESULT.signers],
    });
  });

  test.each([TX, bytesToHex(idBytes(TX))])('asks the P-Chain alone for %s', async (text) => {
    expect((await get(text)).asked[0]?.subject).toEqual({ kind: 'transaction', txID: TX });
  });

  test.each<[string, object]>([
    ['', { chain: undefined, logIndex: undefined }],
    ['?blockchainId=C', { chain: 'C', logIndex: undefined }],
    [`?blockchainId=${MAINNET.cChainID}&logIndex=7`, { chain: 'C', logIndex: 7 }],
    [`?blockchainId=${OTHER_CHAIN}&logIndex=0x1f`, { chain: OTHER_CHAIN, logIndex: 31 }],
  ])('takes the hash of an EVM transaction with "%s"', async (query, evm) => {
    const { asked } = await get(`0x${bytesToHex(idBytes(TX))}${query}`);
    expect(asked[0]?.subject).toEqual({ kind: 'transaction', txID: TX, evm });
  });

  test('asks the P-Chain alone if blockchainId is its ID', async () => {
    const { asked } = await get(`0x${bytesToHex(idBytes(TX))}?blockchainId=${P_CHAIN_ID}`);
    expect(asked[0]?.subject).toEqual({ kind: 'transaction', txID: TX });
  });

  test.each([OTHER_CHAIN, bytesToHex(idBytes(OTHER_CHAIN))])('signs for the destination %s', async (text) => {
    const { asked } = await get(`${TX}?destinationBlockchainId=${text}`);
    expect(asked[0]?.destinationChainID).toBe(OTHER_CHAIN);
  });

  test.each<[string, string, string | RegExp]>([
    ['a word', 'hello', /^txHash must be a 32-byte ID in hex or cb58: /],
    ['hex of a byte', '0x01', 'txHash must have 32 bytes, has 1'],
    ['a hash that is far too long', '1'.repeat(1_000), /^txHash must be a 32-byte ID in hex or cb58: /],
    ['hex that is far too long', `0x${'ab'.repeat(400)}`, 'txHash must have 32 bytes, has 400'],
    ['no hex', `0x${'zz'.repeat(32)}`, 'txHash must be hex digits, with an optional 0x prefix'],
    ['the prefix 0X', `0X${'ab'.repeat(32)}`, 'txHash starts with 0X: the prefix of hex is 0x, or there is none'],
    [
      'an empty destination',
      `${TX}?destinationBlockchainId=`,
      'destinationBlockchainId is empty: give an ID, or leave it out to have the default',
    ],
    ['an alias', `${TX}?destinationBlockchainId=C`, /^destinationBlockchainId must be a 32-byte ID in hex or cb58/],
    [
      'two destinations',
      `${TX}?destinationBlockchainId=${CHAIN}&destinationBlockchainId=${CHAIN}`,
      'destinationBlockchainId must be a string',
    ],
    [
      'another parameter',
      `${TX}?quorumPercentage=67`,
      'unknown parameter quorumPercentage; known are: blockchainId, logIndex, destinationBlockchainId',
    ],
    [
      'a misspelt parameter',
      `${TX}?destinationBlockchainID=${CHAIN}`,
      'unknown parameter destinationBlockchainID: did you mean destinationBlockchainId?',
    ],
  ])('refuses %s', async (_, path, message) => {
    const { response, asked } = await get(path);
    expectError(response, 400, message, 'invalid_request');
    expect(asked).toEqual([]);
  });

  test('does not know an empty hash', async () => {
    const { response, asked } = await get('');
    expectError(response, 400, /^txHash must be a 32-byte ID in hex or cb58: /);
    expect(asked).toEqual([]);
  });

  test('an error about the transaction names the parameter', async () => {
    const { response } = await get(
      TX,
      new AggregatorError('unknown_transaction', 'not there', { field: 'transaction' }),
    );
    expectError(response, 404, 'txHash: not there', 'unknown_transaction');
  });
});

describe('POST with a justification alone', () => {
  async function post(body: object) {
    const { aggregator, asked } = scriptedAggregator();
    const server = await createTestServer({ aggregator });
    return { response: await server.inject({ method: 'POST', url: PATH, payload: body }), asked };
  }

  test('asks for the message that belongs to it', async () => {
    const { response, asked } = await post({ justification: '0x0a0b', quorumPercentage: 50 });
    expect(response.statusCode).toBe(201);
    const subject = { kind: 'justification', justification: Uint8Array.of(10, 11) };
    expect(asked).toEqual([{ subject, quorumNum: 50n }]);
  });

  test('by the subnet, at the height and for the destination that the caller says', async () => {
    const { asked } = await post({ justification: '0a', signingSubnetId: PRIMARY_NETWORK_ID, pChainHeight: 9 });
    expect(asked[0]).toMatchObject({ signingSubnetID: PRIMARY_NETWORK_ID, pChainHeight: 9n });
    const other = await post({ justification: '0a', destinationBlockchainId: CHAIN });
    expect(other.asked[0]?.destinationChainID).toBe(CHAIN);
  });
});
