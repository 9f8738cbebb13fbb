import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher, Pool } from 'undici';
import { type Clock, systemClock } from '../concurrency/clock.ts';
import { startDeadline } from '../concurrency/deadline.ts';
import { GrowingBuffer } from '../encoding/growing-buffer.ts';
import { attempt, ParseError } from '../encoding/parse-error.ts';
import type { ApiEndpoint } from './api-endpoint.ts';
import { CodedError, type CodedErrorOptions } from './coded-error.ts';
import { EndpointAddress } from './endpoint-address.ts';
import { mayStatusPass, parseRetryAfterMs, sentenceOf, shortened } from './http-failure.ts';
import { type OpenHttp, openHttpPool } from './http-port.ts';
import { describeTransportError, describeWithoutHosts, rethrowMisuse } from './transport-error.ts';

export interface ExchangeOptions extends Pool.Options {
  readonly clock?: Clock;
  readonly openHttp?: OpenHttp | undefined;
}

export interface ExchangeRequest {
  readonly method: 'GET' | 'POST';
  /** Path and query below the base URL, which stay unchanged. */
  readonly target: string;
  /** In JSON. */
  readonly body?: string | undefined;
  /** Beside those of the endpoint. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface ReadRequest<T> extends ExchangeRequest {
  /** Bounds the exchange to the end of the body. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
  readonly acquireLong?: (signal: AbortSignal) => Disposable | Promise<Disposable>;
  /** Throws a {@link ParseError} for an invalid body. */
  readonly parse: (text: string, answer: Answer) => T;
}

/** The head of an answer. The body has to be read to its end, or destroyed. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly retryAfterMs: number | undefined;
  readonly body: Dispatcher.ResponseData['body'];
}

interface ExchangeErrorOptions extends CodedErrorOptions {
  readonly status?: number;
  readonly body?: string;
}

/** No success of an exchange. `message` has no host, and our keys are neither in it nor in `detail`. */
export class ExchangeError extends CodedError<'transport' | 'timeout' | 'http_status' | 'invalid_response'> {
  override readonly name = 'ExchangeError';
  /** For `http_status`, which is no 2xx. */
  readonly status: number | undefined;
  /** The beginning of the body, for `http_status`. Our keys may be in it. */
  readonly body: string;

  constructor(
    code: ExchangeError['code'],
    message: string,
    { status, body = '', ...options }: ExchangeErrorOptions = {},
  ) {
    super(code, message, options);
    this.status = status;
    this.body = body;
  }

  /** Whether the same request may succeed later. */
  get mayPass(): boolean {
    return this.status === undefined ? this.code !== 'invalid_response' : mayStatusPass(this.status);
  }
}

/** Requests to one API, with its address, query and headers. Disposal ends those in flight. */
export class Exchange implements AsyncDisposable {
  readonly address: EndpointAddress;
  readonly #clock: Clock;
  readonly #http: Dispatcher;

  constructor(endpoint: ApiEndpoint, { clock = systemClock, openHttp = openHttpPool, ...pool }: ExchangeOptions) {
    this.address = new EndpointAddress(endpoint);
    this.#clock = clock;
    this.#http = openHttp(this.address.origin, pool);
  }

  /** Rejects with an error of undici or of the connection, or with the signal's reason. */
  async send({ method, target, body, headers, signal }: ExchangeRequest): Promise<Answer> {
    const type = body === undefined ? undefined : { 'content-type': 'application/json' };
    const answer = await this.#http.request({
      method,
      path: this.address.path(target),
      headers: { ...this.address.headers, ...type, ...headers },
      body: body ?? null,
      signal,
    });
    const retryAfterMs = parseRetryAfterMs(answer.headers['retry-after'], this.#clock.now());
    return { status: answer.statusCode, headers: answer.headers, retryAfterMs, body: answer.body };
  }

  /**
   * Returns what `parse` makes of the body of a success.
   *
   * @throws {ExchangeError}, or the signal's reason
   */
  async read<T>({ parse, ...request }: ReadRequest<T>): Promise<T> {
    const { answer, text } = await this.#text(request);
    const parsed = attempt(() => parse(text, answer));
    if (parsed instanceof ParseError) throw invalid(parsed);
    return parsed;
  }

  async #text({ timeoutMs, maxBytes, acquireLong, ...request }: Omit<ReadRequest<unknown>, 'parse'>) {
    using deadline = startDeadline(this.#clock, timeoutMs, 'an exchange', request.signal);
    const { signal } = deadline;
    try {
      const answer = await this.send({ ...request, signal });
      if (answer.status < 200 || answer.status > 299) throw this.#statusError(answer, await readErrorBody(answer.body));
      const text = await readBody(answer.body, maxBytes, acquireLong && (() => acquireLong(signal)));
      return { answer, text };
    } catch (cause) {
      request.signal.throwIfAborted();
      rethrowMisuse(cause);
      if (cause instanceof ExchangeError) throw cause;
      if (cause instanceof ParseError) throw invalid(cause);
      if (signal.aborted) throw new ExchangeError('timeout', `no response within ${timeoutMs} ms`);
      const detail = this.address.redact(describeTransportError(cause));
      throw new ExchangeError('transport', describeWithoutHosts(cause), { detail, cause });
    }
  }

  #statusError({ status, retryAfterMs }: Answer, body: string): ExchangeError {
    const sentence = sentenceOf(body);
    const describe = (redacted: string | undefined): string =>
      `HTTP status ${status}${redacted === undefined ? '' : `: ${shortened(redacted)}`}`;
    const detail = describe(sentence && this.address.redact(sentence));
    const message = describe(sentence && this.address.redactHost(sentence));
    return new ExchangeError('http_status', message, { detail, status, body, retryAfterMs });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http.destroy();
  }
}

function invalid(cause: ParseError): ExchangeError {
  return new ExchangeError('invalid_response', cause.message, { cause });
}

/** Longer than any sentence. The rest of a longer body of an error is not read. */
const MAX_ERROR_BODY_BYTES = 65_536;

/** A longer body is long. Most responses have less than 16 KiB. */
const SHORT_BODY_BYTES = 65_536;

/**
 * Reads the body as text.
 *
 * @param acquireLong called once when the body proves to be long; meanwhile nothing more is read
 * @throws {ParseError} if it is too long, and closes its connection
 */
export async function readBody(
  body: AsyncIterable<Buffer>,
  maxBytes: number,
  acquireLong?: () => Disposable | Promise<Disposable>,
): Promise<string> {
  const bytes = new GrowingBuffer();
  using permits = new DisposableStack();
  for await (const chunk of body) {
    const length = bytes.length + chunk.length;
    // Leaving the loop destroys the body and its connection.
    if (length > maxBytes) throw new ParseError('response', `has more than ${maxBytes} bytes`);
    const isLong = bytes.length <= SHORT_BODY_BYTES && length > SHORT_BODY_BYTES;
    if (isLong && acquireLong !== undefined) permits.use(await acquireLong());
    bytes.append(chunk, maxBytes);
  }
  return bytes.take().toString('utf8');
}

/** Reads the body of an HTTP error, at most its beginning. */
export async function readErrorBody(body: AsyncIterable<Buffer>): Promise<string> {
  const bytes = new GrowingBuffer();
  for await (const chunk of body) {
    const part = chunk.subarray(0, MAX_ERROR_BODY_BYTES - bytes.length);
    bytes.append(part, MAX_ERROR_BODY_BYTES);
    if (part.length < chunk.length) break;
  }
  return bytes.take().toString('utf8');
}
