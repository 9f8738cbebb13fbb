import { Command, Option } from 'commander';
import type { CommandLineSettings } from '../../config/load/load-config.ts';

/** Of the service, as they were written: what is wrong with them is said together with all that is wrong with the configuration. */
export interface ServiceOptions {
  readonly config?: string;
  readonly host?: string;
  readonly port?: string;
  readonly validators?: string;
  readonly logLevel?: string;
  readonly checkConfig?: boolean;
  readonly printConfig?: boolean;
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

export function addServiceOptions(command: Command): Command {
  return command
    .option(
      '--config <file>',
      'serve the networks that the JSON file names; without it, an embedded network to try things',
    )
    .option('--host <address>', 'address to listen on (default 127.0.0.1)')
    .option('--port <n>', 'port to listen on, 0 for any free one (default 8080)')
    .option('--validators <n>', 'size of the embedded network, 5 to 2000 (default 20)')
    .addOption(
      // Checked with the configuration.
      new Option('--log-level <level>', `${LOG_LEVELS.join(', ')} (default info; warn on the embedded network)`),
    )
    .option('--check-config', 'say whether the configuration is good, or all that is wrong with it; starts nothing')
    .option(
      '--print-config',
      'print the configuration in effect as JSON, secrets masked, and where each value comes from; starts nothing',
    );
}

export function settingsOf({ config, host, port, validators, logLevel }: ServiceOptions): CommandLineSettings {
  return {
    ...(config !== undefined && { config }),
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port }),
    ...(validators !== undefined && { validators }),
    ...(logLevel !== undefined && { logLevel }),
  };
}

/**
 * What a service that was started with these arguments is told.
 *
 * @throws {Error} where they are not those of a service
 */
export function parseServiceArguments(args: readonly string[]): CommandLineSettings {
  const command = addServiceOptions(new Command('serve'))
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  command.parse([...(args[0] === 'serve' ? args.slice(1) : args)], { from: 'user' });
  return settingsOf(command.opts<ServiceOptions>());
}
