/**
 * Why a call of the node's API gave no result:
 *
 * - `unavailable`: no base URL could be reached, or none answered in time, or all answered with HTTP 5xx, 408 or 429,
 *   also after the retries. Trying again later may help.
 * - `rejected`: the node understood the call and answered with a JSON-RPC error; `rejection` has its code and text.
 * - `invalid response`: an answer came, but it is no JSON-RPC response, or not of the shape the method has, or too
 *   long, or has another HTTP status. Somebody has to look at the configuration or at the node.
 */
export type ApiErrorKind = 'unavailable' | 'rejected' | 'invalid response';

/** The JSON-RPC error of a `rejected` call. The reference node answers -32000 for whatever its methods refuse. */
export interface Rejection {
  readonly code: number;
  /** The node's own words, cut to 1,000 characters. */
  readonly message: string;
}

/**
 * The one error of a call of the node's API. A call that its caller aborts rejects with the signal's reason instead.
 * Messages name hosts, never paths, query parameters or headers: those may hold keys.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly kind: ApiErrorKind;
  /** Present for, and only for, `rejected`. */
  readonly rejection: Rejection | undefined;

  constructor(kind: ApiErrorKind, message: string, options?: ErrorOptions & { readonly rejection?: Rejection }) {
    super(message, options);
    this.kind = kind;
    this.rejection = options?.rejection;
  }
}
