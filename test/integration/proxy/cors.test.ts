import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { shareUpstreamService } from './shared-service.ts';
import { BREAK, reply } from './stand-in.ts';
import type { UpstreamService } from './upstream-service.ts';

const CONSOLE = 'https://console.test';
const LOCAL = 'http://localhost:3000';
const OTHER = 'https://other.test';
const DATA = '/v1/chains/1/blocks/2';
const AGGREGATION = '/v1/signatureAggregator/fuji/aggregateSignatures';
const FROM = { origin: CONSOLE };
const PREFLIGHT = { 'access-control-request-method': 'POST' };

const settings = { cacheBytes: 2 ** 20 };
const sha256 = createHash('sha256').update('secret').digest();
const open = await shareUpstreamService({
  settings,
  corsOrigins: ['*'],
  access: {
    apiKeys: [{ name: 'of data', sha256, unitsPerMinute: 100, routes: ['data'] }],
    unitsPerMinute: 10,
    trustedProxies: ['127.0.0.1'],
  },
});
const listed = await shareUpstreamService({ settings, corsOrigins: [CONSOLE, LOCAL] });
const closed = await shareUpstreamService();

async function ask({ url }: UpstreamService, method: string, target: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}${target}`, { method, headers });
  const text = await response.text();
  const cors = [...response.headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary');
  return { status: response.status, headers: response.headers, text, cors: Object.fromEntries(cors) };
}

const EXPOSED =
  'retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, etag, age, deprecation, sunset, x-request-id';
const FOR_ALL = { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED };

test('with all origins allowed, every answer allows them, errors included', async () => {
  const paths = ['/health/live', '/health/ready', '/metrics', '/openapi.json', '/docs/', '/docs/json', DATA];
  for (const path of paths) expect(await ask(open, 'GET', path, FROM)).toMatchObject({ status: 200, cors: FOR_ALL });
  expect(await ask(open, 'GET', '/health/live')).toMatchObject({ status: 200, cors: FOR_ALL });
  const etag = (await ask(open, 'GET', DATA)).headers.get('etag') ?? '';
  const keyed = (key: string) => ({ 'x-service-api-key': key });
  for (const [status, method, target, headers, behaviour] of [
    [304, 'GET', DATA, { 'if-none-match': etag }],
    [418, 'GET', '/v1/chains/1/blocks/3', {}, reply(418)],
    [502, 'GET', '/v1/chains/1/blocks/4', {}, BREAK],
    [400, 'GET', '/v1/chains/x/blocks/2', {}],
    [404, 'GET', '/nowhere', {}],
    [401, 'GET', DATA, keyed('unknown')],
    [403, 'POST', AGGREGATION, keyed('secret')],
    [429, 'POST', AGGREGATION, { 'x-forwarded-for': '10.0.0.1' }],
  ] as const) {
    open.standIn.behaviour = behaviour;
    if (status === 429) for (let units = 0; units < 10; units += 1) await ask(open, method, target, headers);
    expect(await ask(open, method, target, { ...FROM, ...headers })).toMatchObject({ status, cors: FOR_ALL });
  }
});

test.each([
  ['a broken escape', 'GET', '/v1/chains/%zz/blocks/2'],
  ['a parameter longer than any', 'POST', AGGREGATION.replace('fuji', 'x'.repeat(2_000))],
])('the answer to a URL with %s can be read, too', async (_, method, target) => {
  for (const [service, origin, cors] of [
    [open, CONSOLE, { 'access-control-allow-origin': '*' }],
    [listed, CONSOLE, { 'access-control-allow-origin': CONSOLE, vary: 'Origin' }],
    [listed, OTHER, { vary: 'Origin' }],
    [closed, CONSOLE, {}],
  ] as const) {
    const answer = await ask(service, method, target, { origin });
    expect([answer.status, answer.cors]).toEqual([400, cors]);
  }
});

test('a preflight needs no key and costs nothing, whatever its path', async () => {
  const from = { 'x-forwarded-for': '10.0.0.2' };
  const asked = { ...from, ...PREFLIGHT, ...FROM, 'access-control-request-headers': 'content-type,x-service-api-key' };
  const preflights = async () => {
    for (const path of [AGGREGATION, DATA, '/ext/bc/P', '/v1/tomorrow', '/nowhere', '/health/live', '/v1/x/x/x/x']) {
      const { status, headers, text, cors } = await ask(open, 'OPTIONS', path, asked);
      expect([status, text, headers.get('x-ratelimit-limit')]).toEqual([204, '', null]);
      expect(cors).toEqual({
        ...FOR_ALL,
        'access-control-allow-methods': 'GET, HEAD, POST',
        'access-control-allow-headers':
          'content-type, x-service-api-key, x-glacier-api-key, if-none-match, last-event-id, x-request-id',
        'access-control-max-age': '7200',
      });
    }
  };
  await preflights();
  expect(open.standIn.arrivals).toEqual([]);
  for (let left = 9; left >= 0; left -= 1) {
    expect((await ask(open, 'GET', DATA, from)).headers.get('x-ratelimit-remaining')).toBe(String(left));
  }
  // Beyond the limit, too: the page is to read the 429 itself.
  expect((await ask(open, 'GET', DATA, from)).status).toBe(429);
  await preflights();
});

test('OPTIONS without an origin or a method is no preflight, and no route', async () => {
  for (const service of [open, listed, closed]) {
    for (const headers of [PREFLIGHT, FROM, {}]) {
      for (const path of [AGGREGATION, DATA, '/v1/tomorrow', '/nowhere']) {
        const { status, text } = await ask(service, 'OPTIONS', path, headers);
        expect([status, JSON.parse(text)]).toEqual([
          404,
          {
            message: `no route OPTIONS ${path}; the routes are listed in /openapi.json`,
            statusCode: 404,
            error: 'Not Found',
            code: 'not_found',
          },
        ]);
      }
    }
  }
});

test('with listed origins, each gets its own name, and caches see that answers differ', async () => {
  const exposed = { 'access-control-expose-headers': EXPOSED, vary: 'Origin' };
  // The second time from the cache, which another origin filled.
  for (const target of [DATA, DATA, '/v1/chains/x/blocks/2', '/nowhere']) {
    for (const origin of [CONSOLE, LOCAL]) {
      const { cors } = await ask(listed, 'GET', target, { origin });
      expect(cors).toEqual({ ...exposed, 'access-control-allow-origin': origin });
    }
    for (const headers of [{}, { origin: OTHER }, { origin: 'null' }, { origin: `${CONSOLE}.evil.test` }]) {
      expect((await ask(listed, 'GET', target, headers)).cors).toEqual(exposed);
    }
  }
  expect(listed.standIn.arrivals).toHaveLength(1);
  const preflight = (origin: string) => ask(listed, 'OPTIONS', AGGREGATION, { ...PREFLIGHT, origin });
  expect((await preflight(CONSOLE)).cors).toMatchObject({ ...exposed, 'access-control-allow-origin': CONSOLE });
  const refused = await preflight(OTHER);
  expect(refused.cors).not.toHaveProperty('access-control-allow-origin');
  expect(refused.cors).toMatchObject({ vary: 'Origin' });
});

test('where no origin is allowed, nothing speaks of origins', async () => {
  expect((await ask(closed, 'GET', DATA, FROM)).cors).toEqual({});
  expect(await ask(closed, 'OPTIONS', DATA, { ...PREFLIGHT, ...FROM })).toMatchObject({ status: 404, cors: {} });
});
