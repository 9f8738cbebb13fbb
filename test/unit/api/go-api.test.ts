import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { AggregatorError, type AggregatorErrorCode } from '../../../src/aggregator/aggregator-error.ts';
import { openGoListeners } from '../../../src/api/compat/go-listeners.ts';
import { bytesToHex } from '../../../src/primitives/bytes.ts';
import { systemClock } from '../../../src/primitives/clock.ts';
import { type BlockchainID, idBytes, idFromBytes, PRIMARY_NETWORK_ID } from '../../../src/primitives/ids.ts';
import { createMemoryLimitCounters } from '../../../src/store/limit-counters.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { createUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { FakeClock } from '../../fake-clock.ts';
import {
  createTestServer,
  recordingLogger,
  scriptedAggregator,
  scriptedNetwork,
  type TestServerOptions,
} from './api-fixture.ts';

/** The Go aggregator's API on the main listener, before an aggregator that does as the test says. */

const PATH = '/aggregate-signatures';
const CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(1), 'chain');
const MESSAGE = bytesToHex(createUnsignedMessage(5, CHAIN, Uint8Array.of(1, 2, 3)).bytes);
const SUBNET_HEX = `0x${bytesToHex(idBytes(PRIMARY_NETWORK_ID))}`;
/** As a log has it: where the bytes begin, their length, and the bytes up to the next 32. */
const LOG_DATA = `${'20'.padStart(64, '0')}${(MESSAGE.length / 2).toString(16).padStart(64, '0')}${MESSAGE.padEnd(128, '0')}`;

async function start(options: TestServerOptions = {}) {
  const { aggregator, asked } = scriptedAggregator();
  const server = await createTestServer({ aggregator, ...options });
  const post = async (body: unknown, path = PATH, headers: Record<string, string> = {}) => {
    const payload = typeof body === 'string' ? body : JSON.stringify(body);
    const response = await server.inject({
      method: 'POST',
      url: path,
      payload,
      headers: { 'content-type': 'application/json', ...headers },
    });
    return { status: response.statusCode, body: JSON.parse(response.body) as unknown, headers: response.headers };
  };
  return { server, post, asked };
}

test('answers 200 and the signed message alone', async () => {
  const { post, server } = await start();
  expect(await post({ message: MESSAGE })).toMatchObject({ status: 200, body: { 'signed-message': 'ab01ff' } });
  const { body } = await server.inject({ method: 'POST', url: PATH, payload: { message: MESSAGE } });
  expect(body).toBe('{"signed-message":"ab01ff"}');
});

describe('a request', () => {
  const taken = async (body: object, headers: Record<string, string> = {}) => {
    const { post, asked } = await start();
    const answer = await post(body, PATH, headers);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return asked[0];
  };
  const subject = { kind: 'message', message: { networkID: 5, sourceChainID: CHAIN } };

  test.each([
    ['hex', MESSAGE],
    ['hex with 0x', `0x${MESSAGE}`],
    ['the data of the log that emitted it', LOG_DATA],
    ['the same with 0x', `0x${LOG_DATA}`],
  ])('takes the message as %s', async (_, message) => {
    expect(await taken({ message })).toMatchObject({ subject });
  });

  test.each([
    ['nothing but the message', {}, {}],
    [
      'every field empty',
      { justification: '', 'signing-subnet-id': '', 'quorum-percentage': 0, 'pchain-height': 0 },
      {},
    ],
    ['every field null', { justification: null, 'signing-subnet-id': null, 'quorum-percentage': null }, {}],
    ['fields that are not known', { destinationBlockchainId: 'x', quorumPercentage: 3, deep: { er: [1] } }, {}],
    ['a quorum', { 'quorum-percentage': 80 }, { quorumNum: 80n }],
    ['a buffer', { 'quorum-percentage': 80, 'quorum-percentage-buffer': 20 }, { quorumNum: 80n, quorumBuffer: 20n }],
    ['pchain-height', { 'pchain-height': 7 }, { pChainHeight: 7n }],
    ['p-chain-height', { 'p-chain-height': 7 }, { pChainHeight: 7n }],
    ['both heights, equal or one of them 0', { 'pchain-height': 0, 'p-chain-height': 7 }, { pChainHeight: 7n }],
    ['a subnet in cb58', { 'signing-subnet-id': PRIMARY_NETWORK_ID }, { signingSubnetID: PRIMARY_NETWORK_ID }],
    ['a subnet in hex', { 'signing-subnet-id': SUBNET_HEX }, { signingSubnetID: PRIMARY_NETWORK_ID }],
  ])('may have %s', async (_, fields, expected) => {
    const left = { signingSubnetID: undefined, quorumNum: undefined, quorumBuffer: undefined, pChainHeight: undefined };
    expect(await taken({ message: MESSAGE, ...fields })).toMatchObject({ subject, ...left, ...expected });
  });

  test('may have a justification beside the message, or alone', async () => {
    const justification = Uint8Array.of(0xab);
    expect(await taken({ message: MESSAGE, justification: '0xab' })).toMatchObject({ subject: { justification } });
    for (const message of [undefined, '', '0x', '0000']) {
      const alone = await taken({ message, justification: 'ab' });
      expect(alone?.subject).toEqual({ kind: 'justification', justification });
    }
  });

  test.each(['application/x-www-form-urlencoded', 'text/plain', 'application/octet-stream'])(
    'may be declared as %s',
    async (type) => {
      expect(await taken({ message: MESSAGE }, { 'content-type': type })).toMatchObject({ subject });
    },
  );
});

describe('the caller’s mistakes are 400, in its words and then ours', () => {
  test.each([
    ['no JSON', '{"message":', 'Could not decode request body: it is not valid JSON'],
    ['no object', '[]', 'Could not decode request body: body must be an object'],
    ['a wrong type', { message: 5 }, 'Could not decode request body: message must be a string'],
    [
      'a number in quotes',
      { message: MESSAGE, 'quorum-percentage': '67' },
      /^Could not decode request body: quorum-per/,
    ],
    [
      'half a height',
      { message: MESSAGE, 'pchain-height': 1.5 },
      /^Could not decode request body: pchain-height must be/,
    ],
    ['no hex', { message: 'xyz' }, 'Could not decode message: message must be hex digits, with an optional 0x prefix'],
    ['0X', { message: `0X${MESSAGE}` }, /^Could not decode message: message starts with 0X/],
    ['an odd number of digits', { message: 'abc' }, /^Could not decode message: message must have an even number/],
    ['no Warp message', { message: 'abcd' }, /^Error unpacking warp message: message is not a Warp message/],
    ['log data that is cut off', { message: LOG_DATA.slice(0, 150) }, /^Error unpacking warp message: /],
    ['justification', { message: MESSAGE, justification: 'g0' }, /^Could not decode justification: justification must/],
    [
      'long',
      { message: MESSAGE, justification: '00'.repeat(25_000) },
      /^Could not decode justification: justification has/,
    ],
    ['nothing', {}, 'Must provide either message or justification'],
    ['zeros', { message: '0x0000', justification: '00' }, 'Must provide either message or justification'],
    [
      'a quorum above 100',
      { message: MESSAGE, 'quorum-percentage': 101 },
      /^Invalid quorum number: quorum-percentage must be an integer from 0 to 100$/,
    ],
    ['a quorum below 0', { message: MESSAGE, 'quorum-percentage': -1 }, /^Invalid quorum number: quorum-percentage/],
    [
      'a bad subnet',
      { message: MESSAGE, 'signing-subnet-id': 'abc' },
      /^Error parsing signing subnet ID: signing-subnet/,
    ],
    [
      'hex without 0x',
      { message: MESSAGE, 'signing-subnet-id': SUBNET_HEX.slice(2) },
      /^Error parsing signing subnet ID/,
    ],
    [
      'short hex',
      { message: MESSAGE, 'signing-subnet-id': '0xab' },
      /^Error parsing signing subnet ID: signing-subnet/,
    ],
    ['two heights', { message: MESSAGE, 'pchain-height': 7, 'p-chain-height': 8 }, /must not differ$/],
  ])('%s', async (_, body, expected) => {
    const { post, asked } = await start();
    const answer = await post(body);
    expect(answer).toMatchObject({ status: 400, body: { error: expect.stringMatching(expected) } });
    expect(Object.keys(answer.body as object)).toEqual(['error']);
    expect(asked).toEqual([]);
  });

  test('a quorum whose buffer goes above 100', async () => {
    const failure = new AggregatorError('invalid_request', 'the two add up to 110', { field: 'quorumBuffer' });
    const { post } = await start(scriptedAggregator(async () => Promise.reject(failure)));
    const body = { message: MESSAGE, 'quorum-percentage': 90, 'quorum-percentage-buffer': 20 };
    expect(await post(body)).toMatchObject({
      status: 400,
      body: { error: 'quorum-percentage-buffer: the two add up to 110' },
    });
  });

  test('a body that is too large is 413', async () => {
    const { post } = await start();
    expect(await post({ message: '00'.repeat(400_000) })).toMatchObject({
      status: 413,
      body: { error: expect.stringMatching(/^Request body too large: /) },
    });
  });
});

test.each<[AggregatorErrorCode, number, string]>([
  ['unknown_subnet', 400, 'failed to aggregate signatures: why'],
  ['unknown_source_chain', 400, 'failed to aggregate signatures: why'],
  ['height_not_reached', 400, 'failed to aggregate signatures: why'],
  ['wrong_network', 400, 'failed to aggregate signatures: why'],
  ['signing_refused', 400, 'failed to collect a threshold of signatures: why'],
  ['subnet_not_allowed', 403, 'failed to aggregate signatures: why'],
  ['insufficient_weight', 500, 'failed to collect a threshold of signatures: why'],
  ['not_connected', 500, 'failed to connect to a threshold of stake: why'],
  ['overloaded', 500, 'failed to aggregate signatures: why'],
  ['network_unavailable', 500, 'failed to aggregate signatures: why'],
  ['p_chain_unavailable', 500, 'failed to aggregate signatures: why'],
  ['p_chain_invalid', 500, 'failed to aggregate signatures: why'],
])('%s is %i', async (code, status, error) => {
  const failure = new AggregatorError(code, 'why', { retryAfterMs: 2_000 });
  const { post } = await start(scriptedAggregator(async () => Promise.reject(failure)));
  const answer = await post({ message: MESSAGE });
  expect(answer).toMatchObject({ status, body: { error } });
  expect(Object.keys(answer.body as object)).toEqual(['error']);
  expect(answer.headers['retry-after']).toBe('2');
});

describe('several networks', () => {
  async function two() {
    const [first, second] = [scriptedAggregator(), scriptedAggregator()];
    const networks = [
      scriptedNetwork({ pathNames: ['mainnet'], aggregator: first.aggregator }),
      scriptedNetwork({ pathNames: ['fuji', 'testnet'], aggregator: second.aggregator }),
    ];
    return { ...(await start({ networks })), counts: () => [first.asked.length, second.asked.length] };
  }

  test('the path alone is the first, and each has it under its names', async () => {
    const { post, counts } = await two();
    await post({ message: MESSAGE });
    await post({ message: MESSAGE }, `/mainnet${PATH}`);
    expect(counts()).toEqual([2, 0]);
    await post({ message: MESSAGE }, `/fuji${PATH}`);
    await post({ message: MESSAGE }, `/testnet${PATH}`);
    expect(counts()).toEqual([2, 2]);
  });

  test('another name is 404, in the same form, before the body is looked at', async () => {
    const { post } = await two();
    expect(await post('{', `/devnet${PATH}`)).toMatchObject({
      status: 404,
      body: { error: 'network "devnet" is not served here; served: mainnet, fuji, testnet' },
    });
  });
});

test('costs what the other aggregation routes cost, and its refusals have its form', async () => {
  const clock = new FakeClock();
  const limits = createMemoryLimitCounters(clock);
  const sha256 = new Uint8Array(32).fill(1);
  const access = {
    apiKeys: [{ name: 'a', sha256, unitsPerMinute: 1_000, routes: ['aggregation' as const] }],
    unitsPerMinute: 25,
    trustedProxies: [],
    limits,
  };
  const { post } = await start({ access, clock });
  expect((await post({ message: MESSAGE })).headers['x-ratelimit-remaining']).toBe('15');
  // A KiB more costs a unit more.
  const justification = '00'.repeat(1_024);
  expect((await post({ message: MESSAGE, justification })).headers['x-ratelimit-remaining']).toBe('4');
  expect(await post({ message: MESSAGE })).toMatchObject({
    status: 429,
    body: { error: expect.stringMatching(/^more than 25 units/) },
    headers: { 'retry-after': '60' },
  });
  await clock.advance(60_000);
  expect(await post({ message: MESSAGE }, PATH, { 'x-service-api-key': 'wrong' })).toMatchObject({
    status: 401,
    body: { error: expect.stringMatching(/^the API key is not known/) },
  });
});

test('is in the OpenAPI document, with its own form of errors', async () => {
  const { server } = await start();
  const { paths, components } = (await server.inject('/openapi.json')).json() as {
    paths: Record<string, { post: { operationId: string; responses: Record<string, { content: object }> } }>;
    components: { schemas: Record<string, { properties: object }> };
  };
  for (const path of [PATH, '/{network}/aggregate-signatures']) {
    const responses = paths[path]?.post.responses ?? {};
    const own = Object.keys(responses).filter((status) => JSON.stringify(responses[status]).includes('GoError'));
    expect(own).toEqual(expect.arrayContaining(['400', '403', '413', '500']));
    // Any media type is taken.
    expect(Object.keys(responses)).not.toContain('415');
  }
  expect(Object.keys(components.schemas['GoError400']?.properties ?? {})).toEqual(['error']);
});

test('counts its requests, and how long the last good one took', async () => {
  const [clock, registry] = [new FakeClock(), new Registry()];
  const { aggregator } = scriptedAggregator(async ({ quorumNum }) => {
    await clock.advance(40);
    if (quorumNum === 99n) throw new AggregatorError('not_connected', 'why');
    return (await import('./api-fixture.ts')).RESULT;
  });
  const { post } = await start({ aggregator, registry, clock });
  await post({ message: MESSAGE });
  await post({ message: 'wrong' });
  await post({ message: MESSAGE, 'quorum-percentage': 99 }, `/testnet${PATH}`);
  const text = await registry.metrics();
  expect(text).toContain('signature_aggregator_go_api_requests_total{network="fuji"} 3');
  expect(text).toContain('signature_aggregator_go_api_last_success_seconds{network="fuji"} 0.04');
});

test.each([PATH, `/testnet${PATH}`])('%s: a failure names the network in the log', async (path) => {
  const { aggregator } = scriptedAggregator(async () => {
    throw new AggregatorError('insufficient_weight', 'too little');
  });
  const { logger, lines } = recordingLogger();
  const { post } = await start({ aggregator, logger });
  await post({ message: MESSAGE }, path);
  const failed = lines().filter(({ msg }) => msg === 'aggregation failed');
  expect(failed).toMatchObject([{ network: path === PATH ? 'fuji' : 'testnet', code: 'insufficient_weight' }]);
});

test('the health of a port of its own is down as soon as the service is about to stop, which still answers', async () => {
  const registry = new Registry();
  let stops = false;
  const { urls, close } = await openGoListeners({
    ...{ registry, metrics: createMetrics(registry), logger: createLogger('silent'), clock: systemClock },
    ...{ host: '127.0.0.1', maxConnections: 10, drainTimeoutMs: 1_000 },
    ports: [{ network: scriptedNetwork(), apiPort: 0 }],
    isStopping: () => stops,
  });
  const health = async () => {
    const response = await fetch(`${urls.get('fuji')?.api}/health`, { headers: { connection: 'close' } });
    return { status: response.status, body: await response.json() };
  };
  try {
    expect(await health()).toMatchObject({ status: 200, body: { status: 'up' } });
    stops = true;
    expect(await health()).toMatchObject({
      status: 503,
      body: { status: 'down', details: { 'signature-aggregator-health': { status: 'down', error: 'stopping' } } },
    });
  } finally {
    await close();
  }
});
