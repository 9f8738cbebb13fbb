import type { Readable } from 'node:stream';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ApiEndpoint } from '../primitives/api-endpoint.ts';
import type { Clock } from '../primitives/clock.ts';
import type { Logger } from '../telemetry/logger.ts';
import { createSampledWarnings } from '../telemetry/sampled-warnings.ts';
import { type CachedResponse, type CachePolicy, ResponseCache } from './response-cache.ts';
import {
  createUpstreamClient,
  type UpstreamClient,
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
  readonly endpoints: Readonly<Partial<Record<UpstreamName, ApiEndpoint>>>;
  readonly clock: Clock;
  readonly logger: Logger;
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
    request: Omit<UpstreamRequest, 'isKept'>,
    policy: CachePolicy | undefined,
  ): Promise<CachedResponse | UpstreamResponse>;
}

export function createUpstreams(options: UpstreamsOptions): Upstreams {
  const { endpoints, clock, logger, registry, maxResponseBytes, cacheBytes } = options;
  const metrics = declareUpstreamMetrics(registry);
  const warn = createSampledWarnings(logger, clock);
  const clients = new Map<UpstreamName, UpstreamClient>();
  for (const [name, { role }] of Object.entries(UPSTREAMS) as [UpstreamName, (typeof UPSTREAMS)[UpstreamName]][]) {
    const endpoint = endpoints[name];
    if (endpoint === undefined) continue;
    metrics.isCircuitOpen.set({ upstream: name }, 0);
    const onCircuit = (isOpen: boolean): void => {
      metrics.isCircuitOpen.set({ upstream: name }, Number(isOpen));
      if (isOpen)
        logger.warn({ upstream: name }, 'an upstream fails, and is left alone: now and then one request tries');
      else logger.info({ upstream: name }, 'an upstream that failed answers again');
    };
    clients.set(name, createUpstreamClient({ name: role, endpoint, clock, maxResponseBytes, onCircuit }));
  }
  const cache = cacheBytes === 0 ? undefined : new ResponseCache({ clock, maxBytes: cacheBytes });

  function record(upstream: UpstreamName, outcome: UpstreamOutcome, target: string, reason?: string): void {
    metrics.requests.inc({ upstream, outcome });
    if (reason !== undefined && outcome !== 'left') {
      warn(`${upstream} ${outcome}`, { upstream, outcome, reason, path: target.split('?', 1)[0] }, 'upstream failed');
    }
  }

  async function ask(name: UpstreamName, client: UpstreamClient, request: UpstreamRequest): Promise<UpstreamResponse> {
    const { target } = request;
    const startedMs = clock.monotonicMs();
    try {
      const response = await client.request(request);
      const { status } = response;
      if (response.kind === 'refusal') {
        // A client's own mistakes are none of ours; but a key that is not taken is.
        const isOurs = status >= 500 || status === 401 || status === 403;
        record(name, status >= 500 ? 'failed' : 'refused', target, isOurs ? `status ${status}` : undefined);
      } else if (Buffer.isBuffer(response.body)) {
        record(name, 'ok', target);
      } else {
        const { body } = response;
        body.once('close', () => {
          const [outcome, reason] = findStreamOutcome(body);
          record(name, outcome, target, reason);
        });
      }
      return response;
    } catch (error) {
      if (error instanceof UpstreamError) record(name, error.code, target, error.message);
      else record(name, 'left', target);
      throw error;
    } finally {
      metrics.duration.observe({ upstream: name }, (clock.monotonicMs() - startedMs) / 1_000);
    }
  }

  return {
    async request(name, request, policy) {
      const client = clients.get(name);
      if (client === undefined) {
        const { role, setting } = UPSTREAMS[name];
        throw new UpstreamError(
          'upstream_not_configured',
          `this service has no ${role}: the setting ${setting} is missing in its configuration`,
        );
      }
      if (cache === undefined || policy === undefined) return ask(name, client, { ...request, isKept: false });
      let isAsked = false;
      const answer = await cache.get(
        `${name} ${request.target}`,
        policy,
        (signal, isKept) => {
          isAsked = true;
          return ask(name, client, { ...request, signal, isKept });
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

/** Known only at its end: it may break off, or its reader may leave. */
function findStreamOutcome({ readableEnded, errored }: Readable): readonly [UpstreamOutcome, string?] {
  if (readableEnded) return ['ok'];
  if (errored === null) return ['left'];
  return [errored instanceof UpstreamError ? errored.code : 'upstream_unreachable', `broken off: ${errored.message}`];
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
    isCircuitOpen: new Gauge<'upstream'>({
      name: 'upstream_circuit_open',
      help: 'Whether an upstream is left alone because it failed: 1 or 0',
      labelNames: ['upstream'],
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
