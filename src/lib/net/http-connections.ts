import { Buffer } from 'node:buffer';
import type { ClientRequest, Agent as HttpAgent, IncomingMessage } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { nextTurn, systemClock } from '../concurrency/clock.ts';
import { Agent, request as plainRequest } from './node-http.ts';

/**
 * Keep-alive connections to one HTTP origin, for few requests. undici's pools, which have these methods too, are for thousands of requests
 * per second: compiling their WebAssembly parser alone takes 60 ms of CPU time and 25 MB.
 */
export interface HttpConnections {
  request(options: HttpRequestOptions): Promise<HttpResponse>;
  /** Closes all connections; running requests fail. */
  destroy(): Promise<void>;
}

export interface HttpRequestOptions {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  /** Aborts the request and the reading of its body. */
  readonly signal: AbortSignal;
}

export interface HttpResponse {
  readonly statusCode: number;
  /** Leaving it before its end closes the connection. */
  readonly body: AsyncIterable<Buffer> & {
    /** Reads it to its end, so that the connection can be reused; closes the connection if the body is longer than the limit. */
    dump(options: { readonly limit: number; readonly signal?: AbortSignal }): Promise<void>;
  };
}

/** @param connections maximum; further requests wait */
export type OpenConnections = (origin: string, options: { readonly connections: number }) => HttpConnections;

/** Shorter than the idle timeout of servers, which is five seconds for many, so that no request meets a connection that closes. */
const IDLE_MS = 4_000;

export const openHttpConnections: OpenConnections = (origin, { connections }) => {
  const { protocol, hostname, port } = new URL(origin);
  const options = { keepAlive: true, maxSockets: connections, maxFreeSockets: connections, timeout: IDLE_MS };
  const agent: HttpAgent = protocol === 'https:' ? new TlsAgent(options) : new Agent(options);
  const send: typeof plainRequest = protocol === 'https:' ? tlsRequest : plainRequest;
  // An IPv6 address has brackets in URLs only.
  const host = hostname.replaceAll(/^\[|\]$/g, '');
  const underWay = new Set<ClientRequest>();
  let isDestroyed = false;

  function exchange({ body, headers, ...rest }: HttpRequestOptions): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      if (isDestroyed) throw new Error('the connections are closed');
      rest.signal.throwIfAborted();
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      const sent = send({ ...rest, agent, host, port, headers: { ...headers, ...length } });
      underWay.add(sent);
      sent.once('close', () => {
        underWay.delete(sent);
        // After a protocol upgrade there is neither an answer nor an error, and the signal has no effect.
        reject(new Error('the connection closed without an answer'));
      });
      sent.on('error', reject);
      sent.once('response', (response) => resolve(present(response)));
      sent.end(body);
    });
  }

  return {
    async request(options) {
      if (Object.keys(agent.freeSockets).length > 0) {
        // After a whole pass of the event loop, idle connections that the server has closed are known.
        await nextTurn(systemClock);
        await nextTurn(systemClock);
      }
      return exchange(options);
    },
    async destroy() {
      isDestroyed = true;
      for (const sent of underWay) sent.destroy(new Error('the connections are closed'));
      agent.destroy();
    },
  };
};

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
        // The caller does not need the rest.
        signal?.throwIfAborted();
      }
    },
  });
  return { statusCode: response.statusCode ?? 0, body };
}
