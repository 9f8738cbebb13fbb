import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { AggregationRequest } from '../../../src/aggregator/aggregation-request.ts';
import { AggregatorError, type AggregatorErrorCode } from '../../../src/aggregator/aggregator-error.ts';
import type { TallySummary } from '../../../src/aggregator/tally.ts';
import { bytesToHex } from '../../../src/primitives/bytes.ts';
import { idBytes, P_CHAIN_ID, PRIMARY_NETWORK_ID } from '../../../src/primitives/ids.ts';
import { MAX_PAYLOAD_LENGTH } from '../../../src/warp/unsigned-message.ts';
import { settle } from '../../fake-clock.ts';
import { readCase } from '../../vectors/vectors.ts';
import {
  createTestServer,
  expectError,
  PATH,
  portOf,
  RESULT,
  recordingLogger,
  scriptedAggregator,
} from './api-fixture.ts';

const { unsignedMessage } = readCase('c_warp_0');
const message = bytesToHex(unsignedMessage);
const JSON_TYPE = { 'content-type': 'application/json' };

/** One server for all requests that need no other; its aggregator is the one of the last {@link post}. */
const script = { aggregator: scriptedAggregator().aggregator };
const server = await createTestServer({
  aggregator: { aggregate: (request, signal) => script.aggregator.aggregate(request, signal) },
});

async function post(payload: unknown, aggregator = scriptedAggregator().aggregator) {
  script.aggregator = aggregator;
  return await server.inject({ method: 'POST', url: PATH, headers: JSON_TYPE, payload: JSON.stringify(payload) });
}

/** What the aggregator was asked for this body. */
async function requestOf(payload: unknown): Promise<AggregationRequest> {
  const { aggregator, asked } = scriptedAggregator();
  const response = await post(payload, aggregator);
  expect(response.statusCode).toBe(201);
  return asked[0] as AggregationRequest;
}

describe('a good request', () => {
  test('is answered 201 with the hex without a prefix', async () => {
    const response = await post({ message });
    expect(response.statusCode).toBe(201);
    expect(response.json()).toMatchObject({ signedMessage: 'ab01ff' });
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  test('has the defaults of the specification', async () => {
    expect(await requestOf({ message })).toMatchObject({
      message: { bytes: unsignedMessage },
      justification: new Uint8Array(),
      signingSubnetID: undefined,
      quorumNum: 67n,
      quorumBuffer: 0n,
      pChainHeight: 0n,
    });
  });

  test('may have every field, hex with or without 0x, and the subnet in hex or cb58', async () => {
    const subnetHex = bytesToHex(idBytes(PRIMARY_NETWORK_ID));
    for (const signingSubnetId of [PRIMARY_NETWORK_ID, subnetHex, `0x${subnetHex}`]) {
      const body = { justification: '0x0aFF', signingSubnetId, quorumPercentage: 80, quorumPercentageBuffer: 20 };
      expect(await requestOf({ message: `0x${message}`, pChainHeight: 2 ** 53 - 1, ...body })).toMatchObject({
        message: { bytes: unsignedMessage },
        justification: Uint8Array.of(0x0a, 0xff),
        signingSubnetID: PRIMARY_NETWORK_ID,
        quorumNum: 80n,
        quorumBuffer: 20n,
        pChainHeight: 2n ** 53n - 1n,
      });
    }
    expect(await requestOf({ message: message.toUpperCase(), quorumPercentage: 0 })).toMatchObject({ quorumNum: 0n });
    expect(await requestOf({ message, quorumPercentage: 100 })).toMatchObject({ quorumNum: 100n });
    expect(await requestOf({ message, justification: '' })).toMatchObject({ justification: new Uint8Array() });
  });

  test('may be as long as the longest message and justification', async () => {
    const payloadLength = Buffer.alloc(4);
    payloadLength.writeUInt32BE(MAX_PAYLOAD_LENGTH);
    const longest = `${message.slice(0, 2 * 38)}${payloadLength.toString('hex')}${'ab'.repeat(MAX_PAYLOAD_LENGTH)}`;
    const request = await requestOf({ message: `0x${longest}`, justification: `0x${'cd'.repeat(24 * 1024)}` });
    expect(request.message.payload).toHaveLength(MAX_PAYLOAD_LENGTH);
    expect(request.justification).toHaveLength(24 * 1024);
  });

  test('may come to each name of the network', async () => {
    for (const name of ['fuji', 'testnet']) {
      const response = await server.inject({ method: 'POST', url: PATH.replace('fuji', name), payload: { message } });
      expect(response.statusCode).toBe(201);
    }
  });
});

describe('400 for what the caller can mend', () => {
  test.each<[string, unknown, string | RegExp]>([
    ['no fields', {}, 'message is missing: either message or justification must be given'],
    ['characters that are no hex', { message: 'zz' }, 'message must be hex digits, with an optional 0x prefix'],
    ['white space', { message: ` ${message}` }, 'message must be hex digits, with an optional 0x prefix'],
    ['the prefix 0X', { message: `0X${message}` }, 'message must be hex digits, with an optional 0x prefix'],
    ['an odd number of digits', { message: 'abc' }, 'message must have an even number of hex digits, has 3'],
    ['no digits', { message: '0x' }, /^message is not a Warp message: UnsignedMessage: too short/],
    ['trailing bytes', { message: `${message}00` }, 'message is not a Warp message: UnsignedMessage: 1 trailing bytes'],
    ['another codec version', { message: `01${message.slice(2)}` }, /^message is not a Warp message: .*codec version/],
    ['a length beyond the message', { message: message.slice(0, -2) }, /^message is not a Warp message: .*too short/],
    ['a number as the message', { message: 5 }, 'message must be a string'],
    ['null as the message', { message: null }, 'message must be a string'],
    ['a list as the message', { message: [message] }, 'message must be a string'],
    ['a justification that is no hex', { message, justification: '0xzz' }, /^justification must be hex digits/],
    ['a justification that is null', { message, justification: null }, 'justification must be a string'],
    [
      'a justification too long',
      { message, justification: '00'.repeat(24 * 1024 + 1) },
      'justification has 24577 bytes, at most 24576 are allowed',
    ],
    ['a subnet of other length', { message, signingSubnetId: '0xabcd' }, 'signingSubnetId must have 32 bytes, has 2'],
    ['no subnet', { message, signingSubnetId: '' }, /^signingSubnetId must be a 32-byte ID in hex or cb58: /],
    [
      'a wrong checksum',
      { message, signingSubnetId: `${PRIMARY_NETWORK_ID.slice(0, -1)}Z` },
      'signingSubnetId must be a 32-byte ID in hex or cb58: has a wrong cb58 checksum',
    ],
    ['a subnet that is a number', { message, signingSubnetId: 1 }, 'signingSubnetId must be a string'],
    ['a percentage that is no integer', { message, quorumPercentage: 67.5 }, 'quorumPercentage must be an integer'],
    ['a percentage in quotes', { message, quorumPercentage: '67' }, 'quorumPercentage must be an integer'],
    ['null as percentage', { message, quorumPercentage: null }, 'quorumPercentage must be an integer'],
    ['true as percentage', { message, quorumPercentage: true }, 'quorumPercentage must be an integer'],
    ['a percentage below 0', { message, quorumPercentage: -1 }, 'quorumPercentage must be >= 0'],
    ['a percentage above 100', { message, quorumPercentage: 101 }, 'quorumPercentage must be <= 100'],
    [
      'a buffer that is no integer',
      { message, quorumPercentageBuffer: 0.1 },
      'quorumPercentageBuffer must be an integer',
    ],
    ['a buffer below 0', { message, quorumPercentageBuffer: -1 }, 'quorumPercentageBuffer must be >= 0'],
    [
      'percentages that sum above 100',
      { message, quorumPercentage: 80, quorumPercentageBuffer: 21 },
      'quorumPercentageBuffer: quorumPercentage and quorumPercentageBuffer must add up to at most 100, are 101',
    ],
    [
      'a buffer above what the default leaves',
      { message, quorumPercentageBuffer: 34 },
      /add up to at most 100, are 101$/,
    ],
    ['a height below 0', { message, pChainHeight: -1 }, 'pChainHeight must be >= 0'],
    ['a height in quotes', { message, pChainHeight: '5' }, 'pChainHeight must be an integer'],
    [
      'a height that no number holds exactly',
      { message, pChainHeight: 2 ** 53 },
      /^pChainHeight must be <= 9007199254740991$/,
    ],
    ['an unknown field', { message, quorum: 67 }, 'unknown field quorum'],
    ['a field of the Go aggregator', { message, 'signing-subnet-id': '' }, 'unknown field signing-subnet-id'],
    ['null', null, 'body must be an object'],
    ['a list', [{ message }], 'body must be an object'],
    ['a text', message, 'body must be an object'],
    ['a number', 67, 'body must be an object'],
  ])('%s', async (_, payload, expected) => {
    const { aggregator, asked } = scriptedAggregator();
    expect(expectError(await post(payload, aggregator), 400, expected)).toBeUndefined();
    expect(asked).toEqual([]);
  });

  const MISSING = 'body is missing: a JSON object is needed, with the header content-type: application/json';
  const NOT_JSON_TYPE = 'body must be JSON, with the header content-type: application/json';
  test.each<[string, { headers?: Record<string, string>; payload?: string }, string | RegExp]>([
    ['no body and no type', {}, MISSING],
    ['no body', { headers: JSON_TYPE }, MISSING],
    ['an empty body', { headers: JSON_TYPE, payload: '' }, MISSING],
    ['what is no JSON', { headers: JSON_TYPE, payload: '{"message":' }, 'body is not valid JSON'],
    ['NaN', { headers: JSON_TYPE, payload: '{"quorumPercentage":NaN}' }, 'body is not valid JSON'],
    ['a prototype', { headers: JSON_TYPE, payload: '{"__proto__":{"message":"00"}}' }, 'body is not valid JSON'],
    ['infinity', { headers: JSON_TYPE, payload: '{"pChainHeight":1e999}' }, 'pChainHeight must be an integer'],
    ['text', { headers: { 'content-type': 'text/plain' }, payload: '{}' }, NOT_JSON_TYPE],
    ['a form', { headers: { 'content-type': 'application/x-www-form-urlencoded' }, payload: 'a=b' }, NOT_JSON_TYPE],
    ['no known type', { headers: { 'content-type': 'json' }, payload: '{}' }, NOT_JSON_TYPE],
    [
      'more than the limit',
      { headers: JSON_TYPE, payload: JSON.stringify({ message: '00'.repeat(300_000) }) },
      'body is larger than the 577620 bytes allowed here',
    ],
  ])('a body that is %s', async (_, request, expected) => {
    expectError(await server.inject({ method: 'POST', url: PATH, ...request }), 400, expected);
  });
});

describe('404', () => {
  test('for a network that is not served, before the body is read', async () => {
    const url = PATH.replace('fuji', 'mainnet');
    const expected = 'network "mainnet" is not served here; served: fuji, testnet';
    expectError(await server.inject({ method: 'POST', url, payload: { message } }), 404, expected);
    expectError(await server.inject({ method: 'POST', url, headers: JSON_TYPE, payload: '{' }), 404, expected);
    expectError(await server.inject({ method: 'POST', url }), 404, expected);
  });

  test.each([
    ['GET', PATH],
    ['PUT', PATH],
    ['DELETE', PATH],
    ['OPTIONS', PATH],
    ['POST', `${PATH}/`],
    ['GET', '/'],
    ['POST', '/aggregate-signatures'],
  ] as const)('for no route: %s %s', async (method, url) => {
    expectError(
      await server.inject({ method, url: `${url}?secret=1` }),
      404,
      `no route ${method} ${url}; the routes are listed in /openapi.json`,
    );
  });
});

test('a path that is no URL, or endless, is a 400 of the same form', async () => {
  for (const network of ['%zz', 'a'.repeat(5_000)]) {
    const response = await server.inject({ method: 'POST', url: PATH.replace('fuji', network), payload: { message } });
    expectError(response, 400, 'the path of the URL is not valid');
  }
});

const weight = 2n ** 60n;
const SUMMARY: TallySummary = {
  neededWeight: weight + 1n,
  signedWeight: weight,
  totalWeight: 4n * weight,
  signed: { weight, count: 1 },
  refused: { weight: 1n, count: 2, reasons: [{ weight: 1n, count: 2, code: 7, text: 'wrong "ID"\n' }] },
  timedOut: { weight: 3n, count: 3 },
  ignored: { weight: 9n, count: 9 },
  unreachable: { weight: 4n, count: 4, reasons: [{ weight: 4n, count: 4, reason: 'no address known' }] },
  invalidSignature: { weight: 5n, count: 5 },
  unanswered: { weight: 6n, count: 6 },
  notAsked: { weight: 7n, count: 7 },
  withoutKey: { weight: 8n, count: 8 },
};

describe('an aggregation that fails', () => {
  test.each<[AggregatorErrorCode, number, string | undefined]>([
    ['invalid_request', 400, undefined],
    ['unknown_source_chain', 404, undefined],
    ['unknown_subnet', 404, undefined],
    ['insufficient_weight', 500, undefined],
    ['p_chain_invalid', 502, undefined],
    ['p_chain_unavailable', 503, '5'],
    ['not_connected', 503, '5'],
    ['overloaded', 503, '1'],
  ])('%s is a %i', async (code, status, retryAfter) => {
    const { aggregator } = scriptedAggregator(async () => {
      throw new AggregatorError(code, 'what went wrong', { cause: new Error('the inside') });
    });
    const response = await post({ message }, aggregator);
    expect(expectError(response, status, 'what went wrong')).toBeUndefined();
    expect(response.headers['retry-after']).toBe(retryAfter);
    expect(response.body).not.toContain('the inside');
  });

  test('says what every outcome weighs, in strings that hold 64 bits', async () => {
    const { aggregator } = scriptedAggregator(async () => {
      throw new AggregatorError('insufficient_weight', 'too little', {
        report: {
          messageID: 'x',
          sourceChainID: P_CHAIN_ID,
          signingSubnetID: PRIMARY_NETWORK_ID,
          pChainHeight: 1n,
          tally: SUMMARY,
        },
      });
    });
    expect(expectError(await post({ message }, aggregator), 500, 'too little')).toEqual({
      weightNeeded: '1152921504606846977',
      weightSigned: '1152921504606846976',
      totalWeight: '4611686018427387904',
      outcomes: {
        signed: { weight: '1152921504606846976', count: 1 },
        refused: { weight: '1', count: 2, reasons: [{ code: 7, text: 'wrong "ID"\n', weight: '1', count: 2 }] },
        timedOut: { weight: '3', count: 3 },
        ignored: { weight: '9', count: 9 },
        unreachable: { weight: '4', count: 4, reasons: [{ reason: 'no address known', weight: '4', count: 4 }] },
        invalidSignature: { weight: '5', count: 5 },
        unanswered: { weight: '6', count: 6 },
        notAsked: { weight: '7', count: 7 },
        withoutKey: { weight: '8', count: 8 },
      },
    });
  });

  test('for a bug tells the client nothing of it, and the log everything', async () => {
    for (const bug of [new TypeError('secret of the inside'), Object.assign(new Error('x'), { statusCode: 600 })]) {
      const { aggregator } = scriptedAggregator(async () => {
        throw bug;
      });
      const { logger, lines } = recordingLogger();
      const server = await createTestServer({ aggregator, logger });
      const response = await server.inject({ method: 'POST', url: PATH, payload: { message } });
      expectError(response, 500, 'internal error: see the log of the service');
      expect(response.body).not.toContain('secret');
      expect(lines().filter(({ level }) => level === 50)).toMatchObject([
        { msg: 'unexpected error', err: { stack: expect.stringContaining(bug.message) } },
      ]);
    }
  });
});

describe('over a real connection', () => {
  test('the aggregation goes on while the client waits, though its request was read long ago', async () => {
    const { aggregator } = scriptedAggregator(async (_, signal) => {
      for (let turn = 0; turn < 20; turn += 1) await settle();
      signal.throwIfAborted();
      return RESULT;
    });
    const server = await createTestServer({ aggregator });
    const url = await server.listen({ host: '127.0.0.1', port: 0 });
    const response = await fetch(`${url}${PATH}`, {
      method: 'POST',
      headers: JSON_TYPE,
      body: JSON.stringify({ message }),
    });
    expect(response.status).toBe(201);
    expect(await response.json()).toMatchObject({ signedMessage: 'ab01ff' });
    await server.close();
  });

  test('a client that goes away ends the aggregation, and is no error to the operator', async () => {
    const started = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<unknown>();
    const { aggregator } = scriptedAggregator((_, signal) => {
      started.resolve();
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reject(signal.reason);
          ended.resolve(signal.reason);
        });
      });
    });
    const { logger, lines } = recordingLogger();
    const server = await createTestServer({ aggregator, logger });
    await server.listen({ host: '127.0.0.1', port: 0 });
    const body = JSON.stringify({ message });
    const client = connect(portOf(server), '127.0.0.1');
    client.write(
      `POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await started.promise;
    client.destroy();
    expect(await ended.promise).toMatchObject({ name: 'ClientGone' });
    await server.close();
    expect(lines().filter(({ level }) => level >= 40)).toEqual([]);
  });
});
