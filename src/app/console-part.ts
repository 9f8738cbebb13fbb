import type { SendPage } from '../api/health/start-page.ts';
import { type Console, openConsole } from '../console/server/console.ts';
import type { Server } from '../http/request/http-server.ts';
import type { AppCore, AppPart } from './app-part.ts';

export interface ConsolePartOptions {
  /** Whether there are examples that succeed. */
  readonly hasDevnet: boolean;
  /** Whether all clients may have the figures of the service: not if the metrics have a separate port. */
  readonly areFiguresPublic: boolean;
}

/** The page at `/` and its routes. */
export class ConsolePart implements AppPart {
  readonly #options: ConsolePartOptions;
  #console: Console | undefined;

  constructor(options: ConsolePartOptions) {
    this.#options = options;
  }

  start({ networks, registry, clock, version, access }: AppCore): void {
    this.#console = openConsole({ ...this.#options, networks, registry, clock, version, access });
  }

  routes(server: Server): void {
    this.#opened.registerRoutes(server);
  }

  readonly sendPage: SendPage = (request, reply) => this.#opened.sendPage(request, reply);

  /** Bundles the page, which the first visitor would wait for. */
  prepare(): Promise<void> {
    return this.#opened.prepare();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#console?.[Symbol.dispose]();
  }

  get #opened(): Console {
    if (this.#console === undefined) throw new Error('the console was not started');
    return this.#console;
  }
}
