import { type Logger as PinoLogger, pino } from 'pino';

export type Logger = PinoLogger;
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * Lines are written some at a time, as a system call for each would cost a repeated request a tenth of its time. A tenth of a
 * second later a line is there in any case, and what is left is written when the process ends.
 */
const BUFFER = { minLength: 4_096, periodicFlush: 100 };
/** Lines wait where their reader stops reading, or the disk that they go to is full: minutes of a busy service. Further ones are lost. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;

/**
 * JSON lines on standard error, so that standard output stays free for what a person reads. That they cannot be written neither ends the
 * service nor holds up its end; when they can be again, a line says how many are missing.
 */
export function createLogger(level: LogLevel): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: serializeError },
  };
  const destination = pino.destination({ dest: 2, sync: false, ...BUFFER, maxLength: MAX_WAITING_BYTES });
  const logger = pino(options, destination);
  const flushSync = destination.flushSync.bind(destination);
  let isBroken = false;
  let lost = 0;
  // At the end of the process. What cannot be written it would try to write for ever.
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
    logger.warn({ lost }, 'lines of the log are lost: for too long they could not be written');
    lost = 0;
  });
  return logger;
}

/** Writes the lines that wait, for what is written beside the log. */
export function flushLog(logger: Logger): void {
  const { [pino.symbols.streamSym]: stream } = logger as unknown as Record<symbol, { flushSync(): void }>;
  stream?.flushSync();
}

/**
 * Errors of our own classes say in their message, and in the `detail` that clients do not see, what the operator needs: an API
 * that is down must not fill the log with stacks. The language's own errors are bugs, and nothing helps like their stack.
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
