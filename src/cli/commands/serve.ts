import { closeSync, openSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { isatty } from 'node:tty';
import { type App, startApp } from '../../app/app.ts';
import { devnetPathName } from '../../app/devnet-part.ts';
import { untilThreadsStarted } from '../../bls/service/job-thread.ts';
import type { LoadedConfig } from '../../config/load/load-config.ts';
import { ConfigError } from '../../config/schema/config-error.ts';
import type { Config } from '../../config/settings.ts';
import { ListenError } from '../../http/server/listen-error.ts';
import { sleep, systemClock } from '../../lib/concurrency/clock.ts';
import { aborted } from '../../lib/concurrency/deadline.ts';
import { WrongNetworks } from '../../network/networks.ts';
import { IdentityError } from '../../p2p/identity/identity.ts';
import { StoreError } from '../../store/local/sqlite.ts';
import { createLogger, flushLog, type Logger } from '../../telemetry/logger.ts';
import { usageFailure } from '../io/exit-codes.ts';
import { createInterrupt } from '../io/interrupt.ts';
import { listenAdvice } from '../io/listen-advice.ts';
import { createReload } from './reload.ts';

/** Threads start within a tenth of a second; the bound is for one that hangs. */
const MAX_THREAD_START_MS = 1_000;
/** For closing after the last request, which takes a second or two. */
const CLOSE_TIMEOUT_MS = 10_000;

/** The abort reason after SIGINT, SIGTERM, or the end of the terminal. The message is the name of the signal. */
class Stopped extends Error {}

interface Stop {
  /** Aborts with {@link Stopped}. */
  readonly signal: AbortSignal;
  /** The longest time for closing, after which the process exits. */
  timeoutMs: number;
}

/** Exits at once at a later SIGINT, and when the shutdown hangs. Other signals to stop change nothing when they are repeated. */
function listenForSignals(reload: () => void): Stop {
  const controller = new AbortController();
  const stop: Stop = { signal: controller.signal, timeoutMs: CLOSE_TIMEOUT_MS };
  const stopBy = (signalName: NodeJS.Signals): void => {
    if (controller.signal.aborted) return;
    controller.abort(new Stopped(signalName));
    setTimeout(() => {
      process.stderr.write(`not everything closed within ${stop.timeoutMs} ms\n`);
      process.exit(1);
    }, stop.timeoutMs).unref();
  };
  const interrupt = createInterrupt(() => performance.now());
  process.on('SIGINT', () => {
    switch (interrupt()) {
      case 'stop':
        process.stderr.write('stopping after the requests that are running; a Ctrl-C in a second or later ends them\n');
        stopBy('SIGINT');
        break;
      case 'exit':
        process.stderr.write('ended at once, by a second Ctrl-C\n');
        void exitAtOnce();
        break;
      case 'ignore':
        break;
    }
  });
  process.on('SIGTERM', stopBy);
  const isTerminalClosed = watchTerminal();
  // Without a listener SIGHUP would end the process.
  process.on('SIGHUP', () => {
    if (isTerminalClosed()) stopBy('SIGHUP');
    else reload();
  });
  return stop;
}

/** Exits with 1 rather than a crash of V8: see {@link untilThreadsStarted}. */
async function exitAtOnce(): Promise<never> {
  await Promise.race([untilThreadsStarted(), sleep(systemClock, MAX_THREAD_START_MS)]);
  process.exit(1);
}

/**
 * Returns a function that tests whether the terminal of the process was closed, which causes SIGHUP too: a service without its terminal
 * would keep the port unnoticed. `nohup` and supervisors start without a terminal.
 */
function watchTerminal(): () => boolean {
  const isAtTerminal = isatty(0);
  return () => {
    if (!isAtTerminal) return false;
    try {
      closeSync(openSync('/dev/tty', 'r'));
      return false;
    } catch {
      return true;
    }
  };
}

export interface ServeOptions {
  readonly onStart?: (logger: Logger) => void;
  /** Replaces names of settings in texts for operators, if the configuration has another form. */
  readonly describe?: (text: string) => string;
}

/**
 * Runs the service until it is stopped, and returns the exit code: 1 for failures outside the configuration.
 *
 * @throws {CommandFailure}, {@link ConfigError}, {@link IdentityError}
 */
export async function serve(
  load: () => LoadedConfig,
  { onStart = () => undefined, describe = (text) => text }: ServeOptions = {},
): Promise<number> {
  try {
    await serveUntilStopped(load, onStart, describe);
    return 0;
  } catch (error) {
    if (error instanceof Stopped) return 0;
    if (error instanceof ConfigError || error instanceof IdentityError) throw error;
    if (error instanceof WrongNetworks) throw usageFailure(`configuration: ${error.message}`, { cause: error });
    if (error instanceof StoreError) throw usageFailure(`store: ${error.message}`, { cause: error });
    process.stderr.write(`could not run: ${describe(describeError(error))}\n`);
    return 1;
  }
}

async function serveUntilStopped(
  load: () => LoadedConfig,
  onStart: (logger: Logger) => void,
  describe: (text: string) => string,
): Promise<void> {
  let reload = async (): Promise<void> => undefined;
  const stop = listenForSignals(() => void reload());
  const { signal } = stop;
  const { config, settings, warnings } = load();
  const { drainDelayMs, shutdownTimeoutMs } = config.server;
  stop.timeoutMs = drainDelayMs + shutdownTimeoutMs + CLOSE_TIMEOUT_MS;
  const logger = createLogger(config.log.level);
  // Flushes the reason for the end, the last line.
  using flushed = new DisposableStack();
  flushed.defer(() => flushLog(logger));
  onStart(logger);
  for (const warning of warnings) logger.warn(warning);
  // A terminal shows the progress instead.
  if (config.devnet !== undefined && !process.stderr.isTTY) console.log('Starting a devnet, which takes some seconds');
  await using app = await startApp({
    config,
    logger,
    clock: systemClock,
    random: Math.random,
    signal,
    onProgress: showProgress,
    describe,
  });
  reload = createReload({ app, logger, started: settings, load });
  const ended = Promise.race([aborted(signal), app.failed]);
  const prepared = prepareConsole(app, logger, signal);
  prepared.catch(() => undefined); // Rejects if the service stops before.
  if (config.devnet !== undefined) await Promise.race([ended, welcome(app, config, prepared)]);
  await ended;
  // SIGINT comes from a terminal, where no load balancer must notice the end.
  if (signal.reason instanceof Stopped && signal.reason.message === 'SIGTERM') await app.announceStop();
}

/**
 * Waits until the service is ready, and builds the files of the console before the first visitor.
 *
 * @throws the signal's reason
 */
async function prepareConsole(app: App, logger: Logger, signal: AbortSignal): Promise<void> {
  await app.untilReady(signal);
  // Node writes the cache only at a regular exit, and some tools send SIGKILL.
  flushCompileCache();
  try {
    await app.prepareConsole();
  } catch (error) {
    logger.warn({ err: error }, 'the files of the console cannot be built');
  }
}

async function welcome(app: App, config: Config, prepared: Promise<void>): Promise<void> {
  await prepared;
  showProgress('');
  const { url, nodeID, devnet } = app;
  if (devnet === undefined) return;
  const { printBanner } = await import('../../devnet/banner.ts');
  printBanner({ url, nodeID, devnet, pathName: devnetPathName(config) });
}

/** Rewrites one line of a terminal; prints nothing elsewhere. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

/** Returns the message of a system error, such as for a port or a file, and the stack of others, which are bugs. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ListenError) return `${error.message}${listenAdvice(error)}`;
  const isOfSystem = [error, error.cause].some((one) => one instanceof Error && 'syscall' in one);
  return isOfSystem ? error.message : (error.stack ?? error.message);
}
