import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Pool } from 'undici';
import type { Clock } from '../primitives/clock.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { Exchange, type ExchangeOptions, type RawAnswer } from './exchange.ts';
import { UpstreamError } from './upstream-error.ts';

export interface UpstreamEndpoint {
  /** Scheme, host, and where the API is served below a prefix, its path. */
  readonly baseUrl: string;
  /** Added to the query of every request, e.g. a token. */
  readonly queryParameters?: Readonly<Record<string, string>>;
  /** Added to the headers of every request, e.g. our key. */
  readonly httpHeaders?: Readonly<Record<string, string>>;
}

export interface UpstreamRequest {
  readonly method: 'GET' | 'POST';
  /** Path and query, sent below the base URL byte for byte. */
  readonly target: string;
  /** JSON. */
  readonly body?: string;
  /** For the whole answer, its body included. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface UpstreamResponse {
  /** 2xx, 4xx or 5xx. */
  readonly status: number;
  /** Those of {@link PASSED_HEADERS} that the upstream sent. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Whole where it is short: then it came to its end, and with a 2xx it looks like JSON, or is empty. A stream where it is longer; who
   * does not read it to the end must destroy it.
   */
  readonly body: Buffer | Readable;
}

/** One upstream service. When it is disposed, its connections close and requests in flight fail. */
export interface UpstreamClient extends AsyncDisposable {
  /** @throws {UpstreamError}, or the signal's reason where the caller aborted */
  request(request: UpstreamRequest): Promise<UpstreamResponse>;
}

export interface UpstreamClientOptions {
  /** Its role, for messages: `data API of fuji`. */
  readonly name: string;
  readonly endpoint: UpstreamEndpoint;
  readonly clock: Clock;
  readonly maxResponseBytes: number;
}

/** Beyond this an answer is streamed, so that memory does not grow with what upstreams send. */
const MAX_WHOLE_BYTES = 256 * 1024;
/** Up to here a whole answer is parsed to see that it is JSON: a tenth of a millisecond of the event loop. */
const MAX_PARSED_BYTES = 16 * 1024;
/** Keep-alive connections to one upstream, and so the requests in flight there. */
const MAX_CONNECTIONS = 64;
/** Requests that may wait for a connection; their deadline runs meanwhile. */
const MAX_WAITING = 1_024;
/** An upstream's headers are some hundred bytes; undici refuses more than this, which is Node's own limit. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Ten in a row are no accident; five seconds are a restart, and little enough to wait after one. */
const BREAKER_LIMITS = { maxFailures: 10, openMs: 5_000 };

/**
 * Headers of an answer that say something about its content. All else is dropped: what belongs to the upstream's own
 * connection, cookies, its rate limits (ours count here), and names of what runs there.
 */
const PASSED_HEADERS = ['content-type', 'retry-after', 'deprecation', 'sunset'];

/** Causes of a GET's failure after which it is sent once more: the connection was there, and broke. */
const BROKEN_CONNECTION = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

const JSON_TYPE = /^application\/(json|[\w.-]+\+json)\s*(;|$)/i;

export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  return new UndiciUpstreamClient(options);
}

class UndiciUpstreamClient implements UpstreamClient {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #breaker: CircuitBreaker;
  readonly #pool: Pool;
  readonly #pathPrefix: string;
  readonly #ownQuery: string;
  readonly #ownHeaders: Readonly<Record<string, string>>;
  readonly #exchangeOptions: ExchangeOptions;
  #inFlight = 0;

  constructor({ name, endpoint, clock, maxResponseBytes }: UpstreamClientOptions) {
    const url = new URL(endpoint.baseUrl);
    for (const [key, value] of Object.entries(endpoint.queryParameters ?? {})) url.searchParams.append(key, value);
    this.#name = name;
    this.#clock = clock;
    this.#exchangeOptions = {
      maxWholeBytes: MAX_WHOLE_BYTES,
      maxBytes: maxResponseBytes,
      findProblem: (status, answerHeaders) => this.#findProblem(status, answerHeaders),
      tooLong: () =>
        new UpstreamError('invalid answer', `the ${name} sent more than the ${maxResponseBytes} bytes allowed`),
    };
    this.#breaker = new CircuitBreaker(clock, BREAKER_LIMITS);
    this.#pathPrefix = url.pathname.replace(/\/+$/, '');
    this.#ownQuery = url.search.slice(1);
    const headers = Object.entries(endpoint.httpHeaders ?? {}).map(([key, value]) => [key.toLowerCase(), value]);
    this.#ownHeaders = { accept: 'application/json', 'accept-encoding': 'identity', ...Object.fromEntries(headers) };
    this.#pool = new Pool(url.origin, {
      connections: MAX_CONNECTIONS,
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Our own deadline covers the whole request and runs on the injected clock.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  async request(request: UpstreamRequest): Promise<UpstreamResponse> {
    request.signal.throwIfAborted();
    if (this.#inFlight >= MAX_CONNECTIONS + MAX_WAITING) {
      throw new UpstreamError('circuit open', `the ${this.#name} has too many requests in flight`, {
        retryAfterMs: 1_000,
      });
    }
    const waitMs = this.#breaker.admit();
    if (waitMs > 0) {
      throw new UpstreamError('circuit open', `the ${this.#name} failed repeatedly and is left alone for a moment`, {
        retryAfterMs: waitMs,
      });
    }
    this.#inFlight += 1;
    try {
      const response = await this.#send(request);
      if (response.status >= 500) this.#breaker.failed();
      else this.#breaker.succeeded();
      return response;
    } catch (error) {
      if (error instanceof UpstreamError) this.#breaker.failed();
      else this.#breaker.abandoned();
      throw error;
    } finally {
      this.#inFlight -= 1;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy();
  }

  /** One deadline over both attempts, and over the body. */
  async #send(request: UpstreamRequest): Promise<UpstreamResponse> {
    const { timeoutMs, signal } = request;
    let exchange = new Exchange(this.#exchangeOptions);
    const cancelDeadline = this.#clock.after(timeoutMs, () =>
      exchange.abort(new UpstreamError('too slow', `the ${this.#name} did not answer within ${timeoutMs} ms`)),
    );
    const onClientGone = (): void => exchange.abort(signal.reason);
    signal.addEventListener('abort', onClientGone, { once: true });
    const release = (): void => {
      cancelDeadline();
      signal.removeEventListener('abort', onClientGone);
    };
    let answer: RawAnswer | undefined;
    try {
      answer = await this.#attempt(request, exchange).catch((error: unknown) => {
        if (request.method !== 'GET' || !isBrokenConnection(error)) throw error;
        exchange = new Exchange(this.#exchangeOptions);
        return this.#attempt(request, exchange);
      });
      return this.#checked(answer);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof UpstreamError ? error : this.#failure(error);
    } finally {
      if (answer === undefined || Buffer.isBuffer(answer.body)) release();
      else answer.body.once('close', release);
    }
  }

  #attempt({ method, target, body }: UpstreamRequest, exchange: Exchange): Promise<RawAnswer> {
    const headers = body === undefined ? this.#ownHeaders : { ...this.#ownHeaders, 'content-type': 'application/json' };
    this.#pool.dispatch({ method, path: this.#path(target), headers, body: body ?? null }, exchange);
    return exchange.answer;
  }

  #path(target: string): string {
    if (this.#ownQuery === '') return `${this.#pathPrefix}${target}`;
    return `${this.#pathPrefix}${target}${target.includes('?') ? '&' : '?'}${this.#ownQuery}`;
  }

  /** A redirect could lead to any host, with our key; what is encoded could not be checked, and was not asked for. */
  #findProblem(status: number, headers: IncomingHttpHeaders): UpstreamError | undefined {
    const encoding = headers['content-encoding'] ?? 'identity';
    const problem =
      status > 599
        ? `answered with status ${status}`
        : status >= 300 && status < 400
          ? 'answered with a redirect, which is not followed'
          : encoding !== 'identity' && encoding !== ''
            ? 'answered in an encoding it was not asked for'
            : undefined;
    return problem === undefined ? undefined : new UpstreamError('invalid answer', `the ${this.#name} ${problem}`);
  }

  /** A success must be JSON, or empty. @throws {UpstreamError} */
  #checked(answer: RawAnswer): UpstreamResponse {
    const { status, headers, body } = answer;
    const isWhole = Buffer.isBuffer(body);
    if (status < 300 && !(isWhole && body.length === 0)) {
      const problem = !JSON_TYPE.test(headers['content-type'] ?? '')
        ? 'did not answer with JSON'
        : isWhole && !isJson(body)
          ? 'answered with broken JSON'
          : undefined;
      if (problem !== undefined) {
        if (!isWhole) body.destroy();
        throw new UpstreamError('invalid answer', `the ${this.#name} ${problem}`);
      }
    }
    return { status, headers: pickPassed(headers), body };
  }

  #failure(cause: unknown): UpstreamError {
    const code = codeOf(cause);
    const isInvalid = code === 'UND_ERR_HEADERS_OVERFLOW' || code.startsWith('HPE_') || code === 'HTTPParserError';
    return isInvalid
      ? new UpstreamError('invalid answer', `the ${this.#name} sent no valid HTTP (${code})`, { cause })
      : new UpstreamError('unreachable', `the ${this.#name} cannot be reached (${code})`, { cause });
  }
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

function isBrokenConnection(cause: unknown): boolean {
  return BROKEN_CONNECTION.has(codeOf(cause));
}

function codeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'failure';
  if ('code' in cause && typeof cause.code === 'string') return cause.code;
  return cause.cause === undefined ? cause.name : codeOf(cause.cause);
}
