import { type LevelWithSilent, type Logger as PinoLogger, pino } from 'pino';

export type Logger = PinoLogger;

/** Lines are written in batches, because a system call for each costs a cached request a tenth of its time; the delay is 100 ms at most. */
const BUFFER = { minLength: 4_096, periodicFlush: 100 };
/** Bound of the lines that wait while their reader is blocked or the disk is full: minutes of a busy service. Further ones are lost. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/** Form of a line: the level is a word, as collectors of logs expect it. */
export const LOG_FORM = {
  base: null,
  formatters: { level: (label: string) => ({ level: label }) },
  serializers: { err: serializeError },
};

/**
 * Creates a logger of JSON lines on standard error. Failed writes neither end the service nor block its end; after them a line has the
 * number of lost lines.
 */
export function createLogger(level: LevelWithSilent): Logger {
  const options = { ...LOG_FORM, level, timestamp: pino.stdTimeFunctions.isoTime };
  const destination = pino.destination({ dest: 2, sync: false, ...BUFFER, maxLength: MAX_WAITING_BYTES });
  const logger = pino(options, destination);
  destinations.set(logger, destination);
  const flushSync = destination.flushSync.bind(destination);
  let isBroken = false;
  let lost = 0;
  // Called when the process ends; it would retry a failing write forever.
  destination.flushSync = () => {
    if (!isBroken) flushSync();
  };
  destination.on('drop', () => {
    lost += 1;
  });
  destination.on('error', () => {
    isBroken = true;
  });
  destination.on('drain', () => {
    isBroken = false;
    if (lost === 0) return;
    logger.warn({ lost }, 'log lines are lost: they could not be written for too long');
    lost = 0;
  });
  return logger;
}

/** Writes the waiting lines, before other output to standard error. */
export function flushLog(logger: Logger): void {
  destinations.get(logger)?.flushSync();
}

/** What the loggers of {@link createLogger} write to. */
const destinations = new WeakMap<Logger, { flushSync(): void }>();

/**
 * Errors of our classes are logged by their message and the `detail` that clients do not see, so that an API that is down does not fill
 * the log with stacks. Built-in errors are bugs, and are logged with their stack.
 */
export function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (error.name in globalThis) return pino.stdSerializers.err(error);
  const detail = detailOf(error) ?? detailOf(error.cause);
  return { type: error.name, message: error.message, ...(detail !== undefined && { detail }) };
}

function detailOf(error: unknown): string | undefined {
  const detail = error instanceof Error && 'detail' in error ? error.detail : undefined;
  return typeof detail === 'string' ? detail : undefined;
}
