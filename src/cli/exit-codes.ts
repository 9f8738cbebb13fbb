/** What scripts can tell by `$?`; docs/commands.md lists them for people. */
export const EXIT = {
  done: 0,
  /** The answer is no: the message is not valid, or the validators do not sign it. */
  no: 1,
  /** Arguments, input or configuration are wrong; the same call will always fail. */
  usage: 2,
  /** Somebody who is needed cannot be reached, or has not got so far, or the result cannot be written; the same call may do later. */
  later: 3,
  /** A bug. */
  bug: 70,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends a command, with a sentence for the person who called it. */
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
