import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

const JSON_TYPE = { 'content-type': 'application/json' };

/** Starts a proxy before a node's API that returns no peers, so that only the node itself is known for a start. */
export async function startPeerlessApi(apiUrl: string) {
  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const { id, method } = JSON.parse(body) as { id: unknown; method: string };
    if (method === 'info.peers') {
      const result = { numPeers: '0', peers: [] };
      response.writeHead(200, JSON_TYPE).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      return;
    }
    const answer = await fetch(`${apiUrl}${request.url}`, { method: 'POST', headers: JSON_TYPE, body });
    response.writeHead(answer.status, JSON_TYPE).end(await answer.text());
  }

  const server = createServer((request, response) => {
    forward(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
