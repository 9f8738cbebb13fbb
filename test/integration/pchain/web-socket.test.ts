import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { ApiEndpoint } from '../../../src/lib/net/api-endpoint.ts';
import { MAX_SOCKET_MESSAGE_BYTES, openWebSocket } from '../../../src/lib/net/web-socket.ts';

const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
const PING = 0x89;
const PONG = Buffer.from([0x8a, 0]);

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

const listenWs = async (server: Server): Promise<string> => (await listen(server)).replace('http', 'ws');

/** A text frame of RFC 6455. */
function frameOf(bytes: number): Buffer {
  const header = Buffer.from([0x81, 127, 0, 0, 0, 0, 0, 0, 0, 0]);
  header.writeBigUInt64BE(BigInt(bytes), 2);
  return Buffer.concat([header, Buffer.alloc(bytes, 'x')]);
}

/** A server that accepts each web socket, and never ends one. */
function serverOf(onSocket: (socket: Duplex, request: IncomingMessage) => void): Server {
  return createServer().on('upgrade', (request, socket) => {
    socket.on('error', () => undefined);
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    const answer = `upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`;
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${answer}`);
    onSocket(socket, request);
  });
}

const sending = (bytes: number): Server => serverOf((socket) => socket.write(frameOf(bytes)));

function open(endpoint: ApiEndpoint) {
  const socket = openWebSocket(endpoint);
  onTestFinished(() => socket.close());
  const { promise: closed, resolve } = Promise.withResolvers<string | undefined>();
  socket.addEventListener('close', ({ reason }) => resolve(reason));
  return { socket, closed };
}

/** Opens a socket, and returns the length of its first message, or 'closed'. */
function firstEvent(baseUrl: string): Promise<number | 'closed'> {
  const { socket, closed } = open({ baseUrl });
  return new Promise((resolve) => {
    socket.addEventListener('message', ({ data }) => resolve(String(data).length));
    void closed.then(() => resolve('closed'));
  });
}

test('a message has a bound of its bytes', async () => {
  const [fits, isTooLong] = [sending(MAX_SOCKET_MESSAGE_BYTES), sending(MAX_SOCKET_MESSAGE_BYTES + 1)];
  expect(await firstEvent(await listenWs(fits))).toBe(MAX_SOCKET_MESSAGE_BYTES);
  expect(await firstEvent(await listenWs(isTooLong))).toBe('closed');
});

test('the end of a connection does not wait for the peer', async () => {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  // It reads the close frame, and answers nothing.
  const baseUrl = await listenWs(serverOf((socket) => socket.on('data', () => undefined).once('end', resolve)));
  const { socket, closed } = open({ baseUrl });
  await new Promise<void>((done) => {
    socket.addEventListener('open', () => done());
  });
  socket.close();
  expect(await Promise.all([ended, closed])).toEqual([undefined, undefined]);
});

test('a connection that is not open yet is ended, too', async () => {
  const { promise: accepted, resolve } = Promise.withResolvers<Duplex>();
  const { socket, closed } = open({ baseUrl: await listenWs(createServer().on('upgrade', (_, tcp) => resolve(tcp))) });
  const tcp = await accepted;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  tcp.on('error', end).on('end', end).resume();
  socket.close();
  expect(await Promise.all([closed, ended])).toHaveLength(2);
});

// undici alone ends it after 10 s, for which the process would not exit.
test('a connection attempt is ended, too', { timeout: 8_000 }, async () => {
  const server = createTcpServer();
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { socket } = open({ baseUrl: `wss://127.0.0.1:${(server.address() as AddressInfo).port}` });
  const [accepted] = (await once(server, 'connection')) as [Socket];
  // The first bytes of TLS, which are never answered.
  await once(
    accepted.on('error', () => undefined),
    'data',
  );
  const ended = once(accepted, 'close');
  socket.close();
  expect(await ended).toHaveLength(1);
});

test('a refused handshake has its status', async () => {
  const server = createServer().on('upgrade', (_, socket) => {
    socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n');
  });
  expect(await open({ baseUrl: await listenWs(server) }).closed).toBe(
    'the handshake was answered with HTTP status 401',
  );
});

test('a host to which no connection can be made is described without it', async () => {
  const server = createServer();
  const baseUrl = await listenWs(server);
  server.close();
  await once(server, 'close');
  const reason = await open({ baseUrl }).closed;
  expect(reason).toContain('ECONNREFUSED');
  expect(reason).not.toContain('127.0.0.1');
});

test('headers, the query and a password are sent', async () => {
  const { promise: asked, resolve } = Promise.withResolvers<IncomingMessage>();
  const url = new URL(`${await listenWs(serverOf((_, request) => resolve(request)))}/ws?a=1`);
  url.username = 'me';
  url.password = 'secret';
  open({ baseUrl: url.href, queryParameters: { token: 't' }, httpHeaders: { 'X-Key': 'k' } });
  const { url: path, headers } = await asked;
  expect(path).toBe('/ws?a=1&token=t');
  expect(headers).toMatchObject({
    'x-key': 'k',
    authorization: `Basic ${Buffer.from('me:secret').toString('base64')}`,
    upgrade: 'websocket',
  });
});

test('a ping is answered, which only its socket reports', async () => {
  const server = serverOf((socket) =>
    socket.on('data', (data: Buffer) => {
      if (data[0] === PING) socket.write(PONG);
    }),
  );
  const baseUrl = await listenWs(server);
  const [pinging, other] = [open({ baseUrl }), open({ baseUrl })];
  let others = 0;
  other.socket.addEventListener('pong', () => {
    others += 1;
  });
  await new Promise<void>((resolve) => {
    pinging.socket.addEventListener('pong', () => resolve());
    pinging.socket.addEventListener('open', () => pinging.socket.ping());
  });
  expect(others).toBe(0);
});

test.each([
  ['wss', 'HTTPS_PROXY', 'node.invalid:443'],
  ['ws', 'HTTP_PROXY', 'node.invalid:80'],
])('%s goes through a tunnel of %s', async (scheme, variable, target) => {
  const asked: unknown[] = [];
  const proxy = createServer().on('connect', ({ url }, socket) => {
    asked.push(url);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  vi.stubEnv(variable, await listen(proxy));
  expect(await firstEvent(`${scheme}://node.invalid/ws`)).toBe('closed');
  expect(asked).toEqual([target]);
});

test('this machine is asked directly', async () => {
  vi.stubEnv('HTTP_PROXY', 'http://proxy.invalid');
  expect(await firstEvent(await listenWs(sending(5)))).toBe(5);
});
