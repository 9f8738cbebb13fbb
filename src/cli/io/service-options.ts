import { Command, InvalidArgumentError, Option } from 'commander';
import type { CommandLineSettings } from '../../config/load/overlays.ts';

/** Unparsed options of the service: their problems are reported together with those of the configuration. */
export interface ServiceOptions extends CommandLineSettings {
  readonly checkConfig?: boolean;
  readonly printConfig?: boolean;
}

/** The name of the Go aggregator's binary, which `src/signature-aggregator` passes as the first argument. */
const GO_AGGREGATOR = 'signature-aggregator';

/**
 * Returns the arguments in the Go aggregator's place; undefined for those of this program. Its image is started with `--config-file FILE`
 * alone, so this flag decides too.
 */
export function goArguments(args: readonly string[]): readonly string[] | undefined {
  const [first = ''] = args;
  if (first === GO_AGGREGATOR) return args.slice(1);
  return /^--config-file(=|$)/.test(first) ? args : undefined;
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

export function addServiceOptions(command: Command): Command {
  return command
    .option('--config <file>', 'JSON file with the networks to serve; without it, the service runs a devnet')
    .option('--host <address>', 'address to listen on (default 127.0.0.1)')
    .option('--port <n>', 'port to listen on, 0 for any free one (default 8080)')
    .option('--validators <n>', 'size of the devnet, 5 to 2000 (default 20)')
    .addOption(
      // Not `choices`: the value is checked with the configuration.
      new Option('--log-level <level>', `${LOG_LEVELS.join(', ')} (default info; warn on the devnet)`),
    )
    .option('--check-config', 'check the configuration and print all problems; starts nothing')
    .option(
      '--print-config',
      'print the effective configuration as JSON, without secrets, with the source of each value; starts nothing',
    );
}

/**
 * Parses the arguments of a running service.
 *
 * @throws {Error} if they are not those of a service
 */
export function parseServiceArguments(args: readonly string[]): CommandLineSettings {
  const command = addServiceOptions(new Command('serve'))
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  command.parse([...(args[0] === 'serve' ? args.slice(1) : args)], { from: 'user' });
  return command.opts<ServiceOptions>();
}

/** Parses an option that is a whole number. @throws {InvalidArgumentError} */
export function wholeNumber(max: number, min = 0): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

/** Parses hours or days, and returns milliseconds. */
export function timeBack(text: string): number {
  const [, count, unit] = /^(\d{1,4})([hd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('It must be a number of hours or days, such as 36h or 7d.');
  return Number(count) * (unit === 'd' ? 86_400_000 : 3_600_000);
}
