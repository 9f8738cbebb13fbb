import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { readBody } from '../../../src/lib/net/exchange.ts';
import { openHttpPool } from '../../../src/lib/net/http-port.ts';

const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];

beforeEach(() => {
  for (const name of PROXY_VARIABLES) vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

async function listen(server: Server): Promise<string> {
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function ask(origin: string) {
  const http = openHttpPool(origin, { connections: 1 });
  onTestFinished(() => http.destroy());
  const { statusCode, body } = await http.request({ method: 'POST', path: '/p?q=1', headers: {}, body: '{}' });
  return { statusCode, text: await readBody(body, 100) };
}

/** Asks a server that answers every request with these bytes. */
async function askFor(answer: string) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).on('data', () => socket.end(answer));
  });
  return ask(await listen(server));
}

const askHandler = async (handler: RequestListener) => ask(await listen(createHttpServer(handler)));

test('a final response after an informational one is returned', async () => {
  const answer = 'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}';
  expect(await askFor(answer)).toEqual({ statusCode: 200, text: '{}' });
});

test('an upgrade response fails the request', async () => {
  const answer = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
  await expect(askFor(answer)).rejects.toThrow('upgrade');
});

test.each([
  ['gzip', 200, gzipSync],
  ['br', 200, brotliCompressSync],
  ['gzip', 403, gzipSync],
] as const)('a body that was compressed unasked with %s under %i is decoded', async (encoding, status, compress) => {
  const answered = askHandler((_, response) => {
    response.writeHead(status, { 'content-encoding': encoding }).end(compress('hello'));
  });
  expect(await answered).toEqual({ statusCode: status, text: 'hello' });
});

test('the bound of a body is one of decoded bytes', async () => {
  const answered = askHandler((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(1024 * 1024)));
  });
  await expect(answered).rejects.toThrow('more than 100 bytes');
});

test.each(['HTTP_PROXY', 'http_proxy'])('%s is used, with its password, and for its hosts alone', async (name) => {
  const asked: unknown[] = [];
  const proxy = await listen(
    createHttpServer(({ url, headers }, response) => {
      asked.push([url, headers.host, headers['proxy-authorization']]);
      response.end('from the proxy');
    }),
  );
  vi.stubEnv(name, proxy.replace('//', '//me:secret@'));
  vi.stubEnv('NO_PROXY', 'direct.invalid');
  expect(await ask('http://api.invalid')).toEqual({ statusCode: 200, text: 'from the proxy' });
  const basic = `Basic ${Buffer.from('me:secret').toString('base64')}`;
  expect(asked).toEqual([['http://api.invalid/p?q=1', 'api.invalid', basic]]);
  await expect(ask('http://direct.invalid')).rejects.toThrow('direct.invalid');
});

test('HTTPS goes through a tunnel of HTTPS_PROXY', async () => {
  const proxy = createHttpServer();
  const asked: unknown[] = [];
  proxy.on('connect', ({ url }, socket) => {
    asked.push(url);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  vi.stubEnv('HTTPS_PROXY', await listen(proxy));
  await expect(ask('https://api.invalid')).rejects.toThrow('403');
  expect(asked).toEqual(['api.invalid:443']);
});

test.each(['127.0.0.1', 'localhost'])('what listens at %s is asked directly', async (hostname) => {
  vi.stubEnv('HTTP_PROXY', 'http://proxy.invalid');
  const server = await listen(createHttpServer((_, response) => response.end('direct')));
  expect(await ask(server.replace('127.0.0.1', hostname))).toEqual({ statusCode: 200, text: 'direct' });
});

test.each(['localhost.invalid', '127.invalid'])('%s is not this machine', async (hostname) => {
  const proxy = await listen(createHttpServer((_, response) => response.end('from the proxy')));
  vi.stubEnv('HTTP_PROXY', proxy);
  expect(await ask(`http://${hostname}`)).toEqual({ statusCode: 200, text: 'from the proxy' });
});
