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

/** The JSON-RPC error of a `rejected` call. */
export interface Rejection {
  readonly code: number;
  /** The node's own words, cut to 1,000 characters. */
  readonly message: string;
}

export interface ApiErrorOptions extends ErrorOptions {
  readonly rejection?: Rejection;
  readonly detail?: string;
}

/**
 * The one error of a call of the node's API. A call that its caller aborts rejects with the signal's reason instead.
 *
 * `message` may be shown to clients: it names the method and the problem, but no host. `detail` is for the log: it says which
 * host failed and how. Neither has paths, query parameters or headers, as those may hold keys.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly kind: ApiErrorKind;
  /** Present for, and only for, `rejected`. */
  readonly rejection: Rejection | undefined;
  /** For operators only. Undefined where no host has a part in the error. */
  readonly detail: string | undefined;

  constructor(kind: ApiErrorKind, message: string, { rejection, detail, ...options }: ApiErrorOptions = {}) {
    super(message, options);
    this.kind = kind;
    this.rejection = rejection;
    this.detail = detail;
  }
}

/**
 * The one code with which the reference node's methods refuse, for instance what does not exist. Other codes (no such method, a
 * bad request) say nothing about what was asked for.
 */
const SERVER_ERROR = -32_000;

/** The result of a call, or undefined where the node's method refused it. */
export async function unlessRefused<Value>(call: Promise<Value>): Promise<Value | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ApiError && error.rejection?.code === SERVER_ERROR) return undefined;
    throw error;
  }
}
