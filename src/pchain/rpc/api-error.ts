import { CodedError, type CodedErrorOptions } from '../../lib/net/coded-error.ts';

/**
 * - `unavailable`: after retries, each base URL was unreachable, timed out, limits calls, or returned HTTP 5xx, 408 or 429.
 * - `rejected`: the node returned a JSON-RPC error about what was asked.
 * - `method_refused`: no base URL serves the method. It may be asked for in another way.
 * - `height_not_reached`: no base URL has reached the P-Chain height.
 * - `height_not_served`: the base URLs serve only the current P-Chain height, or none as old as the given one.
 * - `invalid_response`: the response is too long, has another HTTP status or an unexpected shape. The configuration or the node is wrong.
 */
export type ApiErrorCode =
  | 'unavailable'
  | 'rejected'
  | 'method_refused'
  | 'height_not_reached'
  | 'height_not_served'
  | 'invalid_response';

export interface Rejection {
  readonly code: number;
  /** Text from the node, at most 1,000 characters. */
  readonly message: string;
}

interface ApiErrorOptions extends CodedErrorOptions {
  readonly rejection?: Rejection | undefined;
}

/**
 * Failure of an API call. An aborted call rejects with the signal's reason instead.
 *
 * `message` has no host. Neither it nor `detail` contains paths, query parameters or headers, which may hold keys. `retryAfterMs` is the time
 * after which an API allows the next call, for `unavailable`, if it named one.
 */
export class ApiError extends CodedError<ApiErrorCode> {
  override readonly name = 'ApiError';
  /** JSON-RPC error of the node: always present for `rejected`, and for `method_refused` where the node returned one. */
  readonly rejection: Rejection | undefined;

  constructor(code: ApiErrorCode, message: string, { rejection, ...options }: ApiErrorOptions = {}) {
    super(code, message, options);
    this.rejection = rejection;
  }
}

/** Code of the reference node for errors of a method, for example about an unknown ID. Other codes concern the request itself. */
const SERVER_ERROR = -32_000;

/** Resolves with undefined if the node's method returned an error about what was asked, such as an unknown ID. */
export async function unlessRefused<Value>(call: Promise<Value>): Promise<Value | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'rejected' && error.rejection?.code === SERVER_ERROR) {
      return undefined;
    }
    throw error;
  }
}

/**
 * Whether no API gave a usable response, and a repetition would not help: a gateway refuses the method, or answers with another HTTP status
 * or in another form. The caller may ask for the same in another way.
 */
export function isNotServed(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.code === 'method_refused' || error.code === 'invalid_response');
}
