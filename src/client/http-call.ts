import { type ClientErrorCode, SignatureAggregatorError } from './client-error.ts';
import { chunksOf, readEvents, type StreamEvent } from './event-stream.ts';
import type { AggregationError, ErrorEvent } from './gen/api.ts';
import { repetitionDelay } from './repetition.ts';

export interface CallerOptions {
  /** URL of the service, with the path of a proxy if it has one. */
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  /** The default is the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** How often a call is repeated, where its error code says that this may help. The default is 3. */
  readonly maxRetries?: number | undefined;
  /** Bounds each attempt, and each pause of an event stream. The default is 60,000. */
  readonly timeoutMs?: number | undefined;
}

export interface Call {
  /** Path and query. */
  readonly path: string;
  /** Makes it a POST. */
  readonly body?: object | undefined;
  readonly signal?: AbortSignal | undefined;
}

export const API_KEY_HEADER = 'x-service-api-key';
const EVENTS = 'text/event-stream';
const JSON_TYPE = 'application/json';
const DEFAULT_TIMEOUT_MS = 60_000;

/** Sends calls to a service. All are idempotent, so each may be repeated. */
export class Caller {
  readonly #options: CallerOptions;
  readonly #base: string;

  constructor(options: CallerOptions) {
    this.#options = options;
    this.#base = options.baseUrl.replace(/\/+$/, '');
  }

  /** @throws {SignatureAggregatorError}, or the signal's reason */
  json<T>(call: Call): Promise<T> {
    return this.#repeat(call.signal, async (signal) => answerOf<T>(await this.#send({ ...call, signal }, JSON_TYPE)));
  }

  /**
   * Returns the data of the event `result`, or the plain answer of a service or a proxy that does not stream.
   *
   * @throws {SignatureAggregatorError}, or the signal's reason
   */
  result<T>(call: Call, onEvent: (event: StreamEvent) => void): Promise<T> {
    return this.#repeat(call.signal, async (signal, renew) => {
      const response = await this.#send({ ...call, signal }, `${EVENTS}, ${JSON_TYPE};q=0.5`);
      if (!isStream(response)) return answerOf<T>(response);
      for await (const event of readEvents(chunksOf(response.body))) {
        // Several events may have come at once.
        signal.throwIfAborted();
        renew();
        onEvent(event);
        if (event.event === 'result') return event.data as T;
        if (event.event === 'error') throw errorOf(event.data, undefined, response);
      }
      throw new SignatureAggregatorError('the connection ended before the answer', {
        code: 'unreachable',
        requestId: requestIdOf(response),
      });
    });
  }

  /**
   * Returns the events of a stream until it ends.
   *
   * @throws {SignatureAggregatorError}, or the signal's reason
   */
  async *events(call: Call): AsyncGenerator<StreamEvent> {
    const deadline = startDeadline(this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS, call.signal);
    try {
      const response = await this.#send({ ...call, signal: deadline.signal }, EVENTS);
      if (!isStream(response)) throw errorOf(parseJson(await response.text()), response.status, response);
      for await (const event of readEvents(chunksOf(response.body))) {
        // One read may have brought several events, and the caller aborted at an earlier one.
        call.signal?.throwIfAborted();
        deadline.renew();
        if (event.event === 'error') throw errorOf(event.data, undefined, response);
        yield event;
      }
    } catch (error) {
      call.signal?.throwIfAborted();
      throw error instanceof SignatureAggregatorError ? error : unreachable(error);
    } finally {
      deadline.end();
    }
  }

  async #send({ path, body, signal }: Call, accept: string): Promise<Response> {
    const { apiKey, fetch: send = fetch } = this.#options;
    return await send(`${this.#base}${path}`, {
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      headers: {
        accept,
        ...(body !== undefined && { 'content-type': JSON_TYPE }),
        ...(apiKey !== undefined && apiKey !== '' && { [API_KEY_HEADER]: apiKey }),
      },
      signal: signal ?? null,
      cache: 'no-store',
      // It would take the key to another host.
      redirect: 'error',
    });
  }

  async #repeat<T>(
    ended: AbortSignal | undefined,
    attempt: (signal: AbortSignal, renew: () => void) => Promise<T>,
  ): Promise<T> {
    const { maxRetries = 3 } = this.#options;
    for (let number = 1; ; number++) {
      ended?.throwIfAborted();
      const outcome = await this.#attempt(ended, attempt);
      if ('value' in outcome) return outcome.value;
      const delayMs = number > maxRetries ? undefined : repetitionDelay(outcome.error, number, Math.random());
      if (delayMs === undefined) throw outcome.error;
      await pause(delayMs, ended);
    }
  }

  async #attempt<T>(
    ended: AbortSignal | undefined,
    attempt: (signal: AbortSignal, renew: () => void) => Promise<T>,
  ): Promise<{ readonly value: T } | { readonly error: SignatureAggregatorError }> {
    const deadline = startDeadline(this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS, ended);
    try {
      return { value: await attempt(deadline.signal, () => deadline.renew()) };
    } catch (error) {
      ended?.throwIfAborted();
      return { error: error instanceof SignatureAggregatorError ? error : unreachable(error) };
    } finally {
      deadline.end();
    }
  }
}

/** Returns a signal that aborts with the caller's, and after a time without renewal. */
function startDeadline(timeoutMs: number, ended: AbortSignal | undefined) {
  const controller = new AbortController();
  const onEnded = () => controller.abort(ended?.reason);
  const onTime = () => controller.abort(new Error(`nothing came within ${timeoutMs} ms`));
  let timer = setTimeout(onTime, timeoutMs);
  ended?.addEventListener('abort', onEnded);
  return {
    signal: controller.signal,
    renew() {
      clearTimeout(timer);
      timer = setTimeout(onTime, timeoutMs);
    },
    end() {
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

async function answerOf<T>(response: Response): Promise<T> {
  const text = await response.text();
  const json = parseJson(text);
  if (response.ok && json !== undefined) return json as T;
  throw errorOf(json, response.status, response);
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
