import { randomBytes } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import { shareUpstreamService } from './shared-service.ts';
import { type Behaviour, BREAK, reply, SILENCE, sendJson } from './stand-in.ts';
import { startUpstreamService } from './upstream-service.ts';

const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 1_000_000;
const JSON_HEAD = { 'content-type': 'application/json' };
const HTML_HEAD = { 'content-type': 'text/html' };
const CALL = { jsonrpc: '2.0', id: 1, method: 'platform.getHeight' };
const LONG = 'x'.repeat(600_000);

let blocks = 0;
/** Returns a target that no test has asked for, so that no answer is in the cache. */
function nextTarget(): string {
  blocks += 1;
  return `/v1/chains/43114/blocks/${blocks}`;
}

const gzipped = (status: number, body: unknown): Behaviour =>
  reply(status, gzipSync(JSON.stringify(body)), { 'content-encoding': 'gzip' });

/** Answers that cannot be passed on. Each is right but for one thing. */
const INVALID: readonly (readonly [name: string, behaviour: Behaviour])[] = [
  ['HTML', reply(200, {}, HTML_HEAD)],
  ['JSONP', reply(200, {}, { 'content-type': 'application/jsonp' })],
  ['a body without a type', (_request, response) => response.end('{}')],
  ['a long text', reply(200, LONG, { 'content-type': 'text/plain' })],
  ['an empty page', reply(200, '', HTML_HEAD)],
  ['an empty body', reply(200, '')],
  ...['{"a":', '{"a":1}}', '<html>', '\ufeff{}', Buffer.from([0x22, 0xff, 0x22])].map(
    (body) => [`broken JSON ${String(body)}`, reply(200, body)] as const,
  ),
  ['long JSON without its end', reply(200, `{"a":"${LONG.slice(0, 100_000)}"`)],
  ['long JSON with a wrong end', reply(200, `[${'1,'.repeat(50_000)}1}`)],
  [
    'more headers than allowed',
    reply(200, {}, Object.fromEntries([...'abcdefgh'].map((x) => [x, LONG.slice(-3_000)]))),
  ],
  ['what is not HTTP', ({ socket }) => void socket.end('hello\r\n\r\n')],
  ...[301, 302, 303, 307, 308].map(
    (status) => [`a redirect by ${status}`, reply(status, {}, { location: '/v1/elsewhere' })] as const,
  ),
  ...[205, 206].map((status) => [`the status ${status}`, reply(status)] as const),
  ['an encoding that is not known', reply(200, {}, { 'content-encoding': 'compress' })],
  ['an encoding that the body does not have', reply(200, {}, { 'content-encoding': 'gzip' })],
  [
    'a length beyond the bound',
    (_request, response) => {
      response.writeHead(200, { ...JSON_HEAD, 'content-length': String(MAX_RESPONSE_BYTES + 1) }).write('{');
    },
  ],
];

describe.each([0, 1_000_000])('with a cache of %i bytes', async (cacheBytes) => {
  const clock = new FakeClock();
  const service = await shareUpstreamService({
    clock,
    settings: { timeoutMs: TIMEOUT_MS, cacheBytes },
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  const { standIn } = service;
  afterEach(async () => {
    await vi.waitUntil(() => clock.pendingTimers === 0, { timeout: 20_000 });
  });

  async function expectError(status: number, code: string, asked = service.get(nextTarget())) {
    const { headers, ...answer } = await asked;
    expect([answer.status, answer.body['statusCode'], answer.body['code']]).toEqual([status, status, code]);
    expect(headers.get('content-type')).toBe('application/json');
    return { headers, ...answer };
  }

  // As a text, as bytes, in pieces, and as a stream.
  test.each([10, 10_000, 100_000, 900_000])('JSON of %i bytes comes whole, without a charset', async (length) => {
    const text = `["${'é'.repeat(length / 2)}"]`;
    standIn.behaviour = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).write(text.slice(0, 2));
      setImmediate(() => response.end(text.slice(2)));
    };
    const answer = await service.get(nextTarget());
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.headers.get('content-length')).toBe(length < 900_000 ? String(length + 4) : null);
    expect(answer.text === text).toBe(true);
  });

  test.each(INVALID)('%s: 502, asked for once', async (_name, behaviour) => {
    standIn.behaviour = behaviour;
    const { headers } = await expectError(502, 'upstream_invalid_answer');
    expect(headers.get('location')).toBeNull();
    expect(standIn.arrivals.map((arrival) => arrival.headers['accept-encoding'])).toEqual(['identity']);
  });

  test.each([100, 200_000, 900_000])('compressed JSON of %i bytes is decoded', async (length) => {
    const sent = [randomBytes(length / 2).toString('hex')];
    standIn.behaviour = gzipped(200, sent);
    const answer = await service.get(nextTarget());
    expect(answer.headers.get('content-encoding')).toBeNull();
    expect(answer.text === JSON.stringify(sent)).toBe(true);
    standIn.behaviour = gzipped(404, { message: 'no such block' });
    expect((await service.get(nextTarget())).body['message']).toBe('no such block');
  });

  test('a short body that is decoded to more than the bound is cut: the client sees a broken connection', async () => {
    standIn.behaviour = gzipped(200, ['x'.repeat(MAX_RESPONSE_BYTES)]);
    await expect(service.get(nextTarget())).rejects.toThrow();
    standIn.behaviour = undefined;
    expect((await service.get(nextTarget())).status).toBe(200);
  });

  test('a 204 may be empty', async () => {
    standIn.behaviour = reply(204, '');
    const { status, text } = await service.get(nextTarget());
    expect([status, text]).toEqual([204, '']);
  });

  test.each([
    [404, '{"message":"no block","statusCode":404,"error":"Not Found"}', 'no block'],
    [500, '<html>secret stack</html>', 'the upstream answered: Internal Server Error'],
  ])('an error keeps its status and gets the one form: %i %s', async (status, text, message) => {
    standIn.behaviour = reply(status, text, HTML_HEAD);
    const { body } = await expectError(status, 'upstream_error');
    expect(body).toMatchObject({ message, error: STATUS_CODES[status] });
    expect(standIn.arrivals).toHaveLength(1);
  });

  test.each([1, 2])('a connection that breaks before its answer is replaced once: %i break', async (breaks) => {
    standIn.behaviour = (...exchange) => (standIn.arrivals.length <= breaks ? BREAK : reply(200))(...exchange);
    if (breaks === 1) expect((await service.get(nextTarget())).status).toBe(200);
    else await expectError(502, 'upstream_unreachable');
    expect(standIn.arrivals).toHaveLength(2);
  });

  test('broken in the middle of a short body: 502', async () => {
    standIn.behaviour = ({ socket }, response) => {
      response.writeHead(200, { ...JSON_HEAD, 'content-length': '1000' }).write('{"a":', () => socket.destroy());
    };
    await expectError(502, 'upstream_unreachable');
  });

  test('broken in the middle of a long body: the client sees a broken connection', async () => {
    standIn.behaviour = ({ socket }, response) => {
      response.writeHead(200, JSON_HEAD).write(`"${LONG}`, () => socket.destroy());
    };
    await expect(service.get(nextTarget())).rejects.toThrow();
  });

  test.each(['', '{"a":'])('no answer but %j within the deadline: 503 with Retry-After', async (start) => {
    const held = standIn.hold();
    const asked = service.get(nextTarget());
    const response = await held;
    if (start !== '') await new Promise((written) => response.writeHead(200, JSON_HEAD).write(start, written));
    await clock.advance(TIMEOUT_MS);
    const { headers } = await expectError(503, 'upstream_timeout', asked);
    expect(headers.get('retry-after')).toBe('5');
    expect(standIn.arrivals).toHaveLength(1);
  });

  test('the list of all blockchains may take three times as long', async () => {
    const held = standIn.hold();
    const asked = service.get('/v1/networks/fuji/blockchains?pageSize=7');
    const response = await held;
    await clock.advance(3 * TIMEOUT_MS - 1);
    sendJson(response, 200, { blockchains: [] });
    expect((await asked).status).toBe(200);
  });

  test('a stream that stalls ends with the deadline', async () => {
    const closed = Promise.withResolvers<void>();
    standIn.behaviour = (_request, response) => {
      response.on('close', closed.resolve).writeHead(200, JSON_HEAD).write(`"${LONG}`);
    };
    const answer = await fetch(`${service.url}${nextTarget()}`);
    await clock.advance(TIMEOUT_MS);
    await expect(answer.text()).rejects.toThrow();
    await closed.promise;
    expect(await service.metric('upstream_requests_total{upstream="evm",outcome="upstream_timeout"}')).toBe(3);
  });

  test('an endless body is cut at the bound, and the connection to the upstream closed', async () => {
    let [closed, written] = [0, 0];
    standIn.behaviour = (_request, response) => {
      const chunk = ' '.repeat(100_000);
      const write = (): void => {
        written += chunk.length;
        if (response.write(chunk)) setImmediate(write);
      };
      response.writeHead(200, JSON_HEAD).on('drain', write);
      response.on('close', () => {
        closed += 1;
        response.off('drain', write);
      });
      write();
    };
    await expect(service.get(nextTarget())).rejects.toThrow();
    // With the cache it is asked for twice: a stream cannot be shared.
    await expect.poll(() => closed).toBe(cacheBytes === 0 ? 1 : 2);
    expect(written).toBeLessThan(20 * MAX_RESPONSE_BYTES);
  });

  test.each<[number, number, Record<string, string>]>([
    [500, 500, JSON_HEAD],
    [302, 502, { location: '/' }],
    [200, 502, HTML_HEAD],
    [200, 502, { ...JSON_HEAD, 'content-encoding': 'gzip' }],
  ])('an endless %i is answered %i, and the connection to the upstream closed', async (sent, status, headers) => {
    const closed = Promise.withResolvers<void>();
    standIn.behaviour = (_request, response) => {
      response.on('close', closed.resolve).writeHead(sent, headers).write(LONG);
    };
    expect((await service.get(nextTarget())).status).toBe(status);
    await closed.promise;
  });

  test('a client that leaves during the second attempt cancels it', async () => {
    const left = () => service.metric('upstream_requests_total{upstream="evm",outcome="left"}');
    const leftBefore = (await left()) || 0;
    const second = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    standIn.behaviour = (request, response) => {
      if (standIn.arrivals.length === 1) return void request.socket.destroy();
      response.on('close', closed.resolve);
      second.resolve();
    };
    const client = service.begin(nextTarget());
    await second.promise;
    client.abort();
    await closed.promise;
    await expect.poll(left).toBe(leftBefore + 1);
  });
});

describe('whatever is cached,', async () => {
  const service = await shareUpstreamService({
    access: { apiKeys: [], unitsPerMinute: 1_000, trustedProxies: [] },
  });
  const { standIn } = service;

  test('a POST is never sent twice', async () => {
    standIn.behaviour = BREAK;
    expect((await service.post('/ext/bc/P', CALL)).status).toBe(502);
    expect(standIn.arrivals).toHaveLength(1);
  });

  test.each([
    [500, '{"jsonrpc":"2.0", "error":{"code":-32000,"message":"no such block"},"id":18446744073709551616}'],
    [400, '[{"jsonrpc":"2.0","error":{"code":-32601,"message":"no such method"},"id":1}]'],
  ])('a JSON-RPC error stays one to a JSON-RPC client: %i %s', async (status, text) => {
    standIn.behaviour = reply(status, text, { 'retry-after': '7' });
    const answer = await service.post('/ext/bc/P', CALL);
    expect([answer.status, answer.text, answer.headers.get('retry-after')]).toEqual([status, text, '7']);
    expect(answer.headers.get('content-type')).toBe('application/json');
  });

  test('another error of the node has the one form', async () => {
    standIn.behaviour = reply(500, { message: 'the gateway is tired' });
    const { status, body } = await service.post('/ext/bc/P', CALL);
    expect([status, body]).toMatchObject([500, { message: 'the gateway is tired', code: 'upstream_error' }]);
  });

  test('a 429 of the upstream has its limits in place of ours, and no other answer has', async () => {
    const ask = async (status: number, ofUpstream: Readonly<Record<string, string>>) => {
      standIn.behaviour = reply(status, { message: 'slow down' }, ofUpstream);
      const { headers } = await service.get(nextTarget());
      expect([headers.get('x-ratelimit-policy'), headers.get('set-cookie')]).toEqual([null, null]);
      const limits = ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`));
      return [...limits, headers.get('retry-after')];
    };
    const sent = {
      'x-ratelimit-limit': '8000',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '41',
      'retry-after': '17',
      'x-ratelimit-policy': 'secret',
      'set-cookie': 'a=b',
    };
    expect(await ask(429, sent)).toEqual(['8000', '0', '41', '17']);
    // What it leaves out is not filled with ours.
    expect(await ask(429, { 'x-ratelimit-reset': 'soon' })).toEqual([null, null, null, null]);
    const ours = ['1000', expect.any(String), expect.stringMatching(/^\d$/)];
    expect(await ask(200, sent)).toEqual([...ours, null]);
    for (const status of [404, 503]) expect(await ask(status, sent)).toEqual([...ours, '17']);
  });

  test('errors of the metrics service have their message in a list, whoever raises them', async () => {
    for (const [target, behaviour, status, code] of [
      ['/v1/avg_tps/foo', SILENCE, 400, 'invalid_request'],
      ['/v1/avg_tps/1/', SILENCE, 400, 'invalid_request'],
      [`/v1/avg_tps/${'1'.repeat(2_000)}`, SILENCE, 404, 'not_found'],
      ['/v1/avg_tps/1', reply(429, { message: 'slow down' }), 429, 'upstream_error'],
      ['/v1/avg_tps/1', reply(200, {}, HTML_HEAD), 502, 'upstream_invalid_answer'],
    ] as const) {
      standIn.behaviour = behaviour;
      const { body } = await service.get(target);
      expect(body).toMatchObject({ statusCode: status, code, message: [expect.stringMatching(/./)] });
    }
  });

  test('errors of an upstream do not expose our keys', async () => {
    const secret = 'k3y&/ of ours';
    const endpoint = {
      baseUrl: `${standIn.baseUrl}/below/s3cret-path`,
      queryParameters: { token: secret },
      httpHeaders: { 'x-service-api-key': 'header-s3cret' },
    };
    await using keyed = await startUpstreamService({ settings: { dataApi: { evm: endpoint }, nodeRpc: endpoint } });
    standIn.behaviour = (_request, response, { target, headers }) => {
      const decoded = decodeURIComponent(target.replaceAll('+', ' '));
      const message = `Cannot GET ${target} (${decoded}) "${secret}" with ${String(headers['x-service-api-key'])}`;
      if (target.includes('/ext/')) sendJson(response, 500, { jsonrpc: '2.0', id: 1, error: { code: 1, message } });
      else sendJson(response, 404, { message });
    };
    const data = await keyed.get('/v1/chains/1/blocks/7');
    expect([data.status, data.body['message']]).toEqual([404, expect.stringContaining('/v1/chains/1/blocks/7')]);
    const rpc = await keyed.post('/ext/bc/P', CALL);
    expect([rpc.status, rpc.body['id']]).toEqual([500, 1]);
    for (const part of ['k3y', 's3cret']) expect(data.text + rpc.text).not.toContain(part);
  });
});

test('an upstream that is not configured is a 503 that names its setting', async () => {
  await using bare = await startUpstreamService({ settings: { dataApi: {}, metrics: undefined, nodeRpc: undefined } });
  const settings = {
    '/v1/networks/mainnet/validators': 'upstream.dataApi.mainnet',
    '/v1/networks/testnet/blockchains': 'upstream.dataApi.fuji',
    '/v1/chains/1/blocks/1': 'upstream.dataApi.evm',
    '/v1/avg_tps/1': 'upstream.metrics',
    '/ext/bc/P': 'upstream.nodeRpc',
  };
  for (const [target, setting] of Object.entries(settings)) {
    const { status, body, headers } = target === '/ext/bc/P' ? await bare.post(target, CALL) : await bare.get(target);
    expect([status, body['code'], headers.get('retry-after')]).toEqual([503, 'upstream_not_configured', null]);
    expect(String(body['message'])).toContain(`the setting ${setting} is missing`);
  }
  expect(await bare.metric('upstream_circuit_open{upstream="node"}')).toBe(Number.NaN);
});
