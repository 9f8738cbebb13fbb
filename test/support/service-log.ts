import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const TAIL_LINES = 200;
/** Node needs a second or two on a busy machine to load everything. */
const LINE_TIMEOUT_MS = 30_000;

export type LogRecord = Readonly<Record<string, unknown>>;

/** What a service in another process writes to its standard error. */
export interface ServiceLog {
  /** The first line with this message, written or yet to come. Rejects when the process ends without it, or takes too long. */
  line(message: string): Promise<LogRecord>;
  /** The last lines. */
  tail(): string;
}

/** To be called right after the start, so that no line is missed. */
export function followLog(child: ChildProcess & { readonly stderr: Readable }): ServiceLog {
  const lines: string[] = [];
  const found = new Map<string, PromiseWithResolvers<LogRecord>>();
  const entry = (message: string): PromiseWithResolvers<LogRecord> => {
    const known = found.get(message) ?? Promise.withResolvers<LogRecord>();
    found.set(message, known);
    return known;
  };
  createInterface({ input: child.stderr }).on('line', (line) => {
    lines.push(line);
    if (lines.length > TAIL_LINES) lines.shift();
    const record = line.startsWith('{') ? (JSON.parse(line) as LogRecord) : {};
    if (typeof record['msg'] === 'string') entry(record['msg']).resolve(record);
  });
  const ended = new Promise<string>((resolve) => {
    child.once('close', (code, signal) => resolve(`the service ended with ${code ?? signal}`));
  });
  return {
    tail: () => lines.join('\n'),
    async line(message) {
      const late = Promise.withResolvers<string>();
      const timer = setTimeout(() => late.resolve(`no such line within ${LINE_TIMEOUT_MS} ms`), LINE_TIMEOUT_MS);
      try {
        const record = await Promise.race([entry(message).promise, ended, late.promise]);
        if (typeof record === 'string') throw new Error(`waiting for "${message}": ${record}:\n${lines.join('\n')}`);
        return record;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
