import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../lib/concurrency/clock.ts';

/** Bytes that Node's parser gets at a time. It parses pipelined requests at once, at 20 µs each: 50 ms for a whole read of 64 KiB. */
const PARSED_AT_ONCE_BYTES = 2 * 1024;
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
 * read or parsed: at most the requests of {@link PARSED_AT_ONCE_BYTES} wait, and two unparsed reads of the socket (128 KiB).
 */
export class ClientConnection {
  readonly socket: Socket;
  /** Network of the peer, which may be a proxy. */
  readonly address: string;
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
    // Node resumes a connection after each request.
    socket.on('resume', () => {
      if (this.#waiting.length > 0) socket.pause();
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

  /** Bytes of memory for answers that the client has not read, and for waiting or unparsed requests. */
  get heldBytes(): number {
    const { writableLength, readableLength } = this.socket;
    return writableLength + readableLength + this.#waiting.length * WAITING_REQUEST_BYTES;
  }

  take(request: IncomingMessage, response: Arrival['response']): void {
    if (this.isIdle) {
      this.#handle({ request, response });
      return;
    }
    this.#waiting.push({ request, response });
    this.#options.onChange(this);
  }

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
      if (this.#waiting.length > 0) socket.pause();
      if (isWhole || socket.destroyed) return;
      // Emitted again as the next data, at once or when the connection is resumed.
      socket.unshift(bytes.subarray(PARSED_AT_ONCE_BYTES));
      this.#options.onChange(this);
    });
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
