import { expect, test } from 'vitest';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import type { Aggregator } from '../../../../src/aggregation/stages/aggregator.ts';
import type { Caller } from '../../../../src/aggregation/stages/calls.ts';
import { GO_ERROR_FORM } from '../../../../src/api/go-aggregator/go-error-form.ts';
import { openGoListeners } from '../../../../src/api/go-aggregator/go-listeners.ts';
import { ERROR_CODES, type ErrorCode } from '../../../../src/http/errors/error-codes.ts';
import type { Server } from '../../../../src/http/request/http-server.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { type BlockchainID, idBytes, idFromBytes, PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createLogLines } from '../../../support/log-lines.ts';
import {
  createScriptedServer,
  createTestServer,
  limitedTo,
  listenerOptions,
  scriptedAggregator,
  scriptedNetwork,
} from '../api-fixture.ts';

/** The Go aggregator's API on the main listener, before an aggregator that does as the test says. */

const PATH = '/aggregate-signatures';
const CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(1), 'chain');
const MESSAGE = bytesToHex(createUnsignedMessage(5, CHAIN, Uint8Array.of(1, 2, 3)).bytes);
const SUBNET_HEX = `0x${bytesToHex(idBytes(PRIMARY_NETWORK_ID))}`;
/** ABI encoding of a log: offset, length, and the bytes padded to 32. */
const LOG_DATA = `${'20'.padStart(64, '0')}${(MESSAGE.length / 2).toString(16).padStart(64, '0')}${MESSAGE.padEnd(128, '0')}`;

const { logger, records } = createLogLines('debug');
const { server, script } = await createScriptedServer({ logger });

async function post(body: unknown, { path = PATH, to = server as Server, key = '' } = {}) {
  const response = await to.inject({
    method: 'POST',
    url: path,
    payload: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...(key !== '' && { 'x-service-api-key': key }) },
  });
  return { status: response.statusCode, body: JSON.parse(response.body) as unknown, headers: response.headers };
}

const SUBJECT = { kind: 'message', message: { networkID: 5, sourceChainID: CHAIN } };
const NOTHING = { signingSubnetID: undefined, quorumNum: undefined, quorumBuffer: undefined, pChainHeight: undefined };
const OF_PRIMARY = { signingSubnetID: PRIMARY_NETWORK_ID };

// How a request is read is in test/go-api/corpus.ts; this is what the aggregator is asked.
test.each<[string, object, object]>([
  ['nothing but the message', {}, {}],
  ['log data', { message: LOG_DATA }, {}],
  ['every field empty', { justification: '', 'signing-subnet-id': '', 'quorum-percentage': 0, 'pchain-height': 0 }, {}],
  ['every field null', { justification: null, 'signing-subnet-id': null, 'quorum-percentage': null }, {}],
  ['unknown fields', { destinationBlockchainId: 'x', quorum_percentage: 3, deep: { er: [1] } }, {}],
  ['a buffer', { 'quorum-percentage': 80, 'quorum-percentage-buffer': 20 }, { quorumNum: 80n, quorumBuffer: 20n }],
  ['names in another case', { 'Quorum-Percentage': 80, 'PCHAIN-HEIGHT': 7 }, { quorumNum: 80n, pChainHeight: 7n }],
  ['both heights, one of them 0', { 'pchain-height': 0, 'p-chain-height': 7 }, { pChainHeight: 7n }],
  ['a subnet in cb58', { 'signing-subnet-id': PRIMARY_NETWORK_ID }, OF_PRIMARY],
  ['a subnet in hex', { 'Signing-Subnet-Id': SUBNET_HEX }, OF_PRIMARY],
  [
    'the fields of the Go SDK',
    { signingSubnetId: PRIMARY_NETWORK_ID, quorumPercentage: 80, quorumPercentageBuffer: 5, pchainHeight: 7 },
    { ...OF_PRIMARY, quorumNum: 80n, quorumBuffer: 5n, pChainHeight: 7n },
  ],
  ['both spellings, equal', { 'quorum-percentage': 80, quorumPercentage: 80 }, { quorumNum: 80n }],
  ['both spellings, one empty', { 'signing-subnet-id': '', signingSubnetId: PRIMARY_NETWORK_ID }, OF_PRIMARY],
])('a request may have %s', async (_, fields, expected) => {
  const asked = script();
  expect(await post({ message: MESSAGE, ...fields })).toMatchObject({ status: 200 });
  expect(asked[0]).toMatchObject({ subject: SUBJECT, ...NOTHING, ...expected });
});

test.each<[string, bigint | undefined]>([
  ['9007199254740993', 2n ** 53n + 1n],
  ['18446744073709551614', 2n ** 64n - 2n],
  ['18446744073709551615', undefined],
])('the height %s is read to its last digit, and 2^64 - 1 is the proposed one', async (digits, pChainHeight) => {
  const asked = script();
  await post(`{"message":"${MESSAGE}","pchain-height":${digits}}`);
  expect(asked).toMatchObject([{ pChainHeight }]);
});

test("messages to the P-Chain keep the proposed height, without a wait for the epoch, unless the network's goApi has it", async () => {
  for (const [setting, expected] of [
    ['proposed', undefined],
    ['epoch', 'epoch'],
  ] as const) {
    const { aggregator, asked } = scriptedAggregator();
    const networks = [scriptedNetwork({ aggregator, goApi: { pChainMessages: setting } })];
    await post({ message: MESSAGE }, { to: await createTestServer({ networks }) });
    expect(asked).toMatchObject([{ pChainMessages: expected }]);
    expect(asked[0]).toHaveProperty('pChainMessages');
  }
});

test('a request waits for signers that are not known yet, not for execution', async () => {
  const callers: Caller[] = [];
  const aggregate: Aggregator['aggregate'] = async (_, caller) => {
    callers.push(caller);
    throw new AggregatorError('no_validators_yet', 'why');
  };
  await post(
    { message: MESSAGE },
    { to: await createTestServer({ networks: [scriptedNetwork({ aggregator: { aggregate } })] }) },
  );
  expect(callers).toMatchObject([{ waitMs: undefined, signersWaitMs: 30_000, waitEnds: { aborted: false } }]);
});

test('a request may have a justification beside the message, or alone', async () => {
  const asked = script();
  const justification = Uint8Array.of(0xab);
  for (const message of [MESSAGE, undefined, '', '0x', '0000']) await post({ message, justification: '0xab' });
  const alone = { subject: { kind: 'justification', justification } };
  expect(asked).toMatchObject([{ subject: { ...SUBJECT, justification } }, alone, alone, alone, alone]);
});

test.each<[string, object, RegExp]>([
  ['two heights', { 'pchain-height': 7, 'p-chain-height': 8 }, /^Could not decode request body: .* must not differ$/],
  ['too long a justification', { justification: '00'.repeat(25_000) }, /^Could not decode justification: /],
])('%s is 400, and the message follows the prefix of the Go aggregator', async (_, fields, error) => {
  const answer = await post({ message: MESSAGE, ...fields });
  expect(answer).toMatchObject({ status: 400, body: { error: expect.stringMatching(error) } });
});

test('a request without a body is 400 while the network is not open', async () => {
  script(async () => Promise.reject(new AggregatorError('network_unavailable', 'why')));
  for (const method of ['GET', 'POST', 'HEAD', 'OPTIONS'] as const) {
    const { statusCode, headers, body } = await server.inject({ method, url: PATH });
    expect({ statusCode, type: headers['content-type'] }).toEqual({ statusCode: 400, type: 'application/json' });
    if (method !== 'HEAD') expect(body).toBe('{"error":"Could not decode request body"}');
  }
});

const COLLECT = 'failed to collect a threshold of signatures';
const CONNECT = 'failed to connect to a threshold of stake';
const OTHER = 'failed to aggregate signatures';

/** What the helper of the public SDK repeats. */
const REPEATED = /no signatures|threshold/i;

test('each failure of an aggregation that may pass is one that the public SDK repeats', () => {
  const passing = Object.entries(ERROR_CODES).filter(
    ([, { retry, raisedBy }]) => retry === 'may_pass' && raisedBy.includes('aggregator'),
  );
  expect(passing.length).toBeGreaterThan(10);
  for (const [code] of passing) {
    expect(GO_ERROR_FORM.bodyOf({ code: code as ErrorCode, message: 'why' }, 500)).toEqual({
      error: expect.stringMatching(REPEATED),
    });
  }
});

test.each([
  [400, OTHER, ['unknown_subnet', 'unknown_source_chain', 'height_not_reached', 'wrong_network']],
  [400, COLLECT, ['signing_refused']],
  [403, OTHER, ['subnet_not_allowed']],
  [500, COLLECT, ['insufficient_weight', 'quorum_unreachable']],
  [500, CONNECT, ['not_connected', 'overloaded', 'network_unavailable', 'no_validators_yet']],
  [500, CONNECT, ['p_chain_unavailable', 'p_chain_invalid', 'chain_rpc_unavailable']],
] as const)(
  'it is %i, and begins with the sentence "%s" of the Go aggregator, for %j',
  async (status, sentence, codes) => {
    for (const code of codes) {
      script(async () => Promise.reject(new AggregatorError(code, 'why', { retryAfterMs: 2_000 })));
      const { headers, ...answer } = await post({ message: MESSAGE });
      expect(answer).toEqual({ status, body: { error: `${sentence}: why` } });
      expect(headers['retry-after']).toBe('2');
    }
  },
);

test('with several networks the path alone is the first; another name is 404 before the body is looked at', async () => {
  const [first, second] = [scriptedAggregator(), scriptedAggregator()];
  const networks = [
    scriptedNetwork({ pathNames: ['mainnet'], aggregator: first.aggregator }),
    scriptedNetwork({ pathNames: ['fuji', 'testnet'], aggregator: second.aggregator }),
  ];
  const to = await createTestServer({ networks });
  for (const path of [PATH, `/mainnet${PATH}`]) await post({ message: MESSAGE }, { path, to });
  expect([first.asked.length, second.asked.length]).toEqual([2, 0]);
  for (const path of [`/fuji${PATH}`, `/testnet${PATH}`]) await post({ message: MESSAGE }, { path, to });
  expect([first.asked.length, second.asked.length]).toEqual([2, 2]);
  const error = 'network "devnet" is not served here; served: mainnet, fuji, testnet';
  expect(await post('{', { path: `/devnet${PATH}`, to })).toMatchObject({ status: 404, body: { error } });
});

test('costs what the other aggregation routes cost, and its refusals have its form', async () => {
  const clock = new FakeClock();
  const sha256 = new Uint8Array(32).fill(1);
  const apiKeys = [{ name: 'a', sha256, unitsPerMinute: 1_000, routes: ['aggregation' as const] }];
  const { server: to } = await createScriptedServer({ access: limitedTo(25, clock, { apiKeys }), clock });
  expect((await post({ message: MESSAGE }, { to })).headers['x-ratelimit-remaining']).toBe('15');
  // A KiB more costs a unit more.
  const justification = '00'.repeat(1_024);
  expect((await post({ message: MESSAGE, justification }, { to })).headers['x-ratelimit-remaining']).toBe('4');
  expect(await post({ message: MESSAGE }, { to })).toMatchObject({
    status: 429,
    body: { error: expect.stringMatching(/^more than 25 units/) },
    // 22 units are used; 10 fit when 7 of them are worked off.
    headers: { 'retry-after': '17' },
  });
  await clock.advance(60_000);
  expect(await post({ message: MESSAGE }, { to, key: 'wrong' })).toMatchObject({
    status: 401,
    body: { error: expect.stringMatching(/^the API key is not known/) },
  });
});

test.each([PATH, `/testnet${PATH}`])(
  '%s: a failure has the configured name of the network in the log',
  async (path) => {
    script(async () => Promise.reject(new AggregatorError('insufficient_weight', 'too little')));
    await post({ message: MESSAGE }, { path });
    const failed = records().findLast(({ msg }) => msg === 'aggregation failed');
    expect(failed).toMatchObject({ network: 'fuji', code: 'insufficient_weight' });
  },
);

test('the health of a separate port is down from the announcement of the stop, while requests are answered', async () => {
  let stops = false;
  const { urls, close } = await openGoListeners({
    ...listenerOptions(),
    host: '127.0.0.1',
    ports: [{ network: scriptedNetwork(), apiPort: 0 }],
    isStopping: () => stops,
  });
  const health = async () => {
    const response = await fetch(`${urls.get('fuji')?.api}/health`, { headers: { connection: 'close' } });
    return { status: response.status, body: await response.json() };
  };
  expect(await health()).toMatchObject({ status: 200, body: { status: 'up' } });
  stops = true;
  expect(await health()).toMatchObject({
    status: 503,
    body: { status: 'down', details: { 'signature-aggregator-health': { status: 'down', error: 'stopping' } } },
  });
  await close();
});
