import type { FastifyBaseLogger } from 'fastify';

/**
 * The logger of one request, whose lines carry its ID. Most requests write a line or none, and a child of pino costs more than
 * such a line: so it is made when a line is written.
 */
export class RequestLogger implements FastifyBaseLogger {
  readonly #parent: FastifyBaseLogger;
  readonly #requestId: string;
  #made: FastifyBaseLogger | undefined;

  constructor(parent: FastifyBaseLogger, requestId: string) {
    this.#parent = parent;
    this.#requestId = requestId;
  }

  get level(): string {
    return this.#own.level;
  }

  set level(level: string) {
    this.#own.level = level;
  }

  fatal(...line: unknown[]): void {
    this.#write('fatal', line);
  }

  error(...line: unknown[]): void {
    this.#write('error', line);
  }

  warn(...line: unknown[]): void {
    this.#write('warn', line);
  }

  info(...line: unknown[]): void {
    this.#write('info', line);
  }

  debug(...line: unknown[]): void {
    this.#write('debug', line);
  }

  trace(...line: unknown[]): void {
    this.#write('trace', line);
  }

  silent(...line: unknown[]): void {
    this.#write('silent', line);
  }

  child(bindings: Record<string, unknown>, options?: object): FastifyBaseLogger {
    return this.#own.child(bindings, options as never);
  }

  get #own(): FastifyBaseLogger {
    this.#made ??= this.#parent.child({ requestId: this.#requestId });
    return this.#made;
  }

  #write(method: Method, line: unknown[]): void {
    const own = this.#own;
    (own[method] as (...line: unknown[]) => void).apply(own, line);
  }
}

type Method = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
