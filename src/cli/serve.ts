import { type App, exampleNameOf, startApp } from '../app.ts';
import type { Config, NetworkConfig } from '../config/settings.ts';
import { printBanner } from '../devnet/banner.ts';
import { systemClock } from '../primitives/clock.ts';
import { createLogger } from '../telemetry/logger.ts';

/** For what is closed after the last request. It takes a second or two unless something hangs. */
const CLOSE_TIMEOUT_MS = 10_000;

/** The reason for ending everything at SIGINT or SIGTERM. */
export class Stopped extends Error {}

export interface Stop {
  /** Aborts at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  /** How long closing may take from then on. After that the process ends regardless. */
  timeoutMs: number;
}

/** A second signal, or a shutdown that hangs, ends the process at once. */
export function listenForStop(): Stop {
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

/** Runs the service until it is stopped. */
export async function serve(config: Config, stop: Stop): Promise<void> {
  const { signal } = stop;
  stop.timeoutMs = config.server.shutdownTimeoutMs + CLOSE_TIMEOUT_MS;
  await using app = await startApp({
    config,
    logger: createLogger(config.log.level),
    clock: systemClock,
    random: Math.random,
    onProgress: showProgress,
  });
  const ended = Promise.race([aborted(signal), app.failed]);
  const network = config.networks.find(({ embedded }) => embedded !== undefined);
  if (network !== undefined) await Promise.race([ended, welcome(app, network, signal)]);
  await ended;
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
