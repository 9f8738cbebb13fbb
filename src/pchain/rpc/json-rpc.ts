import { backoffMs } from '../../lib/concurrency/backoff.ts';
import { type Clock, type Random, sleep } from '../../lib/concurrency/clock.ts';
import { DeadlineExceeded, startDeadline } from '../../lib/concurrency/deadline.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import { EndpointAddress } from '../../lib/net/endpoint-address.ts';
import { type HttpConnections, type OpenConnections, openHttpConnections } from '../../lib/net/http-connections.ts';
import { mayStatusPass } from '../../lib/net/http-statuses.ts';
import { DURATION_BUCKETS_SECONDS, type Metrics } from '../../telemetry/metrics.ts';
import { currentSpan, inSpan } from '../../telemetry/spans.ts';
import { encodeExactJson, parseExactJson } from '../codec/exact-json.ts';
import { readObject, readString } from '../codec/json-fields.ts';
import { ApiError, type ApiErrorKind } from './api-error.ts';
import { readBody } from './read-body.ts';
import { describeTransportError, describeWithoutHosts } from './transport-error.ts';

export interface JsonRpcLimits {
  /** For one HTTP request with its response. The reference node holds a lock during a call and may take seconds. */
  readonly attemptTimeoutMs: number;
  /** For one call with its attempts and pauses. */
  readonly callTimeoutMs: number;
  /** Attempts at each endpoint; few, so that a dead API is recognised before the deadline. */
  readonly maxRounds: number;
  /** Time that a failed endpoint is put aside. Longer than `attemptTimeoutMs`, the cost of a probe. */
  readonly asideMs: number;
  /** For each endpoint; also bounds responses in memory. The node handles one P-Chain call at a time. */
  readonly maxConnections: number;
  /** Includes calls that wait for a connection. Bounds the calls while the API hangs. */
  readonly maxCallsInFlight: number;
}

const DEFAULT_JSON_RPC_LIMITS: JsonRpcLimits = {
  attemptTimeoutMs: 4_000,
  callTimeoutMs: 10_000,
  maxRounds: 3,
  asideMs: 15_000,
  maxConnections: 8,
  maxCallsInFlight: 512,
};

/** Pauses between rounds, half of them random. */
const BACKOFF = { baseMs: 100, maxMs: 1_000 };

/** Calls must be idempotent: they are repeated after failures. */
export interface JsonRpcCall<Result> {
  /** Path below the base URL, for example `/ext/bc/P`. */
  readonly path: string;
  readonly method: string;
  /** Named or positional parameters. Bigints are encoded as JSON integers. */
  readonly params: Readonly<Record<string, unknown>> | readonly unknown[];
  /** Integers beyond 2^53 are bigints. {@link ParseError} makes the client try the next endpoint. */
  readonly parseResult: (result: unknown, response: string) => Result;
  readonly maxResponseBytes: number;
  readonly signal: AbortSignal;
}

export interface JsonRpcClientOptions {
  /** In order of preference; at least one. */
  readonly endpoints: readonly ApiEndpoint[];
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly openHttp?: OpenConnections;
  readonly limits?: Partial<JsonRpcLimits>;
}

export type JsonRpcClient = ReturnType<typeof createJsonRpcClient>;

/** JSON-RPC 2.0 client over HTTP with failover. Disposal fails present and later calls as `unavailable` and closes connections. */
export function createJsonRpcClient(options: JsonRpcClientOptions) {
  const { clock, random, openHttp = openHttpConnections } = options;
  const limits = { ...DEFAULT_JSON_RPC_LIMITS, ...options.limits };
  const metrics = declareApiMetrics(options.metrics);
  const inFlight = new Set<Promise<unknown>>();
  const closing = new AbortController();
  let lastId = 0;
  let current = openAll(options.endpoints);

  function openAll(endpoints: readonly ApiEndpoint[]): readonly OpenEndpoint[] {
    if (endpoints.length === 0) throw new RangeError('a JSON-RPC client needs at least one endpoint');
    return endpoints.map((endpoint) => {
      const address = new EndpointAddress(endpoint);
      const http = openHttp(address.origin, { connections: limits.maxConnections });
      return { address, http, asideUntilMs: HEALTHY };
    });
  }

  /** Healthy endpoints as configured, then those put aside. */
  function inOrder(): OpenEndpoint[] {
    const nowMs = clock.monotonicMs();
    return current.toSorted((a, b) => Math.max(a.asideUntilMs, nowMs) - Math.max(b.asideUntilMs, nowMs));
  }

  async function callInTime<Result>(call: JsonRpcCall<Result>): Promise<Result> {
    const failures = new Map<OpenEndpoint, AttemptFailure>();
    using deadline = startDeadline(clock, limits.callTimeoutMs, call.method, call.signal, closing.signal);
    try {
      return await callInRounds(call, failures, deadline.signal);
    } catch (error) {
      call.signal.throwIfAborted();
      if (error !== deadline.signal.reason || !(error instanceof DeadlineExceeded)) throw error;
      if (failures.size === 0) throw new ApiError('unavailable', error.message, { cause: error });
      throw new ApiError('unavailable', `${error.message} (${summarize(failures)})`, {
        cause: error,
        detail: `${error.message} (${summarizeByHost(failures)})`,
      });
    }
  }

  /** @param failures receives the last failure of each endpoint, for the error after a timeout */
  async function callInRounds<Result>(
    call: JsonRpcCall<Result>,
    failures: Map<OpenEndpoint, AttemptFailure>,
    signal: AbortSignal,
  ): Promise<Result> {
    for (let round = 1; ; round += 1) {
      for (const endpoint of inOrder()) {
        if (failures.get(endpoint)?.mayPass === false) continue;
        const nowMs = clock.monotonicMs();
        // After its time aside, one call probes an endpoint while the others use the next one.
        if (endpoint.asideUntilMs !== HEALTHY && endpoint.asideUntilMs <= nowMs) {
          endpoint.asideUntilMs = nowMs + limits.attemptTimeoutMs;
        }
        const attempt = await ask(endpoint, call, signal);
        if (attempt.status !== 'failed') endpoint.asideUntilMs = HEALTHY;
        if (attempt.status === 'responded') return attempt.result;
        if (attempt.status === 'rejected') throw attempt.error;
        endpoint.asideUntilMs = clock.monotonicMs() + limits.asideMs;
        metrics.attemptFailures.inc({ endpoint: endpoint.address.host, reason: attempt.reason });
        // The last entry decides the kind of the error.
        failures.delete(endpoint);
        failures.set(endpoint, attempt);
      }
      const mayPass = [...failures.values()].some((failure) => failure.mayPass);
      if (!mayPass || round >= limits.maxRounds) throw failedCall(call.method, failures);
      await sleep(clock, backoffMs(round, BACKOFF, random), signal);
    }
  }

  /** Sends one request to one endpoint. @throws only the reason of `signal` */
  async function ask<Result>(
    { address, http }: OpenEndpoint,
    call: JsonRpcCall<Result>,
    signal: AbortSignal,
  ): Promise<Attempt<Result>> {
    lastId += 1;
    const id = lastId;
    const timeoutMs = limits.attemptTimeoutMs;
    using deadline = startDeadline(clock, timeoutMs, 'an attempt', signal);
    let text: string;
    try {
      const { statusCode, body } = await http.request({
        method: 'POST',
        path: address.path(call.path),
        headers: { ...address.headers, 'content-type': 'application/json', ...currentSpan().headers },
        body: encodeExactJson({ jsonrpc: '2.0', id, method: call.method, params: call.params }),
        signal: deadline.signal,
      });
      if (statusCode < 200 || statusCode > 299) {
        // Reads a short body to its end, so that the connection can be reused.
        await body.dump({ limit: MAX_ERROR_BODY_BYTES, signal: deadline.signal });
        const mayPass = mayStatusPass(statusCode);
        return { status: 'failed', reason: 'http_status', message: `HTTP status ${statusCode}`, mayPass };
      }
      text = await readBody(body, call.maxResponseBytes);
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof ParseError) return invalidResponse(cause);
      if (deadline.signal.aborted) {
        return { status: 'failed', reason: 'timeout', message: `no response within ${timeoutMs} ms`, mayPass: true };
      }
      const [message, detail] = [describeWithoutHosts(cause), describeTransportError(cause)];
      return { status: 'failed', reason: 'transport', message, detail, mayPass: true, cause };
    }
    try {
      const response = parseResponse(text, id);
      if (!('rejection' in response)) return { status: 'responded', result: call.parseResult(response.result, text) };
      const { code } = response.rejection;
      const message = address.redact(response.rejection.message).slice(0, MAX_REJECTION_LENGTH);
      const rejection = { code, message };
      const words = `${message} (code ${code})`;
      const detail = `${call.method}: rejected by ${address.host}: ${words}`;
      const error = new ApiError('rejected', `${call.method}: rejected: ${words}`, { rejection, detail });
      return { status: 'rejected', error };
    } catch (cause) {
      if (!(cause instanceof ParseError)) throw cause;
      return invalidResponse(cause);
    }
  }

  return {
    /** Replaces the endpoints, at least one. Calls in flight are repeated at the new ones. */
    useEndpoints(endpoints: readonly ApiEndpoint[]): void {
      const before = current;
      current = openAll(endpoints);
      for (const { http } of before) void http.destroy();
    },

    /**
     * Tries each endpoint once, healthy ones first. Temporary failures (transport, timeout, HTTP 5xx, 408, 429) lead to further rounds with
     * pauses. A JSON-RPC error ends the call.
     *
     * @throws {ApiError}, or the signal's reason if the caller aborted
     */
    async call<Result>(call: JsonRpcCall<Result>): Promise<Result> {
      const { method, signal } = call;
      signal.throwIfAborted();
      closing.signal.throwIfAborted();
      if (inFlight.size >= limits.maxCallsInFlight) {
        metrics.calls.inc({ method, outcome: 'unavailable' });
        throw new ApiError('unavailable', `${method}: ${inFlight.size} calls of the API are in flight already`);
      }
      const startedMs = clock.monotonicMs();
      let outcome: ApiErrorKind | 'ok' | 'aborted' = 'ok';
      const work = inSpan(currentSpan().child(method, 'client'), () => callInTime(call));
      inFlight.add(work);
      try {
        return await work;
      } catch (error) {
        outcome = error instanceof ApiError ? error.kind : 'aborted';
        throw error;
      } finally {
        inFlight.delete(work);
        metrics.calls.inc({ method, outcome });
        metrics.duration.observe({ method }, (clock.monotonicMs() - startedMs) / 1_000);
      }
    },

    async [Symbol.asyncDispose](): Promise<void> {
      closing.abort(new ApiError('unavailable', 'the service stops and sends no more API calls'));
      await Promise.allSettled(inFlight);
      await Promise.all(current.map(({ http }) => http.destroy()));
    },
  };
}

interface OpenEndpoint {
  readonly address: EndpointAddress;
  readonly http: HttpConnections;
  /** Monotonic; {@link HEALTHY} after a response, also after a JSON-RPC error. */
  asideUntilMs: number;
}

const HEALTHY = Number.NEGATIVE_INFINITY;

type Attempt<Result> =
  | { readonly status: 'responded'; readonly result: Result }
  | { readonly status: 'rejected'; readonly error: ApiError }
  | AttemptFailure;

interface AttemptFailure {
  readonly status: 'failed';
  readonly reason: 'transport' | 'timeout' | 'http_status' | 'invalid_response';
  /** For clients, without hosts. */
  readonly message: string;
  /** For the log, if it differs. */
  readonly detail?: string;
  /** Whether a repeated request may succeed. */
  readonly mayPass: boolean;
  readonly cause?: unknown;
}

/** For a longer body of an HTTP error, the connection is closed instead. */
const MAX_ERROR_BODY_BYTES = 65_536;
const MAX_REJECTION_LENGTH = 1_000;

function declareApiMetrics(metrics: Metrics) {
  return {
    calls: metrics.counter({
      name: 'api_calls_total',
      help: 'Calls of the P-Chain, the info API and the RPC of EVM chains, by method and outcome',
      labels: ['method', 'outcome'],
    }),
    attemptFailures: metrics.counter({
      name: 'api_attempt_failures_total',
      help: 'HTTP requests to the P-Chain, the info API and the RPC of EVM chains without a usable response, by host and reason',
      labels: ['endpoint', 'reason'],
    }),
    duration: metrics.histogram({
      name: 'api_call_duration_seconds',
      help: 'Duration of calls of the P-Chain, the info API and the RPC of EVM chains with all their attempts',
      labels: ['method'],
      buckets: DURATION_BUCKETS_SECONDS,
    }),
  };
}

/** Parses a JSON-RPC 2.0 response. @throws {ParseError} */
function parseResponse(
  text: string,
  id: number,
): { readonly result: unknown } | { readonly rejection: { readonly code: number; readonly message: string } } {
  const response = readObject(parseExactJson(text, 'response'), 'response');
  if (response.jsonrpc !== '2.0') throw new ParseError('response', 'has no jsonrpc "2.0"');
  if ('error' in response && response.error !== null) {
    const { code, message } = readObject(response.error, 'error');
    if (typeof code !== 'number' || !Number.isSafeInteger(code)) throw new ParseError('error', 'has no integer code');
    return { rejection: { code, message: readString(message, 'message of the error') } };
  }
  // Only an error may lack the ID.
  if (response.id !== id) throw new ParseError('response', 'is about another request');
  if (!('result' in response)) throw new ParseError('response', 'has neither result nor error');
  return { result: response.result };
}

function invalidResponse(cause: ParseError): AttemptFailure {
  return { status: 'failed', reason: 'invalid_response', message: cause.message, mayPass: false, cause };
}

/** @param failures at least one, the newest last */
function failedCall(method: string, failures: ReadonlyMap<OpenEndpoint, AttemptFailure>): ApiError {
  const last = [...failures.values()].at(-1);
  const kind = last?.mayPass === true ? 'unavailable' : 'invalid_response';
  const detail = `${method}: ${summarizeByHost(failures)}`;
  return new ApiError(kind, `${method}: ${summarize(failures)}`, { cause: last?.cause, detail });
}

/** For clients, without hosts. */
function summarize(failures: ReadonlyMap<OpenEndpoint, AttemptFailure>): string {
  return [...new Set([...failures.values()].map(({ message }) => message))].join('; ');
}

/** For the log. */
function summarizeByHost(failures: ReadonlyMap<OpenEndpoint, AttemptFailure>): string {
  return [...failures].map(([{ address }, { message, detail = message }]) => `${address.host}: ${detail}`).join('; ');
}
