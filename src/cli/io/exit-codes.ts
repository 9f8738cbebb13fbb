/** Exit codes for scripts, documented in docs/commands.md. */
export const EXIT = {
  done: 0,
  /** The message is not valid, or the validators refuse to sign it. */
  no: 1,
  /** Arguments, input or configuration are wrong; the same call always fails. */
  usage: 2,
  /** A service or peer cannot be reached or is not ready, or the result cannot be written; the same call may succeed later. */
  later: 3,
  bug: 70,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

export function usageFailure(message: string, options?: ErrorOptions): CommandFailure {
  return new CommandFailure(EXIT.usage, message, options);
}
