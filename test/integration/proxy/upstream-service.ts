import { connect, type Socket } from 'node:net';
import { Registry } from 'prom-client';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import type { AccessOptions, AccessRules } from '../../../src/http/access/access.ts';
import { type Clock, systemClock } from '../../../src/lib/concurrency/clock.ts';
import { Upstreams } from '../../../src/proxy/client/upstreams.ts';
import { createMemoryLimitCounters, type LimitCounters } from '../../../src/store/local/limit-counters.ts';
import { createLogger, type Logger } from '../../../src/telemetry/logger.ts';
import { createMetrics, METRIC_PREFIX } from '../../../src/telemetry/metrics.ts';
import { NO_TRACER, type Tracer } from '../../../src/telemetry/spans.ts';
import { createTestServer, scriptedNetwork } from '../../unit/api/api-fixture.ts';
import { type StandIn, startStandIn } from './stand-in.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

export interface UpstreamService extends AsyncDisposable {
  readonly url: string;
  readonly standIn: StandIn;
  readonly upstreams: Upstreams;
  /** How many requests have come in. */
  received(): number;
  /** The value of a sample as it stands in /metrics after the prefix, labels included; NaN where it is not there. */
  metric(sample: string): Promise<number>;
  get(target: string, headers?: Record<string, string>): Promise<Answer>;
  post(target: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Sends a request with this method and target, exactly as given, on a new connection that ends with the answer. */
  send(request: string, localAddress?: string): Socket;
  /** Sends a GET whose client leaves when the controller aborts. */
  begin(target: string): AbortController;
}

export interface UpstreamServiceOptions {
  /** Settings below `upstream` of the configuration, over a stand-in for every upstream. */
  readonly settings?: object;
  readonly maxResponseBytes?: number;
  readonly clock?: Clock;
  readonly corsOrigins?: readonly string[];
  /** No limits by default. */
  readonly access?: AccessRules & Pick<AccessOptions, 'trustedProxies'>;
  /** The default is separate for each service. */
  readonly limits?: LimitCounters;
  readonly logger?: Logger;
  readonly tracer?: Tracer;
}

/** The section of the configuration by which a stand-in is every upstream. */
export function upstreamSettings({ baseUrl }: StandIn, settings: object = {}): object {
  const endpoint = { baseUrl };
  const section = {
    dataApi: { mainnet: endpoint, fuji: endpoint, evm: endpoint },
    metrics: endpoint,
    nodeRpc: endpoint,
    cacheBytes: 0,
    ...settings,
  };
  // As a file has them: what is undefined is not there.
  return JSON.parse(JSON.stringify(section)) as object;
}

/** The service's HTTP server before a stand-in of every upstream; nothing is aggregated. */
export async function startUpstreamService({
  settings = {},
  maxResponseBytes,
  clock = systemClock,
  corsOrigins = [],
  access,
  logger = createLogger('silent'),
  tracer = NO_TRACER,
  limits = createMemoryLimitCounters(clock),
}: UpstreamServiceOptions = {}): Promise<UpstreamService> {
  await using opened = new AsyncDisposableStack();
  const standIn = opened.use(await startStandIn());
  const networks = { local: { pChainApi: [{ baseUrl: standIn.baseUrl }] } };
  const { config } = parseConfig({ networks, upstream: upstreamSettings(standIn, settings) }, {}, {});
  const { upstream } = config;
  const registry = new Registry();
  const metrics = createMetrics(registry);
  const upstreams = opened.use(
    new Upstreams({ ...upstream, ...(maxResponseBytes && { maxResponseBytes }), clock, logger, metrics }),
  );
  const server = await createTestServer({
    networks: [scriptedNetwork({ pathNames: ['mainnet', 'fuji', 'testnet'] })],
    metrics,
    registry,
    tracer,
    logger,
    corsOrigins,
    maxConnections: 4_096,
    upstream: {
      upstreams,
      limits,
      timeoutMs: upstream.timeoutMs,
      passUnknown: upstream.passUnknown,
      rpcMethods: new Set(upstream.rpcMethods),
    },
    ...(access && { access: { rules: access, trustedProxies: access.trustedProxies, limits } }),
  });
  opened.defer(() => server.close());
  let received = 0;
  server.server.on('request', () => {
    received += 1;
  });
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  const closing = opened.move();

  async function ask(target: string, init?: RequestInit): Promise<Answer> {
    const response = await fetch(`${url}${target}`, init);
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
  }

  return {
    url,
    standIn,
    upstreams,
    received: () => received,
    async metric(sample) {
      const line = (await registry.metrics()).split('\n').find((text) => text.startsWith(`${METRIC_PREFIX}${sample} `));
      return Number(line?.split(' ').at(-1));
    },
    get: (target, headers = {}) => ask(target, { headers }),
    post: (target, body, headers = {}) =>
      ask(target, {
        method: 'POST',
        ...(body === undefined
          ? { headers }
          : {
              headers: { 'content-type': 'application/json', ...headers },
              body: typeof body === 'string' ? body : JSON.stringify(body),
            }),
      }),
    send(request, localAddress = '127.0.0.1') {
      const { hostname: host, port } = new URL(url);
      const socket = connect({ host, port: Number(port), localAddress });
      socket.write(`${request} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
      return socket;
    },
    begin(target) {
      const client = new AbortController();
      fetch(`${url}${target}`, { signal: client.signal }).catch(() => undefined);
      return client;
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
