import { CommanderError } from 'commander';
import { GO_AGGREGATOR, runGoAggregator } from './commands/go-aggregator.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';
import { createProgram } from './program.ts';

/** Does what the command line says, and returns the exit code. */
export async function run(args: readonly string[], version: string): Promise<number> {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    // Who reads only the beginning, as `head` does, has what they want; the exit code is still that of the answer.
    if (code === 'EPIPE') return;
    process.stderr.write(`standard output cannot be written: ${message}\n`);
    process.exit(EXIT.later);
  });
  // Where nobody can be told what is wrong, the exit code says it.
  process.stderr.on('error', () => undefined);
  if (args[0] === GO_AGGREGATOR) return runGoAggregator(args.slice(1), version);
  let exitCode: number = EXIT.done;
  const program = createProgram(version, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (error) {
    // It has been said already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    if (error instanceof CommandFailure) {
      process.stderr.write(`${error.message}\n`);
      return error.exitCode;
    }
    process.stderr.write(`a bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    return EXIT.bug;
  }
}
