import type { RequestListener, ServerOptions, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../primitives/clock.ts';
import { Server as HttpServer } from '../primitives/node-http.ts';
import type { ClientConnection } from './client-connection.ts';
import { type BreakOffReason, ClientConnections } from './client-connections.ts';

export interface DrainOptions {
  readonly clock: Clock;
  /** Of clients, at a time. Beyond them an idle one ends for each new one, and where none is idle, the new one. */
  readonly maxConnections: number;
  /** Requests that are under way when the server closes have this long; then their connections break. */
  readonly drainTimeoutMs: number;
  /** Told how many requests that befalls, if it does. */
  readonly onTimeout: (requests: number) => void;
  /** Told of each connection that is broken off for what its client has under way or does not read. */
  readonly onBreakOff: (reason: BreakOffReason) => void;
}

/**
 * An HTTP server whose `close` loses no answer and does not wait for clients. Node's own breaks connections over which the
 * end of an answer is still being sent, and waits for those that become idle later until their keep-alive time is over.
 */
export class DrainingServer extends HttpServer {
  readonly #options: DrainOptions;
  readonly #connections: ClientConnections;
  /** Connections whose end waits for their answers. */
  readonly #awaited = new WeakSet<Socket>();
  #isClosing = false;

  constructor(httpOptions: ServerOptions, options: DrainOptions, listener: RequestListener) {
    // A request without Host is refused by the service, in its error form, and not by Node.
    super({ ...httpOptions, requireHostHeader: false });
    this.#options = options;
    this.#connections = new ClientConnections({
      ...options,
      listener,
      onOver: (connection) => this.#answered(connection),
    });
    this.on('connection', (socket: Socket) => this.#connections.open(socket));
    this.on('request', (request, response) => {
      const connection = this.#connections.get(request.socket);
      // It was broken off while what it had sent was being parsed.
      if (connection === undefined) return;
      if (this.#isClosing) endConnectionWith(response);
      connection.take(request, response);
    });
    // Node would end the connection without a word.
    this.on('connect', (_request, socket) =>
      this.emit('clientError', new Error('CONNECT is for proxies, and this is none'), socket),
    );
    // Node would answer other expectations than 100-continue itself, without our error form.
    this.on('checkExpectation', (request, response) => this.emit('request', request, response));
  }

  /**
   * For what is written over a connection beside the answers: acts once, when the requests that came before have their answers.
   * Where part of an answer is on its way, and nothing else may be written into it, the connection is broken off instead.
   */
  afterAnswers(socket: Socket, act: () => void): void {
    const responses = this.#connections.get(socket)?.responses ?? [];
    // What is wrong with a request's own body is its answer.
    const last = responses.findLast(({ req }) => req.complete);
    if (responses.some(({ headersSent }) => headersSent)) {
      socket.destroy();
    } else if (last === undefined) {
      act();
    } else if (!this.#awaited.has(socket)) {
      // More bytes that are no request may follow meanwhile.
      this.#awaited.add(socket);
      last.once('close', act);
    }
  }

  /** For answers that are written bit by bit: what their clients have not read counts at once. */
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
      this.#connections.stop();
      callback?.(error);
    });
  }

  /** Called by Node's `close`. */
  override closeIdleConnections(): void {
    for (const { socket, responses } of this.#connections) {
      const last = responses.at(-1);
      if (last === undefined) socket.destroySoon();
      else endConnectionWith(last);
    }
  }

  /** While the server closes, a connection ends with its last answer, also where that had begun before. */
  #answered({ socket, isIdle }: ClientConnection): void {
    if (this.#isClosing && isIdle && socket.writable) socket.destroySoon();
  }
}

/** Tells the client, too: it would lose the next request otherwise. */
function endConnectionWith(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}
