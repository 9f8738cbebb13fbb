import type { TSchema } from 'typebox';
import Schema from 'typebox/schema';
import { describe, expect, test } from 'vitest';
import {
  type AggregationReport,
  AggregatorError,
  type RequestField,
} from '../../../../src/aggregation/aggregator-error.ts';
import type { Aggregator } from '../../../../src/aggregation/stages/aggregator.ts';
import type { TallySummary } from '../../../../src/aggregation/validators/validator-outcome.ts';
import { aborted } from '../../../../src/lib/concurrency/deadline.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { encodeLogData } from '../../../../src/pchain/codec/send-warp-log.ts';
import { idBytes, P_CHAIN_ID, PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { MAX_PAYLOAD_LENGTH } from '../../../../src/warp/unsigned-message.ts';
import { createLogLines } from '../../../support/log-lines.ts';
import { readCase } from '../../../vectors/vectors.ts';
import {
  closed,
  createScriptedServer,
  createTestServer,
  expectError,
  limitedTo,
  NODE_ID,
  PATH,
  RESULT,
  scriptedAggregator,
} from '../api-fixture.ts';

const { unsignedMessage, signed } = readCase('c_warp_0');
const message = bytesToHex(unsignedMessage);
const signedMessage = bytesToHex(signed!.signedMessage);
const JSON_TYPE = { 'content-type': 'application/json' };
const EVENTS = { accept: 'text/event-stream' };
const { server, script } = await createScriptedServer();

const post = (payload: unknown, to = server) =>
  to.inject({ method: 'POST', url: PATH, headers: JSON_TYPE, payload: JSON.stringify(payload) });

/** What the aggregator was asked for this body. */
async function requestOf(payload: unknown) {
  const asked = script();
  expect((await post(payload)).statusCode).toBe(201);
  return asked[0]!;
}

describe('a good request', () => {
  test('is answered 201 with the hex without a prefix, and leaves missing fields undefined', async () => {
    const asked = script();
    const response = await post({ message });
    expect([response.statusCode, response.headers['content-type']]).toEqual([201, 'application/json']);
    expect(response.json()).toMatchObject({ signedMessage: 'ab01ff' });
    const { subject, ...others } = asked[0]!;
    expect(Object.values(others).filter((value) => value !== undefined)).toEqual([]);
    expect(subject).toMatchObject({ kind: 'message', message: { bytes: unsignedMessage } });
    expect(subject).toMatchObject({ justification: new Uint8Array() });
  });

  test('may have null in place of any field that it leaves out', async () => {
    const nothing = {
      justification: null,
      signingSubnetId: null,
      quorumPercentage: null,
      quorumPercentageBuffer: null,
      pChainHeight: null,
      pchainHeight: null,
      destinationBlockchainId: null,
    };
    expect(await requestOf({ message, ...nothing })).toEqual(await requestOf({ message }));
  });

  test('has the access list of its delivery if it asks for it, by message and by transaction', async () => {
    const storageKeys = [`0xab01ffff${'00'.repeat(28)}`];
    const accessList = [{ address: '0x0200000000000000000000000000000000000005', storageKeys }];
    const plain = (await post({ message })).json<object>();
    expect(plain).not.toHaveProperty('accessList');
    const url = `${PATH}?include=accessList`;
    const ofMessage = await server.inject({ method: 'POST', url, headers: JSON_TYPE, payload: { message } });
    const ofTransaction = await server.inject(`${PATH}/${P_CHAIN_ID}?include=accessList`);
    const streamed = await server.inject({ method: 'GET', url: url.replace('?', `/${P_CHAIN_ID}?`), headers: EVENTS });
    expect([ofMessage.statusCode, ofTransaction.statusCode]).toEqual([201, 201]);
    expect(ofMessage.json()).toEqual({ ...plain, accessList });
    expect(ofTransaction.json()).toEqual({ ...plain, accessList });
    expect(JSON.parse(streamed.body.split('data: ').at(-1) ?? '')).toEqual({ ...plain, accessList });
    const wrong = await server.inject(`${PATH}/${P_CHAIN_ID}?include=gas`);
    expectError(wrong, 400, 'include must be one of accessList', 'invalid_request');
  });

  test.each(['', '0x'])('may have the data of a SendWarpMessage log as its message, after %j', async (prefix) => {
    const data = encodeLogData(message).replace('0x', prefix);
    expect((await requestOf({ message: data })).subject).toMatchObject({ message: { bytes: unsignedMessage } });
  });

  test('runs for the client of its address', async () => {
    const clients: (string | undefined)[] = [];
    const aggregate: Aggregator['aggregate'] = async (_, { client }) => {
      clients.push(client);
      return RESULT;
    };
    const asked = await createTestServer({ aggregator: { aggregate } });
    for (const remoteAddress of ['192.0.2.7', '2001:db8::1', '2001:db8::2']) {
      await asked.inject({ method: 'POST', url: PATH, payload: { message }, remoteAddress });
      await asked.inject({ url: `${PATH}/${PRIMARY_NETWORK_ID}`, remoteAddress });
    }
    const networks = ['192.0.2.7', '2001:db8:0:0::/64', '2001:db8:0:0::/64'];
    expect(clients).toEqual(networks.flatMap((name) => [`address:${name}`, `address:${name}`]));
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
  });

  test('may have every field as the Go SDK sends it, where an empty text and 0 are not given', async () => {
    const empty = { justification: '', signingSubnetId: '', quorumPercentageBuffer: 0, pchainHeight: 0 };
    expect(await requestOf({ message, ...empty, quorumPercentage: 67 })).toEqual({
      ...(await requestOf({ message })),
      quorumNum: 67n,
      quorumBuffer: 0n,
    });
    for (const other of [{}, { pChainHeight: 0 }, { pChainHeight: 7 }]) {
      expect(await requestOf({ message, pchainHeight: 7, ...other })).toMatchObject({ pChainHeight: 7n });
    }
  });

  test('with a justification alone asks for the message that belongs to it', async () => {
    const subject = { kind: 'justification', justification: Uint8Array.of(10, 11) };
    const body = { justification: '0x0a0b', quorumPercentage: 50, destinationBlockchainId: P_CHAIN_ID };
    for (const without of [{}, { message: '' }]) {
      expect(await requestOf({ ...body, ...without })).toEqual({
        subject,
        quorumNum: 50n,
        destinationChainID: P_CHAIN_ID,
      });
    }
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

describe('the price', () => {
  /** Requests of a client with these units in a minute. They answer with the status, and with the units left. */
  async function startLimited(units: number) {
    const work = { isCached: false, signers: 1, messageBytes: 0, count: 0 };
    const aggregate: Aggregator['aggregate'] = async (_, options) => {
      if (work.isCached) return RESULT;
      await options.onCacheMiss?.();
      work.count += 1;
      await options.onSigners?.(work.signers, work.messageBytes);
      return RESULT;
    };
    const limited = await createTestServer({ aggregator: { aggregate }, access: limitedTo(units) });
    const left = async (response: ReturnType<typeof post>) => {
      const { statusCode, headers } = await response;
      return [statusCode, Number(headers['x-ratelimit-remaining'])];
    };
    return {
      work,
      ask: (body: object = { message }) => left(post(body, limited)),
      askByTransaction: () => left(limited.inject(`${PATH}/${PRIMARY_NETWORK_ID}`)),
    };
  }

  test('has a part for the validators that sign, by message and by transaction', async () => {
    const { work, ask, askByTransaction } = await startLimited(240);
    let left = 240;
    for (const [signers, price] of Object.entries({ 99: 10, 100: 11, 1_999: 29, 2_000: 30, 1_000_000: 30 })) {
      work.signers = Number(signers);
      left -= price;
      expect(await ask()).toEqual([201, left]);
      left -= price;
      expect(await askByTransaction()).toEqual([201, left]);
    }
    // What the minute has no room for any more does not refuse this request, but the next one.
    expect([left, await ask(), (await ask())[0]]).toEqual([20, [201, 0], 429]);
  });

  test('has a part for the KiB of a transaction, and of a body although it is no message', async () => {
    const { work, ask, askByTransaction } = await startLimited(300);
    expect(await ask({ message: '00'.repeat(1_023) })).toEqual([400, 299]);
    expect(await ask({ message: '00'.repeat(1_024) })).toEqual([400, 297]);
    work.messageBytes = 200 * 1_024;
    expect(await askByTransaction()).toEqual([201, 297 - 10 - 200]);
    expect((await ask({ message: '00'.repeat(200 * 1_024) }))[0]).toBe(429);
  });

  test('is 1 unit if the answer is cached; a request is rejected before any work if 9 more are not left', async () => {
    const { work, ask } = await startLimited(15);
    work.isCached = true;
    expect(await ask()).toEqual([201, 14]);
    work.isCached = false;
    expect([await ask(), await ask(), work.count]).toEqual([[201, 4], [429, 3], 1]);
  });
});

describe('400 for what the client can correct, by the name of the field', () => {
  test.each<[string, object, RegExp]>([
    ['no message', { message: undefined }, /^message is missing/],
    ['an empty message', { message: '' }, /^message is missing/],
    ['characters that are no hex', { message: 'zz' }, /^message must be hex/],
    ['the prefix 0X', { message: `0X${message}` }, /^message starts with 0X/],
    ['an odd number of digits', { message: 'abc' }, /^message must have an even number of hex digits, has 3$/],
    ['no digits', { message: '0x' }, /^message is not a Warp message/],
    ['trailing bytes', { message: `${message}00` }, /^message is not a Warp message: .*trailing/],
    ['a signed message', { message: signedMessage }, /^message is signed already: .*first 90 bytes$/],
    ['null as the message', { message: null }, /^message is missing: /],
    ['heights that differ', { pChainHeight: 5, pchainHeight: 6 }, /^pChainHeight and pchainHeight .* differ$/],
    ['the other spelling, in quotes', { pchainHeight: '5' }, /^pchainHeight must be an integer from 0 to /],
    ['a justification that is no hex', { justification: '0xzz' }, /^justification must be hex digits/],
    ['a justification too long', { justification: '00'.repeat(24 * 1024 + 1) }, /^justification has 24577 bytes/],
    ['a subnet of other length', { signingSubnetId: '0xabcd' }, /^signingSubnetId must have 32 bytes, has 2$/],
    ['a wrong checksum', { signingSubnetId: PRIMARY_NETWORK_ID.replace(/.$/, 'Z') }, /^signingSubnetId .*checksum$/],
    ['a subnet that is a number', { signingSubnetId: 1 }, /^signingSubnetId must be a string$/],
    ['an empty destination', { destinationBlockchainId: '' }, /^destinationBlockchainId is empty/],
    ['a percentage that is no integer', { quorumPercentage: 67.5 }, /^quorumPercentage must be an integer/],
    ['a percentage in quotes', { quorumPercentage: '67' }, /^quorumPercentage must be .*without quotes$/],
    ['a percentage below 0', { quorumPercentage: -1 }, /^quorumPercentage must be .* from 0 to 100$/],
    ['a percentage above 100', { quorumPercentageBuffer: 101 }, /^quorumPercentageBuffer must be .* to 100$/],
    ['a height below 0', { pChainHeight: -1 }, /^pChainHeight must be an integer from 0/],
    ['a height that no number holds', { pChainHeight: 2 ** 53 }, /^pChainHeight must be .* to 9007199254740991$/],
    ['a short name', { quorum: 67 }, /^unknown field quorum: did you mean quorumPercentage\?$/],
    [
      'a field of the Go aggregator',
      { 'signing-subnet-id': '' },
      /^unknown field .*: did you mean signingSubnetId\? Names with hyphens are those of the route \/aggregate-signatures$/,
    ],
    ['an unknown field', { x: 1 }, /^unknown field x; known are: message, justification, signingSubnetId, /],
  ])('%s', async (_, fields, expected) => {
    const asked = script();
    expect(expectError(await post({ message, ...fields }), 400, expected, 'invalid_request')).toBeUndefined();
    expect(asked).toEqual([]);
  });

  test.each<[string, { headers?: Record<string, string>; payload?: string }, RegExp]>([
    ['no body and no type', {}, /^body is missing/],
    ['an empty body', { headers: JSON_TYPE, payload: '' }, /^body is missing/],
    ['null', { headers: JSON_TYPE, payload: 'null' }, /^body must be an object$/],
    ['a list', { headers: JSON_TYPE, payload: '[{}]' }, /^body must be an object$/],
    [
      'lists in lists',
      { headers: JSON_TYPE, payload: `[${'['.repeat(32)}` },
      /^body is nested in more than 32 levels$/,
    ],
    ['what is no JSON', { headers: JSON_TYPE, payload: '{"message":' }, /^body is not valid JSON$/],
    ['a prototype', { headers: JSON_TYPE, payload: '{"__proto__":{"message":"00"}}' }, /^body is not valid JSON$/],
    ['infinity', { headers: JSON_TYPE, payload: '{"pChainHeight":1e999}' }, /^pChainHeight must be an integer/],
  ])('a body that is %s', async (_, request, expected) => {
    expectError(await server.inject({ method: 'POST', url: PATH, ...request }), 400, expected, 'invalid_request');
  });

  test.each(['%zz', 'a'.repeat(5_000)])('a path that is no URL, or endless', async (network) => {
    const url = PATH.replace('fuji', network);
    expectError(await server.inject({ method: 'POST', url, payload: { message } }), 400, /^the path of the URL/);
  });
});

test.each(['text/plain', 'application/x-www-form-urlencoded', 'json'])('415 for a body as %s', async (type) => {
  const headers = { 'content-type': type };
  const response = await server.inject({ method: 'POST', url: PATH, headers, payload: '{}' });
  expectError(response, 415, /^body must be JSON/, 'unsupported_media_type');
});

test('413 for a body beyond the limit', async () => {
  const response = await post({ message: '00'.repeat(300_000) });
  expectError(response, 413, /^body is larger than the 577620 bytes/, 'body_too_large');
});

test('404 for a network that is not served, before the body is read', async () => {
  const url = PATH.replace('fuji', 'mainnet');
  for (const sent of [{ payload: { message } }, { headers: JSON_TYPE, payload: '{' }, {}]) {
    const expected = 'network "mainnet" is not served here; served: fuji, testnet';
    expectError(await server.inject({ method: 'POST', url, ...sent }), 404, expected, 'unknown_network');
  }
});

test.each([
  ['GET', PATH],
  ['PUT', PATH],
  ['OPTIONS', PATH],
  ['POST', `${PATH}/`],
  ['POST', '/'],
] as const)('404 for no route: %s %s', async (method, url) => {
  const response = await server.inject({ method, url: `${url}?secret=1` });
  expectError(response, 404, `no route ${method} ${url}; the routes are listed in /openapi.json`, 'not_found');
});

const weight = 2n ** 60n;
const WHY = { code: 7, text: 'wrong "ID"\n' };
const TALLY: TallySummary = {
  neededWeight: weight + 1n,
  signedWeight: weight,
  totalWeight: 4n * weight,
  outcomes: {
    signed: { weight, count: 1 },
    refused: { weight: 1n, count: 2, reasons: [{ weight: 1n, count: 2, ...WHY }] },
    timed_out: { weight: 3n, count: 3, reasons: [{ weight: 3n, count: 3, reason: 'no_answer' }] },
    unreachable: { weight: 4n, count: 4, reasons: [{ weight: 4n, count: 4, reason: 'no address known' }] },
    invalid_signature: { weight: 5n, count: 5, reasons: [] },
    not_asked: { weight: 7n, count: 7, reasons: [{ weight: 6n, count: 6, reason: 'queue_full' }] },
    no_key: { weight: 8n, count: 8, reasons: [{ weight: 8n, count: 8, reason: 'no_key' }] },
  },
  missing: [
    { nodeID: NODE_ID, weight, outcome: { kind: 'refused', ...WHY } },
    { nodeID: NODE_ID, weight: 4n, outcome: { kind: 'unreachable', reason: 'no address known' } },
    { nodeID: NODE_ID, weight: 1n, outcome: { kind: 'no_key', reason: 'no_key' } },
  ],
  missingOmitted: 41,
};
const REPORT: AggregationReport = {
  messageID: 'the ID of the message',
  sourceChainID: P_CHAIN_ID,
  signingSubnetID: PRIMARY_NETWORK_ID,
  pChainHeight: 12n,
  tally: TALLY,
};
const DETAILS = {
  weightNeeded: '1152921504606846977',
  weightSigned: '1152921504606846976',
  totalWeight: '4611686018427387904',
  signingSubnetId: PRIMARY_NETWORK_ID,
  pChainHeight: 12,
  outcomes: asWritten(TALLY.outcomes),
  missing: [
    { nodeId: NODE_ID, weight: String(weight), outcome: 'refused', ...WHY },
    { nodeId: NODE_ID, weight: '4', outcome: 'unreachable', reason: 'no address known' },
    { nodeId: NODE_ID, weight: '1', outcome: 'no_key', reason: 'no_key' },
  ],
  missingOmitted: 41,
};

/** Writes weights as decimal strings. */
function asWritten(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? String(each) : each)));
}

describe('an aggregation that fails', () => {
  const failing = (error: Error) => async () => {
    throw error;
  };

  test.each([
    [400, ['invalid_request', 'wrong_network', 'height_not_reached', 'no_message_in_transaction']],
    [400, ['message_superseded', 'validation_not_over', 'signing_refused', 'quorum_unreachable']],
    [404, ['unknown_source_chain', 'unknown_subnet', 'unknown_transaction', 'unknown_validation']],
    [404, ['justification_not_found']],
    [500, ['insufficient_weight']],
    [502, ['p_chain_invalid']],
    [503, ['justification_pending', 'no_validators_yet', 'not_connected', 'p_chain_unavailable', 'overloaded']],
    [503, ['network_unavailable']],
  ] as const)('is a %i with %j, without its cause', async (status, codes) => {
    for (const code of codes) {
      const cause = new Error('the inside');
      script(failing(new AggregatorError(code, 'what went wrong', { cause, retryAfterMs: 1_001 })));
      const response = await post({ message });
      expect(expectError(response, status, 'what went wrong', code)).toBeUndefined();
      expect(response.headers['retry-after']).toBe('2');
      expect(response.body).not.toContain('the inside');
    }
  });

  test('has Retry-After only for a known time, and at least a second', async () => {
    script(failing(new AggregatorError('p_chain_invalid', 'what went wrong')));
    expect((await post({ message })).headers['retry-after']).toBeUndefined();
    script(failing(new AggregatorError('p_chain_invalid', 'what went wrong', { retryAfterMs: 0 })));
    expect((await post({ message })).headers['retry-after']).toBe('1');
  });

  test('names the field as the API does', async () => {
    const names: Partial<Record<RequestField, string>> = {
      message: 'message',
      justification: 'justification',
      transaction: 'txHash',
      signingSubnetID: 'signingSubnetId',
      quorumNum: 'quorumPercentage',
      quorumBuffer: 'quorumPercentageBuffer',
      pChainHeight: 'pChainHeight',
      destinationChainID: 'destinationBlockchainId',
    };
    for (const [field, name] of Object.entries(names)) {
      script(failing(new AggregatorError('invalid_request', 'not there', { field: field as RequestField })));
      expectError(await post({ message }), 400, `${name}: not there`);
    }
  });

  test('has the outcome of every validator, in the form of the OpenAPI document', async () => {
    script(failing(new AggregatorError('insufficient_weight', 'too little', { report: REPORT })));
    const response = await post({ message });
    expect(expectError(response, 500, 'too little', 'insufficient_weight')).toEqual(DETAILS);
    const { components } = (await server.inject('/openapi.json')).json();
    const $ref = '#/components/schemas/AggregationError';
    const check = Schema.Compile(closed({ $ref, components }) as TSchema);
    expect(check.Check(response.json())).toBe(true);
    expect(check.Check({ ...(response.json() as object), code: 'made up' })).toBe(false);
  });

  test('is one log line at warn, with the validators; a bug is one at error, and not explained to the client', async () => {
    const { logger, records } = createLogLines('debug');
    const logged = await createScriptedServer({ logger });
    logged.script(failing(new AggregatorError('signing_refused', 'too much refused', { report: REPORT })));
    const headers = { 'x-request-id': 'one-of-many' };
    const send = () => logged.server.inject({ method: 'POST', url: PATH, headers, payload: { message } });
    const response = await send();
    expectError(response, 400, 'too much refused', 'signing_refused');
    expect(response.headers['x-request-id']).toBe('one-of-many');
    expect(records()).toMatchObject([
      {
        level: 'warn',
        msg: 'aggregation failed',
        requestId: 'one-of-many',
        code: 'signing_refused',
        reason: 'too much refused',
        messageId: 'the ID of the message',
        sourceChainId: P_CHAIN_ID,
        ...DETAILS,
      },
      { level: 'info', requestId: 'one-of-many', status: 400, code: 'signing_refused' },
    ]);
    expect(JSON.stringify(records())).not.toContain(message);

    for (const bug of [new TypeError('secret of the inside'), Object.assign(new Error('x'), { statusCode: 600 })]) {
      logged.script(failing(bug));
      const failed = await send();
      expectError(failed, 500, /^internal error: the service's log has more, under request \S+$/, 'internal_error');
      expect(failed.body).not.toContain('secret');
      const err = { stack: expect.stringContaining(bug.message) };
      expect(records().findLast(({ level }) => level === 'error')).toMatchObject({ msg: 'unexpected error', err });
    }
  });
});

test('a client that leaves ends the aggregation, without an error in the log', async () => {
  const { logger, records } = createLogLines('info');
  const started = Promise.withResolvers<AbortSignal>();
  const { aggregator } = scriptedAggregator(async (_, signal) => {
    started.resolve(signal);
    await aborted(signal);
    throw signal.reason;
  });
  const listening = await createTestServer({ aggregator, logger });
  const url = await listening.listen({ host: '127.0.0.1', port: 0 });
  const leaving = new AbortController();
  const sent = { method: 'POST', headers: JSON_TYPE, body: JSON.stringify({ message }), signal: leaving.signal };
  const answer = fetch(`${url}${PATH}`, sent);
  const signal = await started.promise;
  leaving.abort();
  await expect(answer).rejects.toThrow();
  await aborted(signal);
  expect(signal.reason).toMatchObject({ name: 'ClientGone' });
  await listening.close();
  expect(records()).toMatchObject([{ level: 'info', msg: 'request', clientGone: true, client: '127.0.0.1' }]);
  expect(records()[0]).not.toHaveProperty('status');
});
