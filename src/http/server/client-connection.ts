import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../lib/concurrency/clock.ts';

/**
 * Requests of a connection that may be unanswered at once. Browsers and HTTP libraries do not pipeline; Node parses all that a client sent in
 * one write, so these are the requests that one write may start.
 */
export const MAX_UNANSWERED = 16;
/** Requests that are dropped before the connection is closed at once: Node keeps each until then, and ends all of them in one turn. */
export const MAX_DROPPED = 256;
/** Memory of a waiting pipelined request: Node's two objects, and its headers. */
const WAITING_REQUEST_BYTES = 3 * 1024;

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
 * read. After {@link MAX_UNANSWERED} unanswered requests the connection is closed with the last answer, and later requests are dropped, up to
 * {@link MAX_DROPPED}.
 */
export class ClientConnection {
  readonly socket: Socket;
  /** Network of the peer, which may be a proxy. */
  readonly address: string;
  idleSinceMs: number;
  readonly #options: ClientConnectionOptions;
  readonly #waiting: Arrival[] = [];
  #current: ServerResponse | undefined;
  #isHeld = false;
  #isLast = false;
  #wasResumed = false;
  #countedBytes = 0;
  #dropped = 0;

  constructor(socket: Socket, address: string, options: ClientConnectionOptions) {
    this.socket = socket;
    this.address = address;
    this.#options = options;
    this.idleSinceMs = options.clock.monotonicMs();
    // Node resumes a connection after each request.
    socket.on('resume', () => {
      this.#wasResumed = true;
      this.#pauseIfNeeded();
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

  /** Bytes of memory for answers that the client has not read, and for waiting requests. */
  get heldBytes(): number {
    return this.socket.writableLength + this.#waiting.length * WAITING_REQUEST_BYTES;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Reads nothing until {@link release}, also of what has arrived for this turn of the event loop: it waits in the system. */
  hold(): void {
    this.#isHeld = true;
    // Node resumes a new connection once, before it reads; until then a pause has no effect.
    if (this.#wasResumed) this.socket.pause();
  }

  release(): void {
    this.#isHeld = false;
    this.socket.resume();
  }

  /** Returns the bytes that were read since the last call, also those that are being parsed. */
  takeBytesRead(): number {
    const { bytesRead } = this.socket;
    const bytes = bytesRead - this.#countedBytes;
    this.#countedBytes = bytesRead;
    return bytes;
  }

  /** @returns false if the client sent so many requests that the connection is to be closed now */
  take(request: IncomingMessage, response: Arrival['response']): boolean {
    if (this.#isLast) {
      this.#dropped += 1;
      return this.#dropped < MAX_DROPPED;
    }
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
    return true;
  }

  /** Drops what the client sends from now on. Earlier requests are answered. */
  readNoMore(): void {
    this.#isLast = true;
    this.#pauseIfNeeded();
  }

  destroy(): void {
    this.#waiting.length = 0;
    this.socket.destroy();
  }

  #pauseIfNeeded(): void {
    if (this.#isHeld || this.#isLast || this.#waiting.length > 0) this.socket.pause();
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
