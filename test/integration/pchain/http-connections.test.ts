import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openHttpConnections } from '../../../src/lib/net/http-connections.ts';

/** Asks a server that answers every request with these bytes. */
async function ask(answer: string, signal = new AbortController().signal) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).on('data', () => socket.write(answer));
  });
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connections = openHttpConnections(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    connections: 1,
  });
  onTestFinished(() => connections.destroy());
  return connections.request({ method: 'POST', path: '/', headers: {}, body: '{}', signal });
}

test('a final response after an informational one is returned', async () => {
  const { statusCode, body } = await ask(
    'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}',
  );
  expect(statusCode).toBe(200);
  await body.dump({ limit: 10 });
});

test('an upgrade response fails the request', async () => {
  const answer = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
  await expect(ask(answer)).rejects.toThrow('without an answer');
});
