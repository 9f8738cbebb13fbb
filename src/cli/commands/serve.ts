import { closeSync, openSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { isatty } from 'node:tty';
import { type App, exampleNameOf, startApp, WrongNetworks } from '../../app.ts';
import { untilThreadsStarted } from '../../bls/service/job-thread.ts';
import type { LoadedConfig } from '../../config/load/load-config.ts';
import { ConfigError } from '../../config/schema/config-error.ts';
import type { NetworkConfig } from '../../config/settings.ts';
import { ListenError } from '../../http/server/listen-error.ts';
import { sleep, systemClock } from '../../lib/concurrency/clock.ts';
import { aborted } from '../../lib/concurrency/deadline.ts';
import { IdentityError } from '../../p2p/identity/identity.ts';
import { StoreError } from '../../store/local/validation-store.ts';
import { createLogger, flushLog, type Logger } from '../../telemetry/logger.ts';
import { usageFailure } from '../exit-codes.ts';
import { createReload } from './reload.ts';

/** Threads start in a tenth of a second, and a person who wants the end at once does not wait for one that hangs. */
const MAX_THREAD_START_MS = 1_000;
/** For what is closed after the last request. It takes a second or two unless something hangs. */
const CLOSE_TIMEOUT_MS = 10_000;

/** The reason for ending everything at SIGINT or SIGTERM, or when the terminal is closed. */
class Stopped extends Error {
  readonly signalName: NodeJS.Signals;

  constructor(signalName: NodeJS.Signals) {
    super(signalName);
    this.signalName = signalName;
  }
}

interface Stop {
  /** Aborts at the first SIGINT or SIGTERM, or by {@link hangUp}, with {@link Stopped}. */
  readonly signal: AbortSignal;
  /** As SIGINT does, where it is not stopped already. */
  hangUp(): void;
  /** How long closing may take from then on. After that the process ends regardless. */
  timeoutMs: number;
}

/** A second signal, or a shutdown that hangs, ends the process at once. */
function listenForStop(): Stop {
  const controller = new AbortController();
  const stop: Stop = {
    signal: controller.signal,
    hangUp() {
      if (!controller.signal.aborted) onSignal('SIGHUP');
    },
    timeoutMs: CLOSE_TIMEOUT_MS,
  };
  const onSignal = (signalName: NodeJS.Signals): void => {
    if (controller.signal.aborted) {
      process.stderr.write('ended at once, by a second signal\n');
      void exitAtOnce();
      return;
    }
    controller.abort(new Stopped(signalName));
    setTimeout(() => {
      process.stderr.write(`not everything closed within ${stop.timeoutMs} ms\n`);
      process.exit(1);
    }, stop.timeoutMs).unref();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return stop;
}

/** With 1, and not by a signal of V8's: see {@link untilThreadsStarted}. */
async function exitAtOnce(): Promise<never> {
  await Promise.race([untilThreadsStarted(), sleep(systemClock, MAX_THREAD_START_MS)]);
  process.exit(1);
}

/**
 * Whether the terminal at which somebody started this is closed since then, of which the system tells by SIGHUP, too: what goes on then holds
 * its port, and nobody sees it. `nohup` and supervisors start without one.
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
  /** Called before anything else is logged. */
  readonly onStart?: (logger: Logger) => void;
  /** Changes the text of an error that ends the service. */
  readonly describe?: (text: string) => string;
}

/**
 * Runs the service until it is stopped, and returns the exit code. It is 1 for every failure that the configuration has no part in.
 *
 * @throws {CommandFailure}, {@link ConfigError}, {@link IdentityError}
 */
export async function serve(
  load: () => LoadedConfig,
  { onStart = () => undefined, describe = (text) => text }: ServeOptions = {},
): Promise<number> {
  try {
    await serveUntilStopped(load, listenForStop(), onStart);
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
  stop: Stop,
  onStart: (logger: Logger) => void,
): Promise<void> {
  const { signal } = stop;
  // Without a listener the signal ends the process; before there is anything to change there is nothing to do.
  let reload = async (): Promise<void> => undefined;
  const isTerminalClosed = watchTerminal();
  process.on('SIGHUP', () => {
    if (isTerminalClosed()) stop.hangUp();
    else void reload();
  });
  const { config, written } = load();
  const { drainDelayMs, shutdownTimeoutMs } = config.server;
  stop.timeoutMs = drainDelayMs + shutdownTimeoutMs + CLOSE_TIMEOUT_MS;
  const logger = createLogger(config.log.level);
  // Why the service ends is the last line.
  using flushed = new DisposableStack();
  flushed.defer(() => flushLog(logger));
  onStart(logger);
  await using app = await startApp({
    config,
    logger,
    clock: systemClock,
    random: Math.random,
    onProgress: showProgress,
  });
  reload = createReload({ app, logger, started: written, load });
  const ended = Promise.race([aborted(signal), app.failed]);
  const prepared = prepareConsole(app, logger, signal);
  prepared.catch(() => undefined); // It was stopped before.
  const network = config.networks.find(({ embedded }) => embedded !== undefined);
  if (network !== undefined) await Promise.race([ended, welcome(app, network, prepared)]);
  await ended;
  // A person at a terminal waits for the end, and nobody sends requests on their behalf.
  if (signal.reason instanceof Stopped && signal.reason.signalName === 'SIGTERM') await app.announceStop();
}

/**
 * Waits until the service is ready, and has the page's files made, for which the first visitor would wait.
 *
 * @throws the signal's reason
 */
async function prepareConsole(app: App, logger: Logger, signal: AbortSignal): Promise<void> {
  await app.untilReady(signal);
  // Node writes it at the end of a process only, and some tools end this one with SIGKILL at every run.
  flushCompileCache();
  try {
    await app.prepareConsole();
  } catch (error) {
    logger.warn({ err: error }, 'the files of the console cannot be made');
  }
}

/** Prints what can be tried, once it will succeed, the page at the address included. */
async function welcome(app: App, network: NetworkConfig, prepared: Promise<void>): Promise<void> {
  await prepared;
  clearProgress();
  const { url, nodeID, devnet } = app;
  if (devnet === undefined) return;
  const { printBanner } = await import('../../devnet/banner.ts');
  printBanner({ url, nodeID, devnet, pathName: exampleNameOf(network) });
}

/** Rewrites one line on a terminal; says nothing elsewhere. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
}

/** Where the system refuses something, such as a port or a file, the message is enough. Anything else is a bug, and needs its stack. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ListenError) return `${error.message}${listenAdvice(error)}`;
  const isOfSystem = [error, error.cause].some((one) => one instanceof Error && 'syscall' in one);
  return isOfSystem ? error.message : (error.stack ?? error.message);
}

/** What to do where the service cannot listen; nothing where the system has a reason that is not known here. */
export function listenAdvice({ cause, settings }: ListenError): string {
  const port = settings.port === 'server.port' ? '--port or the setting server.port' : `the setting ${settings.port}`;
  const host = settings.host === 'server.host' ? '--host or the setting server.host' : `the setting ${settings.host}`;
  switch (cause.code) {
    case 'EADDRINUSE':
      return `: another program listens on this port; take another one by ${port}, or 0 for any free one`;
    case 'EACCES':
      return `: this port needs more rights; take another one by ${port}`;
    case 'EADDRNOTAVAIL':
      return `: this machine has no such address; give another one by ${host}`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `: no address of that name is found; give another one by ${host}`;
    case undefined:
    default:
      return '';
  }
}
