import type { RequestListener, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { Server as HttpServer } from '../../lib/net/node-http.ts';
import type { ClientConnection } from './client-connection.ts';
import { type BreakOffReason, ClientConnections } from './client-connections.ts';

/** A client that takes no byte of its answer for so long is not coming back for it. */
const READ_TIMEOUT_MS = 60_000;

export interface DrainOptions {
  readonly clock: Clock;
  /** Connections of clients. Beyond them each new one ends an idle one; where none is idle, the new one ends. */
  readonly maxConnections: number;
  /** Requests under way when the server closes have this long; then their connections are broken off. */
  readonly drainTimeoutMs: number;
  /** Called with the number of requests that are broken off at the end of that time. */
  readonly onTimeout: (requests: number) => void;
  /** Called for each connection that is broken off for what its client does. */
  readonly onBreakOff: (reason: BreakOffReason) => void;
}

/**
 * An HTTP server whose `close` loses no answer and does not wait for clients. Node's own breaks connections over which the end of an
 * answer is still being sent, and waits for those that become idle later until their keep-alive time is over.
 */
export class DrainingServer extends HttpServer {
  readonly #options: DrainOptions;
  readonly #connections: ClientConnections;
  /** Connections that end when their answers are sent. */
  readonly #awaited = new WeakSet<Socket>();
  #isClosing = false;

  constructor(httpOptions: ServerOptions, options: DrainOptions, listener: RequestListener) {
    // A request without Host is refused by the service, in its error form, and not by Node.
    super({ ...httpOptions, requireHostHeader: false });
    this.#options = options;
    const onOver = ({ socket, isIdle }: ClientConnection): void => {
      if (this.#isClosing && isIdle && socket.writable) socket.destroySoon();
    };
    this.#connections = new ClientConnections({ ...options, listener, onOver });
    this.setTimeout(READ_TIMEOUT_MS, (socket) => this.#onInactive(socket));
    this.on('connection', (socket: Socket) => this.#connections.open(socket));
    this.on('request', (request, response) => {
      if (this.#isClosing) announceClose(response);
      // Undefined where the connection was broken off while its bytes were being parsed.
      this.#connections.get(request.socket)?.take(request, response);
    });
    // Node would end the connection without an answer.
    this.on('connect', (_request, socket) =>
      this.emit('clientError', new Error('CONNECT is for proxies, and this is none'), socket),
    );
    // Node would answer other expectations than 100-continue itself, without our error form.
    this.on('checkExpectation', (request, response) => this.emit('request', request, response));
  }

  /**
   * Calls `act` once, when the requests that came before over this connection have their answers. What comes after is dropped. Where part of an answer is sent, the
   * connection is broken off instead: nothing else may be written into it.
   */
  afterAnswers(socket: Socket, act: () => void): void {
    socket.removeAllListeners('data');
    const responses = this.#connections.get(socket)?.responses ?? [];
    // A request whose own body is malformed has no other answer.
    const last = responses.findLast(({ req }) => req.complete);
    if (responses.some(({ headersSent }) => headersSent)) {
      socket.destroy();
    } else if (last === undefined) {
      act();
    } else if (!this.#awaited.has(socket)) {
      this.#awaited.add(socket);
      last.once('close', act);
    }
  }

  /** Counts what an answer that is written bit by bit has in the socket's buffer. */
  measure(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection !== undefined) this.#connections.measure(connection);
  }

  override close(callback?: (error?: Error) => void): this {
    this.#isClosing = true;
    const { clock, drainTimeoutMs, onTimeout } = this.#options;
    const cancel = clock.after(drainTimeoutMs, () => {
      onTimeout([...this.#connections].reduce((sum, { responses }) => sum + responses.length, 0));
      this.closeAllConnections();
    });
    return super.close((error) => {
      cancel();
      callback?.(error);
    });
  }

  /** Called by Node's `close`. */
  override closeIdleConnections(): void {
    for (const { socket, responses } of this.#connections) {
      const last = responses.at(-1);
      if (last === undefined) socket.destroySoon();
      else announceClose(last);
    }
  }

  /** Nothing was read or sent for as long as Node's timeout: the read timeout, or the keep-alive timeout between requests. */
  #onInactive(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined || connection.isIdle) socket.destroy();
    else if (socket.writableLength > 0) this.#connections.breakOff(connection, 'does not read');
  }
}

/** Makes the connection end with this response, and lets the client know, which would lose its next request otherwise. */
function announceClose(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}
