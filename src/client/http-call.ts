import { type ClientErrorCode, SignatureAggregatorError } from './client-error.ts';
import { chunksOf, readEvents, type StreamEvent } from './event-stream.ts';
import type { AggregationError, ErrorEvent } from './gen/api.ts';
import { isOfService, repetitionDelay } from './repetition.ts';

export interface CallerOptions {
  /**
   * URL of the service, with the path of a proxy if it has one. Of several, a service that is unreachable, overloaded or fails with 5xx passes the call
   * on to the next one, which then receives later calls too.
   */
  readonly baseUrl: string | readonly string[];
  readonly apiKey?: string | undefined;
  /** The default is the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** How often a call is repeated, where its error code says that this may help. The default is 3. */
  readonly maxRetries?: number | undefined;
  /** Bounds each attempt, and each pause of an event stream. The default is 60,000. */
  readonly timeoutMs?: number | undefined;
  /** Receives what an operator should know, in a sentence. The default is `console.warn`. */
  readonly onWarning?: ((text: string) => void) | undefined;
}

export interface Call {
  /** Path and query. */
  readonly path: string;
  /** Makes it a POST. */
  readonly body?: object | undefined;
  /** For a POST without a body. */
  readonly method?: 'POST' | undefined;
  /** An error status whose body is an answer, too. */
  readonly allowed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export const API_KEY_HEADER = 'x-service-api-key';
const EVENTS = 'text/event-stream';
const JSON_TYPE = 'application/json';
const DEFAULT_TIMEOUT_MS = 60_000;
/** A page of 1,000 validators has up to 1.5 MB. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Time for the first event of a feed: the service sends one at once. */
const FIRST_EVENT_MS = 15_000;

/** Reports a stream without any event: a proxy holds it back, or `fetch` gives no `body`, as in React Native. */
export class SilentStream extends SignatureAggregatorError {
  constructor(fields: { readonly requestId?: string | undefined; readonly cause?: unknown }) {
    super('the stream ended without an event', { ...fields, code: 'unreachable' });
  }
}

type Outcome<T> = { readonly value: T } | { readonly error: SignatureAggregatorError };

interface Attempt {
  readonly base: string;
  /** Aborts with the caller's, or at the deadline. */
  readonly signal: AbortSignal;
  /** Begins the time of the deadline anew. */
  readonly renew: () => void;
}

/** Sends calls to a service. All are idempotent, so each may be repeated. */
export class Caller {
  readonly #options: CallerOptions;
  readonly #bases: readonly string[];
  /** Index of the service that is asked first. */
  #preferred = 0;

  constructor(options: CallerOptions) {
    this.#options = options;
    this.#bases = [options.baseUrl].flat().map((base) => base.replace(/\/+$/, ''));
    if (this.#bases.length === 0) throw new TypeError('baseUrl must have at least one URL');
  }

  /** @throws {SignatureAggregatorError}, or the signal's reason */
  json<T>(call: Call): Promise<T> {
    return this.#repeat(call.signal, (attempt) => this.#plain<T>(attempt, call));
  }

  /**
   * Returns the data of the event `result`, or the plain answer where no event comes: of a service or a proxy that does not stream.
   *
   * @throws {SignatureAggregatorError}, or the signal's reason
   */
  result<T>(call: Call, onEvent: (event: StreamEvent) => void): Promise<T> {
    let isPlain = false;
    return this.#repeat(call.signal, async (attempt) => {
      if (isPlain) return this.#plain<T>(attempt, call);
      let hasEvent = false;
      try {
        const response = await this.#send(attempt, call, `${EVENTS}, ${JSON_TYPE};q=0.5`);
        if (!isStream(response)) return await answerOf<T>(response);
        for await (const event of readEvents(chunksOf(response.body))) {
          hasEvent = true;
          // Several events may have come at once.
          attempt.signal.throwIfAborted();
          attempt.renew();
          onEvent(event);
          if (event.event === 'result') return event.data as T;
          if (event.event === 'error') throw errorOf(event.data, undefined, response);
        }
        if (hasEvent) throw brokenOff(response);
      } catch (error) {
        isPlain = !hasEvent && attempt.signal.aborted;
        throw error;
      }
      isPlain = true;
      return this.#plain<T>(attempt, call);
    });
  }

  /**
   * Returns the events of a feed until it ends.
   *
   * @throws {SilentStream} without any event, {@link SignatureAggregatorError}, or the signal's reason
   */
  async *events(call: Call): AsyncGenerator<StreamEvent> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options;
    const deadline = startDeadline(Math.min(timeoutMs, FIRST_EVENT_MS), call.signal);
    const index = this.#preferred;
    let hasEvent = false;
    try {
      const response = await this.#send({ base: this.#bases[index] as string, signal: deadline.signal }, call, EVENTS);
      if (!isStream(response)) throw errorOf(parseJson(await textOf(response)), response.status, response);
      for await (const event of readEvents(chunksOf(response.body))) {
        hasEvent = true;
        // One read may have brought several events, and the caller aborted at an earlier one.
        call.signal?.throwIfAborted();
        deadline.renew(timeoutMs);
        if (event.event === 'error') throw errorOf(event.data, undefined, response);
        yield event;
      }
      if (!hasEvent) throw new SilentStream({ requestId: requestIdOf(response) });
    } catch (cause) {
      call.signal?.throwIfAborted();
      const error =
        deadline.signal.aborted && !hasEvent
          ? new SilentStream({ cause })
          : cause instanceof SignatureAggregatorError
            ? cause
            : unreachable(cause);
      this.#failOver(index, error);
      throw error;
    } finally {
      deadline.end();
    }
  }

  warn(text: string): void {
    const { onWarning = (warning: string) => console.warn(warning) } = this.#options;
    onWarning(text);
  }

  async #plain<T>(attempt: Attempt, call: Call): Promise<T> {
    return answerOf<T>(await this.#send(attempt, call, JSON_TYPE), call.allowed);
  }

  async #send(
    { base, signal }: Pick<Attempt, 'base' | 'signal'>,
    { path, body, method }: Call,
    accept: string,
  ): Promise<Response> {
    const { apiKey, fetch: send = fetch } = this.#options;
    return await send(`${base}${path}`, {
      ...(method !== undefined && { method }),
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      headers: {
        accept,
        ...(body !== undefined && { 'content-type': JSON_TYPE }),
        ...(apiKey !== undefined && apiKey !== '' && { [API_KEY_HEADER]: apiKey }),
      },
      signal,
      cache: 'no-store',
      // It would take the key to another host.
      redirect: 'error',
    });
  }

  async #repeat<T>(ended: AbortSignal | undefined, attempt: (attempt: Attempt) => Promise<T>): Promise<T> {
    const { maxRetries = 3 } = this.#options;
    for (let number = 1; ; number++) {
      const outcome = await this.#askEach(ended, attempt);
      if ('value' in outcome) return outcome.value;
      const delayMs = number > maxRetries ? undefined : repetitionDelay(outcome.error, number, Math.random());
      if (delayMs === undefined) throw outcome.error;
      await pause(delayMs, ended);
    }
  }

  /** Asks one service after the other, until one answers or reports an error of the call itself. */
  async #askEach<T>(ended: AbortSignal | undefined, attempt: (attempt: Attempt) => Promise<T>): Promise<Outcome<T>> {
    const first = this.#preferred;
    for (let number = 1; ; number++) {
      ended?.throwIfAborted();
      const index = (first + number - 1) % this.#bases.length;
      const outcome = await this.#attempt(this.#bases[index] as string, ended, attempt);
      if ('value' in outcome || !this.#failOver(index, outcome.error) || number === this.#bases.length) return outcome;
    }
  }

  async #attempt<T>(
    base: string,
    ended: AbortSignal | undefined,
    attempt: (attempt: Attempt) => Promise<T>,
  ): Promise<Outcome<T>> {
    const deadline = startDeadline(this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS, ended);
    try {
      return { value: await attempt({ base, signal: deadline.signal, renew: () => deadline.renew() }) };
    } catch (error) {
      ended?.throwIfAborted();
      return { error: error instanceof SignatureAggregatorError ? error : unreachable(error) };
    } finally {
      deadline.end();
    }
  }

  /** Prefers the next service after a failure of this one. Returns whether another may answer. */
  #failOver(index: number, error: SignatureAggregatorError): boolean {
    if (!isOfService(error)) return false;
    // Calls that failed together move on by one.
    if (this.#preferred === index) this.#preferred = (index + 1) % this.#bases.length;
    return true;
  }
}

/** Returns a signal that aborts with the caller's, and after a time without renewal. */
function startDeadline(timeoutMs: number, ended: AbortSignal | undefined) {
  const controller = new AbortController();
  const onEnded = () => controller.abort(ended?.reason);
  const onTime = (ms: number) => controller.abort(new Error(`nothing came within ${ms} ms`));
  let timer = setTimeout(onTime, timeoutMs, timeoutMs);
  ended?.addEventListener('abort', onEnded);
  return {
    signal: controller.signal,
    renew(nextMs = timeoutMs) {
      clearTimeout(timer);
      timer = setTimeout(onTime, nextMs, nextMs);
    },
    /** Ends what is still open, such as the answer of a `fetch` without `body`. */
    end() {
      controller.abort();
      clearTimeout(timer);
      ended?.removeEventListener('abort', onEnded);
    },
  };
}

export async function pause(delayMs: number, ended: AbortSignal | undefined): Promise<void> {
  ended?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const onEnded = () => {
      clearTimeout(timer);
      reject(ended?.reason);
    };
    const timer = setTimeout(() => {
      ended?.removeEventListener('abort', onEnded);
      resolve();
    }, delayMs);
    ended?.addEventListener('abort', onEnded, { once: true });
  });
}

export function queryOf(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return query === '' ? '' : `?${query}`;
}

function isStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith(EVENTS) === true;
}

async function answerOf<T>(response: Response, allowed?: number): Promise<T> {
  const json = parseJson(await textOf(response));
  if ((response.ok || response.status === allowed) && json !== undefined) return json as T;
  throw errorOf(json, response.status, response);
}

/** Reads a body, at most {@link MAX_ANSWER_BYTES}. Not every `fetch` gives it in pieces. */
async function textOf(response: Response): Promise<string> {
  const { body, status } = response;
  if (!body) return response.text();
  const decoder = new TextDecoder();
  let [text, length] = ['', 0];
  for await (const chunk of chunksOf(body)) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) {
      const reason = `the answer is longer than ${MAX_ANSWER_BYTES} bytes`;
      throw new SignatureAggregatorError(reason, { code: 'invalid_answer', status, requestId: requestIdOf(response) });
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** @param status of the answer; undefined for an event, which has that of the plain answer */
function errorOf(json: unknown, status: number | undefined, response: Response): SignatureAggregatorError {
  const { message, code, statusCode, details, retryAfter } = (json ?? {}) as Partial<ErrorEvent & AggregationError>;
  const seconds = response.headers.get('retry-after') ?? String(retryAfter);
  const fields = {
    status: status ?? statusCode,
    retryAfterMs: /^\d+$/.test(seconds) ? 1_000 * Number(seconds) : undefined,
    requestId: requestIdOf(response),
  };
  if (typeof code !== 'string' || message === undefined) {
    const text = `the answer has status ${response.status}, and is none of a signature aggregator`;
    return new SignatureAggregatorError(text, { ...fields, code: 'invalid_answer' });
  }
  return new SignatureAggregatorError([message].flat().join('; '), {
    ...fields,
    code: code as ClientErrorCode,
    details,
  });
}

function brokenOff(response: Response): SignatureAggregatorError {
  const requestId = requestIdOf(response);
  return new SignatureAggregatorError('the connection ended before the answer', { code: 'unreachable', requestId });
}

function unreachable(cause: unknown): SignatureAggregatorError {
  const reason = cause instanceof Error ? reasonOf(cause) : String(cause);
  return new SignatureAggregatorError(`the service cannot be reached: ${reason}`, { code: 'unreachable', cause });
}

/** Node's `fetch` has the reason, such as a redirect, in the cause. */
function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error && cause.message !== '' ? `${message} (${cause.message})` : message;
}

function requestIdOf({ headers }: Response): string | undefined {
  return headers.get('x-request-id') ?? undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
