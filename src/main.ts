import { parseArgs } from 'node:util';
import { type App, startApp } from './app.ts';
import { type Config, ConfigError, embeddedConfig, loadConfig, type Overrides } from './config/config.ts';
import { printBanner } from './devnet/banner.ts';
import { type Devnet, startDevnet } from './devnet/devnet.ts';
import { registerDevnetRoutes } from './devnet/devnet-routes.ts';
import { IdentityError } from './p2p/identity.ts';
import { systemClock } from './primitives/clock.ts';
import { createLogger, LOG_LEVELS, type LogLevel } from './telemetry/logger.ts';

const HELP = `Usage: npm start -- [options]

Collects, aggregates and verifies the BLS signatures of Avalanche validators over Warp messages.

Without --config the service runs on an embedded network of its own, to try it out: a P-Chain API and validators
that speak the real peer-to-peer protocol, on loopback.

Options:
  --config FILE      serve a real network, as the JSON file says (presets: config/mainnet.json, config/fuji.json)
  --host ADDRESS     address to listen on (default 127.0.0.1)
  --port N           port to listen on, 0 for any free one (default 8080)
  --validators N     size of the embedded network, 5 to 2000 (default 20; not with --config)
  --log-level LEVEL  ${LOG_LEVELS.join(', ')} (default info; warn on the embedded network)
  --help             this text

Exit codes: 0 after SIGINT or SIGTERM, 1 on a failure, 2 on wrong arguments or configuration.
`;

/** Fewer could not show an L1 beside a primary network; more would be more TLS servers than one process holds well. */
const MIN_VALIDATORS = 5;
const MAX_VALIDATORS = 2_000;
const DEFAULT_VALIDATORS = 20;
/** What was only being started, or is closed after the last request, is gone in a second or two unless something hangs. */
const CLOSE_TIMEOUT_MS = 10_000;

class UsageError extends Error {}

interface Arguments {
  readonly config: string | undefined;
  readonly validators: number | undefined;
  readonly overrides: Overrides;
  readonly isHelp: boolean;
}

function parseArguments(args: readonly string[]): Arguments {
  let values: ReturnType<typeof parseValues>;
  try {
    values = parseValues(args);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  const port = integerOption('--port', values.port, 0, 65_535);
  const logLevel = values['log-level'];
  if (logLevel !== undefined && !isLogLevel(logLevel)) {
    throw new UsageError(`--log-level must be one of ${LOG_LEVELS.join(', ')}, is ${logLevel}`);
  }
  const validators = integerOption('--validators', values.validators, MIN_VALIDATORS, MAX_VALIDATORS);
  if (validators !== undefined && values.config !== undefined) {
    throw new UsageError('--validators is the size of the embedded network, and does not go with --config');
  }
  return {
    config: values.config,
    validators,
    isHelp: values.help === true,
    overrides: {
      ...(values.host !== undefined && { host: values.host }),
      ...(port !== undefined && { port }),
      ...(logLevel !== undefined && { logLevel }),
    },
  };
}

function parseValues(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: {
      config: { type: 'string' },
      host: { type: 'string' },
      port: { type: 'string' },
      validators: { type: 'string' },
      'log-level': { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  }).values;
}

function integerOption(name: string, text: string | undefined, min: number, max: number): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw new UsageError(`${name} must be an integer from ${min} to ${max}, is ${text}`);
  }
  return value;
}

function isLogLevel(text: string): text is LogLevel {
  return (LOG_LEVELS as readonly string[]).includes(text);
}

async function main(args: Arguments, stop: Stop): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const { signal } = stop;
  const start = async (config: Config, devnet?: Devnet): Promise<App> => {
    stop.timeoutMs = config.shutdownTimeoutMs + CLOSE_TIMEOUT_MS;
    const app = await startApp(
      {
        config,
        logger: createLogger(config.logLevel),
        clock: systemClock,
        random: Math.random,
        ...(devnet && { registerMore: (server) => registerDevnetRoutes(server, devnet) }),
      },
      signal,
    );
    return opened.use(app);
  };

  let app: App;
  if (args.config !== undefined) {
    app = await start(loadConfig(args.config, args.overrides));
  } else {
    const validators = args.validators ?? DEFAULT_VALIDATORS;
    const devnet = opened.use(
      await startDevnet({
        validators,
        clock: systemClock,
        logger: createLogger(args.overrides.logLevel ?? 'warn'),
        onProgress: (done, total) => showProgress(`starting validators: ${done} of ${total}`),
      }),
    );
    app = await start(embeddedConfig(devnet.apiUrl, args.overrides), devnet);
    showProgress('connecting to the validators');
    await app.untilReady(signal);
    clearProgress();
    printBanner({ url: app.url, nodeID: app.nodeID, devnet });
  }
  await Promise.race([aborted(signal), app.failed]);
}

/** Rewrites one line on a terminal; says nothing elsewhere. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

interface Stop {
  /** Aborts at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  /** From then on; what takes longer is ended regardless. */
  timeoutMs: number;
}

/** A second signal, or a shutdown that hangs, ends the process at once. */
function listenForStop(): Stop {
  const controller = new AbortController();
  const stop: Stop = { signal: controller.signal, timeoutMs: CLOSE_TIMEOUT_MS };
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(1);
    controller.abort(new Stopped());
    setTimeout(() => {
      process.stderr.write(`not everything closed within ${stop.timeoutMs} ms\n`);
      process.exit(1);
    }, stop.timeoutMs).unref();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return stop;
}

class Stopped extends Error {}

try {
  const args = parseArguments(process.argv.slice(2));
  if (args.isHelp) process.stdout.write(HELP);
  else await main(args, listenForStop());
  process.exitCode = 0;
} catch (error) {
  if (error instanceof Stopped) {
    process.exitCode = 0;
  } else if (error instanceof UsageError) {
    process.stderr.write(`${error.message}\nSee npm start -- --help\n`);
    process.exitCode = 2;
  } else if (error instanceof ConfigError) {
    process.stderr.write(`configuration: ${error.message}\n`);
    process.exitCode = 2;
  } else if (error instanceof IdentityError) {
    process.stderr.write(`staking identity: ${error.message}\n`);
    process.exitCode = 2;
  } else {
    process.stderr.write(`could not run: ${describeFailure(error)}\n`);
    process.exitCode = 1;
  }
}

/** What the system refuses, such as a port in use, is told by its message; the rest are bugs, and need the stack. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'syscall' in error ? error.message : (error.stack ?? error.message);
}
