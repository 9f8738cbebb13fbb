import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type Clock, systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createJsonRpcClient, type JsonRpcClient } from '../../../src/pchain/rpc/json-rpc.ts';
import { createNodeApi } from '../../../src/pchain/rpc/node-api.ts';
import { createUnreadMetrics } from '../../../src/telemetry/metrics.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** One HTTP request that a {@link LocalApi} got. */
export interface ReceivedRequest {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** The body as it came, for what parsing would hide. */
  readonly text: string;
  readonly id: number;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export type Reply =
  | { readonly result: unknown }
  | { readonly error: unknown }
  /** Any bytes under any status. */
  | { readonly status: number; readonly text: string; readonly headers?: Readonly<Record<string, string>> }
  | 'hang'
  | 'hang after the headers'
  | 'cut the connection'
  | 'endless';

/** A server over HTTP on a port of the system's choice, which answers as a test tells it to, and counts. */
export class LocalApi implements AsyncDisposable {
  readonly requests: ReceivedRequest[] = [];
  reply: (request: ReceivedRequest) => Reply;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  private constructor(server: Server, reply: (request: ReceivedRequest) => Reply) {
    this.#server = server;
    this.reply = reply;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => this.#receive(request, Buffer.concat(chunks).toString(), response));
    });
  }

  static async start(reply: (request: ReceivedRequest) => Reply): Promise<LocalApi> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new LocalApi(server, reply);
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get baseUrl(): string {
    return `http://${this.host}`;
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  /** Resolves when `count` requests have come since the start. */
  received(count: number): Promise<void> {
    if (this.requests.length >= count) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push({ count, resolve }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #receive({ url = '', headers }: IncomingMessage, text: string, response: ServerResponse): void {
    const { id, method, params } = JSON.parse(text || '{}');
    const received = { url, headers, text, id, method, params };
    this.requests.push(received);
    this.#waiting = this.#waiting.filter(({ count, resolve }) => {
      if (this.requests.length >= count) resolve();
      return this.requests.length < count;
    });
    answer(response, this.reply(received), id);
  }
}

/** Opens a client of several APIs in virtual time. */
export function openClientOf(apis: readonly LocalApi[]) {
  const clock = new FakeClock();
  const client = createJsonRpcClient({
    endpoints: apis.map(({ baseUrl }) => ({ baseUrl })),
    clock,
    random: () => 0.5,
    metrics: createUnreadMetrics(),
  });
  return { node: createNodeApi(client, client), clock, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
}

/** Opens a client of one base URL, which does not repeat failed calls. */
export function openClient(baseUrl: string, clock: Clock = systemClock): JsonRpcClient {
  const ports = { clock, random: () => 0, metrics: createUnreadMetrics() };
  return createJsonRpcClient({ ...ports, endpoints: [{ baseUrl }], limits: { maxRounds: 1 } });
}

function answer(response: ServerResponse, reply: Reply, id: number): void {
  switch (reply) {
    case 'hang':
      return;
    case 'hang after the headers':
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"jsonrpc":');
      return;
    case 'cut the connection':
      response.socket?.destroy();
      return;
    case 'endless': {
      response.writeHead(200, { 'content-type': 'application/json' });
      const chunk = Buffer.alloc(64 * 1024, ' ');
      const write = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', write);
      write();
      return;
    }
  }
  if ('text' in reply) response.writeHead(reply.status, reply.headers).end(reply.text);
  else response.end(JSON.stringify({ jsonrpc: '2.0', id, ...reply }));
}
