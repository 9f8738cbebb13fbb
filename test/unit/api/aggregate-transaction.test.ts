import { describe, expect, test } from 'vitest';
import { AggregatorError } from '../../../src/aggregator/aggregator-error.ts';
import type { L1MessageRequest, L1Messages } from '../../../src/aggregator/l1-messages.ts';
import { bytesToHex } from '../../../src/primitives/bytes.ts';
import {
  type BlockchainID,
  idBytes,
  idFromBytes,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type SubnetID,
  type TxID,
} from '../../../src/primitives/ids.ts';
import { createUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { createTestServer, expectError, PATH, RESULT, scriptedAggregator } from './api-fixture.ts';

const TX = idFromBytes<TxID>(new Uint8Array(32).fill(1), 'txID');
const CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(2), 'chain');
const OTHER_CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(4), 'chain');
const SUBNET = idFromBytes<SubnetID>(new Uint8Array(32).fill(3), 'subnet');
const FOUND: L1MessageRequest = {
  message: createUnsignedMessage(5, P_CHAIN_ID, Uint8Array.of(1)),
  justification: Uint8Array.of(7),
  managerChainID: CHAIN,
  signingSubnetID: SUBNET,
};

function scriptedL1Messages(failure?: Error) {
  const transactions: TxID[] = [];
  const justifications: Uint8Array[] = [];
  const l1Messages: L1Messages = {
    async ofTransaction(txID) {
      transactions.push(txID);
      if (failure !== undefined) throw failure;
      return FOUND;
    },
    async ofJustification(justification) {
      justifications.push(justification);
      if (failure !== undefined) throw failure;
      return FOUND;
    },
  };
  return { l1Messages, transactions, justifications };
}

async function get(path: string, failure?: Error) {
  const { aggregator, asked } = scriptedAggregator();
  const { l1Messages, transactions } = scriptedL1Messages(failure);
  const server = await createTestServer({ aggregator, l1Messages });
  return { response: await server.inject(`${PATH}/${path}`), asked, transactions };
}

describe('GET by transaction', () => {
  test('signs what was found, by the manager chain’s subnet, at its epoch where it can be asked', async () => {
    const { response, asked, transactions } = await get(TX);
    expect(response.statusCode).toBe(201);
    expect(transactions).toEqual([TX]);
    const { managerChainID, ...found } = FOUND;
    expect(asked).toEqual([
      {
        ...found,
        quorumNum: 67n,
        quorumBuffer: 0n,
        pChainHeight: 0n,
        destination: { chainID: managerChainID, isRequired: false },
      },
    ]);
  });

  test('answers with the message and how it came to be', async () => {
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

  test.each([TX, bytesToHex(idBytes(TX)), `0x${bytesToHex(idBytes(TX))}`])('takes the hash as %s', async (text) => {
    expect((await get(text)).transactions).toEqual([TX]);
  });

  test.each([OTHER_CHAIN, bytesToHex(idBytes(OTHER_CHAIN))])('signs for the destination %s', async (text) => {
    const { asked } = await get(`${TX}?destinationBlockchainId=${text}`);
    expect(asked[0]?.destination).toEqual({ chainID: OTHER_CHAIN, isRequired: true });
  });

  test.each<[string, string, string | RegExp]>([
    ['a word', 'hello', /^txHash must be a 32-byte ID in hex or cb58: /],
    ['hex of a byte', '0x01', 'txHash must have 32 bytes, has 1'],
    ['a hash that is far too long', '1'.repeat(1_000), /^txHash must be a 32-byte ID in hex or cb58: /],
    ['hex that is far too long', `0x${'ab'.repeat(400)}`, 'txHash must have 32 bytes, has 400'],
    ['no hex', `0x${'zz'.repeat(32)}`, 'txHash must be hex digits, with an optional 0x prefix'],
    ['an empty destination', `${TX}?destinationBlockchainId=`, /^destinationBlockchainId must be a 32-byte ID/],
    ['an alias', `${TX}?destinationBlockchainId=C`, /^destinationBlockchainId must be a 32-byte ID in hex or cb58/],
    [
      'two destinations',
      `${TX}?destinationBlockchainId=${CHAIN}&destinationBlockchainId=${CHAIN}`,
      'destinationBlockchainId must be a string',
    ],
    ['another parameter', `${TX}?quorumPercentage=67`, 'unknown field quorumPercentage'],
  ])('refuses %s', async (_, path, message) => {
    const { response, transactions } = await get(path);
    expectError(response, 400, message);
    expect(transactions).toEqual([]);
  });

  test('does not know an empty hash', async () => {
    const { response, transactions } = await get('');
    expectError(response, 400, /^txHash must be a 32-byte ID in hex or cb58: /);
    expect(transactions).toEqual([]);
  });

  test.each([
    ['invalid_request', 400, undefined],
    ['unknown_transaction', 404, undefined],
    ['justification_not_found', 404, undefined],
    ['justification_pending', 503, '10'],
    ['no_validators_yet', 503, '10'],
    ['p_chain_unavailable', 503, '5'],
    ['p_chain_invalid', 502, undefined],
  ] as const)('%s is %i', async (code, status, retryAfter) => {
    const { response } = await get(TX, new AggregatorError(code, 'because'));
    expectError(response, status, 'because');
    expect(response.headers['retry-after']).toBe(retryAfter);
  });
});

describe('POST with a justification alone', () => {
  async function post(body: object) {
    const { aggregator, asked } = scriptedAggregator();
    const { l1Messages, justifications } = scriptedL1Messages();
    const server = await createTestServer({ aggregator, l1Messages });
    return { response: await server.inject({ method: 'POST', url: PATH, payload: body }), asked, justifications };
  }

  test('signs what was found, by the subnet that was found', async () => {
    const { response, asked, justifications } = await post({ justification: '0x0a0b', quorumPercentage: 50 });
    expect(response.statusCode).toBe(201);
    expect(justifications).toEqual([Uint8Array.of(10, 11)]);
    expect(asked[0]).toMatchObject({
      message: FOUND.message,
      justification: FOUND.justification,
      signingSubnetID: SUBNET,
      quorumNum: 50n,
    });
    expect(asked[0]?.destination).toBeUndefined();
  });

  test('or by the subnet, at the height and for the destination that the caller says', async () => {
    const { asked } = await post({ justification: '0a', signingSubnetId: PRIMARY_NETWORK_ID, pChainHeight: 9 });
    expect(asked[0]).toMatchObject({ signingSubnetID: PRIMARY_NETWORK_ID, pChainHeight: 9n });
    const other = await post({ justification: '0a', destinationBlockchainId: CHAIN });
    expect(other.asked[0]?.destination).toEqual({ chainID: CHAIN, isRequired: true });
  });

  test.each<[string, object, string | RegExp]>([
    ['hex that is none', { justification: 'xy' }, 'justification must be hex digits, with an optional 0x prefix'],
    [
      'one too long',
      { justification: '00'.repeat(24 * 1024 + 1) },
      'justification has 24577 bytes, at most 24576 are allowed',
    ],
    [
      'a height and a destination',
      { justification: '0a', pChainHeight: 1, destinationBlockchainId: CHAIN },
      'destinationBlockchainId must not be given together with pChainHeight: each says at which height',
    ],
    [
      'a destination that is none',
      { justification: '0a', destinationBlockchainId: 'x' },
      /^destinationBlockchainId must be/,
    ],
    [
      'a destination of another type',
      { justification: '0a', destinationBlockchainId: 1 },
      'destinationBlockchainId must be a string',
    ],
  ])('refuses %s', async (_, body, message) => {
    const { response, asked, justifications } = await post(body);
    expectError(response, 400, message);
    expect([asked, justifications]).toEqual([[], []]);
  });

  test('a height of 0 beside a destination is no height', async () => {
    const { response } = await post({ justification: '0a', pChainHeight: 0, destinationBlockchainId: CHAIN });
    expect(response.statusCode).toBe(201);
  });
});

test('the routes are in the OpenAPI document', async () => {
  const server = await createTestServer({});
  const { paths } = (await server.inject('/openapi.json')).json() as { paths: Record<string, Record<string, unknown>> };
  const get = paths['/v1/signatureAggregator/{network}/aggregateSignatures/{txHash}']?.['get'];
  expect(get).toMatchObject({
    operationId: 'aggregateSignaturesOfTransaction',
    parameters: expect.arrayContaining([
      expect.objectContaining({ name: 'txHash', in: 'path' }),
      expect.objectContaining({ name: 'destinationBlockchainId', in: 'query', required: false }),
    ]),
    responses: { 201: expect.anything(), 400: expect.anything(), 404: expect.anything(), 503: expect.anything() },
  });
});
