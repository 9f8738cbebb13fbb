import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { ApiKey } from '../../../src/http/request/client-identity.ts';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { readCase } from '../../vectors/vectors.ts';
import { shareUpstreamService } from './shared-service.ts';
import { startUpstreamService } from './upstream-service.ts';

const DATA = '/v1/chains/1/blocks/2';
const AGGREGATION = '/v1/signatureAggregator/fuji/aggregateSignatures';
const VERIFICATION = '/v1/signatureAggregator/fuji/verify';
const RPC = '/ext/bc/P';
const CALL = { jsonrpc: '2.0', id: 1, method: 'platform.getHeight' };
const MESSAGE = bytesToHex(readCase('c_warp_0').unsignedMessage);
const batch = (length: number) => Array.from({ length }, (_, id) => ({ ...CALL, id }));

function key(name: string, more: Partial<ApiKey> = {}): ApiKey {
  const sha256 = createHash('sha256').update(`secret of ${name}`).digest();
  return { name, sha256, unitsPerMinute: 50, routes: ['aggregation', 'data', 'rpc'], ...more };
}

const HASH = key('flipped').sha256;
/** Longer than a key that is looked up. */
const LONG_KEY = 'x'.repeat(600);
const NEARLY_KEYS = Array.from(HASH, (_, flipped) =>
  key(`flipped ${flipped}`, { sha256: HASH.map((byte, index) => (index === flipped ? byte ^ 1 : byte)) }),
);

const clock = new FakeClock();
const service = await shareUpstreamService({
  clock,
  access: {
    apiKeys: [
      key('batches'),
      key('counted'),
      key('empty'),
      key('site'),
      key('whole hash'),
      ...NEARLY_KEYS,
      key('long', { sha256: createHash('sha256').update(LONG_KEY).digest() }),
      key('three', { unitsPerMinute: 3 }),
      key('three more', { unitsPerMinute: 3 }),
      key('four', { unitsPerMinute: 4 }),
      key('data', { routes: ['data'], unitsPerMinute: 1 }),
    ],
    unitsPerMinute: 20,
    trustedProxies: ['127.0.0.0/8'],
  },
});
const { standIn } = service;

let clients = 0;
/** Returns a client with a new address. */
function newClient(address = `10.0.0.${(clients += 1)}`) {
  const from = { 'x-forwarded-for': address };
  return {
    get: (target: string, headers = {}) => service.get(target, { ...from, ...headers }),
    post: (target: string, body: unknown, headers = {}) => service.post(target, body, { ...from, ...headers }),
  };
}

const keyed = (name: string, header = 'x-service-api-key') => ({ [header]: `secret of ${name}` });
const limitsOf = ({ headers }: { readonly headers: Headers }) =>
  ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`));
const remainingOf = (answer: { readonly headers: Headers }) => limitsOf(answer)[1];

test('requests without a key share the limit of their address, at the cost of each route', async () => {
  const { get, post } = newClient();
  const first = await get(DATA);
  expect([first.status, ...limitsOf(first)]).toEqual([200, '20', '19', '3']);
  expect(remainingOf(await post(RPC, CALL))).toBe('17');
  // As a lookup: nothing is done for a request without a message.
  expect(remainingOf(await post(AGGREGATION, {}))).toBe('16');
  await clock.advance(2_000);
  const long = { message: '00'.repeat(18 * 1_024) };
  const refused = await post(AGGREGATION, long);
  expect([refused.status, refused.body]).toEqual([
    429,
    {
      message: 'more than 20 units in a minute; an API key raises the limit',
      statusCode: 429,
      error: 'Too Many Requests',
      code: 'rate_limited',
    },
  ]);
  // 4 units and the first of this request are used, 2 s of them are worked off; it needs 19 in all.
  expect([...limitsOf(refused), refused.headers.get('retry-after')]).toEqual(['20', '15', '13', '10']);
  await clock.advance(9_999);
  expect((await post(AGGREGATION, long)).status).toBe(429);
  await clock.advance(13_000);
  expect(remainingOf(await get(DATA))).toBe('19');
});

describe('a JSON-RPC batch', () => {
  test('costs as many calls as it has; one that exceeds what is left is 429, and nothing of it is passed on', async () => {
    const { get, post } = newClient();
    await get(DATA);
    expect(remainingOf(await post(RPC, batch(2)))).toBe('15');
    await clock.advance(1_000);
    const refused = await post(RPC, batch(10));
    const limits = [...limitsOf(refused), refused.headers.get('retry-after')];
    expect([refused.status, ...limits]).toEqual([429, '20', '13', '20', '20']);
    expect(standIn.arrivals.map(({ method }) => method)).toEqual(['GET', 'POST']);
    await clock.advance(20_000);
    const last = await post(RPC, batch(10));
    expect([last.status, ...limitsOf(last)]).toEqual([200, '20', '0', '60']);
  });

  test('that no minute has units for is 400, costs one call, and nothing of it is passed on', async () => {
    const { post } = newClient();
    const refused = await post(RPC, batch(11));
    expect([refused.status, refused.body['code']]).toEqual([400, 'invalid_request']);
    expect([remainingOf(refused), refused.headers.get('retry-after')]).toEqual(['18', null]);
    expect(standIn.arrivals).toEqual([]);
    expect(remainingOf(await post(RPC, batch(11), keyed('batches')))).toBe('28');
  });

  test('with a call that is refused costs one call', async () => {
    const answer = await newClient().post(RPC, [...batch(5), { ...CALL, method: 'admin.x' }]);
    expect([answer.status, remainingOf(answer)]).toEqual([400, '18']);
  });
});

test.each(['/', '/health/live', '/metrics', '/openapi.json', '/docs/', '/docs/json'])('%s is free', async (path) => {
  const answer = await fetch(`${service.url}${path}`, { headers: keyed('nobody') });
  await answer.arrayBuffer();
  expect([answer.status, remainingOf(answer)]).toEqual([200, null]);
});

test('the units of each key are counted by its name', async () => {
  const { get, post } = newClient();
  const unitsOf = (name: string, routes: string) =>
    service.metric(`access_units_total{key="${name}",routes="${routes}"}`);
  const before = await unitsOf('', 'data');
  await get(DATA);
  await get(DATA, keyed('nobody'));
  await post(RPC, [CALL, CALL, CALL], keyed('counted'));
  expect([await unitsOf('', 'data'), await unitsOf('counted', 'rpc')]).toEqual([before + 2, 6]);
  const limits = ['', 'counted', 'four'].map((name) => service.metric(`access_units_per_minute_limit{key="${name}"}`));
  expect(await Promise.all(limits)).toEqual([20, 50, 4]);
});

test.each([
  ['three', 'x-service-api-key', 'x-glacier-api-key'],
  ['three more', 'x-glacier-api-key', 'x-service-api-key'],
])('the key %s in %s has a limit of its own, and an empty %s does not hide it', async (name, header, other) => {
  const { get } = newClient();
  const headers = { ...keyed(name, header), [other]: '' };
  for (const left of ['2', '1', '0']) expect(remainingOf(await get(DATA, headers))).toBe(left);
  const { status, body } = await get(DATA, headers);
  expect([status, body['message']]).toEqual([429, 'more than 3 units in a minute']);
  expect(limitsOf(await get(DATA, { [header]: '', [other]: '' })).slice(0, 2)).toEqual(['20', '19']);
  expect((await get(DATA, keyed('empty'))).status).toBe(200);
});

test('an unknown key is 401, costs its address, and is known by all of its hash', async () => {
  const { get } = newClient();
  for (const text of ['x', 'secret of empty.', 'secret of flipped', LONG_KEY, 'secret of Empty']) {
    const { status, body } = await get(DATA, { 'x-service-api-key': text });
    expect([status, body['error'], body['code']]).toEqual([401, 'Unauthorized', 'unauthorized']);
  }
  expect(standIn.arrivals).toEqual([]);
  expect(remainingOf(await get(DATA))).toBe('14');
  expect(remainingOf(await get(DATA, keyed('whole hash')))).toBe('49');
});

test('keys and rights are judged also if the minute is used up or too short for the request', async () => {
  const { get, post } = newClient();
  for (const path of [AGGREGATION, RPC]) {
    const { status, body } = await post(path, {}, keyed('data'));
    expect([status, body['error'], body['code']]).toEqual([403, 'Forbidden', 'forbidden']);
  }
  expect((await get(DATA, keyed('data'))).status).toBe(429);
  await post(RPC, batch(10));
  expect((await get(DATA)).status).toBe(429);
  expect((await get(DATA, keyed('nobody'))).status).toBe(401);
  const uptime = '/v1/signatureAggregator/fuji/validations/x/uptime';
  expect((await newClient().get(uptime, keyed('nobody'))).status).toBe(401);
});

test('a request that costs more than a minute has is 400, and costs its client one unit at most', async () => {
  const { get, post } = newClient();
  for (const [path, body, advice] of [
    [AGGREGATION, { message: MESSAGE }, /10 units, more than the 4 .* API key/],
    [VERIFICATION, {}, /5 units, more than the 4 .* API key/],
    [RPC, batch(3), /6 units, more than the 4 .* in parts/],
  ] as const) {
    const { status, body: answer, headers } = await post(path, body, keyed('four'));
    expect([status, answer['code'], headers.get('retry-after')]).toEqual([400, 'invalid_request', null]);
    expect(answer['message']).toMatch(advice);
  }
  expect((await get(DATA, keyed('four'))).status).toBe(200);
});

test('keys count without limits, too; no other address is trusted than that of the connection by default', async () => {
  const access = { apiKeys: [key('a')], unitsPerMinute: undefined, trustedProxies: [] };
  await using unlimited = await startUpstreamService({ access });
  for (let count = 0; count < 30; count += 1) {
    const answer = await unlimited.get(DATA);
    expect([answer.status, remainingOf(answer)]).toEqual([200, null]);
  }
  expect((await unlimited.get(DATA, keyed('nobody'))).status).toBe(401);
  await using direct = await startUpstreamService({ access: { ...access, unitsPerMinute: 20 } });
  for (const [address, left] of [
    ['1.1.1.1', '19'],
    ['2.2.2.2', '18'],
  ]) {
    expect(remainingOf(await direct.get(DATA, { 'x-forwarded-for': String(address) }))).toBe(left);
  }
});

test('the client’s address is what a trusted proxy says, and one IPv6 customer has a /64', async () => {
  for (const [address, left] of [
    ['1.1.1.1', '19'],
    ['9.9.9.9, 1.1.1.1', '18'],
    ['2001:db8::1', '19'],
    ['2001:db8::2', '18'],
  ] as const) {
    expect([address, remainingOf(await newClient(address).get(DATA))]).toEqual([address, left]);
  }
});

test('all clients in an IPv6 /48 have eight limits together, and one with a key has its own', async () => {
  for (let network = 1; network <= 8; network += 1) {
    expect((await newClient(`2001:db8:1:${network}::1`).post(RPC, batch(10))).status).toBe(200);
  }
  const late = newClient('2001:db8:1:ffff::1');
  for (let count = 0; count < 9; count += 1) await late.get(DATA);
  const refused = await late.get(DATA);
  expect([refused.status, refused.body['message']]).toEqual([
    429,
    'more than 160 units in a minute of all clients in 2001:db8:1::/48; an API key raises the limit',
  ]);
  // 20 of 160 come back in the time of the reset.
  expect([...limitsOf(refused), refused.headers.get('retry-after')]).toEqual(['20', '0', '8', '1']);
  expect(remainingOf(await newClient('2001:db8:2::1').get(DATA))).toBe('19');
  expect((await late.get(DATA, keyed('site'))).status).toBe(200);
  await clock.advance(7_500);
  // What its /48 refused has cost the client nothing.
  expect(remainingOf(await late.get(DATA))).toBe('19');
});
