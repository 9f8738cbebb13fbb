import type { RequestListener, ServerOptions } from 'node:http';
import { Server as HttpServer } from 'node:http';
import type { Socket } from 'node:net';
import { announceClose, type ClientConnection } from './client-connection.ts';
import { type BreakOffReason, ClientConnections, type ClientConnectionsOptions } from './client-connections.ts';

/** Time without a byte read by the client, or of the answer sent, after which a connection is closed. */
const READ_TIMEOUT_MS = 60_000;
/** Time for the next request on a connection that an announced stop finds idle: its answer tells the client to open no more here. */
const IDLE_GRACE_MS = 2_000;

export interface DrainOptions extends Pick<ClientConnectionsOptions, 'clock' | 'maxConnections' | 'onBreakOff'> {
  /** Time for running requests when the server closes; then their connections are closed. */
  readonly drainTimeoutMs: number;
  /**
   * Whether the stop was announced: each answer ends its connection, so that none has a request on its way when the server closes. Connections that are
   * idle then have {@link IDLE_GRACE_MS} for one more request.
   */
  readonly isStopping?: (() => boolean) | undefined;
  /** Called with the number of requests that are aborted at the end of that time. */
  readonly onTimeout: (requests: number) => void;
}

/**
 * An HTTP server whose `close` loses no answer and does not wait for clients. Node's own closes connections while the end of an answer is
 * being sent, and waits until the keep-alive timeout of those that become idle later.
 */
export class DrainingServer extends HttpServer {
  readonly #options: DrainOptions;
  readonly #connections: ClientConnections;
  #isClosing = false;

  constructor(httpOptions: ServerOptions, options: DrainOptions, listener: RequestListener) {
    // The service refuses a request without Host in its error form.
    super({ ...httpOptions, requireHostHeader: false });
    this.#options = options;
    const onEnd = ({ socket, isIdle }: ClientConnection): void => {
      if (this.#isClosing && isIdle && socket.writable) socket.destroySoon();
    };
    this.#connections = new ClientConnections({ ...options, listener, onEnd });
    this.setTimeout(READ_TIMEOUT_MS, (socket) => this.#onInactive(socket));
    this.on('connection', (socket: Socket) => this.#connections.open(socket));
    this.on('request', (request, response) => {
      if (this.#isClosing || options.isStopping?.() === true) announceClose(response);
      // Undefined if the connection was closed while its bytes were being parsed.
      this.#connections.get(request.socket)?.take(request, response);
    });
    // Node would close the connection without an answer.
    this.on('connect', (_request, socket) => this.emit('clientError', new Error('CONNECT is not supported'), socket));
    // Node would answer expectations other than 100-continue without our error form.
    this.on('checkExpectation', (request, response) => this.emit('request', request, response));
  }

  /**
   * Calls `act` when the earlier requests of a connection have their answers; later bytes are not read. If part of an answer was sent, the
   * connection is closed instead.
   *
   * @returns false if the connection closes already
   */
  afterAnswers(socket: Socket, act: () => void): boolean {
    const connection = this.#connections.get(socket);
    if (connection === undefined || connection.isLast) return false;
    connection.readNoMore();
    const { responses } = connection;
    // A request with a malformed body gets no other answer.
    const last = responses.findLast(({ req }) => req.complete);
    if (responses.some(({ headersSent }) => headersSent)) {
      socket.destroy();
    } else if (last === undefined) {
      act();
    } else {
      last.once('close', act);
    }
    return true;
  }

  /** Closes a connection for what its client does. */
  breakOff(socket: Socket, reason: BreakOffReason): void {
    const connection = this.#connections.get(socket);
    if (connection !== undefined) this.#connections.breakOff(connection, reason);
  }

  /** Counts the bytes that a streamed answer has in the socket's buffer. */
  measure(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection !== undefined) this.#connections.measure(connection);
  }

  override close(callback?: (error?: Error) => void): this {
    this.#isClosing = true;
    const { clock, drainTimeoutMs, onTimeout } = this.#options;
    const cancelDrain = clock.after(drainTimeoutMs, () => {
      onTimeout([...this.#connections].reduce((sum, { responses }) => sum + responses.length, 0));
      this.closeAllConnections();
    });
    const cancelGrace = clock.after(Math.min(IDLE_GRACE_MS, drainTimeoutMs / 2), () => this.#closeIdle());
    return super.close((error) => {
      cancelDrain();
      cancelGrace();
      callback?.(error);
    });
  }

  /** Called by Fastify and Node when the server closes. */
  override closeIdleConnections(): void {
    for (const { responses } of this.#connections) announceClose(responses.at(-1));
    if (this.#options.isStopping?.() !== true) this.#closeIdle();
  }

  #closeIdle(): void {
    for (const { socket, isIdle } of this.#connections) if (isIdle) socket.destroySoon();
  }

  /** Called after Node's timeout without a byte: the read timeout, or the keep-alive timeout between requests. */
  #onInactive(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined || connection.isIdle) socket.destroy();
    else if (socket.writableLength > 0) this.#connections.breakOff(connection, 'does not read');
  }
}
