import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import type { Logger } from '../../src/telemetry/logger.ts';
import { LOG_FORM } from '../../src/telemetry/logger.ts';

/** Longer than anything takes that tests wait for; then the wait fails with what was logged until then. */
const WAIT_TIMEOUT_MS = 15_000;

export interface LogEntry {
  readonly level: string;
  readonly msg: string;
  readonly requestId?: string;
  readonly [field: string]: unknown;
}

/** A logger whose lines a test reads, and waits for. */
export interface LogLines {
  readonly logger: Logger;
  /** The lines as written, in JSON. */
  readonly lines: readonly string[];
  /** The lines, parsed. */
  records(): LogEntry[];
  /** Resolves as soon as as many lines have the text. */
  until(text: string, count?: number): Promise<void>;
  count(text: string): number;
}

export function createLogLines(level = 'trace'): LogLines {
  const lines: string[] = [];
  const written = new EventEmitter();
  const logger = pino(
    { ...LOG_FORM, level, timestamp: false },
    {
      write(line: string) {
        lines.push(line);
        written.emit('line');
      },
    },
  );
  const countOf = (text: string): number => lines.filter((line) => line.includes(text)).length;
  return {
    logger,
    lines,
    records: () => lines.map((line) => JSON.parse(line)),
    count: countOf,
    async until(text, count = 1) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const look = (): void => {
        if (countOf(text) >= count) resolve();
      };
      const timer = setTimeout(
        () => reject(new Error(`${JSON.stringify(text)} was not logged ${count} times:\n${lines.join('')}`)),
        WAIT_TIMEOUT_MS,
      );
      written.on('line', look);
      look();
      try {
        await promise;
      } finally {
        written.off('line', look);
        clearTimeout(timer);
      }
    },
  };
}
