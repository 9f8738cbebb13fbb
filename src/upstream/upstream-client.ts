import { Readable } from 'node:stream';
import { type Dispatcher, Pool } from 'undici';
import type { Clock } from '../primitives/clock.ts';
import { startDeadline } from '../primitives/deadline.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
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

export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  return new UndiciUpstreamClient(options);
}

class UndiciUpstreamClient implements UpstreamClient {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #maxResponseBytes: number;
  readonly #breaker: CircuitBreaker;
  readonly #pool: Pool;
  readonly #pathPrefix: string;
  readonly #ownQuery: string;
  readonly #ownHeaders: Readonly<Record<string, string>>;
  #inFlight = 0;

  constructor({ name, endpoint, clock, maxResponseBytes }: UpstreamClientOptions) {
    const url = new URL(endpoint.baseUrl);
    for (const [key, value] of Object.entries(endpoint.queryParameters ?? {})) url.searchParams.append(key, value);
    this.#name = name;
    this.#clock = clock;
    this.#maxResponseBytes = maxResponseBytes;
    this.#breaker = new CircuitBreaker(clock, BREAKER_LIMITS);
    this.#pathPrefix = url.pathname.replace(/\/+$/, '');
    this.#ownQuery = url.search.slice(1);
    const headers = Object.entries(endpoint.httpHeaders ?? {}).map(([key, value]) => [key.toLowerCase(), value]);
    this.#ownHeaders = { accept: 'application/json', ...Object.fromEntries(headers) };
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
      const response = await this.#attemptTwice(request);
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

  async #attemptTwice(request: UpstreamRequest): Promise<UpstreamResponse> {
    try {
      return await this.#attempt(request);
    } catch (error) {
      const mayRepeat = request.method === 'GET' && error instanceof UpstreamError && isBrokenConnection(error.cause);
      if (!mayRepeat) throw error;
      return this.#attempt(request);
    }
  }

  async #attempt({ method, target, body, timeoutMs, signal }: UpstreamRequest): Promise<UpstreamResponse> {
    const deadline = startDeadline(this.#clock, timeoutMs, `the ${this.#name}`, signal);
    let isStreaming = false;
    try {
      const response = await this.#pool.request({
        method,
        path: this.#path(target),
        headers: { ...this.#ownHeaders, ...(body !== undefined && { 'content-type': 'application/json' }) },
        body: body ?? null,
        signal: deadline.signal,
      });
      // A body that nobody reads on ends in an error event, also after this function is done with it.
      response.body.on('error', () => undefined);
      const start = await this.#readStart(response);
      if (Buffer.isBuffer(start)) return start.length === 0 ? present(response, start) : this.#checked(response, start);
      isStreaming = true;
      start.once('close', () => {
        deadline[Symbol.dispose]();
        response.body.destroy();
      });
      return this.#checked(response, start);
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof UpstreamError) throw cause;
      if (deadline.signal.aborted) {
        throw new UpstreamError('too slow', `the ${this.#name} did not answer within ${timeoutMs} ms`, { cause });
      }
      throw this.#failure(cause);
    } finally {
      if (!isStreaming) deadline[Symbol.dispose]();
    }
  }

  #path(target: string): string {
    if (this.#ownQuery === '') return `${this.#pathPrefix}${target}`;
    return `${this.#pathPrefix}${target}${target.includes('?') ? '&' : '?'}${this.#ownQuery}`;
  }

  /** @throws {UpstreamError} on a redirect and on a length beyond the limit; the body is destroyed then */
  async #readStart({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<Buffer | Readable> {
    const refuse = (reason: string): never => {
      body.destroy();
      throw new UpstreamError('invalid answer', `the ${this.#name} ${reason}`);
    };
    if (statusCode < 200 || statusCode > 599) refuse(`answered with status ${statusCode}`);
    if (statusCode >= 300 && statusCode < 400) refuse('answered with a redirect, which is not followed');
    const tooLong = `sent more than the ${this.#maxResponseBytes} bytes allowed`;
    const declaredLength = Number(headers['content-length'] ?? Number.NaN);
    if (declaredLength > this.#maxResponseBytes) refuse(tooLong);
    // HTTP holds the upstream to the length it declared: such a body is read in one go, which costs less than by its chunks.
    if (declaredLength <= MAX_WHOLE_BYTES) return Buffer.from(await body.arrayBuffer());
    const chunks: Buffer[] = [];
    let length = 0;
    const rest = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
    while (length <= MAX_WHOLE_BYTES) {
      const { done, value } = await rest.next();
      if (done === true) return Buffer.concat(chunks, length);
      chunks.push(value);
      length += value.length;
    }
    const maxBytes = this.#maxResponseBytes;
    return Readable.from(
      (async function* () {
        yield* chunks.splice(0);
        for (;;) {
          const { done, value } = await rest.next();
          if (done === true) return;
          length += value.length;
          // The status has gone out already: cutting the connection is what tells the client.
          if (length > maxBytes) throw new UpstreamError('invalid answer', tooLong);
          yield value;
        }
      })(),
      { objectMode: false },
    );
  }

  /** A success must be JSON. @throws {UpstreamError} */
  #checked(response: Dispatcher.ResponseData, body: Buffer | Readable): UpstreamResponse {
    if (response.statusCode < 300) {
      const type = String(response.headers['content-type'] ?? '');
      const problem = !/^application\/(json|[\w.-]+\+json)\s*(;|$)/i.test(type)
        ? 'did not answer with JSON'
        : Buffer.isBuffer(body) && !isJson(body)
          ? 'answered with broken JSON'
          : undefined;
      if (problem !== undefined) {
        if (!Buffer.isBuffer(body)) body.destroy();
        throw new UpstreamError('invalid answer', `the ${this.#name} ${problem}`);
      }
    }
    return present(response, body);
  }

  #failure(cause: unknown): UpstreamError {
    const code = codeOf(cause);
    const isInvalid = code === 'UND_ERR_HEADERS_OVERFLOW' || code.startsWith('HPE_') || code === 'HTTPParserError';
    return isInvalid
      ? new UpstreamError('invalid answer', `the ${this.#name} sent no valid HTTP (${code})`, { cause })
      : new UpstreamError('unreachable', `the ${this.#name} cannot be reached (${code})`, { cause });
  }
}

function present({ statusCode, headers }: Dispatcher.ResponseData, body: Buffer | Readable): UpstreamResponse {
  const passed = PASSED_HEADERS.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  return { status: statusCode, headers: Object.fromEntries(passed), body };
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
