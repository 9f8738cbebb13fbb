import { parseArgs } from 'node:util';
import type { CommandLineSettings } from '../config/load-config.ts';
import { nearestName } from '../primitives/nearest-name.ts';

export const HELP = `Usage: npm start -- [options]

Collects, aggregates and verifies the BLS signatures of Avalanche validators over Warp messages.

Without --config the service runs on an embedded network of its own, to try it out: a P-Chain API and validators
that speak the real peer-to-peer protocol, on loopback.

Commands, before the options:
  identity           print the NodeID that L1s with a list of allowed nodes have to list; makes the identity where there is none
  health             exit with 0 if the service answers on this machine, else with 1; --of-process N takes the options of a process

Options:
  --config FILE      serve the networks that the JSON file names
                     (presets: config/mainnet.json, config/fuji.json, config/public.json, config/local.json)
  --host ADDRESS     address to listen on (default 127.0.0.1)
  --port N           port to listen on, 0 for any free one (default 8080)
  --validators N     size of the embedded network, 5 to 2000 (default 20)
  --log-level LEVEL  fatal, error, warn, info, debug, trace, silent (default info; warn on the embedded network)
  --check-config     say whether the configuration is good, or all that is wrong with it; starts nothing
  --print-config     print the configuration in effect as JSON, secrets masked, and where each value comes from; starts nothing
  --version          print the version
  --help             print this text

Every other setting stands in the file or in a variable of the environment: see config/README.md.

Signals: SIGTERM and SIGINT stop the service, a second one at once; SIGHUP has it read its configuration anew.
Exit codes: 0 after SIGINT or SIGTERM, 1 on a failure, 2 on wrong arguments or configuration.
`;

/** What is wrong with the command line, in words for the person who wrote it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export interface Arguments {
  readonly action: 'serve' | 'print identity' | 'check config' | 'print config' | 'print version' | 'print help';
  readonly settings: CommandLineSettings;
}

const OPTIONS = {
  config: { type: 'string' },
  host: { type: 'string' },
  port: { type: 'string' },
  validators: { type: 'string' },
  'log-level': { type: 'string' },
  'check-config': { type: 'boolean' },
  'print-config': { type: 'boolean' },
  version: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** @throws {UsageError} */
export function parseArguments(all: readonly string[]): Arguments {
  const isIdentity = all[0] === 'identity';
  const args = isIdentity ? all.slice(1) : all;
  refuseUnknownOptions(args);
  const { config, host, port, validators, 'log-level': logLevel, ...flags } = parseValues(args);
  const action = actionOf(flags);
  return {
    action: isIdentity && action === 'serve' ? 'print identity' : action,
    settings: {
      ...(config !== undefined && { config }),
      ...(host !== undefined && { host }),
      ...(port !== undefined && { port }),
      ...(validators !== undefined && { validators }),
      ...(logLevel !== undefined && { logLevel }),
    },
  };
}

function parseValues(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** The parser's own error does not suggest what may have been meant. */
function refuseUnknownOptions(args: readonly string[]): void {
  const { tokens } = parseArgs({ args: [...args], options: OPTIONS, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option' || Object.hasOwn(OPTIONS, token.name)) continue;
    const nearest = nearestName(token.name, Object.keys(OPTIONS));
    throw new UsageError(
      `unknown option ${token.rawName}${nearest === undefined ? '' : `; did you mean --${nearest}?`}`,
    );
  }
}

type Flags = Pick<ReturnType<typeof parseValues>, 'help' | 'version' | 'check-config' | 'print-config'>;

function actionOf(flags: Flags): Arguments['action'] {
  if (flags.help === true) return 'print help';
  if (flags.version === true) return 'print version';
  if (flags['check-config'] === true) return 'check config';
  return flags['print-config'] === true ? 'print config' : 'serve';
}
