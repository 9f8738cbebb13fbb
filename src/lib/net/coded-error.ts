export interface CodedErrorOptions {
  readonly retryAfterMs?: number | undefined;
  readonly detail?: string | undefined;
  readonly cause?: unknown;
}

/** An error that callers distinguish by its code. Each folder that raises some has its own codes. */
export abstract class CodedError<Code extends string> extends Error {
  readonly code: Code;
  /** Undefined if time alone does not help. */
  readonly retryAfterMs: number | undefined;
  /** For the log alone, as it may name hosts; undefined if it is the message. */
  readonly detail: string | undefined;

  constructor(code: Code, message: string, { retryAfterMs, detail, cause }: CodedErrorOptions = {}) {
    super(message, { cause });
    this.code = code;
    this.retryAfterMs = retryAfterMs;
    this.detail = detail;
  }
}

/** An error that clients get with its code and message. */
export abstract class PublicError<Code extends string> extends CodedError<Code> {}
