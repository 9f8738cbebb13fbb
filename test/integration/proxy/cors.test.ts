import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { sendJson } from './stand-in.ts';
import { startUpstreamService, type UpstreamService, type UpstreamServiceOptions } from './upstream-service.ts';

const CONSOLE = 'https://console.test';
const OTHER = 'https://other.test';
const DATA = '/v1/chains/1/blocks/2';
const AGGREGATION = '/v1/signatureAggregator/fuji/aggregateSignatures';
const PREFLIGHT = { 'access-control-request-method': 'POST' };
/** Ten lookups' worth, or one aggregation's. */
const ACCESS: UpstreamServiceOptions['access'] = {
  apiKeys: [
    {
      name: 'of data',
      sha256: createHash('sha256').update('secret').digest(),
      unitsPerMinute: 100,
      routes: ['data'],
    },
  ],
  unitsPerMinute: 10,
  trustedProxies: [],
};

async function ask({ url }: UpstreamService, method: string, target: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}${target}`, { method, headers });
  const text = await response.text();
  const cors = [...response.headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary');
  return { status: response.status, headers: response.headers, text, cors: Object.fromEntries(cors) };
}

/** Asks as often as the limit allows, and once more. */
async function askUntilLimited(service: UpstreamService, headers?: Record<string, string>) {
  for (let asked = 0; asked < 10; asked += 1) await ask(service, 'POST', AGGREGATION, headers);
  return ask(service, 'POST', AGGREGATION, headers);
}

const EXPOSED =
  'retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, etag, age, deprecation, sunset, x-request-id';
const FOR_ALL = { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED };

test('with all origins allowed, every answer allows them, errors included', async () => {
  await using service = await startUpstreamService({
    corsOrigins: ['*'],
    access: ACCESS,
    settings: { cacheBytes: 2 ** 20 },
  });
  const from = { origin: CONSOLE };
  const ofOperations = ['/health/live', '/health/ready', '/metrics', '/openapi.json', '/docs/', '/docs/json'];
  for (const path of ofOperations)
    expect(await ask(service, 'GET', path, from)).toMatchObject({ status: 200, cors: FOR_ALL });
  expect(await ask(service, 'GET', '/health/live')).toMatchObject({ status: 200, cors: FOR_ALL });

  const found = await ask(service, 'GET', DATA, from);
  expect([found.status, found.cors]).toEqual([200, FOR_ALL]);
  const again = { ...from, 'if-none-match': found.headers.get('etag') ?? '' };
  expect(await ask(service, 'GET', DATA, again)).toMatchObject({ status: 304, cors: FOR_ALL });
  service.standIn.behaviour = (_request, response) => sendJson(response, 418, { message: 'of the upstream' });
  expect(await ask(service, 'GET', '/v1/chains/1/blocks/3', from)).toMatchObject({ status: 418, cors: FOR_ALL });
  service.standIn.behaviour = (request) => request.socket.destroy();
  expect(await ask(service, 'GET', '/v1/chains/1/blocks/4', from)).toMatchObject({ status: 502, cors: FOR_ALL });

  expect(await ask(service, 'GET', '/v1/chains/x/blocks/2', from)).toMatchObject({ status: 400, cors: FOR_ALL });
  expect(await ask(service, 'GET', '/nowhere', from)).toMatchObject({ status: 404, cors: FOR_ALL });
  const keyed = (key: string) => ({ ...from, 'x-service-api-key': key });
  expect(await ask(service, 'GET', DATA, keyed('unknown'))).toMatchObject({ status: 401, cors: FOR_ALL });
  expect(await ask(service, 'POST', AGGREGATION, keyed('secret'))).toMatchObject({ status: 403, cors: FOR_ALL });
  expect(await askUntilLimited(service, from)).toMatchObject({ status: 429, cors: FOR_ALL });
});

test.each([
  ['a broken escape', 'GET', '/v1/chains/%zz/blocks/2'],
  ['a parameter longer than any', 'POST', AGGREGATION.replace('fuji', 'x'.repeat(2_000))],
])('the answer to a URL with %s can be read, too', async (_, method, target) => {
  await using open = await startUpstreamService({ corsOrigins: ['*'] });
  const toAll = await ask(open, method, target, { origin: CONSOLE });
  expect([toAll.status, toAll.cors]).toEqual([400, { 'access-control-allow-origin': '*' }]);
  await using listed = await startUpstreamService({ corsOrigins: [CONSOLE] });
  const toListed = await ask(listed, method, target, { origin: CONSOLE });
  expect([toListed.status, toListed.cors]).toEqual([400, { 'access-control-allow-origin': CONSOLE, vary: 'Origin' }]);
  expect((await ask(listed, method, target, { origin: OTHER })).cors).toEqual({ vary: 'Origin' });
  await using closed = await startUpstreamService();
  const toNobody = await ask(closed, method, target, { origin: CONSOLE });
  expect([toNobody.status, toNobody.cors]).toEqual([400, {}]);
});

test('a preflight needs no key and costs nothing, whatever its path', async () => {
  await using service = await startUpstreamService({ corsOrigins: ['*'], access: ACCESS });
  const asked = { ...PREFLIGHT, origin: CONSOLE, 'access-control-request-headers': 'content-type,x-service-api-key' };
  const paths = [AGGREGATION, DATA, '/ext/bc/P', '/v1/tomorrow', '/nowhere', '/health/live', `/v1/${'x/'.repeat(200)}`];
  for (const path of [...paths, ...paths]) {
    const { status, headers, text, cors } = await ask(service, 'OPTIONS', path, asked);
    expect([status, text, headers.get('x-ratelimit-limit')]).toEqual([204, '', null]);
    expect(cors).toEqual({
      ...FOR_ALL,
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-allow-headers': 'content-type, x-service-api-key, x-glacier-api-key, if-none-match, x-request-id',
      'access-control-max-age': '7200',
    });
  }
  expect(service.standIn.arrivals).toEqual([]);
  expect((await ask(service, 'GET', DATA)).headers.get('x-ratelimit-remaining')).toBe('9');
  // Beyond the limit, too: the page is to read the 429 itself.
  expect((await askUntilLimited(service)).status).toBe(429);
  expect((await ask(service, 'OPTIONS', AGGREGATION, asked)).status).toBe(204);
});

test.each<[string, Record<string, string>]>([
  ['without an origin', PREFLIGHT],
  ['without a method', { origin: CONSOLE }],
  ['without either', {}],
])('OPTIONS %s is no preflight, and no route', async (_, headers) => {
  for (const corsOrigins of [['*'], [CONSOLE], []]) {
    await using service = await startUpstreamService({ corsOrigins });
    for (const path of [AGGREGATION, DATA, '/v1/tomorrow', '/nowhere']) {
      const { status, text } = await ask(service, 'OPTIONS', path, headers);
      expect(status).toBe(404);
      expect(JSON.parse(text)).toEqual({
        message: `no route OPTIONS ${path}; the routes are listed in /openapi.json`,
        statusCode: 404,
        error: 'Not Found',
        code: 'not_found',
      });
    }
  }
});

test('with listed origins, each gets its own name, and caches see that answers differ', async () => {
  await using service = await startUpstreamService({
    corsOrigins: [CONSOLE, 'http://localhost:3000'],
    settings: { cacheBytes: 2 ** 20 },
  });
  const allowed = (origin: string) => ({
    'access-control-allow-origin': origin,
    'access-control-expose-headers': EXPOSED,
    vary: 'Origin',
  });
  // The second time from the cache, which another origin filled.
  for (const target of [DATA, DATA, '/v1/chains/x/blocks/2', '/nowhere']) {
    for (const origin of [CONSOLE, 'http://localhost:3000']) {
      expect((await ask(service, 'GET', target, { origin })).cors).toEqual(allowed(origin));
    }
    for (const headers of [{}, { origin: OTHER }, { origin: 'null' }, { origin: `${CONSOLE}.evil.test` }]) {
      const { cors } = await ask(service, 'GET', target, headers);
      expect(cors).toEqual({ 'access-control-expose-headers': EXPOSED, vary: 'Origin' });
    }
  }
  expect(service.standIn.arrivals).toHaveLength(1);
  const preflight = (origin: string) => ask(service, 'OPTIONS', AGGREGATION, { ...PREFLIGHT, origin });
  expect((await preflight(CONSOLE)).cors).toMatchObject(allowed(CONSOLE));
  const refused = await preflight(OTHER);
  expect(refused.cors).not.toHaveProperty('access-control-allow-origin');
  expect(refused.cors).toMatchObject({ vary: 'Origin' });
});

test('where no origin is allowed, nothing speaks of origins', async () => {
  await using service = await startUpstreamService();
  expect((await ask(service, 'GET', DATA, { origin: CONSOLE })).cors).toEqual({});
  expect(await ask(service, 'OPTIONS', DATA, { ...PREFLIGHT, origin: CONSOLE })).toMatchObject({
    status: 404,
    cors: {},
  });
});
