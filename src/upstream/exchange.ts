import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';

/** An answer as it comes off the connection, informational ones left out. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Whole and at its end where it is short; a stream where it is longer, which has to be read to the end or destroyed. */
  readonly body: Buffer | Readable;
}

export interface ExchangeRules {
  /** Beyond this a body can only be streamed. */
  readonly maxWholeBytes: number;
  readonly maxBytes: number;
  /** What is wrong with an answer whose body need not be read therefore. */
  readonly findProblem: (status: number, headers: IncomingHttpHeaders) => Error | undefined;
  /** The error of a body beyond `maxBytes`. */
  readonly tooLong: () => Error;
  /** Whether one more body may be streamed; where it says yes, that body counts as one until {@link onOver}. */
  readonly takeStream: () => boolean;
  /** The error of a body that can only be streamed, and may not. */
  readonly noStream: () => Error;
  /** Called once, when its connection is free again. */
  readonly onOver: (exchange: Exchange) => void;
}

/**
 * One request on its way to an upstream, and its answer on its way back. It takes undici's calls itself instead of its
 * `request`, whose streams and signals cost more than all else that is done for a short answer.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Rejects with undici's error, one of {@link ExchangeRules}, or the reason of {@link abort}. */
  readonly answer: Promise<RawAnswer>;
  readonly #rules: ExchangeRules;
  readonly #streamedFrom: number;
  readonly #resolve: (answer: RawAnswer) => void;
  readonly #reject: (reason: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #chunks: Buffer[] = [];
  #length = 0;
  #stream: Readable | undefined;
  #failure: Error | undefined;

  /** @param streamedFrom bytes beyond which a body is streamed if it may be */
  constructor(rules: ExchangeRules, streamedFrom: number) {
    this.#rules = rules;
    this.#streamedFrom = streamedFrom;
    const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
    this.answer = promise;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get isStreaming(): boolean {
    return this.#stream !== undefined;
  }

  /** Ends it where it is: before it is connected, before its answer, or in the middle of a streamed body. */
  abort(reason: Error): void {
    this.#failure ??= reason;
    this.#reject(reason);
    this.#stream?.destroy(reason);
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Aborted while it was still being connected.
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
      // Where the status has gone out already, cutting the connection is what tells the client.
      this.abort(this.#rules.tooLong());
    } else if (this.#stream === undefined) {
      this.#chunks.push(chunk);
      if (this.#length > this.#streamedFrom && this.#rules.takeStream()) this.#startStream(controller);
      else if (this.#length > this.#rules.maxWholeBytes) this.abort(this.#rules.noStream());
    } else if (!this.#stream.push(chunk)) {
      controller.pause();
    }
  }

  onResponseEnd(): void {
    this.#controller = undefined;
    if (this.#stream === undefined) {
      const [first] = this.#chunks;
      const body = this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks, this.#length);
      this.#resolve({ status: this.#status, headers: this.#headers, body });
    } else {
      this.#stream.push(null);
    }
    this.#rules.onOver(this);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#controller = undefined;
    this.#reject(error);
    this.#stream?.destroy(error);
    this.#rules.onOver(this);
  }

  #startStream(controller: Dispatcher.DispatchController): void {
    const stream = new Readable({
      read: () => controller.resume(),
      destroy: (error, callback) => {
        // Nobody reads on: the connection is closed, as there may be much to come.
        this.#controller?.abort(error ?? new Error('the answer is not read on'));
        callback(error);
      },
    });
    // One that breaks after its reader is gone has nobody else to hear its error.
    stream.on('error', () => undefined);
    this.#stream = stream;
    for (const chunk of this.#chunks.splice(0)) stream.push(chunk);
    controller.pause();
    this.#resolve({ status: this.#status, headers: this.#headers, body: stream });
  }
}
