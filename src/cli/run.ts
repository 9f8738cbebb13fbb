import { CommanderError } from 'commander';
import { CommandFailure, EXIT } from './exit-codes.ts';
import { createProgram } from './program.ts';

/** Does what the command line says, and returns the exit code. */
export async function run(args: readonly string[], version: string): Promise<number> {
  // Who reads only the beginning, as `head` does, has what they want.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.done);
    throw error;
  });
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
