import type { Readable } from 'node:stream';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { DeadlineExceeded, startDeadline } from '../../lib/concurrency/deadline.ts';
import { FairSemaphore, type Permit, SemaphoreRejection } from '../../lib/concurrency/fair-semaphore.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import { Exchange } from '../../lib/net/exchange.ts';
import type { OpenHttp } from '../../lib/net/http-port.ts';
import { rethrowMisuse } from '../../lib/net/transport-error.ts';
import type { Span } from '../../telemetry/spans.ts';
import { createCircuitBreaker } from './circuit-breaker.ts';
import { readAnswer } from './read-answer.ts';
import { findBodyProblem, findHeadProblem, isStream, presentAnswer, type UpstreamAnswer } from './upstream-answer.ts';
import { isNeverConnected, systemCodeOf, UpstreamError, upstreamCodeOf } from './upstream-error.ts';

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
  readonly requestID: string;
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

/** Requests to one upstream, within bounds of connections, time and bytes. */
export interface UpstreamClient extends AsyncDisposable {
  /** @throws {UpstreamError}, or the signal's reason */
  request(asked: UpstreamRequest): Promise<UpstreamAnswer>;
  /** Whether requests are rejected because the upstream is down. */
  isCircuitOpen(): boolean;
}

/** A few round trips around the world. */
const CONNECT_TIMEOUT_MS = 3_000;
/** Bounds the requests in flight to one upstream, streamed answers included. */
const MAX_CONNECTIONS = 64;
/** One client may hold three quarters of the connections, a second one three quarters of the rest: streams are as slow as their readers. */
const CLIENT_SHARE = 3;
/** Bulkhead: one chain may hold half of the connections, a second one half of the rest. */
const CHAIN_SHARE = 1;
/** Requests that wait for a connection: all, and those of one client. */
const MAX_QUEUED = 1_024;
const MAX_QUEUED_OF_ONE = 768;
const BUSY_RETRY_MS = 1_000;

/** Codes of errors after which a GET is retried once: an existing connection broke. */
const BROKEN_CONNECTION = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);
/**
 * One upstream service: pooled connections shared fairly between clients and chains, one deadline, one retry of a GET, a circuit
 * breaker. When it is disposed, its connections close and requests in flight fail.
 */
export function createUpstreamClient({
  name,
  endpoint,
  clock,
  openHttp,
  maxResponseBytes,
  onCircuit,
}: UpstreamClientOptions): UpstreamClient {
  const breaker = createCircuitBreaker(clock, onCircuit);
  const connections = new FairSemaphore({
    clock,
    limit: MAX_CONNECTIONS,
    keyShare: CLIENT_SHARE,
    maxQueued: MAX_QUEUED,
    maxQueuedPerKey: () => MAX_QUEUED_OF_ONE,
  });
  // The deadline of a request covers all of it.
  const exchange = new Exchange(endpoint, {
    clock,
    openHttp,
    connections: MAX_CONNECTIONS,
    maxResponseSize: maxResponseBytes,
    connectTimeout: CONNECT_TIMEOUT_MS,
  });

  /**
   * One deadline covers both attempts and the body.
   *
   * @throws {UpstreamError}, or the signal's reason
   */
  async function request(asked: UpstreamRequest): Promise<UpstreamAnswer> {
    const { signal, timeoutMs } = asked;
    signal.throwIfAborted();
    const suspendedMs = breaker.admit();
    if (suspendedMs > 0) {
      const message = `the ${name} failed repeatedly and is not asked for a few seconds`;
      throw new UpstreamError('upstream_failing', message, { retryAfterMs: suspendedMs });
    }
    using ends = new DisposableStack();
    const deadline = ends.use(startDeadline(clock, timeoutMs, name, signal));
    ends.use(await acquire(asked, deadline.signal));
    const answer = await sendWithRetry(asked, deadline.signal);
    if (answer.kind === 'success' && isStream(answer.body)) {
      // The stream has the connection and the deadline until it ends.
      const ofStream = ends.move();
      answer.body.once('close', () => ofStream.dispose());
    }
    return answer;
  }

  async function acquire(asked: UpstreamRequest, signal: AbortSignal): Promise<Permit> {
    const { subject, client, timeoutMs } = asked;
    try {
      return await connections.acquire({ key: client, groups: [{ name: subject, share: CHAIN_SHARE }] }, signal);
    } catch (error) {
      asked.signal.throwIfAborted();
      if (error instanceof DeadlineExceeded) throw busy(`had no connection free within ${timeoutMs} ms`);
      if (!(error instanceof SemaphoreRejection)) throw error;
      throw busy('has too many requests waiting for a connection');
    }
  }

  async function sendWithRetry(asked: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer> {
    for (let isRepeated = false; ; isRepeated = true) {
      try {
        return await send(asked, signal);
      } catch (error) {
        asked.signal.throwIfAborted();
        const mayRepeat = asked.method === 'GET' && !isRepeated && !signal.aborted;
        if (mayRepeat && BROKEN_CONNECTION.has(systemCodeOf(error))) continue;
        rethrowMisuse(error);
        const failure = error instanceof UpstreamError ? error : failureOf(error, asked);
        if (isNeverConnected(failure)) breaker.notConnected();
        throw failure;
      }
    }
  }

  async function send({ method, target, body, span }: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer> {
    const answer = await exchange.send({ method, target, body, headers: span.headers, signal });
    breaker.connected();
    const { status, headers } = answer;
    const length = Number(headers['content-length'] ?? 0);
    const problem =
      findHeadProblem(status, headers) ?? (length > maxResponseBytes ? tooLong(maxResponseBytes) : undefined);
    if (problem !== undefined) {
      discard(answer.body);
      throw invalid(problem);
    }
    const whole = await readAnswer(answer.body, length);
    const raw = { ...answer, body: whole };
    const bodyProblem = status < 400 ? findBodyProblem(method, raw) : undefined;
    if (isStream(whole) && (status >= 400 || bodyProblem !== undefined)) discard(whole);
    if (bodyProblem !== undefined) throw invalid(bodyProblem);
    return presentAnswer(raw, (text) => exchange.address.redact(text));
  }

  function invalid(problem: string): UpstreamError {
    return new UpstreamError('upstream_invalid_answer', `the ${name} ${problem}`);
  }

  function busy(problem: string): UpstreamError {
    return new UpstreamError('upstream_overloaded', `the ${name} ${problem}`, { retryAfterMs: BUSY_RETRY_MS });
  }

  function failureOf(cause: unknown, { timeoutMs }: UpstreamRequest): UpstreamError {
    const [code, system] = [upstreamCodeOf(cause), systemCodeOf(cause)];
    if (code === 'upstream_timeout') {
      return new UpstreamError(code, `the ${name} did not answer within ${timeoutMs} ms`);
    }
    if (system === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return invalid(tooLong(maxResponseBytes));
    const problem = code === 'upstream_invalid_answer' ? 'sent no valid HTTP' : 'cannot be reached';
    return new UpstreamError(code, `the ${name} ${problem} (${system})`, { cause });
  }

  return {
    request,
    isCircuitOpen: breaker.isOpen,
    [Symbol.asyncDispose]: () => exchange[Symbol.asyncDispose](),
  };
}

function tooLong(maxBytes: number): string {
  return `sent more than the ${maxBytes} bytes allowed`;
}

function discard(body: Readable): void {
  body.on('error', () => undefined).destroy();
}
