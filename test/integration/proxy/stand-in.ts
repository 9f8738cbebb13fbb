import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { UPSTREAM_ENDPOINTS } from '../../../src/proxy/catalogue/upstream-endpoints.ts';
import { ANSWERS } from './stand-in-records.ts';

/** What reached an upstream, byte for byte. */
export interface Arrival {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Behaviour = (request: IncomingMessage, response: ServerResponse, arrival: Arrival) => void;

export interface StandIn extends AsyncDisposable {
  readonly baseUrl: string;
  readonly arrivals: Arrival[];
  /** Called with each default answer before it is sent. */
  rewrite: (json: string) => string;
  /** Answers everything from now on, until it is undefined again. */
  behaviour: Behaviour | undefined;
  /** Answers nothing from now on; resolves with the response to the next request. */
  hold(): Promise<ServerResponse>;
}

export const SILENCE: Behaviour = () => undefined;
export const BREAK: Behaviour = ({ socket }) => void socket.destroy();

/** Gives one answer to all requests. @param body a text or bytes as they are; anything else is sent as JSON */
export function reply(status: number, body: unknown = {}, headers: Readonly<Record<string, string>> = {}): Behaviour {
  const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  return (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(bytes);
}

/** The answer to each endpoint, by its path in Fastify's syntax. */
const ROUTES = UPSTREAM_ENDPOINTS.map(({ path, operationId }) => ({
  pattern: new RegExp(`^${path.replaceAll(/::|:\w+/g, (part) => (part === '::' ? ':' : '[^/]+'))}$`),
  answer: ANSWERS[operationId as keyof typeof ANSWERS],
}));

/** An upstream in this process, on a free port. Answers a second page without `nextPageToken`. */
export async function startStandIn(): Promise<StandIn> {
  const arrivals: Arrival[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const arrival = {
        method: request.method ?? '',
        target: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      };
      arrivals.push(arrival);
      if (standIn.behaviour !== undefined) standIn.behaviour(request, response, arrival);
      else answer(arrival, response, standIn.rewrite);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const standIn: StandIn = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    rewrite: (json) => json,
    behaviour: undefined,
    hold() {
      const { promise, resolve } = Promise.withResolvers<ServerResponse>();
      standIn.behaviour = (_request, response) => resolve(response);
      return promise;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return standIn;
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function answer({ method, target, body }: Arrival, response: ServerResponse, rewrite: StandIn['rewrite']): void {
  const [path = '', query = ''] = target.split('?', 2);
  if (method === 'POST' && path.startsWith('/ext/bc/')) {
    const calls = [JSON.parse(body)].flat().map(({ id }) => ({ jsonrpc: '2.0', id, result: { height: '7' } }));
    sendJson(response, 200, body.startsWith('[') ? calls : calls[0]);
    return;
  }
  if (method === 'POST' && path.endsWith(':reindex')) {
    response.writeHead(201).end();
    return;
  }
  const found = ROUTES.find(({ pattern }) => pattern.test(path));
  if (found === undefined) {
    sendJson(response, 404, { message: `Cannot ${method} ${path}`, statusCode: 404, error: 'Not Found' });
    return;
  }
  const page: Record<string, unknown> = { ...found.answer };
  if (new URLSearchParams(query).has('pageToken')) delete page['nextPageToken'];
  response.writeHead(200, { 'content-type': 'application/json' }).end(rewrite(JSON.stringify(page)));
}
