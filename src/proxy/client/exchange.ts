import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { GrowingBuffer } from '../../lib/encoding/growing-buffer.ts';

/** An answer as it comes off the connection, informational ones left out. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Whole up to {@link ExchangeRules.maxWholeBytes}; beyond that a stream, which has to be read to the end or destroyed. */
  readonly body: Buffer | Readable;
}

/** Bytes of a streamed body that wait for its reader before no more is read from the upstream. */
const MAX_WAITING_BYTES = 64 * 1024;
const NO_BYTES = Buffer.alloc(0);

/** Those of one upstream, for all of its exchanges. */
export interface ExchangeRules {
  /** A longer body is streamed if it may be, so that memory does not grow with what an upstream sends. */
  readonly maxWholeBytes: number;
  /** A longer body is an error. */
  readonly maxBytes: number;
  /** What is wrong with the head of an answer. Where something is, the body is not read. */
  readonly findProblem: (status: number, headers: IncomingHttpHeaders) => Error | undefined;
  /** The error of a body beyond `maxBytes`. */
  readonly tooLong: () => Error;
  /** Whether one more body may be streamed; then the exchange holds a permit for it. */
  readonly takeStream: (exchange: Exchange) => boolean;
  /** The error of a body that would be streamed, and may not be. */
  readonly noStream: () => Error;
}

/**
 * One request on its way to an upstream, and its answer on its way back. It is a handler of undici's `dispatch`: the streams and
 * signals of undici's `request` cost more than everything else that is done for a short answer.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Client ID, for its share of streamed answers. */
  readonly client: string;
  /** Permits that the exchange holds until it is over: of its connection, and of its stream. */
  readonly permits = new DisposableStack();
  /** Rejects with undici's error, one of {@link ExchangeRules}, or the reason of {@link abort}. */
  readonly answer: Promise<RawAnswer>;
  readonly #rules: ExchangeRules;
  readonly #resolve: (answer: RawAnswer) => void;
  readonly #reject: (reason: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  /** The first piece of what has not been handed on, while it is the only one: a short body is not copied. */
  #first: Buffer | undefined;
  /** All pieces where there are more, copied, as an upstream may send one byte in each. */
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

  /** Ends the exchange at any stage: before it is connected, before its answer, or in the middle of a streamed body. */
  abort(reason: Error): void {
    this.#failure ??= reason;
    this.#reject(reason);
    this.#stream?.destroy(reason);
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It was aborted while the connection was being made.
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
      // Where the status has gone out already, only a broken connection can tell the client.
      this.abort(this.#rules.tooLong());
      return;
    }
    this.#receive(chunk);
    if (this.#stream !== undefined) {
      this.#handOverSoon(controller);
    } else if (this.#length > this.#rules.maxWholeBytes) {
      if (this.#rules.takeStream(this)) this.#startStream(controller);
      else this.abort(this.#rules.noStream());
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
      const length = Number(this.#headers['content-length'] ?? 0);
      this.#pieces = new GrowingBuffer(length <= this.#rules.maxWholeBytes ? length : 0);
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

  /** Small pieces that came in one read of the connection go on as one. */
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

  /** @returns whether the stream's reader waited for it */
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
      // It is read when its queue is empty, so that a slow reader's pieces wait here and not one by one there.
      highWaterMark: 1,
      read: () => {
        this.#isStreamRead = true;
        this.#handOver();
        controller.resume();
      },
      destroy: (error, callback) => {
        // Nobody reads the rest, which may be long: the connection is closed.
        this.#controller?.abort(error ?? new Error('nobody reads the rest of the answer'));
        callback(error);
      },
    });
    // If it breaks after its reader has gone, nobody else listens for its error.
    stream.on('error', () => undefined);
    this.#stream = stream;
    controller.pause();
    this.#resolve({ status: this.#status, headers: this.#headers, body: stream });
  }
}
