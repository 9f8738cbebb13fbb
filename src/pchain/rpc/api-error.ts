/**
 * - `unavailable`: after retries, each base URL was unreachable, timed out, or returned HTTP 5xx, 408 or 429.
 * - `rejected`: the node returned a JSON-RPC error.
 * - `invalid_response`: the response is too long, has another HTTP status or an unexpected shape. The configuration or the node is wrong.
 */
export type ApiErrorKind = 'unavailable' | 'rejected' | 'invalid_response';

export interface Rejection {
  readonly code: number;
  /** Text from the node, at most 1,000 characters. */
  readonly message: string;
}

interface ApiErrorOptions extends ErrorOptions {
  readonly rejection?: Rejection;
  readonly detail?: string;
}

/**
 * Failure of an API call. An aborted call rejects with the signal's reason instead.
 *
 * Clients may see `message`, which contains no host. `detail` is for the log and names hosts. Neither contains paths, query parameters or
 * headers, which may hold keys.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly kind: ApiErrorKind;
  /** Present only for `rejected`. */
  readonly rejection: Rejection | undefined;
  /** Undefined if the error concerns no host. */
  readonly detail: string | undefined;

  constructor(kind: ApiErrorKind, message: string, { rejection, detail, ...options }: ApiErrorOptions = {}) {
    super(message, options);
    this.kind = kind;
    this.rejection = rejection;
    this.detail = detail;
  }
}

/** Code of the reference node for errors of a method, for example about an unknown ID. Other codes concern the request itself. */
const SERVER_ERROR = -32_000;

/** Resolves with undefined if the node's method returned an error. */
export async function unlessRefused<Value>(call: Promise<Value>): Promise<Value | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ApiError && error.rejection?.code === SERVER_ERROR) return undefined;
    throw error;
  }
}
