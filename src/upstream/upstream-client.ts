import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Pool } from 'undici';
import type { ApiEndpoint } from '../primitives/api-endpoint.ts';
import type { Clock } from '../primitives/clock.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { Exchange, type ExchangeRules, type RawAnswer } from './exchange.ts';
import { findRefusalMessage } from './refusal-message.ts';
import { mayHaveArrived, UpstreamError } from './upstream-error.ts';

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST';
  /** Path and query, sent below the base URL byte for byte. */
  readonly target: string;
  /** JSON. */
  readonly body?: string;
  /** For the whole answer, its body included. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Whether it is known to exist there: what else is asked for may well be slow, or fail, without the upstream's being ill. */
  readonly isDocumented: boolean;
  /** Whether the answer is read whole where that can be, to be kept. */
  readonly isKept: boolean;
}

/** What an upstream answered: a success, or an error of its own. */
export type UpstreamResponse = UpstreamSuccess | UpstreamRefusal;

export interface UpstreamSuccess {
  readonly kind: 'success';
  /** 2xx. */
  readonly status: number;
  /** Those of {@link PASSED_HEADERS} that the upstream sent, and the length of a stream where it is known. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Whole where it is short: then it came to its end, and looks like JSON, or is empty. A stream where it is longer; who does
   * not read it to the end must destroy it.
   */
  readonly body: Buffer | Readable;
}

export interface UpstreamRefusal {
  readonly kind: 'refusal';
  /** 4xx or 5xx. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** In the upstream's words, with nothing of our keys in them; undefined where it has none. */
  readonly message: string | undefined;
}

/** One upstream service. When it is disposed, its connections close and requests in flight fail. */
export interface UpstreamClient extends AsyncDisposable {
  /** @throws {UpstreamError}, or the signal's reason where the caller aborted */
  request(request: UpstreamRequest): Promise<UpstreamResponse>;
}

export interface UpstreamClientOptions {
  /** Its role, for messages: `data API of fuji`. */
  readonly name: string;
  readonly endpoint: ApiEndpoint;
  readonly clock: Clock;
  readonly maxResponseBytes: number;
  /** Told when the circuit opens, and when it closes again. */
  readonly onCircuit: (isOpen: boolean) => void;
}

/** Beyond this an answer can only be streamed, so that memory does not grow with what upstreams send. */
const MAX_WHOLE_BYTES = 256 * 1024;
/** Beyond this one that need not be kept is streamed: to hold it back costs more than to pass it on as it comes. */
const STREAMED_FROM_BYTES = 64 * 1024;
/** Up to here a whole answer is parsed to see that it is JSON: a tenth of a millisecond of the event loop. */
const MAX_PARSED_BYTES = 16 * 1024;
/** Keep-alive connections to one upstream, and so the requests in flight there. */
const MAX_CONNECTIONS = 64;
/** Streamed answers take as long as their readers: those must leave connections to others. */
const MAX_STREAMS = 48;
/** Requests that may wait for a connection; their deadline runs meanwhile. */
const MAX_WAITING = 1_024;
/** A few round trips to the other side of the world. */
const CONNECT_TIMEOUT_MS = 3_000;
/** An upstream's headers are some hundred bytes; undici refuses more than this, which is Node's own limit. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Ten in a row are no accident; five seconds are a restart, and little enough to wait after one. */
const BREAKER_LIMITS = { maxFailures: 10, minTargets: 2, openMs: 5_000 };
/** Whoever finds the upstream or its connections busy may find them free a moment later. */
const BUSY_RETRY_MS = 1_000;

/**
 * Headers of an answer that say something about its content. All else is dropped: what belongs to the upstream's own
 * connection, cookies, its rate limits (ours count here), and names of what runs there.
 */
const PASSED_HEADERS = ['content-type', 'retry-after', 'deprecation', 'sunset'];

/** Causes of a GET's failure after which it is sent once more: the connection was there, and broke. */
const BROKEN_CONNECTION = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** What gateways say of the service behind them, and services of themselves. Any other error is about what was asked. */
const UNHEALTHY_STATUSES = new Set([502, 503, 504]);

const JSON_TYPE = /^application\/(json|[\w.-]+\+json)\s*(;|$)/i;

/** Shorter values are no keys, and words of every sentence. */
const MIN_SECRET_LENGTH = 4;

export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  return new UndiciUpstreamClient(options);
}

class UndiciUpstreamClient implements UpstreamClient {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #breaker: CircuitBreaker;
  readonly #onCircuit: (isOpen: boolean) => void;
  readonly #pool: Pool;
  readonly #pathPrefix: string;
  readonly #ownQuery: string;
  readonly #ownHeaders: Readonly<Record<string, string>>;
  readonly #secrets: readonly string[];
  readonly #rules: ExchangeRules;
  #free = MAX_CONNECTIONS;
  #streams = 0;
  /** Each starts one request; in the order of their coming. */
  readonly #waiting = new Set<() => void>();

  constructor({ name, endpoint, clock, maxResponseBytes, onCircuit }: UpstreamClientOptions) {
    const url = new URL(endpoint.baseUrl);
    for (const [key, value] of Object.entries(endpoint.queryParameters ?? {})) url.searchParams.append(key, value);
    this.#name = name;
    this.#clock = clock;
    this.#breaker = new CircuitBreaker(clock, BREAKER_LIMITS);
    this.#onCircuit = onCircuit;
    this.#pathPrefix = url.pathname.replace(/\/+$/, '');
    this.#ownQuery = url.search.slice(1);
    const headers = Object.entries(endpoint.httpHeaders ?? {}).map(([key, value]) => [key.toLowerCase(), value]);
    this.#ownHeaders = {
      accept: 'application/json',
      'accept-encoding': 'identity',
      ...Object.fromEntries(headers),
    };
    this.#secrets = findSecrets(url, endpoint);
    this.#rules = {
      maxWholeBytes: MAX_WHOLE_BYTES,
      maxBytes: maxResponseBytes,
      findProblem: (status, answerHeaders) => this.#findProblem(status, answerHeaders),
      tooLong: () => this.#invalid(`sent more than the ${maxResponseBytes} bytes allowed`),
      takeStream: () => this.#takeStream(),
      noStream: () => this.#busy('has too many long answers under way'),
      onOver: (exchange) => this.#release(exchange),
    };
    this.#pool = new Pool(url.origin, {
      connections: MAX_CONNECTIONS,
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      // Our own deadline covers the whole request and runs on the injected clock.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  async request(request: UpstreamRequest): Promise<UpstreamResponse> {
    request.signal.throwIfAborted();
    if (this.#free === 0 && this.#waiting.size >= MAX_WAITING) {
      throw this.#busy('has too many requests waiting for a connection');
    }
    const waitMs = this.#breaker.admit();
    if (waitMs > 0) {
      throw new UpstreamError(
        'upstream_failing',
        `the ${this.#name} failed repeatedly and is left alone for a moment`,
        {
          retryAfterMs: waitMs,
        },
      );
    }
    try {
      const response = await this.#send(request);
      this.#judge(request, UNHEALTHY_STATUSES.has(response.status) ? 'target failed' : 'well');
      return response;
    } catch (error) {
      this.#judge(request, findVerdict(error));
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy();
  }

  #judge({ target, isDocumented }: UpstreamRequest, verdict: Verdict): void {
    const wasOpen = this.#breaker.isOpen;
    if (verdict === 'well') this.#breaker.succeeded();
    else if (verdict === 'host failed') this.#breaker.failed(undefined);
    else if (verdict === 'target failed' && isDocumented) this.#breaker.failed(target.split('?', 1)[0]);
    else this.#breaker.abandoned();
    if (this.#breaker.isOpen !== wasOpen) this.#onCircuit(!wasOpen);
  }

  /** One deadline over both attempts, and over the body. */
  async #send(request: UpstreamRequest): Promise<UpstreamResponse> {
    const { timeoutMs, signal } = request;
    const streamedFrom = request.isKept ? MAX_WHOLE_BYTES : STREAMED_FROM_BYTES;
    let exchange = new Exchange(this.#rules, streamedFrom);
    let isWaiting = false;
    const cancelDeadline = this.#clock.after(timeoutMs, () =>
      exchange.abort(
        isWaiting
          ? this.#busy(`had no connection free within ${timeoutMs} ms`)
          : new UpstreamError('upstream_timeout', `the ${this.#name} did not answer within ${timeoutMs} ms`),
      ),
    );
    const onAbort = (): void => exchange.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const release = (): void => {
      cancelDeadline();
      signal.removeEventListener('abort', onAbort);
    };
    let answer: RawAnswer | undefined;
    try {
      for (let isRepeated = false; answer === undefined; isRepeated = true) {
        if (this.#free > 0) {
          this.#free -= 1;
        } else {
          isWaiting = true;
          await this.#untilFree(exchange);
          isWaiting = false;
        }
        try {
          answer = await this.#dispatch(request, exchange);
        } catch (error) {
          const mayRepeat = request.method === 'GET' && !isRepeated && BROKEN_CONNECTION.has(codeOf(error));
          if (!mayRepeat) throw error;
          exchange = new Exchange(this.#rules, streamedFrom);
        }
      }
      return this.#present(request, answer);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof UpstreamError ? error : this.#failure(error);
    } finally {
      if (answer === undefined || Buffer.isBuffer(answer.body)) release();
      else answer.body.once('close', release);
    }
  }

  /** Resolves when a connection is this exchange's. @throws the exchange's error where it is aborted before */
  async #untilFree(exchange: Exchange): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await Promise.race([promise, exchange.answer]);
    } catch (error) {
      // Where its turn had come in the same moment, the next one has it.
      if (!this.#waiting.delete(resolve)) this.#passOn();
      throw error;
    }
  }

  #dispatch({ method, target, body }: UpstreamRequest, exchange: Exchange): Promise<RawAnswer> {
    const headers = body === undefined ? this.#ownHeaders : { ...this.#ownHeaders, 'content-type': 'application/json' };
    this.#pool.dispatch({ method, path: this.#path(target), headers, body: body ?? null }, exchange);
    return exchange.answer;
  }

  #release(exchange: Exchange): void {
    if (exchange.isStreaming) this.#streams -= 1;
    this.#passOn();
  }

  /** Gives a free connection to who has waited longest. */
  #passOn(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
    } else {
      this.#waiting.delete(next);
      next();
    }
  }

  #path(target: string): string {
    if (this.#ownQuery === '') return `${this.#pathPrefix}${target}`;
    return `${this.#pathPrefix}${target}${target.includes('?') ? '&' : '?'}${this.#ownQuery}`;
  }

  /** A redirect could lead to any host, with our key; what is encoded, or a part, was not asked for and could not be checked. */
  #findProblem(status: number, headers: IncomingHttpHeaders): UpstreamError | undefined {
    if (status > 599 || status === 205 || status === 206) return this.#invalid(`answered with status ${status}`);
    if (status >= 300 && status < 400) return this.#invalid('answered with a redirect, which is not followed');
    const encoding = headers['content-encoding'] ?? 'identity';
    return encoding === 'identity' || encoding === ''
      ? undefined
      : this.#invalid('answered in an encoding it was not asked for');
  }

  #takeStream(): boolean {
    if (this.#streams >= MAX_STREAMS) return false;
    this.#streams += 1;
    return true;
  }

  /** @throws {UpstreamError} on a success that is no JSON; only a POST, or a 204, may be answered with nothing */
  #present({ method }: UpstreamRequest, { status, headers, body }: RawAnswer): UpstreamResponse {
    const passed = pickPassed(headers);
    const isWhole = Buffer.isBuffer(body);
    if (status >= 400) {
      if (!isWhole) body.destroy();
      const message = isWhole ? findRefusalMessage(body.toString('utf8')) : undefined;
      return { kind: 'refusal', status, headers: passed, message: message && this.#redact(message) };
    }
    const mayBeEmpty = status === 204 || method === 'POST';
    if (!(isWhole && body.length === 0 && mayBeEmpty)) {
      const problem = !JSON_TYPE.test(headers['content-type'] ?? '')
        ? 'did not answer with JSON'
        : isWhole && !isJson(body)
          ? 'answered with broken JSON'
          : undefined;
      if (problem !== undefined) {
        if (!isWhole) body.destroy();
        throw this.#invalid(problem);
      }
    }
    // Of a stream its client cannot know the length otherwise, and chunks are more work for both.
    const { 'content-length': length } = headers;
    const isMeasured = !isWhole && length !== undefined;
    return { kind: 'success', status, headers: isMeasured ? { ...passed, 'content-length': length } : passed, body };
  }

  #redact(message: string): string {
    return this.#secrets.reduce((text, secret) => text.replaceAll(secret, '…'), message);
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

/** What the end of a request says of the upstream. */
type Verdict = 'well' | 'host failed' | 'target failed' | 'nothing';

function findVerdict(error: unknown): Verdict {
  if (!(error instanceof UpstreamError)) return 'nothing'; // the client left
  // From the connection: there was none, or what was asked for may be what broke it.
  if (error.cause !== undefined) return mayHaveArrived(error) ? 'target failed' : 'host failed';
  switch (error.code) {
    case 'upstream_timeout':
      return 'target failed';
    case 'upstream_invalid_answer':
      return 'well'; // of this one target, over a connection that works
    case 'upstream_overloaded':
    case 'upstream_unreachable':
    case 'upstream_not_configured':
    case 'upstream_failing':
      return 'nothing';
  }
}

/** Whatever of our own an upstream could repeat in a sentence about the URL or the headers that it got. */
function findSecrets({ pathname, search }: URL, { queryParameters = {}, httpHeaders = {} }: ApiEndpoint): string[] {
  const values = [...Object.values(queryParameters), ...Object.values(httpHeaders)];
  return [search.slice(1), pathname.replace(/\/+$/, ''), ...values, ...values.map(encodeURIComponent)]
    .filter((text) => text.length >= MIN_SECRET_LENGTH)
    .toSorted((a, b) => b.length - a.length);
}

function pickPassed(headers: IncomingHttpHeaders): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of PASSED_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string') passed[name] = value;
  }
  return passed;
}

/** A longer text is looked at from both ends: that tells JSON from a page of HTML, and from what was cut off. */
function isJson(body: Buffer): boolean {
  if (body.length > MAX_PARSED_BYTES) {
    const ends =
      body.toString('latin1', 0, 64).trimStart().slice(0, 1) +
      body
        .toString('latin1', body.length - 64)
        .trimEnd()
        .slice(-1);
    return ends === '{}' || ends === '[]';
  }
  if (!isUtf8(body)) return false;
  try {
    JSON.parse(body.toString('utf8'));
    return true;
  } catch {
    return false;
  }
}

function codeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'failure';
  if ('code' in cause && typeof cause.code === 'string') return cause.code;
  return cause.cause === undefined ? cause.name : codeOf(cause.cause);
}
