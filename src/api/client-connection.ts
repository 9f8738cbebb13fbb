import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../primitives/clock.ts';

/**
 * Requests of one connection that are handled at a time; the others that it has pipelined wait, and no more are read. Browsers and
 * pools send one after the other, and whoever pipelines gains nothing from more. An answer is under way until the client's side
 * has taken it, so this bounds unread output, too: no answer that is held as a whole has more than some MB.
 */
export const MAX_UNDER_WAY = 16;

export interface ClientConnectionOptions {
  readonly clock: Clock;
  readonly listener: RequestListener<typeof IncomingMessage, typeof ServerResponse>;
  /** Begins to handle a request, now or as soon as it is its client's turn. */
  readonly begin: (handle: () => void) => void;
  /** Told of each response that is over, sent or given up. */
  readonly onOver?: (connection: ClientConnection) => void;
  /** Told after all that may have changed how much is waiting or unread here. */
  readonly onChange: (connection: ClientConnection) => void;
}

interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse & { req: IncomingMessage };
}

/** One client's connection: which of its requests are handled, which wait, and what of the answers it has not taken yet. */
export class ClientConnection {
  readonly socket: Socket;
  readonly #options: ClientConnectionOptions;
  readonly #handled = new Set<ServerResponse>();
  readonly #waiting: Arrival[] = [];
  readonly #changed = (): void => this.#options.onChange(this);
  #isTurnDue = false;
  #isHeld = false;

  constructor(socket: Socket, options: ClientConnectionOptions) {
    this.socket = socket;
    this.#options = options;
    // Node resumes the connection by itself whenever it is done with a request.
    socket.on('resume', () => {
      if (this.#waiting.length > 0 || this.#isHeld) socket.pause();
    });
  }

  /** Requests that came and were not handled yet; one chunk of input has up to some three thousand of them. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Responses that are not over yet, in the order of their requests. */
  get responses(): ServerResponse[] {
    return [...this.#handled, ...this.#waiting.map(({ response }) => response)];
  }

  get isIdle(): boolean {
    return this.#handled.size === 0 && this.#waiting.length === 0;
  }

  /** Bytes of answers that this process holds, as the client has not taken them. */
  get unreadBytes(): number {
    let bytes = this.socket.writableLength;
    // Those of the first are the connection's.
    for (const response of this.#handled) if (response.socket === null) bytes += response.writableLength;
    return bytes;
  }

  /** Bytes that the system has taken; what it has taken, it sends as fast as the client reads. */
  get takenBytes(): number {
    return this.socket.bytesWritten - this.socket.writableLength;
  }

  /** Handles a request, at once or when it is its turn. */
  take(request: IncomingMessage, response: Arrival['response']): void {
    if (this.#waiting.length === 0 && this.#handled.size < MAX_UNDER_WAY) {
      this.#handle({ request, response });
      return;
    }
    this.#waiting.push({ request, response });
    this.socket.pause();
    this.#options.onChange(this);
  }

  /** Reads nothing more, however little waits here, until it is told to read on. */
  hold(): void {
    this.#isHeld = true;
    this.socket.pause();
  }

  letGo(): void {
    this.#isHeld = false;
    if (this.#waiting.length === 0) this.#readOn();
  }

  /** Ends it at once: what waits is not handled any more. */
  breakOff(): void {
    this.#waiting.length = 0;
    this.socket.destroy();
    this.#options.onChange(this);
  }

  #handle({ request, response }: Arrival): void {
    this.#handled.add(response);
    // Its last bytes have been written, to the connection or where it waits for its turn. Each of the two comes once.
    response.on('prefinish', this.#changed);
    response.on('close', () => this.#over(response));
    const { begin, listener } = this.#options;
    begin(() => {
      if (!this.socket.destroyed) listener(request, response);
    });
    this.#options.onChange(this);
  }

  #over(response: ServerResponse): void {
    this.#handled.delete(response);
    this.#changed();
    this.#options.onOver?.(this);
    this.#handleNextTurn();
  }

  /** After a turn of the event loop: however much one client pipelines, others have their turn in between. */
  #handleNextTurn(): void {
    if (this.#waiting.length === 0 || this.#isTurnDue) return;
    this.#isTurnDue = true;
    this.#options.clock.afterTurn(() => {
      this.#isTurnDue = false;
      for (const arrival of this.#waiting.splice(0, MAX_UNDER_WAY - this.#handled.size)) this.#handle(arrival);
      this.#options.onChange(this);
      if (this.#waiting.length === 0) this.#readOn();
    });
  }

  #readOn(): void {
    // Where Node has paused the connection for its own reasons, it resumes it by itself; its parser is paused until then.
    const { _paused: isPausedByNode } = this.socket as Socket & { readonly _paused?: boolean };
    if (isPausedByNode !== true && !this.#isHeld && !this.socket.destroyed) this.socket.resume();
  }
}
