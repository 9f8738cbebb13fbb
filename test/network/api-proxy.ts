import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Stands before a node's API. */
export interface ApiProxy extends AsyncDisposable {
  readonly url: string;
  /** Refuses connections from now on, and cuts those there are. */
  close(): Promise<void>;
  /** Listens again, on the same port. */
  open(): Promise<void>;
}

/**
 * Starts a proxy on a free port of loopback.
 *
 * @param apiUrl the base URL of the node's API
 * @param results by method: the results that the proxy returns without the node
 */
export async function startApiProxy(
  apiUrl: string,
  results: Readonly<Record<string, unknown>> = {},
): Promise<ApiProxy> {
  const server = createServer((request, response) => {
    forward(request, response).catch((error: unknown) => {
      // The node is down: so is its API.
      response.destroy(error instanceof Error ? error : undefined);
    });
  });

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const { id, method } = JSON.parse(body) as { id: unknown; method: string };
    const json = { 'content-type': 'application/json' };
    if (method in results) {
      response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }));
      return;
    }
    const answer = await fetch(`${apiUrl}${request.url}`, { method: 'POST', headers: json, body });
    response.writeHead(answer.status, json).end(await answer.text());
  }

  async function listen(port: number): Promise<number> {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  async function close(): Promise<void> {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  const port = await listen(0);
  return {
    url: `http://127.0.0.1:${port}`,
    close,
    async open() {
      if (!server.listening) await listen(port);
    },
    [Symbol.asyncDispose]: close,
  };
}
