export interface CodedErrorOptions {
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** An error that clients get with its code and message. Each folder that raises some has its own codes. */
export abstract class CodedError<Code extends string> extends Error {
  readonly code: Code;
  /** Undefined if time alone does not help. */
  readonly retryAfterMs: number | undefined;

  constructor(code: Code, message: string, { retryAfterMs, cause }: CodedErrorOptions = {}) {
    super(message, { cause });
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}
