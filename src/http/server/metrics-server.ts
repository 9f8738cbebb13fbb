import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { type Clock, nextTurn } from '../../lib/concurrency/clock.ts';
import { createServer as createHttpServer } from '../../lib/net/node-http.ts';
import { OWN_ERROR_FORM } from '../errors/error-form.ts';
import { findHeaderProblem } from '../request/request-headers.ts';
import { namingSettings } from './listen-error.ts';

/** A few monitoring systems, each with a connection or two. */
const MAX_CONNECTIONS = 32;
/** A request has a line and some headers. */
const REQUEST_ARRIVAL_TIMEOUT_MS = 5_000;

/** Renders the metrics. Concurrent requests share one rendering, which starts after a yield to the event loop to collect them. */
export function createMetricsText(registry: Registry, clock: Clock): () => Promise<Buffer> {
  let rendering: Promise<Buffer> | undefined;
  async function render(): Promise<Buffer> {
    await nextTurn(clock);
    rendering = undefined;
    return Buffer.from(await registry.metrics());
  }
  return () => (rendering ??= render());
}

export interface MetricsServer extends AsyncDisposable {
  readonly url: string;
}

export interface MetricsServerOptions {
  readonly host: string;
  readonly port: number;
  readonly registry: Registry;
  readonly clock: Clock;
}

/** Serves the metrics alone, at a separate address for a network that clients do not reach. */
export async function openMetricsServer({ host, port, registry, clock }: MetricsServerOptions): Promise<MetricsServer> {
  const text = createMetricsText(registry, clock);
  const server = createHttpServer({ requestTimeout: REQUEST_ARRIVAL_TIMEOUT_MS }, (request, response) => {
    const problem = findHeaderProblem(request);
    if (problem !== undefined) {
      const headers = { 'content-type': 'text/plain', connection: 'close' };
      response.writeHead(OWN_ERROR_FORM.statusOf(problem.code), headers).end(`${problem.message}\n`);
      return;
    }
    const path = request.url?.split('?', 1)[0];
    if (path !== '/metrics' || (request.method !== 'GET' && request.method !== 'HEAD')) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('the only route is GET /metrics\n');
      return;
    }
    text().then(
      (bytes) => {
        response.writeHead(200, { 'content-type': registry.contentType, 'content-length': bytes.length });
        response.end(request.method === 'HEAD' ? undefined : bytes);
      },
      () => response.writeHead(500).end(),
    );
  });
  server.maxConnections = MAX_CONNECTIONS;
  await namingSettings({ host: 'metrics.host', port: 'metrics.port' }, () =>
    once(server.listen(port, host), 'listening'),
  );
  const { address, family, port: bound } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}/metrics`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
