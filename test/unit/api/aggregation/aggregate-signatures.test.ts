import { connect } from 'node:net';
import type { TSchema } from 'typebox';
import Schema from 'typebox/schema';
import { describe, expect, test } from 'vitest';
import {
  type AggregationReport,
  AggregatorError,
  type AggregatorErrorCode,
  type RequestField,
} from '../../../../src/aggregation/aggregator-error.ts';
import type { Aggregator } from '../../../../src/aggregation/request/aggregate.ts';
import type { AggregationRequest } from '../../../../src/aggregation/request/aggregation-request.ts';
import type { TallySummary } from '../../../../src/aggregation/validators/validator-outcome.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { createMemoryLimitCounters } from '../../../../src/store/local/limit-counters.ts';
import { idBytes, P_CHAIN_ID, PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { MAX_PAYLOAD_LENGTH } from '../../../../src/warp/unsigned-message.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { readCase } from '../../../vectors/vectors.ts';
import {
  closed,
  createTestServer,
  expectError,
  NODE_ID,
  PATH,
  portOf,
  RESULT,
  recordingLogger,
  scriptedAggregator,
} from '../api-fixture.ts';

const { unsignedMessage, signed } = readCase('c_warp_0');
if (signed === undefined) throw new Error('the vector has no signed message');
const { signedMessage } = signed;
const message = bytesToHex(unsignedMessage);
const JSON_TYPE = { 'content-type': 'application/json' };

/** One server for all requests that need no other; its aggregator is the one of the last {@link post}. */
const script = { aggregator: scriptedAggregator().aggregator };
const server = await createTestServer({
  aggregator: { aggregate: (request, options) => script.aggregator.aggregate(request, options) },
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
    expect(response.headers['content-type']).toBe('application/json');
  });

  test('leaves missing fields undefined', async () => {
    const request = await requestOf({ message });
    const { subject, ...others } = request;
    expect(Object.values(others).filter((value) => value !== undefined)).toEqual([]);
    expect({ subject }).toMatchObject({
      subject: { kind: 'message', message: { bytes: unsignedMessage }, justification: new Uint8Array() },
    });
  });

  test('runs for the client of its address', async () => {
    const clients: (string | undefined)[] = [];
    for (const remoteAddress of ['192.0.2.7', '2001:db8::1', '2001:db8::2']) {
      script.aggregator = {
        aggregate: async (_, { client }) => {
          clients.push(client);
          return RESULT;
        },
      };
      const payload = JSON.stringify({ message });
      await server.inject({ method: 'POST', url: PATH, headers: JSON_TYPE, payload, remoteAddress });
      await server.inject({ url: `${PATH}/${PRIMARY_NETWORK_ID}`, remoteAddress });
    }
    expect(clients).toEqual(
      ['192.0.2.7', '2001:db8:0:0::/64', '2001:db8:0:0::/64'].flatMap((name) => [`address:${name}`, `address:${name}`]),
    );
  });

  test.each([
    [99, 10],
    [100, 11],
    [1_999, 29],
    [2_000, 30],
    [1_000_000, 30],
  ])('whose set has %i validators costs %i units, as a message and as a transaction', async (validators, units) => {
    const aggregate: Aggregator['aggregate'] = async (_, { onCacheMiss, onSigners }) => {
      await onCacheMiss?.();
      await onSigners?.(validators, 1_023);
      return RESULT;
    };
    const access = { apiKeys: [], unitsPerMinute: 50, trustedProxies: [] };
    const limits = createMemoryLimitCounters(new FakeClock());
    const limited = await createTestServer({ aggregator: { aggregate }, access: { ...access, limits } });
    const payload = JSON.stringify({ message });
    const ask = async () => limited.inject({ method: 'POST', url: PATH, headers: JSON_TYPE, payload });
    const left = async (response: ReturnType<typeof ask>) => (await response).headers['x-ratelimit-remaining'];
    expect(await left(ask())).toBe(String(50 - units));
    // What the minute has no room for any more does not refuse this request, but the next one.
    const second = await limited.inject({ url: `${PATH}/${PRIMARY_NETWORK_ID}` });
    expect([second.statusCode, second.headers['x-ratelimit-remaining']]).toEqual([
      201,
      String(Math.max(0, 50 - 2 * units)),
    ]);
    if (units === 30) expect((await ask()).statusCode).toBe(429);
  });

  test('whose transaction sent 200 KiB costs 200 units more', async () => {
    const aggregate: Aggregator['aggregate'] = async (_, { onSigners }) => {
      await onSigners?.(1, 200 * 1_024);
      return RESULT;
    };
    const access = { apiKeys: [], unitsPerMinute: 300, trustedProxies: [] };
    const limits = createMemoryLimitCounters(new FakeClock());
    const limited = await createTestServer({ aggregator: { aggregate }, access: { ...access, limits } });
    const response = await limited.inject({ url: `${PATH}/${PRIMARY_NETWORK_ID}` });
    expect(response.headers['x-ratelimit-remaining']).toBe(String(300 - 1 - 200));
  });

  test.each([
    [1_023, 1],
    [1_024, 2],
    [200 * 1_024, 201],
  ])('of %i bytes that are no message costs %i units, for its size alone', async (bytes, units) => {
    const access = { apiKeys: [], unitsPerMinute: 300, trustedProxies: [] };
    const limits = createMemoryLimitCounters(new FakeClock());
    const limited = await createTestServer({ access: { ...access, limits } });
    for (const left of [300 - units, 300 - 2 * units]) {
      const payload = JSON.stringify({ message: '00'.repeat(bytes) });
      const response = await limited.inject({ method: 'POST', url: PATH, headers: JSON_TYPE, payload });
      if (left < 0) expect(response.statusCode).toBe(429);
      else expect(response.headers['x-ratelimit-remaining']).toBe(String(left));
    }
  });

  test('costs 1 unit if the answer is cached, and is rejected before any work if 9 more are not left', async () => {
    let isCached = true;
    const worked: string[] = [];
    const aggregate: Aggregator['aggregate'] = (_, { onCacheMiss }) => {
      if (isCached) return RESULT;
      return (async () => {
        await onCacheMiss?.();
        worked.push('once');
        return RESULT;
      })();
    };
    const access = { apiKeys: [], unitsPerMinute: 15, trustedProxies: [] };
    const limits = createMemoryLimitCounters(new FakeClock());
    const limited = await createTestServer({ aggregator: { aggregate }, access: { ...access, limits } });
    const ask = async () => {
      const payload = JSON.stringify({ message });
      const { statusCode, headers } = await limited.inject({ method: 'POST', url: PATH, headers: JSON_TYPE, payload });
      return [statusCode, headers['x-ratelimit-remaining']];
    };
    expect(await ask()).toEqual([201, '14']);
    isCached = false;
    expect(await ask()).toEqual([201, '4']);
    expect(await ask()).toEqual([429, '3']);
    expect(worked).toEqual(['once']);
  });

  test('may have every field, hex with or without 0x, and the subnet in hex or cb58', async () => {
    const subnetHex = bytesToHex(idBytes(PRIMARY_NETWORK_ID));
    for (const signingSubnetId of [PRIMARY_NETWORK_ID, subnetHex, `0x${subnetHex}`]) {
      const body = { justification: '0x0aFF', signingSubnetId, quorumPercentage: 80, quorumPercentageBuffer: 20 };
      expect(await requestOf({ message: `0x${message}`, pChainHeight: 2 ** 53 - 1, ...body })).toMatchObject({
        subject: { kind: 'message', message: { bytes: unsignedMessage }, justification: Uint8Array.of(0x0a, 0xff) },
        signingSubnetID: PRIMARY_NETWORK_ID,
        quorumNum: 80n,
        quorumBuffer: 20n,
        pChainHeight: 2n ** 53n - 1n,
      });
    }
    expect(await requestOf({ message: message.toUpperCase(), quorumPercentage: 0 })).toMatchObject({ quorumNum: 0n });
    expect(await requestOf({ message, quorumPercentage: 100 })).toMatchObject({ quorumNum: 100n });
    expect(await requestOf({ message, justification: '' })).toMatchObject({
      subject: { kind: 'message', justification: new Uint8Array() },
    });
  });

  test('may have every field as the Go SDK sends it, where an empty text and 0 are not given', async () => {
    const empty = { justification: '', signingSubnetId: '', quorumPercentageBuffer: 0, pchainHeight: 0 };
    expect(await requestOf({ message, ...empty, quorumPercentage: 67 })).toEqual({
      ...(await requestOf({ message })),
      ...{ quorumNum: 67n, quorumBuffer: 0n },
    });
    for (const height of [
      { pchainHeight: 7 },
      { pchainHeight: 7, pChainHeight: 0 },
      { pchainHeight: 7, pChainHeight: 7 },
    ]) {
      expect(await requestOf({ message, ...height })).toMatchObject({ pChainHeight: 7n });
    }
    const { subject } = await requestOf({ message: '', justification: '0a' });
    expect(subject).toEqual({ kind: 'justification', justification: Uint8Array.of(10) });
  });

  test('may be as long as the longest message and justification', async () => {
    const payloadLength = Buffer.alloc(4);
    payloadLength.writeUInt32BE(MAX_PAYLOAD_LENGTH);
    const longest = `${message.slice(0, 2 * 38)}${payloadLength.toString('hex')}${'ab'.repeat(MAX_PAYLOAD_LENGTH)}`;
    const { subject } = await requestOf({ message: `0x${longest}`, justification: `0x${'cd'.repeat(24 * 1024)}` });
    if (subject.kind !== 'message') throw new Error(subject.kind);
    expect(subject.message.payload).toHaveLength(MAX_PAYLOAD_LENGTH);
    expect(subject.justification).toHaveLength(24 * 1024);
  });
});

describe('400 for what the client can correct', () => {
  test.each<[string, unknown, string | RegExp]>([
    ['no fields', {}, 'message is missing: either message or justification must be given'],
    ['characters that are no hex', { message: 'zz' }, 'message must be hex digits, with an optional 0x prefix'],
    ['the prefix 0X', { message: `0X${message}` }, 'message starts with 0X: the prefix of hex is 0x, or there is none'],
    ['an odd number of digits', { message: 'abc' }, 'message must have an even number of hex digits, has 3'],
    ['no digits', { message: '0x' }, /^message is not a Warp message: UnsignedMessage: too short/],
    ['an empty message', { message: '' }, /^message is missing: /],
    [
      'a height in two spellings that differ',
      { message, pChainHeight: 5, pchainHeight: 6 },
      'pChainHeight and pchainHeight are aliases and must not differ',
    ],
    ['the other spelling, in quotes', { message, pchainHeight: '5' }, /^pchainHeight must be an integer from 0 to /],
    [
      'a message that is signed already',
      { message: bytesToHex(signedMessage) },
      `message is signed already: to have it signed again, send its unsigned part, the first ${unsignedMessage.length} bytes`,
    ],
    ['trailing bytes', { message: `${message}00` }, 'message is not a Warp message: UnsignedMessage: 1 trailing bytes'],
    ['null as the message', { message: null }, 'message must be a string'],
    ['a justification that is no hex', { message, justification: '0xzz' }, /^justification must be hex digits/],
    ['a justification that is null', { message, justification: null }, 'justification must be a string'],
    [
      'a justification too long',
      { message, justification: '00'.repeat(24 * 1024 + 1) },
      'justification has 24577 bytes, at most 24576 are allowed',
    ],
    ['a subnet of other length', { message, signingSubnetId: '0xabcd' }, 'signingSubnetId must have 32 bytes, has 2'],
    [
      'an empty destination',
      { message, destinationBlockchainId: '' },
      'destinationBlockchainId is empty: give an ID, or leave it out to have the default',
    ],
    [
      'a subnet with the prefix 0X',
      { message, signingSubnetId: `0X${'ab'.repeat(32)}` },
      'signingSubnetId starts with 0X: the prefix of hex is 0x, or there is none',
    ],
    [
      'a wrong checksum',
      { message, signingSubnetId: `${PRIMARY_NETWORK_ID.slice(0, -1)}Z` },
      'signingSubnetId must be a 32-byte ID in hex or cb58: has a wrong cb58 checksum',
    ],
    ['a subnet that is a number', { message, signingSubnetId: 1 }, 'signingSubnetId must be a string'],
    [
      'a percentage that is no integer',
      { message, quorumPercentage: 67.5 },
      'quorumPercentage must be an integer from 0 to 100',
    ],
    [
      'a percentage in quotes',
      { message, quorumPercentage: '67' },
      'quorumPercentage must be an integer from 0 to 100, without quotes',
    ],
    ['a percentage below 0', { message, quorumPercentage: -1 }, 'quorumPercentage must be an integer from 0 to 100'],
    ['a percentage above 100', { message, quorumPercentage: 101 }, 'quorumPercentage must be an integer from 0 to 100'],
    ['a height below 0', { message, pChainHeight: -1 }, 'pChainHeight must be an integer from 0 to 9007199254740991'],
    [
      'a height in quotes',
      { message, pChainHeight: '5' },
      'pChainHeight must be an integer from 0 to 9007199254740991, without quotes',
    ],
    [
      'a height that no number holds exactly',
      { message, pChainHeight: 2 ** 53 },
      'pChainHeight must be an integer from 0 to 9007199254740991',
    ],
    ['a short name', { message, quorum: 67 }, 'unknown field quorum: did you mean quorumPercentage?'],
    ['a misspelt name', { mesage: message }, 'unknown field mesage: did you mean message?'],
    [
      'a field of the Go aggregator',
      { message, 'signing-subnet-id': '' },
      'unknown field signing-subnet-id: did you mean signingSubnetId?',
    ],
    ['an unknown field', { message, x: 1 }, /^unknown field x; known are: message, justification, signingSubnetId, /],
    ['null', null, 'body must be an object'],
    ['a list', [{ message }], 'body must be an object'],
  ])('%s', async (_, payload, expected) => {
    const { aggregator, asked } = scriptedAggregator();
    expect(expectError(await post(payload, aggregator), 400, expected, 'invalid_request')).toBeUndefined();
    expect(asked).toEqual([]);
  });

  const MISSING = 'body is missing: a JSON object is needed, with the header content-type: application/json';
  test.each<[string, { headers?: Record<string, string>; payload?: string }, string | RegExp]>([
    ['no body and no type', {}, MISSING],
    ['no body', { headers: JSON_TYPE }, MISSING],
    ['an empty body', { headers: JSON_TYPE, payload: '' }, MISSING],
    ['what is no JSON', { headers: JSON_TYPE, payload: '{"message":' }, 'body is not valid JSON'],
    ['NaN', { headers: JSON_TYPE, payload: '{"quorumPercentage":NaN}' }, 'body is not valid JSON'],
    ['a prototype', { headers: JSON_TYPE, payload: '{"__proto__":{"message":"00"}}' }, 'body is not valid JSON'],
    [
      'infinity',
      { headers: JSON_TYPE, payload: '{"pChainHeight":1e999}' },
      'pChainHeight must be an integer from 0 to 9007199254740991',
    ],
  ])('a body that is %s', async (_, request, expected) => {
    expectError(await server.inject({ method: 'POST', url: PATH, ...request }), 400, expected, 'invalid_request');
  });
});

test.each([
  ['text', 'text/plain', '{}'],
  ['a form', 'application/x-www-form-urlencoded', 'a=b'],
  ['of no known type', 'json', '{}'],
])('415 for a body that is %s', async (_, type, payload) => {
  const response = await server.inject({ method: 'POST', url: PATH, headers: { 'content-type': type }, payload });
  const expected = 'body must be JSON, with the header content-type: application/json';
  expectError(response, 415, expected, 'unsupported_media_type');
});

test('413 for a body beyond the limit', async () => {
  const payload = JSON.stringify({ message: '00'.repeat(300_000) });
  const response = await server.inject({ method: 'POST', url: PATH, headers: JSON_TYPE, payload });
  expectError(response, 413, 'body is larger than the 577620 bytes allowed here', 'body_too_large');
});

describe('404', () => {
  test('for a network that is not served, before the body is read', async () => {
    const url = PATH.replace('fuji', 'mainnet');
    const expected = 'network "mainnet" is not served here; served: fuji, testnet';
    expectError(await server.inject({ method: 'POST', url, payload: { message } }), 404, expected, 'unknown_network');
    expectError(
      await server.inject({ method: 'POST', url, headers: JSON_TYPE, payload: '{' }),
      404,
      expected,
      'unknown_network',
    );
    expectError(await server.inject({ method: 'POST', url }), 404, expected, 'unknown_network');
  });

  test.each([
    ['GET', PATH],
    ['PUT', PATH],
    ['DELETE', PATH],
    ['OPTIONS', PATH],
    ['POST', `${PATH}/`],
    ['POST', '/'],
  ] as const)('for no route: %s %s', async (method, url) => {
    expectError(
      await server.inject({ method, url: `${url}?secret=1` }),
      404,
      `no route ${method} ${url}; the routes are listed in /openapi.json`,
      'not_found',
    );
  });
});

test('a path that is no URL, or endless, is a 400 of the same form', async () => {
  for (const [network, problem] of [
    ['%zz', 'the path of the URL is not valid'],
    ['a'.repeat(5_000), 'the path of the URL has a part of more than the 1000 characters allowed'],
  ] as const) {
    const response = await server.inject({ method: 'POST', url: PATH.replace('fuji', network), payload: { message } });
    expectError(response, 400, problem);
  }
});

const weight = 2n ** 60n;
const WHY = { code: 7, text: 'wrong "ID"\n' };
const TALLY: TallySummary = {
  ...{ neededWeight: weight + 1n, signedWeight: weight, totalWeight: 4n * weight },
  outcomes: {
    signed: { weight, count: 1 },
    refused: { weight: 1n, count: 2, reasons: [{ weight: 1n, count: 2, ...WHY }] },
    timed_out: { weight: 3n, count: 3, reasons: [{ weight: 3n, count: 3, reason: 'no_answer' }] },
    unreachable: { weight: 4n, count: 4, reasons: [{ weight: 4n, count: 4, reason: 'no address known' }] },
    invalid_signature: { weight: 5n, count: 5, reasons: [] },
    not_asked: { weight: 7n, count: 7, reasons: [{ weight: 6n, count: 6, reason: 'queue_full' }] },
    no_key: { weight: 8n, count: 8 },
  },
  missing: [
    { nodeID: NODE_ID, weight, outcome: 'refused', ...WHY },
    { nodeID: NODE_ID, weight: 4n, outcome: 'unreachable', reason: 'no address known' },
  ],
  missingOmitted: 41,
};
const REPORT: AggregationReport = {
  ...{ messageID: 'the ID of the message', sourceChainID: P_CHAIN_ID, signingSubnetID: PRIMARY_NETWORK_ID },
  ...{ pChainHeight: 12n, tally: TALLY },
};
const DETAILS = {
  ...{ weightNeeded: '1152921504606846977', weightSigned: '1152921504606846976', totalWeight: '4611686018427387904' },
  ...{ signingSubnetId: PRIMARY_NETWORK_ID, pChainHeight: 12 },
  outcomes: asWritten(TALLY.outcomes),
  missing: asWritten(TALLY.missing.map(({ nodeID, ...validator }) => ({ nodeId: nodeID, ...validator }))),
  missingOmitted: 41,
};

/** Writes weights as decimal strings. */
function asWritten(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? String(each) : each)));
}

describe('an aggregation that fails', () => {
  test.each<[AggregatorErrorCode, number]>([
    ['invalid_request', 400],
    ['wrong_network', 400],
    ['height_not_reached', 400],
    ['no_message_in_transaction', 400],
    ['message_superseded', 400],
    ['validation_not_over', 400],
    ['signing_refused', 400],
    ['unknown_source_chain', 404],
    ['unknown_subnet', 404],
    ['unknown_transaction', 404],
    ['unknown_validation', 404],
    ['justification_not_found', 404],
    ['insufficient_weight', 500],
    ['p_chain_invalid', 502],
    ['justification_pending', 503],
    ['no_validators_yet', 503],
    ['not_connected', 503],
    ['p_chain_unavailable', 503],
    ['overloaded', 503],
    ['network_unavailable', 503],
  ])('%s is a %i', async (code, status) => {
    const { aggregator } = scriptedAggregator(async () => {
      throw new AggregatorError(code, 'what went wrong', { cause: new Error('the inside'), retryAfterMs: 1_001 });
    });
    const response = await post({ message }, aggregator);
    expect(expectError(response, status, 'what went wrong', code)).toBeUndefined();
    expect(response.headers['retry-after']).toBe('2');
    expect(response.body).not.toContain('the inside');
  });

  test('has Retry-After only for a known time, and at least a second', async () => {
    const failing = (options: { retryAfterMs?: number }) =>
      scriptedAggregator(async () => {
        throw new AggregatorError('p_chain_invalid', 'what went wrong', options);
      }).aggregator;
    expect((await post({ message }, failing({}))).headers['retry-after']).toBeUndefined();
    expect((await post({ message }, failing({ retryAfterMs: 0 }))).headers['retry-after']).toBe('1');
  });

  test.each<[RequestField, string]>([
    ['message', 'message'],
    ['justification', 'justification'],
    ['transaction', 'txHash'],
    ['signingSubnetID', 'signingSubnetId'],
    ['quorumNum', 'quorumPercentage'],
    ['quorumBuffer', 'quorumPercentageBuffer'],
    ['pChainHeight', 'pChainHeight'],
    ['destinationChainID', 'destinationBlockchainId'],
  ])('about %s names %s', async (field, name) => {
    const { aggregator } = scriptedAggregator(async () => {
      throw new AggregatorError('invalid_request', 'the P-Chain does not know it', { field });
    });
    expectError(await post({ message }, aggregator), 400, `${name}: the P-Chain does not know it`);
  });

  test('has the outcome of every validator, in the form of the OpenAPI document', async () => {
    const { aggregator } = scriptedAggregator(async () => {
      throw new AggregatorError('insufficient_weight', 'too little', { report: REPORT });
    });
    const response = await post({ message }, aggregator);
    expect(expectError(response, 500, 'too little', 'insufficient_weight')).toEqual(DETAILS);
    const { components } = (await server.inject('/openapi.json')).json();
    const check = Schema.Compile(closed(components.schemas.AggregationError500) as TSchema);
    expect(check.Check(response.json())).toBe(true);
    expect(check.Check({ ...(response.json() as object), code: 'made up' })).toBe(false);
  });

  test('is one log line at warn, with the validators', async () => {
    const { aggregator } = scriptedAggregator(async () => {
      throw new AggregatorError('signing_refused', 'too much refused', { report: REPORT });
    });
    const { logger, lines } = recordingLogger();
    const server = await createTestServer({ aggregator, logger });
    const headers = { ...JSON_TYPE, 'x-request-id': 'one-of-many' };
    const response = await server.inject({ method: 'POST', url: PATH, headers, payload: { message } });
    expectError(response, 400, 'too much refused', 'signing_refused');
    expect(response.headers['x-request-id']).toBe('one-of-many');
    const [failure, access, ...others] = lines();
    expect(others).toEqual([]);
    expect(failure).toMatchObject({
      level: 40,
      msg: 'aggregation failed',
      requestId: 'one-of-many',
      code: 'signing_refused',
      reason: 'too much refused',
      messageId: 'the ID of the message',
      sourceChainId: P_CHAIN_ID,
      ...DETAILS,
    });
    expect(access).toMatchObject({ level: 30, requestId: 'one-of-many', status: 400, code: 'signing_refused' });
    expect(JSON.stringify(lines())).not.toContain(message);
  });

  test('by a bug is logged, and not explained to the client', async () => {
    for (const bug of [new TypeError('secret of the inside'), Object.assign(new Error('x'), { statusCode: 600 })]) {
      const { aggregator } = scriptedAggregator(async () => {
        throw bug;
      });
      const { logger, lines } = recordingLogger();
      const server = await createTestServer({ aggregator, logger });
      const response = await server.inject({ method: 'POST', url: PATH, payload: { message } });
      expectError(response, 500, /^internal error: the service's log has more, under request \S+$/, 'internal_error');
      expect(response.body).not.toContain('secret');
      expect(lines().filter(({ level }) => level === 50)).toMatchObject([
        { msg: 'unexpected error', err: { stack: expect.stringContaining(bug.message) } },
      ]);
    }
  });
});

describe('over a real connection', () => {
  test('the aggregation continues while the client waits', async () => {
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

  test('a client that leaves ends the aggregation, without an error in the log', async () => {
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
    const { logger, lines } = recordingLogger('info');
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
    const [line, ...others] = lines();
    expect(others).toEqual([]);
    expect(line).toMatchObject({ level: 30, msg: 'request', clientGone: true, client: '127.0.0.1' });
    expect(line).not.toHaveProperty('status');
  });
});
