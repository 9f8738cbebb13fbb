import type { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import { ParseError, tryParse } from '../../lib/encoding/parse-error.ts';
import type { EndpointAddress } from '../../lib/net/endpoint-address.ts';
import { type Exchange, ExchangeError } from '../../lib/net/exchange.ts';
import { currentSpan } from '../../telemetry/spans.ts';
import { encodeExactJson, parseExactJson } from '../codec/exact-json.ts';
import { type JsonObject, readObject, readString } from '../codec/json-fields.ts';
import type { Rejection } from './api-error.ts';
import { type Attempt, type AttemptFailure, type AttemptRejection, describeRejection } from './call-outcome.ts';
import { judgeRejection } from './judge-rejection.ts';

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
  readonly exchange: Exchange;
  readonly id: number;
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
  { exchange, id, timeoutMs, longBodies, signal }: AttemptOptions,
): Promise<Attempt<Result>> {
  try {
    return await exchange.read<Attempt<Result>>({
      method: 'POST',
      target: request.path,
      body: encodeExactJson({ jsonrpc: '2.0', id, method: request.method, params: request.params }),
      headers: currentSpan().headers,
      signal,
      timeoutMs,
      maxBytes: request.maxResponseBytes,
      acquireLong: (ended) => longBodies.acquire({ key: undefined }, ended),
      parse(text, { retryAfterMs }) {
        const response = parseResponse(text, id);
        if ('rejection' in response) return judgeError(response.rejection, retryAfterMs, exchange.address);
        return { status: 'responded', result: request.parseResult(response.result, text) };
      },
    });
  } catch (error) {
    if (error instanceof ExchangeError) return judgeFailure(error, exchange.address);
    throw error;
  }
}

function judgeFailure(error: ExchangeError, address: EndpointAddress): Attempt<never> {
  const { code: reason, status = 0, mayPass, body, retryAfterMs, message, detail, cause } = error;
  const code = NOT_SERVED.has(status) ? 'method_refused' : mayPass ? 'unavailable' : 'invalid_response';
  if (code !== 'unavailable') {
    // Some gateways send JSON-RPC errors with such a status. With it, an error of an unknown text does not count as an answer.
    const rejection = tryParse(() => parseRejection(readObject(parseExactJson(body, 'response'), 'response')));
    const judged = rejection && judgeError(rejection, retryAfterMs, address);
    if (judged !== undefined && !(judged.status === 'rejected' && judged.subject === 'unknown')) return judged;
  }
  // Only with these statuses is `Retry-After` the pause of a limit or an overload.
  const pause = (status === 429 || status === 503) && { retryAfterMs };
  return { status: 'failed', code, reason, message, detail, cause, ...pause };
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
      return { ...failure, code: 'method_refused' };
    case 'limit':
      return { ...failure, code: 'unavailable', retryAfterMs };
    case 'access':
      return { ...failure, code: 'invalid_response' };
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
