import { describe, expect, test } from 'vitest';
import { AggregatorError } from '../../../src/aggregation/aggregator-error.ts';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import {
  type BlockchainID,
  idBytes,
  idFromBytes,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type SubnetID,
  type TxID,
} from '../../../src/warp/ids.ts';
import { MAINNET } from '../../../src/warp/networks.ts';
import { createScriptedServer, expectError, PATH, RESULT } from './api-fixture.ts';

const TX = idFromBytes<TxID>(new Uint8Array(32).fill(1), 'txID');
const TX_HEX = bytesToHex(idBytes(TX));
const CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(4), 'chain');
const SUBNET = idFromBytes<SubnetID>(new Uint8Array(32).fill(6), 'subnet');
const { server, script } = await createScriptedServer();

async function get(path: string) {
  const asked = script();
  return { response: await server.inject(`${PATH}/${path}`), asked };
}

describe('GET by transaction', () => {
  test('asks for its message with all defaults, and answers with the signed message and its details', async () => {
    const { response, asked } = await get(TX);
    expect(asked).toEqual([{ subject: { kind: 'transaction', txID: TX }, followsTeleporter: true }]);
    expect(response.statusCode).toBe(201);
    expect(response.json()).toEqual({
      signedMessage: 'ab01ff',
      pChainHeight: 7,
      signingSubnetId: PRIMARY_NETWORK_ID,
      signedWeight: '80',
      totalWeight: '100',
      signers: [...RESULT.signers],
    });
  });

  test.each<[string, object]>([
    [TX, {}],
    [TX_HEX, {}],
    [`0x${TX_HEX}?blockchainId=${P_CHAIN_ID}`, {}],
    [`0x${TX_HEX}`, { evm: { chain: undefined, logIndex: undefined } }],
    [`0x${TX_HEX}?blockchainId=C`, { evm: { chain: 'C', logIndex: undefined } }],
    [`0x${TX_HEX}?blockchainId=${MAINNET.cChainID}&logIndex=7`, { evm: { chain: 'C', logIndex: 7 } }],
    [`0x${TX_HEX}?blockchainId=${CHAIN}&logIndex=0x1f`, { evm: { chain: CHAIN, logIndex: 31 } }],
  ])('asks the P-Chain alone, or for an EVM transaction: %s', async (path, evm) => {
    expect((await get(path)).asked[0]?.subject).toEqual({ kind: 'transaction', txID: TX, ...evm });
  });

  test.each([CHAIN, bytesToHex(idBytes(CHAIN))])('signs for the destination %s', async (text) => {
    expect((await get(`${TX}?destinationBlockchainId=${text}`)).asked[0]?.destinationChainID).toBe(CHAIN);
  });

  test('takes the subnet, quorum, buffer and height that a POST takes', async () => {
    const settings = `signingSubnetId=${SUBNET}&quorumPercentage=60&quorumPercentageBuffer=10&pChainHeight=5`;
    const choice = { signingSubnetID: SUBNET, quorumNum: 60n, quorumBuffer: 10n, pChainHeight: 5n };
    for (const path of [TX, `0x${TX_HEX}`]) expect((await get(`${path}?${settings}`)).asked).toMatchObject([choice]);
  });

  test.each<[string, string, RegExp]>([
    ['an empty hash', '', /^txHash must be a 32-byte ID in hex or cb58: /],
    ['a word', 'hello', /^txHash must be a 32-byte ID in hex or cb58: /],
    ['hex of a byte', '0x01', /^txHash must have 32 bytes, has 1$/],
    ['a hash that is far too long', '1'.repeat(1_000), /^txHash must be a 32-byte ID in hex or cb58: /],
    ['no hex', `0x${'zz'.repeat(32)}`, /^txHash must be hex digits/],
    ['the prefix 0X', `0X${'ab'.repeat(32)}`, /^txHash starts with 0X/],
    ['an empty destination', `${TX}?destinationBlockchainId=`, /^destinationBlockchainId is empty/],
    ['an alias', `${TX}?destinationBlockchainId=C`, /^destinationBlockchainId must be a 32-byte ID/],
    [
      'two',
      `${TX}?destinationBlockchainId=${CHAIN}&destinationBlockchainId=x`,
      /^destinationBlockchainId must be given once/,
    ],
    ['another parameter', `${TX}?justification=00`, /^unknown parameter justification; known are: blockchainId, /],
    ['an empty subnet', `${TX}?signingSubnetId=`, /^signingSubnetId is empty/],
    ['a quorum above 100', `${TX}?quorumPercentage=101`, /^quorumPercentage must be .*100/],
    ['a buffer that is no integer', `${TX}?quorumPercentageBuffer=1e1`, /^quorumPercentageBuffer must be an integer/],
    ['a negative height', `${TX}?pChainHeight=-1`, /^pChainHeight must be /],
    ['the alias of the Go SDK', `${TX}?pchainHeight=1`, /^pChainHeight must be written exactly so, not "pchainHeight"/],
    ['a misspelt one', `${TX}?destinationBlockchainID=x`, /^destinationBlockchainId must be written exactly so, not /],
  ])('refuses %s', async (_, path, message) => {
    const { response, asked } = await get(path);
    expectError(response, 400, message, 'invalid_request');
    expect(asked).toEqual([]);
  });

  test('an error about the transaction names the parameter', async () => {
    script(async () => {
      throw new AggregatorError('unknown_transaction', 'not there', { field: 'transaction' });
    });
    expectError(await server.inject(`${PATH}/${TX}`), 404, 'txHash: not there', 'unknown_transaction');
  });
});
