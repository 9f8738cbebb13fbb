import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { GrowingBuffer } from '../../lib/encoding/growing-buffer.ts';

/** An answer as received, without informational ones. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** A buffer up to {@link MAX_WHOLE_BYTES}, else a stream that has to be read to the end or destroyed. */
  readonly body: Buffer | Readable;
}

/**
 * Longer answers are streamed, which bounds the memory of each connection. Shorter ones are sent in one write, at half the cost of
 * streaming.
 */
const MAX_WHOLE_BYTES = 256 * 1024;
/** Buffered bytes of a streamed body at which reading from the upstream pauses. */
const MAX_WAITING_BYTES = 64 * 1024;
const NO_BYTES = Buffer.alloc(0);

export interface ExchangeRules {
  /** A longer body is an error. */
  readonly maxBytes: number;
  /** Returns an error for a head whose body should not be read. */
  readonly findProblem: (status: number, headers: IncomingHttpHeaders) => Error | undefined;
  readonly tooLong: () => Error;
  /** Acquires the exchange's permit to stream its body. @returns why there is none */
  readonly acquireStream: (exchange: Exchange) => Error | undefined;
}

/**
 * One request to an upstream and its answer. It is a handler of undici's `dispatch`, because the streams and signals of undici's
 * `request` cost more than all the rest of a short exchange.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly client: string;
  /** Permits of the connection and of the stream, released at the end. */
  readonly permits = new DisposableStack();
  /** Rejects with undici's error, one of {@link ExchangeRules}, or the reason of {@link abort}. */
  readonly answer: Promise<RawAnswer>;
  readonly #rules: ExchangeRules;
  readonly #resolve: (answer: RawAnswer) => void;
  readonly #reject: (reason: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  /** The only piece so far: a short body is not copied. */
  #first: Buffer | undefined;
  /** Copies of several pieces that were not handed over: an upstream may send one byte in each. */
  #pieces: GrowingBuffer | undefined;
  #length = 0;
  #isWhole = false;
  #stream: Readable | undefined;
  #isStreamRead = false;
  #isHandOverDue = false;
  #failure: Error | undefined;

  constructor(rules: ExchangeRules, client: string) {
    this.#rules = rules;
    this.client = client;
    const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
    this.answer = promise;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  abort(reason: Error): void {
    this.#failure ??= reason;
    this.#reject(reason);
    this.#stream?.destroy(reason);
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure !== undefined) controller.abort(this.#failure);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    const isTooLong = Number(headers['content-length'] ?? 0) > this.#rules.maxBytes;
    const problem = this.#rules.findProblem(status, headers) ?? (isTooLong ? this.#rules.tooLong() : undefined);
    if (problem !== undefined) this.abort(problem);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#length += chunk.length;
    if (this.#length > this.#rules.maxBytes) {
      this.abort(this.#rules.tooLong());
      return;
    }
    this.#receive(chunk);
    if (this.#stream !== undefined) {
      this.#handOverSoon(controller);
    } else if (this.#length > MAX_WHOLE_BYTES) {
      const refusal = this.#rules.acquireStream(this);
      if (refusal === undefined) this.#startStream(controller);
      else this.abort(refusal);
    }
  }

  onResponseEnd(): void {
    this.#controller = undefined;
    this.#isWhole = true;
    if (this.#stream === undefined) {
      this.#resolve({ status: this.#status, headers: this.#headers, body: this.#take() ?? NO_BYTES });
    } else {
      this.#handOver();
    }
    this.permits.dispose();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#controller = undefined;
    this.#reject(error);
    this.#stream?.destroy(error);
    this.permits.dispose();
  }

  #receive(chunk: Buffer): void {
    if (this.#pieces === undefined && this.#first === undefined) {
      this.#first = chunk;
      return;
    }
    if (this.#pieces === undefined) {
      // Allocated once: a buffer that doubles would take twice the memory.
      const length = Number(this.#headers['content-length'] ?? 0);
      this.#pieces = new GrowingBuffer(length <= MAX_WHOLE_BYTES ? length : 0);
      if (this.#first !== undefined) this.#pieces.append(this.#first);
      this.#first = undefined;
    }
    this.#pieces.append(chunk);
  }

  #take(): Buffer | undefined {
    const bytes = this.#pieces?.take() ?? this.#first;
    this.#pieces = undefined;
    this.#first = undefined;
    return bytes;
  }

  /** Joins small pieces of one read of the connection. */
  #handOverSoon(controller: Dispatcher.DispatchController): void {
    if ((this.#pieces ?? this.#first ?? NO_BYTES).length >= MAX_WAITING_BYTES) {
      if (!this.#handOver()) controller.pause();
    } else if (!this.#isHandOverDue) {
      this.#isHandOverDue = true;
      queueMicrotask(() => {
        this.#isHandOverDue = false;
        this.#handOver();
      });
    }
  }

  /** @returns whether the stream's reader was waiting */
  #handOver(): boolean {
    if (!this.#isStreamRead) return false;
    const bytes = this.#take();
    if (bytes !== undefined || this.#isWhole) {
      this.#isStreamRead = false;
      this.#stream?.push(bytes ?? null);
    }
    return true;
  }

  #startStream(controller: Dispatcher.DispatchController): void {
    const stream = new Readable({
      // It reads when its queue is empty, so that pieces for a slow reader are joined here.
      highWaterMark: 1,
      read: () => {
        this.#isStreamRead = true;
        this.#handOver();
        controller.resume();
      },
      destroy: (error, callback) => {
        this.#controller?.abort(error ?? new Error('the rest of the answer is not read'));
        callback(error);
      },
    });
    // Handles an error after the reader has gone.
    stream.on('error', () => undefined);
    this.#stream = stream;
    controller.pause();
    this.#resolve({ status: this.#status, headers: this.#headers, body: stream });
  }
}
