import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { holdClosedPort } from '../closed-port.ts';
import { movableClock } from './movable-clock.ts';
import { sendJson } from './stand-in.ts';
import { startUpstreamService, type UpstreamService } from './upstream-service.ts';

const TARGET = '/v1/chains/43114/blocks/339';
const TIMEOUT_MS = 300;
const MAX_RESPONSE_BYTES = 1_000_000;

const clock = movableClock();
let service: UpstreamService;
let cacheBytes = 0;
beforeEach(async () => {
  service = await startUpstreamService({
    settings: { timeoutMs: TIMEOUT_MS, cacheBytes },
    internals: { maxResponseBytes: MAX_RESPONSE_BYTES },
    clock,
  });
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
});

async function expectAnswer(status: number, message: RegExp, code: string, target = TARGET) {
  const answer = await service.get(target);
  expect(answer.body).toEqual({
    message: expect.stringMatching(message),
    statusCode: status,
    error: { 502: 'Bad Gateway', 503: 'Service Unavailable' }[status],
    code,
  });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toBe('application/json');
  return answer;
}

describe.each([0, 1_000_000])('with a cache of %i bytes', (bytes) => {
  beforeAll(() => {
    cacheBytes = bytes;
  });

  // As a text, as bytes, in pieces, and as a stream.
  test.each([10, 10_000, 100_000, 600_000])(
    'JSON of %i bytes comes without the charset of the upstream',
    async (length) => {
      service.standIn.behaviour = (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
        response.write('"');
        setImmediate(() => response.end(`${'x'.repeat(length)}"`));
      };
      const { headers } = await service.get(`/v1/chains/1/blocks/${length}`);
      expect(headers.get('content-type')).toBe('application/json');
    },
  );

  describe('errors of the upstream keep their status and get the one form', () => {
    test.each<[number, string, string, string | string[], string]>([
      [404, 'application/json', '{"message":"no block","statusCode":404,"error":"Not Found"}', 'no block', 'Not Found'],
      [
        400,
        'application/json',
        '{"message":["a is wrong","b too"],"error":"Bad Request","statusCode":400}',
        ['a is wrong', 'b too'],
        'Bad Request',
      ],
      [500, 'application/json', '{"jsonrpc":"2.0","error":{"code":1,"message":"no"}}', 'no', 'Internal Server Error'],
      [
        500,
        'text/html',
        '<html>secret stack</html>',
        'the upstream answered: Internal Server Error',
        'Internal Server Error',
      ],
      [503, 'application/json', '{', 'the upstream answered: Service Unavailable', 'Service Unavailable'],
    ])('%i %s %s', async (status, type, body, message, error) => {
      service.standIn.behaviour = (_request, response) =>
        response.writeHead(status, { 'content-type': type }).end(body);
      const answer = await service.get(TARGET);
      expect([answer.status, answer.body]).toEqual([
        status,
        { message, statusCode: status, error, code: 'upstream_error' },
      ]);
      expect(service.standIn.arrivals).toHaveLength(1);
    });

    test('a JSON-RPC error stays one to a JSON-RPC client, whatever its status', async () => {
      for (const [status, text] of [
        [500, '{"jsonrpc":"2.0", "error":{"code":-32000,"message":"no such block"},"id":18446744073709551616}'],
        [400, '[{"jsonrpc":"2.0","error":{"code":-32601,"message":"no such method"},"id":1}]'],
      ] as const) {
        service.standIn.behaviour = (_request, response) =>
          response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '7' }).end(text);
        const answer = await service.post('/ext/bc/P', { jsonrpc: '2.0', id: 1, method: 'platform.getHeight' });
        expect([answer.status, answer.text, answer.headers.get('retry-after')]).toEqual([status, text, '7']);
        expect(answer.headers.get('content-type')).toBe('application/json');
      }
      service.standIn.behaviour = (_request, response) => sendJson(response, 500, { message: 'the gateway is tired' });
      const answer = await service.post('/ext/bc/P', { jsonrpc: '2.0', id: 1, method: 'platform.getHeight' });
      expect([answer.status, answer.body]).toMatchObject([
        500,
        { message: 'the gateway is tired', code: 'upstream_error' },
      ]);
    });

    test('429 of the upstream has its limits in place of ours', async () => {
      await using limited = await startUpstreamService({
        settings: { cacheBytes },
        access: { apiKeys: [], unitsPerMinute: 3, trustedProxies: [] },
      });
      const refuse = (ofUpstream: Record<string, string>): void => {
        limited.standIn.behaviour = (_request, response) => {
          for (const [name, value] of Object.entries(ofUpstream)) response.setHeader(name, value);
          sendJson(response, 429, { message: 'slow down', statusCode: 429, error: 'Too Many Requests' });
        };
      };
      const ask = async () => {
        const { status, headers, body } = await limited.get(TARGET);
        const limits = ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`));
        return [status, body['code'], ...limits, headers.get('retry-after')];
      };
      refuse({
        ...{ 'x-ratelimit-limit': '8000', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '41' },
        ...{ 'retry-after': '17', 'x-ratelimit-policy': 'secret', 'set-cookie': 'a=b' },
      });
      const { headers } = await limited.get(TARGET);
      expect([headers.get('x-ratelimit-policy'), headers.get('set-cookie')]).toEqual([null, null]);
      expect(await ask()).toEqual([429, 'upstream_error', '8000', '0', '41', '17']);
      // What it leaves out is not filled with ours.
      refuse({ 'x-ratelimit-reset': 'soon' });
      expect(await ask()).toEqual([429, 'upstream_error', null, null, null, null]);
      expect(await ask()).toEqual([429, 'rate_limited', '3', '0', expect.stringMatching(/^\d+$/), expect.any(String)]);
    });

    test('its limits are not those of any other answer', async () => {
      await using limited = await startUpstreamService({
        access: { apiKeys: [], unitsPerMinute: 3, trustedProxies: [] },
      });
      for (const status of [200, 404, 503]) {
        limited.standIn.behaviour = (_request, response) => {
          for (const name of ['limit', 'remaining', 'reset']) response.setHeader(`x-ratelimit-${name}`, '99');
          response.setHeader('retry-after', '17');
          sendJson(response, status, {});
        };
        const { headers } = await limited.get(TARGET);
        expect([status, headers.get('x-ratelimit-limit')]).toEqual([status, '3']);
        expect([status, headers.get('retry-after')]).toEqual([status, status === 200 ? null : '17']);
      }
    });

    test.each([
      [400, '/v1/avg_tps/foo', 'invalid_request'],
      [400, '/v1/avg_tps/0', 'invalid_request'],
      [400, '/v1/avg_tps/1/', 'invalid_request'],
      [429, '/v1/avg_tps/1', 'upstream_error'],
      [502, '/v1/avg_tps/2', 'upstream_invalid_answer'],
    ])('a %i of the metrics service has its message in a list: %s', async (status, target, code) => {
      service.standIn.behaviour = (_request, response) => {
        if (status === 429) sendJson(response, 429, { message: 'slow down', statusCode: 429, error: 'x' });
        else response.writeHead(200, { 'content-type': 'text/html' }).end('<p>');
      };
      const answer = await service.get(target);
      expect(answer.body).toMatchObject({ statusCode: status, code, message: [expect.stringMatching(/./)] });
      expect(answer.status).toBe(status);
      const { body } = await service.get(`/v1/avg_tps/${'1'.repeat(2_000)}`);
      expect(body['message']).toEqual([expect.stringContaining('no route')]);
    });

    test('an endless error is an error, and ends', async () => {
      service.standIn.behaviour = (_request, response) => {
        response.writeHead(500, { 'content-type': 'application/json' });
        const timer = setInterval(() => response.write(' '.repeat(100_000)), 1);
        response.on('close', () => clearInterval(timer));
      };
      const { status } = await service.get(TARGET);
      expect(status).toBe(500);
    });
  });

  describe('faults of the upstream', () => {
    test('no listener: 502', async () => {
      await using closed = await holdClosedPort();
      const { port } = closed;
      await using dead = await startUpstreamService({
        settings: { dataApi: { evm: { baseUrl: `http://127.0.0.1:${port}` } } },
      });
      const { status, body } = await dead.get(TARGET);
      expect([status, body['message']]).toEqual([502, 'the data API of EVM chains cannot be reached (ECONNREFUSED)']);
      expect(JSON.stringify(body)).not.toContain(String(port));
    });

    test('a connection broken before the answer: one retry', async () => {
      service.standIn.behaviour = (request, response) => {
        service.standIn.behaviour = undefined;
        request.socket.destroy();
        response.destroy();
      };
      expect((await service.get(TARGET)).status).toBe(200);
      expect(service.standIn.arrivals).toHaveLength(2);
    });

    test('a connection broken twice: 502, and no third time', async () => {
      service.standIn.behaviour = (request) => request.socket.destroy();
      await expectAnswer(502, /cannot be reached/, 'upstream_unreachable');
      expect(service.standIn.arrivals).toHaveLength(2);
    });

    test('a POST is never sent twice', async () => {
      service.standIn.behaviour = (request) => request.socket.destroy();
      const { status } = await service.post('/ext/bc/P', { jsonrpc: '2.0', id: 1, method: 'platform.getHeight' });
      expect(status).toBe(502);
      expect(service.standIn.arrivals).toHaveLength(1);
    });

    test('broken in the middle of a short body: 502', async () => {
      service.standIn.behaviour = (request, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
        response.write('{"a":', () => request.socket.destroy());
      };
      await expectAnswer(502, /cannot be reached/, 'upstream_unreachable');
    });

    test('broken in the middle of a long body: the client sees a broken connection', async () => {
      service.standIn.behaviour = (request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.write(`"${'x'.repeat(600_000)}`, () => request.socket.destroy());
      };
      await expect(service.get(TARGET)).rejects.toThrow();
    });

    test('no answer: 503 with Retry-After', async () => {
      service.standIn.behaviour = () => undefined;
      const { headers } = await expectAnswer(503, /did not answer within 300 ms/, 'upstream_timeout');
      expect(headers.get('retry-after')).toBe('5');
      expect(service.standIn.arrivals).toHaveLength(1);
    });

    test('a body byte by byte: 503', async () => {
      service.standIn.behaviour = (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const timer = setInterval(() => response.write(' '), 5);
        response.on('close', () => clearInterval(timer));
      };
      await expectAnswer(503, /did not answer within 300 ms/, 'upstream_timeout');
    });

    test('an endless body is cut at the limit, and the upstream’s connection closed', async () => {
      let closed = 0;
      let written = 0;
      service.standIn.behaviour = (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const chunk = ' '.repeat(100_000);
        const write = (): void => {
          written += chunk.length;
          if (response.write(chunk)) setImmediate(write);
        };
        response.on('drain', write);
        response.on('close', () => {
          closed += 1;
          response.off('drain', write);
        });
        write();
      };
      await expect(service.get(TARGET)).rejects.toThrow();
      // With the cache it is asked for twice: a stream cannot be shared.
      await expect.poll(() => closed).toBe(cacheBytes === 0 ? 1 : 2);
      expect(written).toBeLessThan(20 * MAX_RESPONSE_BYTES);
    });

    test('a body that says it is too long: 502', async () => {
      service.standIn.behaviour = (_request, response) => {
        response.writeHead(200, {
          'content-type': 'application/json',
          'content-length': String(MAX_RESPONSE_BYTES + 1),
        });
        response.write('{');
      };
      await expectAnswer(502, /sent more than the 1000000 bytes allowed/, 'upstream_invalid_answer');
    });

    test('a long body within the limit comes whole', async () => {
      const long = { text: 'x'.repeat(900_000) };
      service.standIn.behaviour = (_request, response) => sendJson(response, 200, long);
      expect((await service.get(TARGET)).body).toEqual(long);
    });

    test.each([
      ['text/html', '{}'],
      ['application/jsonp', '{}'],
      ['', '{}'],
      ['text/plain', 'x'.repeat(600_000)],
    ])('content type %j: 502', async (type, body) => {
      service.standIn.behaviour = (_request, response) =>
        response.writeHead(200, type === '' ? {} : { 'content-type': type }).end(body);
      await expectAnswer(502, /did not answer with JSON/, 'upstream_invalid_answer');
    });

    test.each([
      '{"a":',
      '{"a":1}}',
      '<html>',
      '\ufeff{}',
      Buffer.from([0x22, 0xff, 0x22]),
      `{"a":"${'x'.repeat(50_000)}"`,
      `[${'1,'.repeat(25_000)}1}`,
    ])('broken JSON: 502 (%#)', async (body) => {
      service.standIn.behaviour = (_request, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(body);
      await expectAnswer(502, /answered with broken JSON/, 'upstream_invalid_answer');
    });

    test('huge headers: 502', async () => {
      service.standIn.behaviour = (_request, response) => {
        for (let index = 0; index < 20; index += 1) response.setHeader(`x-${index}`, 'x'.repeat(1_000));
        sendJson(response, 200, {});
      };
      await expectAnswer(502, /sent no valid HTTP/, 'upstream_invalid_answer');
    });

    test('not HTTP: 502', async () => {
      service.standIn.behaviour = (request) => request.socket.end('hello\r\n\r\n');
      await expectAnswer(502, /sent no valid HTTP/, 'upstream_invalid_answer');
    });

    test('a redirect is neither followed nor passed on', async () => {
      await using elsewhere = await startUpstreamService();
      for (const status of [301, 302, 303, 307, 308]) {
        service.standIn.behaviour = (_request, response) =>
          response.writeHead(status, { location: `${elsewhere.standIn.baseUrl}/v1/secret` }).end();
        const { headers } = await expectAnswer(
          502,
          /answered with a redirect, which is not followed/,
          'upstream_invalid_answer',
        );
        expect(headers.get('location')).toBeNull();
      }
      expect(elsewhere.standIn.arrivals).toEqual([]);
    });

    test.each([205, 206])('the unexpected status %i: 502', async (status) => {
      service.standIn.behaviour = (_request, response) => sendJson(response, status, {});
      await expectAnswer(502, new RegExp(`answered with status ${status}`), 'upstream_invalid_answer');
    });

    test('an empty body instead of JSON: 502; a 204 may be empty', async () => {
      service.standIn.behaviour = (_request, response) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end();
      await expectAnswer(502, /did not answer with JSON/, 'upstream_invalid_answer');
      service.standIn.behaviour = (_request, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end();
      await expectAnswer(502, /broken JSON/, 'upstream_invalid_answer');
      service.standIn.behaviour = (_request, response) => response.writeHead(204).end();
      const { status, text } = await service.get(TARGET);
      expect([status, text]).toEqual([204, '']);
    });

    test.each([100, 600_000])('an encoding that was not requested: 502 (%i bytes)', async (length) => {
      const body = gzipSync(JSON.stringify({ text: randomBytes(length).toString('hex') }));
      service.standIn.behaviour = (_request, response) =>
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(body);
      await expectAnswer(502, /in an encoding it was not asked for/, 'upstream_invalid_answer');
      expect(service.standIn.arrivals[0]?.headers['accept-encoding']).toBe('identity');
    });

    test('the connection is closed after an answer that is not read to its end', async () => {
      const wrong: [status: number, headers: Record<string, string>][] = [
        [500, {}],
        [302, { location: '/' }],
        [200, { 'content-type': 'text/html' }],
        [200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }],
      ];
      let closed = 0;
      for (const [status, headers] of wrong) {
        service.standIn.behaviour = (_request, response) => {
          response.writeHead(status, headers).write('x'.repeat(600_000));
          response.on('close', () => {
            closed += 1;
          });
        };
        await service.get(TARGET);
      }
      await expect.poll(() => closed).toBe(wrong.length);
    });

    test('a stream that stalls ends with the deadline', async () => {
      let closed = false;
      service.standIn.behaviour = (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).write(`"${'x'.repeat(600_000)}`);
        response.on('close', () => {
          closed = true;
        });
      };
      await expect(service.get(TARGET)).rejects.toThrow();
      await expect.poll(() => closed).toBe(true);
      expect(await service.metric('upstream_requests_total{upstream="evm",outcome="upstream_timeout"}')).toBe(1);
    });

    test('errors of an upstream do not expose our keys', async () => {
      const secret = 'k3y&/ of ours';
      const endpoint = {
        baseUrl: `${service.standIn.baseUrl}/below/s3cret-path`,
        queryParameters: { token: secret },
        httpHeaders: { 'x-service-api-key': 'header-s3cret' },
      };
      await using keyed = await startUpstreamService({ settings: { cacheBytes, dataApi: { evm: endpoint } } });
      service.standIn.behaviour = (_request, response, { target, headers }) => {
        const decoded = decodeURIComponent(target.replaceAll('+', ' '));
        const key = String(headers['x-service-api-key']);
        sendJson(response, 404, { message: `Cannot GET ${target} (${decoded}) with ${key}` });
      };
      const { status, text, body } = await keyed.get('/v1/chains/1/blocks/7?x=1');
      expect(status).toBe(404);
      expect(body['message']).toContain('/v1/chains/1/blocks/7?x=1');
      for (const part of ['k3y', 's3cret']) expect(text).not.toContain(part);

      await using node = await startUpstreamService({
        settings: { nodeRpc: { ...endpoint, baseUrl: service.standIn.baseUrl } },
      });
      service.standIn.behaviour = (_request, response, { target }) =>
        sendJson(response, 500, { jsonrpc: '2.0', id: 1, error: { code: 1, message: `${target} "${secret}"` } });
      const rpc = await node.post('/ext/bc/P', { jsonrpc: '2.0', id: 1, method: 'platform.getHeight' });
      expect([rpc.status, rpc.body['id']]).toEqual([500, 1]);
      for (const part of ['k3y', 's3cret']) expect(rpc.text).not.toContain(part);
    });

    test('a client that leaves during the second attempt cancels it', async () => {
      // So long that only the client ends it.
      await using patient = await startUpstreamService({ settings: { timeoutMs: 60_000, cacheBytes } });
      const closed = Promise.withResolvers<void>();
      const arrived = Promise.withResolvers<void>();
      patient.standIn.behaviour = (request, response) => {
        if (patient.standIn.arrivals.length === 1) {
          request.socket.destroy();
          return;
        }
        response.on('close', () => closed.resolve());
        arrived.resolve();
      };
      const leaving = new AbortController();
      const left = fetch(`${patient.url}${TARGET}`, { signal: leaving.signal });
      left.catch(() => undefined);
      await arrived.promise;
      leaving.abort();
      await closed.promise;
      await expect.poll(() => patient.metric('upstream_requests_total{upstream="evm",outcome="left"}')).toBe(1);
    });
  });
});

describe('an upstream that is not configured', () => {
  test.each([
    ['/v1/networks/mainnet/validators', 'upstream.dataApi.mainnet'],
    ['/v1/networks/fuji/validators', 'upstream.dataApi.fuji'],
    ['/v1/networks/testnet/blockchains', 'upstream.dataApi.fuji'],
    ['/v1/chains/1/blocks/1', 'upstream.dataApi.evm'],
    ['/v1/avg_tps/1', 'upstream.metrics'],
  ])('%s is 503 and names %s', async (target, setting) => {
    await using bare = await startUpstreamService({
      settings: { dataApi: {}, metrics: undefined, nodeRpc: undefined },
    });
    const { status, body, headers } = await bare.get(target);
    expect([status, headers.get('retry-after')]).toEqual([503, null]);
    expect(body['code']).toBe('upstream_not_configured');
    // A list from the metrics service.
    expect(String(body['message'])).toMatch(new RegExp(`the setting ${setting.replaceAll('.', '\\.')} is missing`));
    const rpc = await bare.post('/ext/bc/P', { jsonrpc: '2.0', id: 1, method: 'platform.getHeight' });
    expect([rpc.status, rpc.body['message']]).toEqual([503, expect.stringContaining('upstream.nodeRpc')]);
  });
});

test('an upstream can be added while the service runs', async () => {
  await using running = await startUpstreamService({ settings: { nodeRpc: undefined } });
  const call = { jsonrpc: '2.0', id: 1, method: 'platform.getHeight' };
  expect((await running.post('/ext/bc/P', call)).body['code']).toBe('upstream_not_configured');
  expect(await running.metric('upstream_circuit_open{upstream="node"}')).toBe(Number.NaN);
  running.upstreams.open('node', { baseUrl: running.standIn.baseUrl });
  expect((await running.post('/ext/bc/P', call)).body).toEqual({ jsonrpc: '2.0', id: 1, result: { height: '7' } });
  expect(await running.metric('upstream_circuit_open{upstream="node"}')).toBe(0);
  expect(() => running.upstreams.open('node', { baseUrl: running.standIn.baseUrl })).toThrow('is open already');
});
