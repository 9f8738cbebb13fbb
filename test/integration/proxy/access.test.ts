import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { AccessOptions } from '../../../src/http/access/access.ts';
import type { ApiKey } from '../../../src/http/access/api-keys.ts';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import { readCase } from '../../vectors/vectors.ts';
import { movableClock } from './movable-clock.ts';
import { startUpstreamService } from './upstream-service.ts';

const DATA = '/v1/chains/1/blocks/2';
const AGGREGATION = '/v1/signatureAggregator/fuji/aggregateSignatures';
const VERIFICATION = '/v1/signatureAggregator/fuji/verify';
const RPC = '/ext/bc/P';
const CALL = { jsonrpc: '2.0', id: 1, method: 'platform.getHeight' };

function key(name: string, more: Partial<ApiKey> = {}): ApiKey {
  return {
    name,
    sha256: createHash('sha256').update(`secret of ${name}`).digest(),
    unitsPerMinute: 50,
    routes: ['aggregation', 'data', 'rpc'],
    ...more,
  };
}

async function start(options: Partial<Omit<AccessOptions, 'limits'>> = {}) {
  const clock = movableClock();
  const service = await startUpstreamService({
    clock,
    access: {
      apiKeys: [key('a'), key('b', { routes: ['data'] })],
      unitsPerMinute: 20,
      trustedProxies: [],
      ...options,
    },
  });
  return { clock, service, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

test('requests without a key share the limit of their address, at the cost of each route', async () => {
  await using started = await start();
  const { service, clock } = started;
  const first = await service.get(DATA);
  expect(first.status).toBe(200);
  expect(first.headers.get('x-ratelimit-limit')).toBe('20');
  expect(first.headers.get('x-ratelimit-remaining')).toBe('19');
  expect(first.headers.get('x-ratelimit-reset')).toBe('3');
  expect((await service.post(RPC, CALL)).headers.get('x-ratelimit-remaining')).toBe('17');
  // As a lookup: nothing is done for a request without a message.
  expect((await service.post(AGGREGATION, {})).headers.get('x-ratelimit-remaining')).toBe('16');
  clock.move(2_000);
  const refused = await service.post(AGGREGATION, { message: '00'.repeat(18 * 1_024) });
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
  expect(refused.headers.get('retry-after')).toBe('10');
  expect(refused.headers.get('x-ratelimit-remaining')).toBe('15');
  expect(refused.headers.get('x-ratelimit-reset')).toBe('13');
  clock.move(9_999);
  expect((await service.post(AGGREGATION, { message: '00'.repeat(18 * 1_024) })).status).toBe(429);
  clock.move(13_000);
  expect((await service.get(DATA)).headers.get('x-ratelimit-remaining')).toBe('19');
});

describe('a JSON-RPC batch', () => {
  const batch = (length: number) => Array.from({ length }, (_, id) => ({ ...CALL, id }));

  test('costs as many calls as it has', async () => {
    await using started = await start();
    const { service } = started;
    expect((await service.post(RPC, batch(1))).headers.get('x-ratelimit-remaining')).toBe('18');
    expect((await service.post(RPC, batch(2))).headers.get('x-ratelimit-remaining')).toBe('14');
    const { status, headers } = await service.post(RPC, batch(7));
    expect(status).toBe(200);
    expect(headers.get('x-ratelimit-limit')).toBe('20');
    expect(headers.get('x-ratelimit-remaining')).toBe('0');
    expect(headers.get('x-ratelimit-reset')).toBe('60');
    expect((await service.get(DATA)).status).toBe(429);
  });

  test('that exceeds what is left is 429, and nothing of it is passed on', async () => {
    await using started = await start();
    const { service, clock } = started;
    await service.get(DATA);
    clock.move(1_000);
    const refused = await service.post(RPC, batch(10));
    expect([refused.status, refused.body['error']]).toEqual([429, 'Too Many Requests']);
    expect(refused.headers.get('retry-after')).toBe('8');
    expect(refused.headers.get('x-ratelimit-limit')).toBe('20');
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('17');
    expect(refused.headers.get('x-ratelimit-reset')).toBe('8');
    expect(service.standIn.arrivals.map(({ method }) => method)).toEqual(['GET']);
    clock.move(8_000);
    expect((await service.post(RPC, batch(10))).headers.get('x-ratelimit-remaining')).toBe('0');
  });

  test('that no minute has units for is 400, costs one call, and nothing of it is passed on', async () => {
    await using started = await start();
    const { service } = started;
    const { status, body, headers } = await service.post(RPC, batch(11));
    expect([status, body['message']]).toEqual([
      400,
      'this request costs 22 units, more than the 20 of a minute: send it in parts',
    ]);
    expect([headers.get('x-ratelimit-remaining'), headers.get('retry-after')]).toEqual(['18', null]);
    expect(service.standIn.arrivals).toEqual([]);
    const keyed = { 'x-service-api-key': 'secret of a' };
    expect((await service.post(RPC, batch(11), keyed)).headers.get('x-ratelimit-remaining')).toBe('28');
  });

  test('with a call that is refused costs one call', async () => {
    await using started = await start();
    const { status, headers } = await started.service.post(RPC, [...batch(5), { ...CALL, method: 'admin.x' }]);
    expect([status, headers.get('x-ratelimit-remaining')]).toEqual([400, '18']);
  });
});

test('health, metrics and documents are free', async () => {
  await using started = await start();
  for (const path of ['/', '/health/live', '/metrics', '/openapi.json', '/docs/', '/docs/json']) {
    for (let count = 0; count < 21; count += 1) {
      const answer = await fetch(`${started.service.url}${path}`, { headers: { 'x-service-api-key': 'unknown' } });
      await answer.arrayBuffer();
      expect([answer.status, answer.headers.get('x-ratelimit-limit')]).toEqual([200, null]);
    }
  }
});

test('the units of each key are counted by its name', async () => {
  await using started = await start();
  const { service } = started;
  await service.get(DATA);
  await service.get(DATA, { 'x-service-api-key': 'unknown' });
  await service.post(RPC, [CALL, CALL, CALL], { 'x-service-api-key': 'secret of a' });
  await service.get(DATA, { 'x-service-api-key': 'secret of b' });
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  expect(metrics.match(/^signature_aggregator_access_units_total.*$/gm)).toEqual([
    'signature_aggregator_access_units_total{key="",routes="data"} 2',
    'signature_aggregator_access_units_total{key="a",routes="rpc"} 6',
    'signature_aggregator_access_units_total{key="b",routes="data"} 1',
  ]);
  expect(metrics.match(/^signature_aggregator_access_units_per_minute_limit.*$/gm)).toEqual([
    'signature_aggregator_access_units_per_minute_limit{key=""} 20',
    'signature_aggregator_access_units_per_minute_limit{key="a"} 50',
    'signature_aggregator_access_units_per_minute_limit{key="b"} 50',
  ]);
});

test.each(['x-service-api-key', 'x-glacier-api-key', 'X-Glacier-Api-Key'])(
  'a key in %s has a limit of its own',
  async (header) => {
    await using started = await start();
    const { service } = started;
    for (let left = 49; left >= 0; left -= 1) {
      const { status, headers } = await service.get(DATA, { [header]: 'secret of a' });
      expect([status, headers.get('x-ratelimit-remaining')]).toEqual([200, String(left)]);
    }
    const { status, body } = await service.get(DATA, { [header]: 'secret of a' });
    expect([status, body['message']]).toEqual([429, 'more than 50 units in a minute']);
    expect((await service.get(DATA)).status).toBe(200);
    expect((await service.get(DATA, { [header]: 'secret of b' })).status).toBe(200);
  },
);

test.each([
  ['x-service-api-key', 'x-glacier-api-key'],
  ['x-glacier-api-key', 'x-service-api-key'],
])('an empty %s does not hide the key in %s', async (empty, other) => {
  await using started = await start();
  const { service } = started;
  const keyed = await service.get(DATA, { [empty]: '', [other]: 'secret of a' });
  expect(keyed.headers.get('x-ratelimit-remaining')).toBe('49');
  expect((await service.get(DATA, { [empty]: '', [other]: 'unknown' })).status).toBe(401);
  expect((await service.get(DATA, { [empty]: '', [other]: '' })).headers.get('x-ratelimit-limit')).toBe('20');
});

test('a key is known by all of its hash', async () => {
  const hash = key('a').sha256;
  const nearly = Array.from(hash, (_, flipped) =>
    key(`flipped ${flipped}`, { sha256: hash.map((byte, index) => (index === flipped ? byte ^ 1 : byte)) }),
  );
  await using started = await start({ apiKeys: nearly });
  expect((await started.service.get(DATA, { 'x-service-api-key': 'secret of a' })).status).toBe(401);
  await using all = await start({ apiKeys: [...nearly, key('a')] });
  const { status, headers } = await all.service.get(DATA, { 'x-service-api-key': 'secret of a' });
  expect([status, headers.get('x-ratelimit-remaining')]).toEqual([200, '49']);
});

test('an unknown key is 401, and costs its address', async () => {
  await using started = await start();
  const { service } = started;
  for (const text of ['x', 'secret of c', 'secret of a ', 'x'.repeat(600), 'secret of A']) {
    const { status, body } = await service.get(DATA, { 'x-service-api-key': `${text}.` });
    expect([status, body['error'], body['code']]).toEqual([401, 'Unauthorized', 'unauthorized']);
  }
  expect(service.standIn.arrivals).toEqual([]);
  expect((await service.get(DATA)).headers.get('x-ratelimit-remaining')).toBe('14');
});

test('a key without the right for a route is 403', async () => {
  await using started = await start();
  const { service } = started;
  const headers = { 'x-service-api-key': 'secret of b' };
  expect((await service.get(DATA, headers)).status).toBe(200);
  for (const answer of [await service.post(AGGREGATION, {}, headers), await service.post(RPC, CALL, headers)]) {
    expect([answer.status, answer.body['error'], answer.body['code']]).toEqual([403, 'Forbidden', 'forbidden']);
  }
  expect(service.standIn.arrivals).toHaveLength(1);
});

const MESSAGE = bytesToHex(readCase('c_warp_0').unsignedMessage);

describe('a request that costs more than the whole limit', () => {
  test('is 400, as no later minute has room for it, and costs its client one unit at most', async () => {
    await using started = await start({ unitsPerMinute: 4 });
    const { service } = started;
    for (const [path, body, units, advice] of [
      [AGGREGATION, { message: MESSAGE }, 10, 'it takes an API key with a higher limit'] as const,
      [VERIFICATION, {}, 5, 'it takes an API key with a higher limit'] as const,
      [RPC, Array(3).fill(CALL), 6, 'send it in parts'] as const,
    ]) {
      const { status, body: answer, headers } = await service.post(path, body);
      expect([status, answer['code'], answer['message']]).toEqual([
        400,
        'invalid_request',
        `this request costs ${units} units, more than the 4 of a minute: ${advice}`,
      ]);
      expect(headers.get('retry-after')).toBeNull();
    }
    expect((await service.get(DATA)).status).toBe(200);
  });

  test('is 401 with an unknown key and 403 with one that has no right for it', async () => {
    await using started = await start({
      apiKeys: [key('b', { routes: ['data'], unitsPerMinute: 1 })],
      unitsPerMinute: 1,
    });
    const { service } = started;
    const status = async (secret: string) =>
      (await service.post(AGGREGATION, {}, { 'x-service-api-key': secret })).status;
    expect([await status('unknown'), await status('secret of b')]).toEqual([401, 403]);
  });
});

test('keys and rights are judged also where the minute is used up', async () => {
  await using started = await start({
    unitsPerMinute: 2,
    apiKeys: [key('b', { routes: ['data'], unitsPerMinute: 2 })],
  });
  const { service } = started;
  const headers = { 'x-service-api-key': 'secret of b' };
  for (let count = 0; count < 2; count += 1) await Promise.all([service.get(DATA), service.get(DATA, headers)]);
  expect([(await service.get(DATA)).status, (await service.get(DATA, headers)).status]).toEqual([429, 429]);
  expect((await service.get(DATA, { 'x-service-api-key': 'unknown' })).status).toBe(401);
  expect((await service.post(RPC, CALL, headers)).status).toBe(403);
});

test('keys count without limits, too', async () => {
  await using started = await start({ unitsPerMinute: undefined });
  for (let count = 0; count < 100; count += 1) {
    const { status, headers } = await started.service.get(DATA);
    expect([status, headers.get('x-ratelimit-limit')]).toEqual([200, null]);
  }
  expect((await started.service.get(DATA, { 'x-service-api-key': 'x' })).status).toBe(401);
});

test('the client’s address is that of the connection, or what a trusted proxy says', async () => {
  const remaining = async (service: Awaited<ReturnType<typeof start>>['service'], forwarded: string) =>
    (await service.get(DATA, { 'x-forwarded-for': forwarded })).headers.get('x-ratelimit-remaining');
  await using direct = await start();
  expect(await remaining(direct.service, '1.1.1.1')).toBe('19');
  expect(await remaining(direct.service, '2.2.2.2')).toBe('18');
  await using behind = await start({ trustedProxies: ['127.0.0.0/8'] });
  expect(await remaining(behind.service, '1.1.1.1')).toBe('19');
  expect(await remaining(behind.service, '2.2.2.2')).toBe('19');
  expect(await remaining(behind.service, '9.9.9.9, 2.2.2.2')).toBe('18');
  // Some proxies name the port, too.
  expect(await remaining(behind.service, '1.1.1.1:4000')).toBe('18');
  expect(await remaining(behind.service, '1.1.1.1:4001')).toBe('17');
  // One IPv6 customer has a /64.
  expect(await remaining(behind.service, '2001:db8::1')).toBe('19');
  expect(await remaining(behind.service, '2001:db8::2')).toBe('18');
});

test('all clients in an IPv6 /48 have eight limits together, and one with a key has its own', async () => {
  await using started = await start({ trustedProxies: ['127.0.0.0/8'] });
  const { service, clock } = started;
  const ask = (from: string, headers = {}) => service.get(DATA, { 'x-forwarded-for': from, ...headers });
  let answered = 0;
  for (let network = 0; network < 200; network += 1) {
    if ((await ask(`2001:db8:1:${network.toString(16)}::1`)).status === 200) answered += 1;
  }
  expect(answered).toBe(160);
  const refused = await ask('2001:db8:1:ffff::1');
  expect([refused.status, refused.body['message']]).toEqual([
    429,
    'more than 160 units in a minute of all clients in 2001:db8:1::/48; an API key raises the limit',
  ]);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(refused.headers.get('x-ratelimit-limit')).toBe('20');
  expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
  // 20 of 160 are free again.
  expect(refused.headers.get('x-ratelimit-reset')).toBe('8');
  expect((await ask('2001:db8:2::1')).headers.get('x-ratelimit-remaining')).toBe('19');
  expect((await ask('2001:db8:1::1', { 'x-service-api-key': 'secret of a' })).status).toBe(200);
  clock.move(7_500);
  // What its /48 refused has cost the client nothing.
  expect((await ask('2001:db8:1:ffff::1')).headers.get('x-ratelimit-remaining')).toBe('19');
});
