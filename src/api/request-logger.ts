import type { FastifyBaseLogger } from 'fastify';

/**
 * The logger of one request, whose lines carry its ID. Most requests write a line or none, and a child of pino costs more than
 * such a line: so it is made when a line is written.
 */
export class RequestLogger implements FastifyBaseLogger {
  readonly #parent: FastifyBaseLogger;
  readonly #bindings: Record<string, unknown>;
  readonly #options: object | undefined;
  #made: FastifyBaseLogger | undefined;

  constructor(parent: FastifyBaseLogger, bindings: Record<string, unknown>, options: object | undefined) {
    this.#parent = parent;
    this.#bindings = bindings;
    this.#options = options;
  }

  get level(): string {
    return this.#own.level;
  }

  set level(level: string) {
    this.#own.level = level;
  }

  get fatal() {
    return bound(this.#own, 'fatal');
  }

  get error() {
    return bound(this.#own, 'error');
  }

  get warn() {
    return bound(this.#own, 'warn');
  }

  get info() {
    return bound(this.#own, 'info');
  }

  get debug() {
    return bound(this.#own, 'debug');
  }

  get trace() {
    return bound(this.#own, 'trace');
  }

  get silent() {
    return bound(this.#own, 'silent');
  }

  child(bindings: Record<string, unknown>, options?: object): FastifyBaseLogger {
    return this.#own.child(bindings, options as never);
  }

  get #own(): FastifyBaseLogger {
    this.#made ??= this.#parent.child(this.#bindings, this.#options as never);
    return this.#made;
  }
}

type Method = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

function bound(logger: FastifyBaseLogger, method: Method): FastifyBaseLogger['info'] {
  return logger[method].bind(logger) as FastifyBaseLogger['info'];
}
