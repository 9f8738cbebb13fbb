import type { Dispatcher } from 'undici';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { FairSemaphore, type Permit, SemaphoreRejection } from '../../lib/concurrency/fair-semaphore.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import { EndpointAddress } from '../../lib/net/endpoint-address.ts';
import type { OpenHttp } from '../../lib/net/http-port.ts';
import type { Span } from '../../telemetry/spans.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { Exchange, type ExchangeRules, type RawAnswer } from './exchange.ts';
import {
  findBodyProblem,
  findHeadProblem,
  isStream,
  presentRefusal,
  presentSuccess,
  type UpstreamResponse,
} from './upstream-answer.ts';
import { reachOf, UpstreamError } from './upstream-error.ts';

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST';
  /** Path and query, sent below the base URL byte for byte. */
  readonly target: string;
  /** The chain, or the operation of a request without a chain: each subject has its share of the connections. */
  readonly subject: string;
  readonly body?: string | undefined;
  /** Bounds the whole answer, its body included. */
  readonly timeoutMs: number;
  /** Aborts when the answer is no longer needed. */
  readonly signal: AbortSignal;
  /** The upstream gets its trace context. */
  readonly span: Span;
  /** Client ID for fair queueing. */
  readonly client: string;
}

export interface UpstreamClientOptions {
  /** Its role, for messages: `data API of fuji`. */
  readonly name: string;
  readonly endpoint: ApiEndpoint;
  readonly clock: Clock;
  readonly openHttp: OpenHttp;
  readonly maxResponseBytes: number;
  readonly onCircuit: (isOpen: boolean) => void;
}

/** A few round trips to the other side of the world. */
const CONNECT_TIMEOUT_MS = 3_000;
const PROBE_TIMEOUT_MS = 3_000;
/** Node's own limit. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Bounds the requests in flight to one upstream. */
const MAX_CONNECTIONS = 64;
/** Bulkhead: one chain may hold half of the connections, a second one half of the rest. */
const CHAIN_SHARE = 1;
/** Requests that wait for a connection: all, and those of one client. */
const MAX_QUEUED = 1_024;
const MAX_QUEUED_OF_ONE = 768;
/** Streamed answers are as slow as their readers; the rest of the connections stays free for others. */
const MAX_STREAMS = 48;
const STREAM_CLIENT_SHARE = 1;
const BUSY_RETRY_MS = 1_000;

/** Codes of errors after which a GET is retried once: an existing connection broke. */
const BROKEN_CONNECTION = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/**
 * One upstream service: pooled connections shared fairly between clients and chains, one deadline, one retry of a GET, a circuit
 * breaker. When it is disposed, its connections close and requests in flight fail.
 */
export class UpstreamClient implements AsyncDisposable {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #address: EndpointAddress;
  readonly #breaker: CircuitBreaker;
  readonly #connections: FairSemaphore;
  readonly #streams: FairSemaphore;
  readonly #maxResponseBytes: number;
  readonly #rules: ExchangeRules;
  readonly #http: Dispatcher;

  constructor({ name, endpoint, clock, openHttp, maxResponseBytes, onCircuit }: UpstreamClientOptions) {
    this.#name = name;
    this.#clock = clock;
    this.#address = new EndpointAddress(endpoint);
    this.#maxResponseBytes = maxResponseBytes;
    this.#rules = this.#createRules();
    this.#connections = new FairSemaphore({
      clock,
      limit: MAX_CONNECTIONS,
      keyShare: Number.POSITIVE_INFINITY,
      maxQueued: MAX_QUEUED,
      maxQueuedPerKey: () => MAX_QUEUED_OF_ONE,
    });
    this.#streams = new FairSemaphore({ clock, limit: MAX_STREAMS, keyShare: STREAM_CLIENT_SHARE });
    this.#breaker = new CircuitBreaker({
      clock,
      probe: () => this.#probe(),
      onChange: onCircuit,
    });
    this.#http = openHttp(this.#address.origin, {
      // One for the probe.
      connections: MAX_CONNECTIONS + 1,
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      // The deadline below covers the whole request.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Whether requests are rejected because the upstream is down. */
  get isCircuitOpen(): boolean {
    return this.#breaker.isOpen;
  }

  /**
   * One deadline covers both attempts and the body.
   *
   * @throws {UpstreamError}, or the signal's reason
   */
  async request(request: UpstreamRequest): Promise<UpstreamResponse> {
    const { timeoutMs, signal, client } = request;
    signal.throwIfAborted();
    const suspendedMs = this.#breaker.admit();
    if (suspendedMs > 0) {
      const message = `the ${this.#name} failed repeatedly and is not asked for a few seconds`;
      throw new UpstreamError('upstream_failing', message, { retryAfterMs: suspendedMs });
    }
    let exchange = new Exchange(this.#rules, client);
    let isWaiting = false;
    const cancelDeadline = this.#clock.after(timeoutMs, () => exchange.abort(this.#tooLate(timeoutMs, isWaiting)));
    const onAbort = (): void => exchange.abort(signal.reason);
    signal.addEventListener('abort', onAbort);
    const release = (): void => {
      cancelDeadline();
      signal.removeEventListener('abort', onAbort);
    };
    let answer: RawAnswer | undefined;
    try {
      for (let isRepeated = false; answer === undefined; isRepeated = true) {
        isWaiting = true;
        exchange.permits.use(await this.#acquire(request, exchange));
        isWaiting = false;
        try {
          this.#dispatch(request, exchange);
          answer = await exchange.answer;
        } catch (error) {
          const isBroken = BROKEN_CONNECTION.has(codeOf(error)) && !signal.aborted;
          const mayRepeat = request.method === 'GET' && !isRepeated && isBroken;
          if (!mayRepeat) throw error;
          exchange = new Exchange(this.#rules, client);
        }
      }
      const response = this.#present(request, answer);
      this.#breaker.answered();
      return response;
    } catch (error) {
      const failure = signal.aborted ? signal.reason : error instanceof UpstreamError ? error : this.#failure(error);
      this.#judge(failure);
      throw failure;
    } finally {
      if (answer !== undefined && isStream(answer.body)) answer.body.once('close', release);
      else release();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http.destroy();
  }

  /** Acquires a connection, or gives up waiting for one when the exchange is aborted. */
  async #acquire({ subject, client }: UpstreamRequest, exchange: Exchange): Promise<Permit> {
    const claim = { key: client, groups: [{ name: subject, share: CHAIN_SHARE }] };
    const free = this.#connections.tryAcquire(claim);
    if (free !== undefined) return free;
    const aborted = new AbortController();
    exchange.answer.catch((reason: unknown) => aborted.abort(reason));
    try {
      return await this.#connections.acquire(claim, aborted.signal);
    } catch (error) {
      if (!(error instanceof SemaphoreRejection)) throw error;
      throw this.#busy('has too many requests waiting for a connection');
    }
  }

  /** @param failure an {@link UpstreamError}, or the reason of a client that disconnected */
  #judge(failure: unknown): void {
    const reach = failure instanceof UpstreamError ? reachOf(failure) : 'not sent';
    if (reach === 'answered') this.#breaker.answered();
    else if (reach === 'not answered') this.#breaker.unanswered();
    else if (reach === 'not connected') this.#breaker.notConnected();
    else this.#breaker.abandoned();
  }

  #tooLate(timeoutMs: number, isWaiting: boolean): UpstreamError {
    return isWaiting
      ? this.#busy(`had no connection free within ${timeoutMs} ms`)
      : new UpstreamError('upstream_timeout', `the ${this.#name} did not answer within ${timeoutMs} ms`);
  }

  #createRules(): ExchangeRules {
    return {
      maxBytes: this.#maxResponseBytes,
      findProblem: (status, headers) => {
        const problem = findHeadProblem(status, headers);
        return problem === undefined ? undefined : this.#invalid(problem);
      },
      tooLong: () => this.#invalid(`sent more than the ${this.#maxResponseBytes} bytes allowed`),
      acquireStream: ({ client, permits }) => {
        const permit = permits.use(this.#streams.tryAcquire({ key: client }));
        return permit ? undefined : this.#busy('has too many long answers under way, of this client or of all');
      },
    };
  }

  #dispatch({ method, target, body, span }: UpstreamRequest, exchange: Exchange): void {
    const { headers: ours } = this.#address;
    const own = span.traceID === undefined ? ours : { ...ours, ...span.headers };
    const headers = body === undefined ? own : { ...own, 'content-type': 'application/json' };
    this.#http.dispatch({ method, path: this.#address.path(target), headers, body: body ?? null }, exchange);
  }

  /** Requests the root of the API: any answer shows that the host is up. */
  async #probe(): Promise<boolean> {
    const answered = new Error('the answer to a probe is not read');
    const probe = new Exchange({ ...this.#rules, findProblem: () => answered }, '');
    const cancelDeadline = this.#clock.after(PROBE_TIMEOUT_MS, () => probe.abort(new Error('no answer to a probe')));
    this.#http.dispatch({ method: 'GET', path: this.#address.path('/'), headers: this.#address.headers }, probe);
    const reason = await probe.answer.catch((error: unknown) => error);
    cancelDeadline();
    return reason === answered;
  }

  /** @throws {UpstreamError} on a success that is not JSON */
  #present({ method }: UpstreamRequest, answer: RawAnswer): UpstreamResponse {
    const { status, body } = answer;
    const problem = status < 400 ? findBodyProblem(method, answer) : undefined;
    if (isStream(body) && (status >= 400 || problem !== undefined)) body.destroy();
    if (problem !== undefined) throw this.#invalid(problem);
    return status < 400 ? presentSuccess(answer) : presentRefusal(answer, (text) => this.#address.redact(text));
  }

  #invalid(problem: string): UpstreamError {
    return new UpstreamError('upstream_invalid_answer', `the ${this.#name} ${problem}`);
  }

  #busy(problem: string): UpstreamError {
    return new UpstreamError('upstream_overloaded', `the ${this.#name} ${problem}`, { retryAfterMs: BUSY_RETRY_MS });
  }

  #failure(cause: unknown): UpstreamError {
    const code = codeOf(cause);
    const isInvalid = code === 'UND_ERR_HEADERS_OVERFLOW' || code.startsWith('HPE_') || code === 'HTTPParserError';
    return isInvalid
      ? new UpstreamError('upstream_invalid_answer', `the ${this.#name} sent no valid HTTP (${code})`, { cause })
      : new UpstreamError('upstream_unreachable', `the ${this.#name} cannot be reached (${code})`, { cause });
  }
}

function codeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'failure';
  if ('code' in cause && typeof cause.code === 'string') return cause.code;
  return cause.cause === undefined ? cause.name : codeOf(cause.cause);
}
