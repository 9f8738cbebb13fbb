import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../lib/concurrency/clock.ts';

/**
 * Requests of a connection that may be unanswered at once. Browsers and HTTP libraries do not pipeline; Node parses all that a client sent in
 * one write, so these are the requests that one write may start.
 */
export const MAX_UNANSWERED = 16;
/** Memory of a waiting pipelined request: Node's two objects, and its headers. */
const WAITING_REQUEST_BYTES = 3 * 1024;
/** Node reads on after a pause until it has 64 KiB, and it reads 64 KiB at once. */
const READ_AHEAD_BYTES = 128 * 1024;

export interface ClientConnectionOptions {
  readonly clock: Clock;
  readonly listener: RequestListener<typeof IncomingMessage, typeof ServerResponse>;
  readonly onChange: (connection: ClientConnection) => void;
  readonly onEnd: (connection: ClientConnection) => void;
}

interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse & { req: IncomingMessage };
}

/**
 * A client's connection, whose pipelined requests are handled one after the other, like in Go's net/http. While one waits, nothing more is
 * read. After {@link MAX_UNANSWERED} unanswered requests the connection is closed with the last answer.
 */
export class ClientConnection {
  readonly socket: Socket;
  /** Network of the peer, which may be a proxy. */
  readonly address: string;
  idleSinceMs: number;
  readonly #options: ClientConnectionOptions;
  readonly #waiting: Arrival[] = [];
  #current: ServerResponse | undefined;
  /** What Node's parser reads now. */
  #parsed: Buffer | undefined;
  #isLast = false;

  constructor(socket: Socket, address: string, options: ClientConnectionOptions) {
    this.socket = socket;
    this.address = address;
    this.#options = options;
    this.idleSinceMs = options.clock.monotonicMs();
    // Node resumes a connection after each request.
    socket.on('resume', () => this.#pauseIfNeeded());
    // The parser is another listener, between these two. They cost 0.06 ms of each request, as Node passes what it reads through JavaScript then;
    // without them 128 connections that send small chunks delay a new connection by 8 s in place of 0.1 s.
    socket.prependListener('data', (chunk: Buffer) => {
      this.#parsed = chunk;
    });
    socket.on('data', () => {
      this.#parsed = undefined;
    });
  }

  /** Responses that have not ended, in the order of their requests. */
  get responses(): ServerResponse[] {
    const waiting = this.#waiting.map(({ response }) => response);
    return this.#current === undefined ? waiting : [this.#current, ...waiting];
  }

  get isIdle(): boolean {
    return this.#current === undefined && this.#waiting.length === 0;
  }

  /** Bytes of memory for answers that the client has not read, for waiting requests, and for what is read behind them. */
  get heldBytes(): number {
    const readAhead = this.#isPaused ? READ_AHEAD_BYTES : 0;
    return this.socket.writableLength + this.#waiting.length * WAITING_REQUEST_BYTES + readAhead;
  }

  get #isPaused(): boolean {
    return this.#isLast || this.#waiting.length > 0;
  }

  /** Whether later bytes of the client are dropped. */
  get isLast(): boolean {
    return this.#isLast;
  }

  take(request: IncomingMessage, response: Arrival['response']): void {
    if (this.#isLast) return;
    if (this.isIdle) {
      this.#handle({ request, response });
    } else if (this.#waiting.length < MAX_UNANSWERED - 1) {
      this.#waiting.push({ request, response });
      this.#pauseIfNeeded();
      this.#options.onChange(this);
    } else {
      this.readNoMore();
      announceClose(this.#waiting.at(-1)?.response);
    }
  }

  /** Drops what the client sends from now on. Earlier requests are answered. */
  readNoMore(): void {
    this.#isLast = true;
    this.#stopParser();
    this.#pauseIfNeeded();
  }

  destroy(): void {
    this.#waiting.length = 0;
    this.#stopParser();
    this.socket.destroy();
  }

  /**
   * Ends the parsing of what was read, which may have thousands of chunks or requests. Node has no call for it, but its parser reads this
   * memory, and zeros are no HTTP.
   */
  #stopParser(): void {
    this.#parsed?.fill(0);
  }

  #pauseIfNeeded(): void {
    if (this.#isPaused) this.socket.pause();
  }

  #handle({ request, response }: Arrival): void {
    this.#current = response;
    const { listener, onChange } = this.#options;
    // At `prefinish` the whole answer is in the socket's buffer. `on` is cheaper than `once`, and each event occurs once.
    response.on('prefinish', () => onChange(this));
    response.on('close', () => this.#end());
    listener(request, response);
  }

  #end(): void {
    const { clock, onChange, onEnd } = this.#options;
    this.#current = undefined;
    this.idleSinceMs = clock.monotonicMs();
    onChange(this);
    onEnd(this);
    // Other connections are served between two requests of one.
    if (this.#waiting.length > 0) clock.afterTurn(() => this.#handleNext());
  }

  #handleNext(): void {
    const next = this.#waiting.shift();
    if (next === undefined || this.socket.destroyed) return;
    if (this.#waiting.length === 0) this.socket.resume();
    this.#handle(next);
  }
}

/** Closes the connection after this response, and announces it: the client would lose its next request otherwise. */
export function announceClose(response: ServerResponse | undefined): void {
  if (response?.headersSent === false) response.setHeader('connection', 'close');
}
