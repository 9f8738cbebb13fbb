import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../lib/concurrency/clock.ts';

/**
 * Bytes that Node's parser gets at a time. Each request in them is parsed at once, in some 20 µs and 3 KB: those of a whole read, 64 KiB,
 * would hold up the event loop for 50 ms.
 */
const PARSED_AT_ONCE_BYTES = 2 * 1024;
/** Memory of a pipelined request that waits: Node's two objects for it, and its headers. */
const WAITING_REQUEST_BYTES = 3 * 1024;

export interface ClientConnectionOptions {
  readonly clock: Clock;
  readonly listener: RequestListener<typeof IncomingMessage, typeof ServerResponse>;
  /** Called whenever more or less may be held for the connection. */
  readonly onChange: (connection: ClientConnection) => void;
  /** Called when a response is over, sent or given up. */
  readonly onOver: (connection: ClientConnection) => void;
}

interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse & { req: IncomingMessage };
}

/**
 * One client's connection. Its requests are handled one after the other, as in Go's net/http: the next one begins when the client's side
 * has taken the answer before it. While one waits, nothing more is read or parsed: a connection has at most the requests of
 * {@link PARSED_AT_ONCE_BYTES}, and two reads of the socket, 128 KiB, that are not parsed.
 */
export class ClientConnection {
  readonly socket: Socket;
  /** The address block that it is from. A proxy's connections are the proxy's. */
  readonly address: string;
  /** When its last response was over. */
  idleSinceMs: number;
  readonly #options: ClientConnectionOptions;
  readonly #waiting: Arrival[] = [];
  #current: ServerResponse | undefined;

  constructor(socket: Socket, address: string, options: ClientConnectionOptions) {
    this.socket = socket;
    this.address = address;
    this.#options = options;
    this.idleSinceMs = options.clock.monotonicMs();
    this.#parseInPieces();
    // Node resumes a connection whenever it is done with a request.
    socket.on('resume', () => {
      if (this.#waiting.length > 0) socket.pause();
    });
  }

  /** Responses that are not over yet, in the order of their requests. */
  get responses(): ServerResponse[] {
    const waiting = this.#waiting.map(({ response }) => response);
    return this.#current === undefined ? waiting : [this.#current, ...waiting];
  }

  get isIdle(): boolean {
    return this.#current === undefined && this.#waiting.length === 0;
  }

  /** Bytes of memory for answers that the client has not taken, and for requests that wait or are not parsed. */
  get heldBytes(): number {
    const { writableLength, readableLength } = this.socket;
    return writableLength + readableLength + this.#waiting.length * WAITING_REQUEST_BYTES;
  }

  /** Handles a request, at once or behind those before it. */
  take(request: IncomingMessage, response: Arrival['response']): void {
    if (this.isIdle) {
      this.#handle({ request, response });
      return;
    }
    this.#waiting.push({ request, response });
    this.socket.pause();
    this.#options.onChange(this);
  }

  /** Ends it at once, without the requests that wait. */
  destroy(): void {
    this.#waiting.length = 0;
    this.socket.destroy();
  }

  #parseInPieces(): void {
    const { socket } = this;
    const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[];
    if (parse === undefined) return;
    socket.off('data', parse);
    socket.on('data', (bytes: Buffer) => {
      const isWhole = bytes.length <= PARSED_AT_ONCE_BYTES;
      parse(isWhole ? bytes : bytes.subarray(0, PARSED_AT_ONCE_BYTES));
      // Node resumes the connection at the end of each request.
      if (this.#waiting.length > 0) socket.pause();
      if (isWhole || socket.destroyed) return;
      // Comes again as the next data, at once or when the connection is resumed.
      socket.unshift(bytes.subarray(PARSED_AT_ONCE_BYTES));
      this.#options.onChange(this);
    });
  }

  #handle({ request, response }: Arrival): void {
    this.#current = response;
    const { listener, onChange } = this.#options;
    // The whole answer is in the socket's buffer now. Each event comes once, and `once` costs more than the listener.
    response.on('prefinish', () => onChange(this));
    response.on('close', () => this.#over());
    listener(request, response);
  }

  #over(): void {
    const { clock, onChange, onOver } = this.#options;
    this.#current = undefined;
    this.idleSinceMs = clock.monotonicMs();
    onChange(this);
    onOver(this);
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
