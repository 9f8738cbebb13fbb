import { CommanderError } from 'commander';
import { EXIT } from './io/exit-codes.ts';
import { goArguments } from './io/service-options.ts';
import { createProgram } from './program.ts';

export async function run(args: readonly string[], version: string): Promise<number> {
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    // A reader such as `head` stops early; the exit code remains that of the result.
    if (code === 'EPIPE') return;
    process.stderr.write(`standard output cannot be written: ${message}\n`);
    process.exit(EXIT.later);
  });
  // Without standard error, the exit code remains.
  process.stderr.on('error', () => undefined);
  const ofGo = goArguments(args);
  if (ofGo !== undefined) {
    // Loads the configuration, which help does not need.
    const { runGoAggregator } = await import('./commands/go-aggregator.ts');
    return runGoAggregator(ofGo, version);
  }
  let exitCode: number = EXIT.done;
  const program = createProgram(version, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has printed it.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    // Loads what errors are instances of.
    const { asFailure } = await import('./io/failures.ts');
    const failure = asFailure(error);
    if (failure !== undefined) {
      process.stderr.write(`${failure.message}\n`);
      return failure.exitCode;
    }
    process.stderr.write(`a bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    return EXIT.bug;
  }
}
