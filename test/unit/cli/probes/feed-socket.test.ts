import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { probeFeedSocket } from '../../../../src/cli/probes/feed-socket.ts';

const WAIT_MS = 500;
const CONFIRMED = { jsonrpc: '2.0', id: 1, result: '0x1' };
const HEAD = { jsonrpc: '2.0', method: 'eth_subscription', params: { subscription: '0x1', result: { number: '0x2' } } };
const REFUSED = { jsonrpc: '2.0', id: 1, error: { code: -32_601, message: 'notifications not supported' } };

/** A node that answers the subscription with these messages. */
async function startNode(opened: AsyncDisposableStack, messages: readonly object[]): Promise<string> {
  const server = createServer((_request, response) => void response.writeHead(403).end());
  server.on('upgrade', (request, socket) => {
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64');
    const head = ['HTTP/1.1 101 Switching Protocols', 'upgrade: websocket', 'connection: upgrade'];
    socket.on('error', () => undefined).on('end', () => socket.destroy());
    socket.write([...head, `sec-websocket-accept: ${accept}`, '', ''].join('\r\n'));
    socket.once('data', () => {
      for (const message of messages) socket.write(textFrame(JSON.stringify(message)));
      // The frame that closes it.
      socket.once('data', () => socket.destroy());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.defer(async () => void (await new Promise((done) => server.close(done))));
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/key/ws`;
}

/** @param text of at most 125 bytes, or 65,535 */
function textFrame(text: string): Buffer {
  const { length } = text;
  return Buffer.concat([
    Buffer.from(length < 126 ? [0x81, length] : [0x81, 126, length >> 8, length & 255]),
    Buffer.from(text),
  ]);
}

it.each([
  ['a node that reports a head', [CONFIRMED, HEAD], 'works', undefined],
  ['an idle chain', [CONFIRMED], 'skipped', /it confirmed the subscription, and no block came within 500 ms/],
  ['a node that refuses the subscription', [REFUSED], 'unavailable', /it refused the subscription/],
  ['a node that does not answer', [], 'unavailable', /it did not confirm the subscription within 500 ms/],
])('%s', async (_, messages, outcome, words) => {
  await using opened = new AsyncDisposableStack();
  const row = await probeFeedSocket('C', { baseUrl: await startNode(opened, messages) }, WAIT_MS);
  expect(row).toMatchObject({ name: 'feed.chains C webSocket', outcome });
  expect(row.url).not.toContain('key');
  if (words !== undefined) expect(row.words).toMatch(words);
});

it('a node that refuses the handshake', async () => {
  await using opened = new AsyncDisposableStack();
  const server = createServer().on('upgrade', (_, socket) => void socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.defer(() => void server.close());
  const baseUrl = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await probeFeedSocket('C', { baseUrl }, WAIT_MS)).toMatchObject({
    outcome: 'unavailable',
    words: expect.stringContaining('HTTP status 401'),
  });
});
