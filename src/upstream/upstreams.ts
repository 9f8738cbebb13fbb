import { Counter, Histogram, type Registry } from 'prom-client';
import type { Clock } from '../primitives/clock.ts';
import { type CachedResponse, type CachePolicy, ResponseCache } from './response-cache.ts';
import {
  createUpstreamClient,
  type UpstreamClient,
  type UpstreamEndpoint,
  type UpstreamRequest,
  type UpstreamResponse,
} from './upstream-client.ts';
import { UpstreamError, type UpstreamErrorCode } from './upstream-error.ts';

/** What each upstream serves, and the setting that says where it is. */
const UPSTREAMS = {
  mainnet: { role: 'data API of mainnet', setting: 'upstream.dataApi.mainnet' },
  fuji: { role: 'data API of fuji', setting: 'upstream.dataApi.fuji' },
  evm: { role: 'data API of EVM chains', setting: 'upstream.dataApi.evm' },
  metrics: { role: 'metrics service', setting: 'upstream.metrics' },
  node: { role: 'node RPC', setting: 'upstream.nodeRpc' },
} as const;

export type UpstreamName = keyof typeof UPSTREAMS;

export interface UpstreamsOptions {
  readonly endpoints: Readonly<Partial<Record<UpstreamName, UpstreamEndpoint>>>;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly maxResponseBytes: number;
  /** 0 turns the cache off. */
  readonly cacheBytes: number;
}

/** All upstreams of the service, with one cache. When it is disposed, requests in flight fail. */
export interface Upstreams extends AsyncDisposable {
  /**
   * @param policy where the answer may be one given before
   * @throws {UpstreamError}, or the signal's reason where the caller aborted
   */
  request(
    name: UpstreamName,
    request: UpstreamRequest,
    policy: CachePolicy | undefined,
  ): Promise<CachedResponse | UpstreamResponse>;
}

export function createUpstreams(options: UpstreamsOptions): Upstreams {
  const { endpoints, clock, registry, maxResponseBytes, cacheBytes } = options;
  const clients = new Map<UpstreamName, UpstreamClient>();
  for (const [name, { role }] of Object.entries(UPSTREAMS) as [UpstreamName, (typeof UPSTREAMS)[UpstreamName]][]) {
    const endpoint = endpoints[name];
    if (endpoint !== undefined) {
      clients.set(name, createUpstreamClient({ name: role, endpoint, clock, maxResponseBytes }));
    }
  }
  const cache = cacheBytes === 0 ? undefined : new ResponseCache({ clock, maxBytes: cacheBytes });
  const metrics = declareUpstreamMetrics(registry);

  async function ask(name: UpstreamName, client: UpstreamClient, request: UpstreamRequest): Promise<UpstreamResponse> {
    const startedMs = clock.monotonicMs();
    let outcome: UpstreamOutcome = 'left';
    try {
      const response = await client.request(request);
      outcome = response.status < 300 ? 'ok' : response.status < 500 ? 'refused' : 'failed';
      return response;
    } catch (error) {
      if (error instanceof UpstreamError) outcome = error.code;
      throw error;
    } finally {
      metrics.requests.inc({ upstream: name, outcome });
      metrics.duration.observe({ upstream: name }, (clock.monotonicMs() - startedMs) / 1_000);
    }
  }

  return {
    async request(name, request, policy) {
      const client = clients.get(name);
      if (client === undefined) {
        const { role, setting } = UPSTREAMS[name];
        throw new UpstreamError(
          'not configured',
          `this service has no ${role}: the setting ${setting} is missing in its configuration`,
        );
      }
      if (cache === undefined || policy === undefined) return ask(name, client, request);
      let isAsked = false;
      const answer = await cache.get(
        `${name} ${request.target}`,
        policy,
        (signal) => {
          isAsked = true;
          return ask(name, client, { ...request, signal });
        },
        request.signal,
      );
      if (!isAsked) metrics.cacheHits.inc({ upstream: name });
      return answer;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(Array.from(clients.values(), (client) => client[Symbol.asyncDispose]()));
    },
  };
}

/** `refused` is a 4xx, `failed` a 5xx, `left` a client that did not wait. */
type UpstreamOutcome = UpstreamErrorCode | 'ok' | 'refused' | 'failed' | 'left';

function declareUpstreamMetrics(registry: Registry) {
  const registers = [registry];
  return {
    requests: new Counter<'upstream' | 'outcome'>({
      name: 'upstream_requests_total',
      help: 'Requests passed on to an upstream, by what came of them',
      labelNames: ['upstream', 'outcome'],
      registers,
    }),
    duration: new Histogram<'upstream'>({
      name: 'upstream_request_duration_seconds',
      help: 'Time until an upstream had answered, its body included where that is short',
      labelNames: ['upstream'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    cacheHits: new Counter<'upstream'>({
      name: 'upstream_cache_hits_total',
      help: 'Requests answered without asking an upstream, from the cache or with another one under way',
      labelNames: ['upstream'],
      registers,
    }),
  };
}
