import { type Logger as PinoLogger, pino } from 'pino';

export type Logger = PinoLogger;
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * Lines are written some at a time, as a system call for each would cost a repeated request a tenth of its time. A tenth of a
 * second later a line is there in any case, and what is left is written when the process ends.
 */
const BUFFER = { minLength: 4_096, periodicFlush: 100 };

/** JSON lines on standard error, so that standard output stays free for what a person reads. */
export function createLogger(level: LogLevel): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: serializeError },
  };
  return pino(options, pino.destination({ dest: 2, sync: false, ...BUFFER }));
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
