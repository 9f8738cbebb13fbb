import { type App, exampleNameOf, startApp } from '../app.ts';
import type { LoadedConfig } from '../config/load-config.ts';
import type { NetworkConfig } from '../config/settings.ts';
import { printBanner } from '../devnet/banner.ts';
import { sleep, systemClock } from '../primitives/clock.ts';
import { collectGarbage } from '../primitives/collect-garbage.ts';
import { createLogger } from '../telemetry/logger.ts';
import { createReload } from './reload.ts';

/** For what is closed after the last request. It takes a second or two unless something hangs. */
const CLOSE_TIMEOUT_MS = 10_000;
/** From readiness on: what the start leaves over is collected after the first requests, which were waiting for it. */
const SETTLE_AFTER_MS = 1_000;

/** The reason for ending everything at SIGINT or SIGTERM. */
export class Stopped extends Error {
  readonly signalName: NodeJS.Signals;

  constructor(signalName: NodeJS.Signals) {
    super(signalName);
    this.signalName = signalName;
  }
}

export interface Stop {
  /** Aborts at the first SIGINT or SIGTERM, with {@link Stopped}. */
  readonly signal: AbortSignal;
  /** How long closing may take from then on. After that the process ends regardless. */
  timeoutMs: number;
}

/** A second signal, or a shutdown that hangs, ends the process at once. */
export function listenForStop(): Stop {
  const controller = new AbortController();
  const stop: Stop = { signal: controller.signal, timeoutMs: CLOSE_TIMEOUT_MS };
  const onSignal = (signalName: NodeJS.Signals): void => {
    if (controller.signal.aborted) process.exit(1);
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

/** Runs the service until it is stopped. */
export async function serve(load: () => LoadedConfig, stop: Stop): Promise<void> {
  const { signal } = stop;
  // Without a listener the signal ends the process; before there is anything to change there is nothing to do.
  let reload = async (): Promise<void> => undefined;
  process.on('SIGHUP', () => void reload());
  const { config, written } = load();
  const { drainDelayMs, shutdownTimeoutMs } = config.server;
  stop.timeoutMs = drainDelayMs + shutdownTimeoutMs + CLOSE_TIMEOUT_MS;
  const logger = createLogger(config.log.level);
  await using app = await startApp({
    config,
    logger,
    clock: systemClock,
    random: Math.random,
    onProgress: showProgress,
  });
  reload = createReload({ app, logger, started: written, load });
  const ended = Promise.race([aborted(signal), app.failed]);
  settleMemory(app, signal).catch(() => undefined); // It was stopped before.
  const network = config.networks.find(({ embedded }) => embedded !== undefined);
  if (network !== undefined) await Promise.race([ended, welcome(app, network, signal)]);
  await ended;
  // A person at a terminal waits for the end, and nobody sends requests on their behalf.
  if (signal.reason instanceof Stopped && signal.reason.signalName === 'SIGTERM') await app.announceStop();
}

/** Frees what only the start needed. */
async function settleMemory(app: App, signal: AbortSignal): Promise<void> {
  await app.untilReady(signal);
  await sleep(systemClock, SETTLE_AFTER_MS, signal);
  collectGarbage();
}

/** Prints what can be tried, once it will succeed. */
async function welcome(app: App, network: NetworkConfig, signal: AbortSignal): Promise<void> {
  showProgress('connecting to the validators');
  await app.untilReady(signal);
  clearProgress();
  const { url, nodeID, devnet } = app;
  if (devnet !== undefined) printBanner({ url, nodeID, devnet, pathName: exampleNameOf(network) });
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
