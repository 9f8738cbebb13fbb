import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { AggregatorError, type AggregatorErrorCode } from '../../../../src/aggregation/aggregator-error.ts';
import { openGoListeners } from '../../../../src/api/go-aggregator/go-listeners.ts';
import { systemClock } from '../../../../src/lib/concurrency/clock.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { createMemoryLimitCounters } from '../../../../src/store/local/limit-counters.ts';
import { createLogger } from '../../../../src/telemetry/logger.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { type BlockchainID, idBytes, idFromBytes, PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import {
  createTestServer,
  recordingLogger,
  scriptedAggregator,
  scriptedNetwork,
  type TestServerOptions,
} from '../api-fixture.ts';

/** The Go aggregator's API on the main listener, before an aggregator that does as the test says. */

const PATH = '/aggregate-signatures';
const CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(1), 'chain');
const MESSAGE = bytesToHex(createUnsignedMessage(5, CHAIN, Uint8Array.of(1, 2, 3)).bytes);
const SUBNET_HEX = `0x${bytesToHex(idBytes(PRIMARY_NETWORK_ID))}`;
/** ABI encoding of a log: offset, length, and the bytes padded to 32. */
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

const SUBJECT = { kind: 'message', message: { networkID: 5, sourceChainID: CHAIN } };
const NOTHING = { signingSubnetID: undefined, quorumNum: undefined, quorumBuffer: undefined, pChainHeight: undefined };

// How a request is read is in test/go-api/corpus.ts; this is what the aggregator is asked.
test.each<[string, object, object]>([
  ['nothing but the message', {}, {}],
  ['log data', { message: LOG_DATA }, {}],
  ['every field empty', { justification: '', 'signing-subnet-id': '', 'quorum-percentage': 0, 'pchain-height': 0 }, {}],
  ['every field null', { justification: null, 'signing-subnet-id': null, 'quorum-percentage': null }, {}],
  ['unknown fields', { destinationBlockchainId: 'x', quorum_percentage: 3, deep: { er: [1] } }, {}],
  [
    'a quorum and a buffer',
    { 'quorum-percentage': 80, 'quorum-percentage-buffer': 20 },
    { quorumNum: 80n, quorumBuffer: 20n },
  ],
  ['names in another case', { 'Quorum-Percentage': 80, 'PCHAIN-HEIGHT': 7 }, { quorumNum: 80n, pChainHeight: 7n }],
  ['p-chain-height', { 'p-chain-height': 7 }, { pChainHeight: 7n }],
  ['both heights, one of them 0', { 'pchain-height': 0, 'p-chain-height': 7 }, { pChainHeight: 7n }],
  ['a subnet in cb58', { 'signing-subnet-id': PRIMARY_NETWORK_ID }, { signingSubnetID: PRIMARY_NETWORK_ID }],
  ['a subnet in hex', { 'Signing-Subnet-Id': SUBNET_HEX }, { signingSubnetID: PRIMARY_NETWORK_ID }],
  [
    'the fields of the Go SDK',
    { signingSubnetId: PRIMARY_NETWORK_ID, quorumPercentage: 80, quorumPercentageBuffer: 5, pchainHeight: 7 },
    { signingSubnetID: PRIMARY_NETWORK_ID, quorumNum: 80n, quorumBuffer: 5n, pChainHeight: 7n },
  ],
  ['both spellings, equal', { 'quorum-percentage': 80, quorumPercentage: 80 }, { quorumNum: 80n }],
  [
    'both spellings, one empty',
    { 'signing-subnet-id': '', signingSubnetId: PRIMARY_NETWORK_ID },
    { signingSubnetID: PRIMARY_NETWORK_ID },
  ],
])('a request may have %s', async (_, fields, expected) => {
  const { post, asked } = await start();
  expect(await post({ message: MESSAGE, ...fields })).toMatchObject({ status: 200 });
  expect(asked[0]).toMatchObject({ subject: SUBJECT, ...NOTHING, ...expected });
});

test.each<[string, bigint | undefined]>([
  ['9007199254740993', 2n ** 53n + 1n],
  ['18446744073709551614', 2n ** 64n - 2n],
  ['18446744073709551615', undefined],
])('the height %s is read to its last digit, and 2^64 - 1 is the proposed one', async (digits, pChainHeight) => {
  const { post, asked } = await start();
  await post(`{"message":"${MESSAGE}","pchain-height":${digits}}`);
  expect(asked).toMatchObject([{ pChainHeight }]);
});

test('a request may have a justification beside the message, or alone', async () => {
  const { post, asked } = await start();
  const justification = Uint8Array.of(0xab);
  for (const message of [MESSAGE, undefined, '', '0x', '0000']) await post({ message, justification: '0xab' });
  const alone = { subject: { kind: 'justification', justification } };
  expect(asked).toMatchObject([{ subject: { ...SUBJECT, justification } }, alone, alone, alone, alone]);
});

test.each<[string, object, RegExp]>([
  [
    'two heights',
    { 'pchain-height': 7, 'p-chain-height': 8 },
    /^Could not decode request body: pchain-height and p-chain-height .* must not differ$/,
  ],
  ['two subnets', { 'signing-subnet-id': PRIMARY_NETWORK_ID, signingSubnetId: 'x' }, /must not differ$/],
  [
    'too long a justification',
    { justification: '00'.repeat(25_000) },
    /^Could not decode justification: justification has/,
  ],
  [
    'a quorum above 100',
    { 'quorum-percentage': 101 },
    /^Invalid quorum number: quorum-percentage must be .* 0 to 100$/,
  ],
  [
    'a sum above 100',
    { 'quorum-percentage': 90, 'quorum-percentage-buffer': 20 },
    /^Invalid quorum buffer number: .*110/,
  ],
])('%s is 400, and the message follows the prefix of the Go aggregator', async (_, fields, error) => {
  const { post, asked } = await start();
  expect(await post({ message: MESSAGE, ...fields })).toMatchObject({
    status: 400,
    body: { error: expect.stringMatching(error) },
  });
  expect(asked).toEqual([]);
});

test('a request without a body is 400 while the network is not open', async () => {
  const closed = new AggregatorError('network_unavailable', 'why');
  const { server } = await start(scriptedAggregator(async () => Promise.reject(closed)));
  for (const method of ['GET', 'POST', 'HEAD', 'OPTIONS'] as const) {
    const { statusCode, headers, body } = await server.inject({ method, url: PATH });
    expect({ statusCode, type: headers['content-type'] }).toEqual({ statusCode: 400, type: 'application/json' });
    if (method !== 'HEAD') expect(body).toBe('{"error":"Could not decode request body"}');
  }
});

test.each<[AggregatorErrorCode, number, string]>([
  ['unknown_subnet', 400, 'failed to aggregate signatures. error: why'],
  ['unknown_source_chain', 400, 'failed to aggregate signatures. error: why'],
  ['height_not_reached', 400, 'failed to aggregate signatures. error: why'],
  ['wrong_network', 400, 'failed to aggregate signatures. error: why'],
  ['signing_refused', 400, 'failed to aggregate signatures. error: failed to collect a threshold of signatures: why'],
  ['subnet_not_allowed', 403, 'failed to aggregate signatures. error: why'],
  [
    'insufficient_weight',
    500,
    'failed to aggregate signatures. error: failed to collect a threshold of signatures: why',
  ],
  ['not_connected', 500, 'failed to aggregate signatures. error: failed to connect to a threshold of stake: why'],
  ['overloaded', 500, 'failed to aggregate signatures. error: why'],
  ['network_unavailable', 500, 'failed to aggregate signatures. error: why'],
  ['p_chain_unavailable', 500, 'failed to aggregate signatures. error: why'],
  ['p_chain_invalid', 500, 'failed to aggregate signatures. error: why'],
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
    // 22 units are used; 10 fit when 7 of them are worked off.
    headers: { 'retry-after': '17' },
  });
  await clock.advance(60_000);
  expect(await post({ message: MESSAGE }, PATH, { 'x-service-api-key': 'wrong' })).toMatchObject({
    status: 401,
    body: { error: expect.stringMatching(/^the API key is not known/) },
  });
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

test('the health of a separate port is down from the announcement of the stop, while requests are answered', async () => {
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
