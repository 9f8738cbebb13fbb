import { type Clock, type Random, sleep } from '../../lib/concurrency/clock.ts';
import { DeadlineExceeded, startDeadline } from '../../lib/concurrency/deadline.ts';
import { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import { Exchange } from '../../lib/net/exchange.ts';
import type { OpenHttp } from '../../lib/net/http-port.ts';
import { DURATION_BUCKETS_SECONDS, type Metrics } from '../../telemetry/metrics.ts';
import { currentSpan, inSpan } from '../../telemetry/spans.ts';
import { ApiError, type ApiErrorCode } from './api-error.ts';
import {
  type Attempt,
  type AttemptFailure,
  type AttemptRejection,
  callTookTooLong,
  decideNext,
  describeRejection,
} from './call-outcome.ts';
import { createEndpointStates, type EndpointState, type EndpointStates } from './endpoint-state.ts';
import { type JsonRpcRequest, sendOnce } from './json-rpc-attempt.ts';

export interface JsonRpcLimits {
  /** For one HTTP request with its response. The reference node holds a lock during a call and may take seconds. */
  readonly attemptTimeoutMs: number;
  /** For one call with its attempts and pauses. */
  readonly callTimeoutMs: number;
  /** Attempts at each endpoint; few, so that a dead API is recognised before the deadline. */
  readonly maxRounds: number;
  /** Time that a failed endpoint is put aside. Longer than `attemptTimeoutMs`, the cost of a probe. */
  readonly asideMs: number;
  /** For each endpoint. The node handles one P-Chain call at a time. */
  readonly maxConnections: number;
  /** Long responses that are read at a time, of all endpoints; also bounds responses in memory. */
  readonly maxLongResponses: number;
  /** Includes calls that wait for a connection. Bounds the calls while the API hangs. */
  readonly maxCallsInFlight: number;
}

const DEFAULT_JSON_RPC_LIMITS: JsonRpcLimits = {
  attemptTimeoutMs: 4_000,
  callTimeoutMs: 10_000,
  maxRounds: 3,
  asideMs: 15_000,
  maxConnections: 8,
  maxLongResponses: 8,
  maxCallsInFlight: 512,
};

export interface JsonRpcCall<Result> extends JsonRpcRequest<Result> {
  readonly signal: AbortSignal;
}

/** A call that may take several requests, all of them to one endpoint. */
export interface EndpointCall<Result> {
  /** Name for errors, metrics and traces. */
  readonly method: string;
  readonly ask: (endpoint: AskedEndpoint) => Promise<Attempt<Result>>;
  readonly signal: AbortSignal;
}

/** One endpoint during a call. */
export interface AskedEndpoint {
  readonly state: EndpointState;
  /** Sends one request. Rejects only when the call ends. */
  send<Result>(request: JsonRpcRequest<Result>): Promise<Attempt<Result>>;
}

export interface JsonRpcClientOptions {
  /** In order of preference; at least one. */
  readonly endpoints: readonly ApiEndpoint[];
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly openHttp?: OpenHttp;
  /** Shared by clients of the same endpoints. */
  readonly states?: EndpointStates;
  readonly limits?: Partial<JsonRpcLimits>;
}

/** JSON-RPC 2.0 client over HTTP with failover. Disposal fails present and later calls as `unavailable` and closes connections. */
export interface JsonRpcClient extends AsyncDisposable {
  /** Replaces the endpoints, at least one. Calls in flight are repeated at the new ones. */
  useEndpoints(endpoints: readonly ApiEndpoint[]): void;
  /**
   * Tries each endpoint once, healthy ones first. Temporary failures (transport, timeout, limits, HTTP 5xx, 408, 429) lead to further rounds
   * with pauses, unless each endpoint asks for a longer pause. A JSON-RPC error about the question ends the call, one that is unknown to us
   * counts if no other endpoint has an answer.
   *
   * @throws {ApiError}, or the signal's reason if the caller aborted
   */
  call<Result>(call: JsonRpcCall<Result>): Promise<Result>;
  /** Like {@link call}, for a call of several requests. */
  callAtEndpoints<Result>(call: EndpointCall<Result>): Promise<Result>;
}

export function createJsonRpcClient(options: JsonRpcClientOptions): JsonRpcClient {
  return new FailoverClient(options);
}

class FailoverClient implements JsonRpcClient {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #openHttp: OpenHttp | undefined;
  readonly #states: EndpointStates;
  readonly #limits: JsonRpcLimits;
  readonly #metrics: ReturnType<typeof declareApiMetrics>;
  readonly #inFlight = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  readonly #longBodies: FairSemaphore;
  #lastId = 0;
  #current: readonly OpenEndpoint[];

  constructor(options: JsonRpcClientOptions) {
    const { clock, random, openHttp, states = createEndpointStates(clock) } = options;
    this.#clock = clock;
    this.#random = random;
    this.#openHttp = openHttp;
    this.#states = states;
    this.#limits = { ...DEFAULT_JSON_RPC_LIMITS, ...options.limits };
    this.#metrics = declareApiMetrics(options.metrics);
    const { maxLongResponses: limit, maxCallsInFlight: maxQueued } = this.#limits;
    this.#longBodies = new FairSemaphore({ clock, limit, keyShare: 1, maxQueued });
    this.#current = this.#openAll(options.endpoints);
  }

  useEndpoints(endpoints: readonly ApiEndpoint[]): void {
    const before = this.#current;
    this.#current = this.#openAll(endpoints);
    for (const { exchange } of before) void exchange[Symbol.asyncDispose]();
  }

  call<Result>({ signal, ...request }: JsonRpcCall<Result>): Promise<Result> {
    return this.callAtEndpoints({ method: request.method, signal, ask: (endpoint) => endpoint.send(request) });
  }

  async callAtEndpoints<Result>(call: EndpointCall<Result>): Promise<Result> {
    const { method, signal } = call;
    signal.throwIfAborted();
    this.#closing.signal.throwIfAborted();
    if (this.#inFlight.size >= this.#limits.maxCallsInFlight) {
      this.#metrics.calls.inc({ method, outcome: 'unavailable' });
      throw new ApiError('unavailable', `${method}: ${this.#inFlight.size} calls of the API are in flight already`);
    }
    const startedMs = this.#clock.monotonicMs();
    let outcome: ApiErrorCode | 'ok' | 'aborted' = 'ok';
    const work = inSpan(currentSpan().child(method, 'client'), () => this.#callInTime(call));
    this.#inFlight.add(work);
    try {
      return await work;
    } catch (error) {
      outcome = outcomeOf(error);
      throw error;
    } finally {
      this.#inFlight.delete(work);
      this.#metrics.calls.inc({ method, outcome });
      this.#metrics.duration.observe({ method }, (this.#clock.monotonicMs() - startedMs) / 1_000);
    }
  }

  #openAll(endpoints: readonly ApiEndpoint[]): readonly OpenEndpoint[] {
    if (endpoints.length === 0) throw new RangeError('a JSON-RPC client needs at least one endpoint');
    return endpoints.map((endpoint) => {
      const exchange = new Exchange(endpoint, {
        clock: this.#clock,
        openHttp: this.#openHttp,
        connections: this.#limits.maxConnections,
        connectTimeout: this.#limits.attemptTimeoutMs,
      });
      return { host: exchange.address.host, exchange, state: this.#states.of(endpoint), asideUntilMs: HEALTHY };
    });
  }

  /** Healthy endpoints as configured, then those put aside. */
  #inOrder(): OpenEndpoint[] {
    const nowMs = this.#clock.monotonicMs();
    return this.#current.toSorted((a, b) => Math.max(a.asideUntilMs, nowMs) - Math.max(b.asideUntilMs, nowMs));
  }

  async #callInTime<Result>(call: EndpointCall<Result>): Promise<Result> {
    const outcomes = new Map<OpenEndpoint, AttemptRejection | AttemptFailure>();
    using deadline = startDeadline(
      this.#clock,
      this.#limits.callTimeoutMs,
      call.method,
      call.signal,
      this.#closing.signal,
    );
    try {
      return await this.#callInRounds(call, outcomes, deadline.signal);
    } catch (error) {
      call.signal.throwIfAborted();
      if (error !== deadline.signal.reason || !(error instanceof DeadlineExceeded)) throw error;
      throw callTookTooLong(error.message, outcomes, error);
    }
  }

  /** @param outcomes receives the last outcome at each endpoint, for the error after a timeout */
  async #callInRounds<Result>(
    call: EndpointCall<Result>,
    outcomes: Map<OpenEndpoint, AttemptRejection | AttemptFailure>,
    signal: AbortSignal,
  ): Promise<Result> {
    for (let round = 1; ; round += 1) {
      for (const endpoint of this.#inOrder()) {
        const before = outcomes.get(endpoint);
        if (before !== undefined && !mayPass(before)) continue;
        const attempt = await call.ask({
          state: endpoint.state,
          send: (request) => this.#send(endpoint, request, signal),
        });
        if (attempt.status === 'responded') return attempt.result;
        outcomes.set(endpoint, attempt);
        if (attempt.status === 'rejected' && attempt.subject === 'question') break;
      }
      const next = decideNext(call.method, outcomes, {
        round,
        maxRounds: this.#limits.maxRounds,
        random: this.#random,
      });
      if (next instanceof ApiError) throw next;
      await sleep(this.#clock, next.pauseMs, signal);
    }
  }

  async #send<Result>(
    endpoint: OpenEndpoint,
    request: JsonRpcRequest<Result>,
    signal: AbortSignal,
  ): Promise<Attempt<Result>> {
    const { exchange, state } = endpoint;
    const method = `${request.path} ${request.method}`;
    const known = findKnownFailure(state, method);
    if (known !== undefined) return known;
    const nowMs = this.#clock.monotonicMs();
    // After its time aside, one call probes an endpoint while the others use the next one.
    if (endpoint.asideUntilMs !== HEALTHY && endpoint.asideUntilMs <= nowMs) {
      endpoint.asideUntilMs = nowMs + this.#limits.attemptTimeoutMs;
    }
    this.#lastId += 1;
    const timeoutMs = this.#limits.attemptTimeoutMs;
    const [id, longBodies] = [this.#lastId, this.#longBodies];
    const attempt = await sendOnce(request, { exchange, id, timeoutMs, longBodies, signal });
    if (attempt.status === 'failed') {
      this.#metrics.attemptFailures.inc({ endpoint: endpoint.host, reason: attempt.reason });
      const { code, rejection, retryAfterMs, message } = attempt;
      if (retryAfterMs !== undefined) state.wait(retryAfterMs, message);
      if (code === 'method_refused' && rejection !== undefined) {
        // The endpoint serves other methods.
        if (request.isRefusedAlone !== true) state.refuseMethod(method, rejection);
      } else {
        endpoint.asideUntilMs = this.#clock.monotonicMs() + this.#limits.asideMs;
        return attempt;
      }
    }
    endpoint.asideUntilMs = HEALTHY;
    return attempt;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new ApiError('unavailable', 'the service stops and sends no more API calls'));
    await Promise.allSettled(this.#inFlight);
    await Promise.all(this.#current.map(({ exchange }) => exchange[Symbol.asyncDispose]()));
  }
}

interface OpenEndpoint {
  readonly host: string;
  readonly exchange: Exchange;
  readonly state: EndpointState;
  /** Monotonic; {@link HEALTHY} after a response, also after a JSON-RPC error. */
  asideUntilMs: number;
}

const HEALTHY = Number.NEGATIVE_INFINITY;

function mayPass(outcome: AttemptRejection | AttemptFailure): boolean {
  return outcome.status === 'failed' && outcome.code === 'unavailable';
}

/** What is known before a request is sent: the endpoint wants none yet, or refuses the method. */
function findKnownFailure(state: EndpointState, method: string): AttemptFailure | undefined {
  const waiting = state.waiting();
  if (waiting !== undefined) {
    const seconds = Math.ceil(waiting.ms / 1_000);
    const message = `it wants no calls for another ${seconds} s (${waiting.reason})`;
    return { status: 'failed', code: 'unavailable', reason: 'known', message, retryAfterMs: waiting.ms };
  }
  const rejection = state.methodRefusal(method);
  if (rejection === undefined) return undefined;
  const message = `refused: ${describeRejection(rejection)}`;
  return { status: 'failed', code: 'method_refused', reason: 'known', message, rejection };
}

/** A call that its own deadline ended has failed, also if the deadline is the caller's. */
function outcomeOf(error: unknown): ApiErrorCode | 'aborted' {
  if (error instanceof ApiError) return error.code;
  return error instanceof DeadlineExceeded ? 'unavailable' : 'aborted';
}

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
