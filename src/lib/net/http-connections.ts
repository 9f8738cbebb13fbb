import { Buffer } from 'node:buffer';
import type { ClientRequest, Agent as HttpAgent, IncomingMessage } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { nextTurn, systemClock } from '../concurrency/clock.ts';
import { Agent, request as plainRequest } from './node-http.ts';

/**
 * Keep-alive connections to one HTTP origin, for whoever asks an API now and then. undici's pools have these methods too, and are for
 * whoever passes thousands of answers a second on: their parser is WebAssembly, whose compilation alone takes 60 ms of a processor and 25 MB.
 */
export interface HttpConnections {
  request(options: HttpRequestOptions): Promise<HttpResponse>;
  /** Breaks all connections; requests under way fail. */
  destroy(): Promise<void>;
}

export interface HttpRequestOptions {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  /** When it aborts, the request fails, and so does reading its body. */
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly statusCode: number;
  /** Leaving it before its end breaks the connection. */
  readonly body: AsyncIterable<Buffer> & {
    /** Reads it to its end, so that the connection can be used again; breaks the connection where it is longer than the limit. */
    dump(options: { readonly limit: number; readonly signal?: AbortSignal }): Promise<void>;
  };
}

/** @param connections at a time; requests beyond them wait */
export type OpenConnections = (origin: string, options: { readonly connections: number }) => HttpConnections;

/** Servers close connections that nobody uses, many after five seconds: ours end before, so that no request meets the end of one. */
const IDLE_MS = 4_000;

export const openHttpConnections: OpenConnections = (origin, { connections }) =>
  new AgentConnections(new URL(origin), connections);

class AgentConnections implements HttpConnections {
  readonly #send: typeof plainRequest;
  readonly #agent: HttpAgent;
  readonly #host: string;
  readonly #port: string;
  readonly #underWay = new Set<ClientRequest>();
  #isDestroyed = false;

  constructor({ protocol, hostname, port }: URL, connections: number) {
    const options = { keepAlive: true, maxSockets: connections, maxFreeSockets: connections, timeout: IDLE_MS };
    this.#agent = protocol === 'https:' ? new TlsAgent(options) : new Agent(options);
    this.#send = protocol === 'https:' ? tlsRequest : plainRequest;
    // An IPv6 address stands in brackets in a URL, and nowhere else.
    this.#host = hostname.replaceAll(/^\[|\]$/g, '');
    this.#port = port;
  }

  async request(options: HttpRequestOptions): Promise<HttpResponse> {
    if (Object.keys(this.#agent.freeSockets).length > 0) {
      // In a whole turn of the event loop, after the one under way, it is seen which of the idle connections the server has ended.
      await nextTurn(systemClock);
      await nextTurn(systemClock);
    }
    return this.#exchange(options);
  }

  async destroy(): Promise<void> {
    this.#isDestroyed = true;
    for (const sent of this.#underWay) sent.destroy(new Error('the connections are closed'));
    this.#agent.destroy();
  }

  #exchange({ method, path, headers, body, signal }: HttpRequestOptions): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      if (this.#isDestroyed) throw new Error('the connections are closed');
      signal.throwIfAborted();
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const sent = this.#send({
        ...{ agent: this.#agent, host: this.#host, port: this.#port, method, path, signal },
        headers: { ...headers, ...length },
      });
      this.#underWay.add(sent);
      sent.once('close', () => {
        this.#underWay.delete(sent);
        // Where an answer leaves HTTP there is neither an answer nor an error, and the signal is heard no more.
        reject(new Error('the connection closed without an answer'));
      });
      // What fails after the answer began fails its body, too.
      sent.on('error', reject);
      sent.once('response', (response) => resolve(present(response)));
      sent.end(body);
    });
  }
}

function present(response: IncomingMessage): HttpResponse {
  const body = Object.assign(response, {
    async dump({ limit, signal }: { readonly limit: number; readonly signal?: AbortSignal }): Promise<void> {
      let length = 0;
      try {
        for await (const chunk of response as AsyncIterable<Buffer>) {
          length += chunk.length;
          if (length > limit) break;
        }
      } catch {
        // Nobody wanted the rest.
        signal?.throwIfAborted();
      }
    },
  });
  return { statusCode: response.statusCode ?? 0, body };
}
