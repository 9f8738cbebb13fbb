import type { Dispatcher } from 'undici';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import { ParseError, tryParse } from '../../lib/encoding/parse-error.ts';
import type { EndpointAddress } from '../../lib/net/endpoint-address.ts';
import { mayStatusPass, parseRetryAfterMs, sentenceOf, shortened } from '../../lib/net/http-failure.ts';
import { describeTransportError, describeWithoutHosts, rethrowMisuse } from '../../lib/net/transport-error.ts';
import { currentSpan } from '../../telemetry/spans.ts';
import { encodeExactJson, parseExactJson } from '../codec/exact-json.ts';
import { type JsonObject, readObject, readString } from '../codec/json-fields.ts';
import type { Rejection } from './api-error.ts';
import { type Attempt, type AttemptFailure, type AttemptRejection, describeRejection } from './call-outcome.ts';
import { judgeRejection } from './judge-rejection.ts';
import { readBody, readErrorBody } from './read-body.ts';

/** Calls must be idempotent: they are repeated after failures. */
export interface JsonRpcRequest<Result> {
  /** Path below the base URL, for example `/ext/bc/P`. */
  readonly path: string;
  readonly method: string;
  /** Named or positional parameters. Bigints are encoded as JSON integers. */
  readonly params: Readonly<Record<string, unknown>> | readonly unknown[];
  /** Integers beyond 2^53 are bigints. {@link ParseError} makes the client try the next endpoint. */
  readonly parseResult: (result: unknown, response: string) => Result;
  readonly maxResponseBytes: number;
  /** Whether a refusal of the method counts for this call alone: RPCs of EVM chains refuse single calls, such as long ranges, in such words. */
  readonly isRefusedAlone?: boolean;
}

export interface AttemptOptions {
  readonly address: EndpointAddress;
  readonly http: Dispatcher;
  readonly id: number;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Permits to read long bodies. */
  readonly longBodies: FairSemaphore;
  readonly signal: AbortSignal;
}

const MAX_REJECTION_LENGTH = 1_000;
/** Statuses of a server that does not have the path, or not the method. */
const NOT_SERVED: ReadonlySet<number> = new Set([404, 405, 410, 501]);

/** Sends one request to one endpoint, and judges the response. @throws only the reason of `signal` */
export async function sendOnce<Result>(
  request: JsonRpcRequest<Result>,
  { address, http, id, clock, timeoutMs, longBodies, signal }: AttemptOptions,
): Promise<Attempt<Result>> {
  using deadline = startDeadline(clock, timeoutMs, 'an attempt', signal);
  let text: string;
  let retryAfterMs: number | undefined;
  try {
    const { statusCode, headers, body } = await http.request({
      method: 'POST',
      path: address.path(request.path),
      headers: { ...address.headers, 'content-type': 'application/json', ...currentSpan().headers },
      body: encodeExactJson({ jsonrpc: '2.0', id, method: request.method, params: request.params }),
      signal: deadline.signal,
    });
    retryAfterMs = parseRetryAfterMs(headers['retry-after'], clock.now());
    if (statusCode < 200 || statusCode > 299) {
      return judgeStatus(statusCode, retryAfterMs, await readErrorBody(body), address);
    }
    text = await readBody(body, request.maxResponseBytes, () =>
      longBodies.acquire({ key: undefined }, deadline.signal),
    );
  } catch (cause) {
    signal.throwIfAborted();
    rethrowMisuse(cause);
    if (cause instanceof ParseError) return invalidResponse(cause);
    if (deadline.signal.aborted) return unavailable('timeout', `no response within ${timeoutMs} ms`);
    return {
      ...unavailable('transport', describeWithoutHosts(cause)),
      detail: address.redact(describeTransportError(cause)),
      cause,
    };
  }
  try {
    const response = parseResponse(text, id);
    if ('rejection' in response) return judgeError(response.rejection, retryAfterMs, address);
    return { status: 'responded', result: request.parseResult(response.result, text) };
  } catch (cause) {
    if (!(cause instanceof ParseError)) throw cause;
    return invalidResponse(cause);
  }
}

function judgeStatus(
  status: number,
  retryAfterMs: number | undefined,
  body: string,
  address: EndpointAddress,
): Attempt<never> {
  const kind = NOT_SERVED.has(status) ? 'method_refused' : mayStatusPass(status) ? 'unavailable' : 'invalid_response';
  if (kind !== 'unavailable') {
    // Some gateways send JSON-RPC errors with such a status. With it, an error of an unknown text does not count as an answer.
    const error = tryParse(() => parseRejection(readObject(parseExactJson(body, 'response'), 'response')));
    const judged = error && judgeError(error, retryAfterMs, address);
    if (judged !== undefined && !(judged.status === 'rejected' && judged.subject === 'unknown')) return judged;
  }
  const sentence = sentenceOf(body);
  const describe = (redacted: string | undefined): string =>
    `HTTP status ${status}${redacted === undefined ? '' : `: ${shortened(redacted)}`}`;
  return {
    status: 'failed',
    kind,
    reason: 'http_status',
    message: describe(sentence && address.redactHost(sentence)),
    detail: describe(sentence && address.redact(sentence)),
    // Only with these statuses is `Retry-After` the pause of a limit or an overload.
    ...((status === 429 || status === 503) && { retryAfterMs }),
  };
}

function judgeError(
  { code, message }: Rejection,
  retryAfterMs: number | undefined,
  address: EndpointAddress,
): AttemptRejection | AttemptFailure {
  const rejection = { code, message: address.redact(message).slice(0, MAX_REJECTION_LENGTH) };
  const failure = {
    status: 'failed',
    reason: 'json_rpc_error',
    rejection,
    message: `refused: ${address.redactHost(describeRejection(rejection))}`,
    detail: `refused: ${describeRejection(rejection)}`,
  } as const;
  const subject = judgeRejection(rejection);
  switch (subject) {
    case 'method':
      return { ...failure, kind: 'method_refused' };
    case 'limit':
      return { ...failure, kind: 'unavailable', retryAfterMs };
    case 'access':
      return { ...failure, kind: 'invalid_response' };
    case 'question':
    case 'heights':
    case 'unknown':
      return { status: 'rejected', rejection, subject };
  }
}

/** Parses a JSON-RPC 2.0 response. @throws {ParseError} */
function parseResponse(text: string, id: number): { readonly result: unknown } | { readonly rejection: Rejection } {
  const response = readObject(parseExactJson(text, 'response'), 'response');
  const rejection = parseRejection(response);
  if (rejection !== undefined) return { rejection };
  // Only an error may lack the ID.
  if (response.id !== id) throw new ParseError('response', 'is about another request');
  if (!('result' in response)) throw new ParseError('response', 'has neither result nor error');
  return { result: response.result };
}

/** Returns undefined if the response is no error. @throws {ParseError} */
function parseRejection(response: JsonObject): Rejection | undefined {
  if (response.jsonrpc !== '2.0') throw new ParseError('response', 'has no jsonrpc "2.0"');
  if (!('error' in response) || response.error === null) return undefined;
  const { code, message } = readObject(response.error, 'error');
  if (typeof code !== 'number' || !Number.isSafeInteger(code)) throw new ParseError('error', 'has no integer code');
  return { code, message: readString(message, 'message of the error') };
}

function unavailable(reason: AttemptFailure['reason'], message: string): AttemptFailure {
  return { status: 'failed', kind: 'unavailable', reason, message };
}

function invalidResponse(cause: ParseError): AttemptFailure {
  return { status: 'failed', kind: 'invalid_response', reason: 'invalid_response', message: cause.message, cause };
}
