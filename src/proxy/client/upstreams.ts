import type { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import { type OpenHttp, openHttpPool } from '../../lib/net/http-port.ts';
import { createThrottledWarnings, type ThrottledWarnings } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { DURATION_BUCKETS_SECONDS, type Metrics } from '../../telemetry/metrics.ts';
import type { Span } from '../../telemetry/spans.ts';
import { type CachePolicy, ResponseCache } from './response-cache.ts';
import { isStream, type UpstreamAnswer } from './upstream-answer.ts';
import { createUpstreamClient, type UpstreamClient, type UpstreamRequest } from './upstream-client.ts';
import { UpstreamError, type UpstreamErrorCode, upstreamCodeOf } from './upstream-error.ts';

/** The role of each upstream, for messages, and the setting with its address. */
const UPSTREAMS = {
  mainnet: { role: 'data API of mainnet', setting: 'upstream.dataApi.mainnet' },
  fuji: { role: 'data API of fuji', setting: 'upstream.dataApi.fuji' },
  evm: { role: 'data API of EVM chains', setting: 'upstream.dataApi.evm' },
  metrics: { role: 'metrics service', setting: 'upstream.metrics' },
  node: { role: 'node RPC', setting: 'upstream.nodeRpc' },
} as const;

const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

export type UpstreamName = keyof typeof UPSTREAMS;

export interface UpstreamsOptions {
  readonly endpoints: Readonly<Partial<Record<UpstreamName, ApiEndpoint>>>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** 64 MiB by default. */
  readonly maxResponseBytes?: number;
  /** Bounds a request, and so the time for which an upstream is needed after its address was replaced. */
  readonly timeoutMs: number;
  /** 0 turns the cache off. */
  readonly cacheBytes: number;
  readonly openHttp?: OpenHttp;
}

interface OpenUpstream {
  readonly name: UpstreamName;
  readonly endpoint: ApiEndpoint;
  readonly client: UpstreamClient;
  /** Begins the cache keys. It differs for each address, so that cached answers of an earlier one are not found. */
  readonly cacheName: string;
  readonly ownNames: readonly string[];
}

/** The upstreams of the service, with one cache. When it is disposed, requests in flight fail. */
export class Upstreams implements AsyncDisposable {
  readonly #options: UpstreamsOptions;
  readonly #open = new Map<UpstreamName, OpenUpstream>();
  #openedCount = 0;
  /** Clients of earlier addresses until they are closed, each with the function that cancels the closing. */
  readonly #retired = new Map<UpstreamClient, () => void>();
  readonly #cache: ResponseCache | undefined;
  readonly #warn: ThrottledWarnings;
  readonly #metrics: ReturnType<typeof declareMetrics>;
  /** Spans of requests in flight whose answers will be cached, by cache key. */
  readonly #spans = new Map<string, Span>();

  constructor(options: UpstreamsOptions) {
    const { clock, logger, cacheBytes } = options;
    this.#options = options;
    this.#warn = createThrottledWarnings(logger, clock);
    this.#cache = cacheBytes === 0 ? undefined : new ResponseCache({ clock, maxBytes: cacheBytes });
    this.#metrics = declareMetrics(options.metrics, this.#open);
    for (const [name, endpoint] of Object.entries(options.endpoints)) this.#openAt(name as UpstreamName, endpoint);
  }

  #openAt(name: UpstreamName, endpoint: ApiEndpoint): void {
    const { clock, logger, maxResponseBytes = MAX_RESPONSE_BYTES, openHttp = openHttpPool } = this.#options;
    const { role } = UPSTREAMS[name];
    const onCircuit = (isOpen: boolean): void => {
      if (isOpen) {
        logger.warn({ upstream: name }, 'an upstream is down: its circuit is open, and one request at a time tries it');
      } else {
        logger.info({ upstream: name }, 'an upstream that was down answers again');
      }
    };
    const client = createUpstreamClient({ name: role, endpoint, clock, openHttp, maxResponseBytes, onCircuit });
    this.#openedCount += 1;
    const { baseUrl, queryParameters = {} } = endpoint;
    const ownNames = [...new URL(baseUrl).searchParams.keys(), ...Object.keys(queryParameters)];
    this.#open.set(name, { name, endpoint, client, cacheName: `${name} ${this.#openedCount}`, ownNames });
  }

  /** Sends new requests to these addresses. Upstreams that are open here and missing there, or the reverse, stay as they are. */
  update(endpoints: UpstreamsOptions['endpoints']): void {
    for (const before of Array.from(this.#open.values())) {
      const endpoint = endpoints[before.name];
      if (endpoint === undefined || isDeepStrictEqual(endpoint, before.endpoint)) continue;
      this.#openAt(before.name, endpoint);
      this.#retire(before.client);
    }
  }

  #retire(client: UpstreamClient): void {
    const close = (): void => {
      this.#retired.delete(client);
      void client[Symbol.asyncDispose]();
    };
    this.#retired.set(client, this.#options.clock.after(this.#options.timeoutMs, close));
  }

  /** Returns the names of the query parameters that requests to an upstream get, such as that of a key. */
  ownNames(name: UpstreamName): readonly string[] {
    return this.#open.get(name)?.ownNames ?? [];
  }

  /**
   * @param policy whether and how long the answer may be cached
   * @throws {UpstreamError}, or the signal's reason
   */
  request(name: UpstreamName, request: UpstreamRequest, policy: CachePolicy | undefined): Promise<UpstreamAnswer> {
    const upstream = this.#open.get(name);
    if (upstream === undefined) return Promise.reject(notConfigured(name));
    return this.#cache === undefined || policy === undefined
      ? this.#ask(upstream, request, request.signal)
      : this.#askThroughCache(upstream, request, this.#cache, policy);
  }

  async #askThroughCache(
    upstream: OpenUpstream,
    request: UpstreamRequest,
    cache: ResponseCache,
    policy: CachePolicy,
  ): Promise<UpstreamAnswer> {
    let isAsked = false;
    const key = `${upstream.cacheName} ${request.target}`;
    const answering = cache.get(
      key,
      policy,
      (signal, isKept) => {
        isAsked = true;
        return this.#ask(upstream, request, signal, isKept ? key : undefined);
      },
      request.signal,
    );
    // The request to the upstream is in flight, and several requests may share it.
    const shared = this.#spans.get(key);
    if (shared !== undefined) request.span.link(shared);
    const answer = await answering;
    if (!isAsked) this.#metrics.cacheHits.inc({ upstream: upstream.name });
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cancel of this.#retired.values()) cancel();
    const clients = [...Array.from(this.#open.values(), ({ client }) => client), ...this.#retired.keys()];
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
  }

  /** @param key of the cache, if the answer is cached and may be shared */
  async #ask(
    { name, client }: OpenUpstream,
    request: UpstreamRequest,
    signal: AbortSignal,
    key?: string,
  ): Promise<UpstreamAnswer> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const span = request.span.child(`upstream ${name}`, 'client');
    if (key !== undefined && span.isRecorded) this.#spans.set(key, span);
    try {
      const response = await client.request({ ...request, signal, span });
      span.set('http.response.status_code', response.status);
      this.#recordResponse(name, request, response);
      return response;
    } catch (error) {
      span.fail(error instanceof UpstreamError ? error.code : 'left');
      if (error instanceof UpstreamError) this.#record(name, request, error.code, error.message);
      else this.#record(name, request, 'left');
      throw error;
    } finally {
      span.end();
      if (key !== undefined && this.#spans.get(key) === span) this.#spans.delete(key);
      this.#metrics.durations.observe({ upstream: name }, (clock.monotonicMs() - startedMs) / 1_000);
    }
  }

  #recordResponse(name: UpstreamName, request: UpstreamRequest, response: UpstreamAnswer): void {
    if (response.kind === 'refusal') {
      const { status } = response;
      // A client's mistake is not logged, a rejection of our key is.
      const isOurs = status >= 500 || status === 401 || status === 403;
      this.#record(name, request, status >= 500 ? 'failed' : 'refused', isOurs ? `status ${status}` : undefined);
    } else if (!isStream(response.body)) {
      this.#record(name, request, 'ok');
    } else {
      const { body } = response;
      body.once('close', () => this.#record(name, request, ...describeStreamEnd(body)));
    }
  }

  #record(
    upstream: UpstreamName,
    { target, requestID, span: { traceID } }: UpstreamRequest,
    outcome: UpstreamOutcome,
    reason?: string,
  ): void {
    this.#metrics.requests.inc({ upstream, outcome });
    if (reason === undefined || outcome === 'left') return;
    const [path] = target.split('?', 1);
    const request = { requestId: requestID, ...(traceID !== undefined && { traceId: traceID }) };
    this.#warn(`${upstream} ${outcome}`, { ...request, upstream, outcome, reason, path }, 'upstream failed');
  }
}

/** The outcome of a stream is known at its end: it may break, or its reader may leave. */
function describeStreamEnd({ readableEnded, errored }: Readable): readonly [UpstreamOutcome, reason?: string] {
  if (readableEnded) return ['ok'];
  if (errored === null) return ['left'];
  return [upstreamCodeOf(errored), `broken off: ${errored.message}`];
}

/** `refused` is a 4xx, `failed` a 5xx, `left` a client that disconnected. */
type UpstreamOutcome = UpstreamErrorCode | 'ok' | 'refused' | 'failed' | 'left';

function declareMetrics(metrics: Metrics, open: ReadonlyMap<UpstreamName, OpenUpstream>) {
  metrics.readGauge<'upstream'>(
    {
      name: 'upstream_circuit_open',
      help: 'Whether the circuit of an upstream is open because the upstream is down: 1 or 0',
      labels: ['upstream'],
    },
    () =>
      Array.from(open.values(), ({ name, client }) => ({
        labels: { upstream: name },
        value: Number(client.isCircuitOpen()),
      })),
  );
  return {
    requests: metrics.counter<'upstream' | 'outcome'>({
      name: 'upstream_requests_total',
      help: 'Requests passed on to an upstream, by outcome',
      labels: ['upstream', 'outcome'],
    }),
    durations: metrics.histogram<'upstream'>({
      name: 'upstream_request_duration_seconds',
      help: 'Time until an upstream had answered, with its body if that is short',
      labels: ['upstream'],
      buckets: DURATION_BUCKETS_SECONDS,
    }),
    cacheHits: metrics.counter<'upstream'>({
      name: 'upstream_cache_hits_total',
      help: 'Requests answered from the cache, or with the answer to an equal request in flight',
      labels: ['upstream'],
    }),
  };
}

function notConfigured(name: UpstreamName): UpstreamError {
  const { role, setting } = UPSTREAMS[name];
  const missing = `the setting ${setting} is missing in its configuration`;
  return new UpstreamError('upstream_not_configured', `this service has no ${role}: ${missing}`);
}
