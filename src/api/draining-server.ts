import { Server as HttpServer, type RequestListener, type ServerOptions, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../primitives/clock.ts';

export interface DrainOptions {
  readonly clock: Clock;
  /** Requests that are under way when the server closes have this long; then their connections break. */
  readonly drainTimeoutMs: number;
  /** Told how many requests that befalls, if it does. */
  readonly onTimeout: (requests: number) => void;
}

/**
 * An HTTP server whose `close` loses no answer and does not wait for clients. Node's own breaks connections over which the
 * end of an answer is still being sent, and waits for those that become idle later until their keep-alive time is over.
 */
export class DrainingServer extends HttpServer {
  readonly #options: DrainOptions;
  /** All open connections, with the responses under way over each: more than one where requests are pipelined. */
  readonly #connections = new Map<Socket, Set<ServerResponse>>();
  #isClosing = false;

  constructor(httpOptions: ServerOptions, options: DrainOptions, listener: RequestListener) {
    // A request without Host is refused by the service, in its error form, and not by Node.
    super({ ...httpOptions, requireHostHeader: false });
    this.#options = options;
    this.on('connection', (socket: Socket) => {
      this.#connections.set(socket, new Set());
      socket.once('close', () => this.#connections.delete(socket));
    });
    // Before the listener, so that a response is known when it is over.
    this.on('request', ({ socket }, response: ServerResponse) => this.#follow(socket, response));
    this.on('request', listener);
    // Node would answer other expectations than 100-continue itself, without our error form.
    this.on('checkExpectation', (request, response) => this.emit('request', request, response));
  }

  /** Whether the client has got a part of an answer that is not over yet: nothing else may be written over the connection. */
  hasBegunAnswer(socket: Socket): boolean {
    return [...(this.#connections.get(socket) ?? [])].some(({ headersSent }) => headersSent);
  }

  override close(callback?: (error?: Error) => void): this {
    this.#isClosing = true;
    const { clock, drainTimeoutMs, onTimeout } = this.#options;
    const cancel = clock.after(drainTimeoutMs, () => {
      onTimeout([...this.#connections.values()].reduce((sum, { size }) => sum + size, 0));
      this.closeAllConnections();
    });
    return super.close((error) => {
      cancel();
      callback?.(error);
    });
  }

  /** Called by Node's `close`. */
  override closeIdleConnections(): void {
    for (const [socket, responses] of this.#connections) {
      const last = [...responses].at(-1);
      if (last === undefined) socket.destroySoon();
      else endConnectionWith(last);
    }
  }

  #follow(socket: Socket, response: ServerResponse): void {
    const responses = this.#connections.get(socket);
    responses?.add(response);
    if (this.#isClosing) endConnectionWith(response);
    response.once('close', () => {
      responses?.delete(response);
      // The headers of this response had been sent before the server closed.
      if (this.#isClosing && responses?.size === 0) socket.destroySoon();
    });
  }
}

/** Tells the client, too: it would lose the next request otherwise. */
function endConnectionWith(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}
