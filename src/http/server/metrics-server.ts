import type { Registry } from 'prom-client';
import { type Clock, nextTurn } from '../../lib/concurrency/clock.ts';
import type { Server } from '../request/http-server.ts';
import { OPERATIONS_ACCESS } from '../request/route-access.ts';
import { type BaseServerOptions, createBaseServer } from './base-server.ts';
import { listen } from './listen-error.ts';

/** A few monitoring systems, each with a connection or two. */
const MAX_CONNECTIONS = 32;
/** A request has a line and some headers. */
const REQUEST_ARRIVAL_TIMEOUT_MS = 5_000;
const DRAIN_TIMEOUT_MS = 1_000;

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

/** Serves metrics in the text format of Prometheus. */
export function registerMetrics(server: Server, contentType: string, text: () => Promise<Buffer | string>): void {
  server.get('/metrics', { config: { access: OPERATIONS_ACCESS }, schema: { hide: true } }, async (_request, reply) =>
    reply.type(contentType).send(await text()),
  );
}

export interface MetricsServerOptions extends BaseServerOptions {
  readonly registry: Registry;
  /** Registers the probes. */
  readonly registerMore?: (server: Server) => void;
}

/** Serves metrics and probes at a separate address, for a network that clients do not reach: they wait for no client. Disposing of it closes the listener. */
export async function openMetricsServer(options: MetricsServerOptions, host: string, port: number) {
  const server = createBaseServer({
    ...options,
    // Pages of other origins must not read it in an operator's browser.
    corsOrigins: [],
    maxConnections: MAX_CONNECTIONS,
    requestArrivalTimeoutMs: REQUEST_ARRIVAL_TIMEOUT_MS,
    drainTimeoutMs: DRAIN_TIMEOUT_MS,
  });
  const { registry, clock } = options;
  registerMetrics(server, registry.contentType, createMetricsText(registry, clock));
  options.registerMore?.(server);
  const origin = await listen(server, { host, port }, { host: 'metrics.host', port: 'metrics.port' });
  return { url: `${origin}/metrics`, [Symbol.asyncDispose]: () => server.close() };
}
