import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { GARBAGE_ROOM } from '../primitives/garbage-room.ts';

/** An answer as it comes off the connection, informational ones left out. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /**
   * Whole and at its end up to {@link ExchangeRules.maxWholeBytes}: a buffer, or the pieces in which a longer one came. Beyond that a
   * stream, which has to be read to the end or destroyed.
   */
  readonly body: Buffer | BodyPieces | Readable;
}

export type BodyPieces = readonly Buffer[];

/** A shorter body is joined: the copy is a matter of microseconds, and one buffer is less work for all that comes after. */
const MAX_JOINED_BYTES = 64 * 1024;
/** Sockets are read by 64 KB. An upstream that sends crumbs has them joined, as each would cost more to write than to copy. */
const MAX_PIECES = 16;

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
  /** Whether one more body may be streamed; where it says yes, that body counts as a stream until {@link onOver}. */
  readonly takeStream: (exchange: Exchange) => boolean;
  /** The error of a body that would be streamed, and may not be. */
  readonly noStream: () => Error;
  /** Called once, when the connection is free again. */
  readonly onOver: (exchange: Exchange) => void;
}

/**
 * One request on its way to an upstream, and its answer on its way back. It is a handler of undici's `dispatch`: the streams and
 * signals of undici's `request` cost more than everything else that is done for a short answer.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** What it is about. */
  readonly subject: string;
  /** Who asks. */
  readonly client: string;
  /** Rejects with undici's error, one of {@link ExchangeRules}, or the reason of {@link abort}. */
  readonly answer: Promise<RawAnswer>;
  readonly #rules: ExchangeRules;
  readonly #isKept: boolean;
  readonly #resolve: (answer: RawAnswer) => void;
  readonly #reject: (reason: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #chunks: Buffer[] = [];
  #length = 0;
  #stream: Readable | undefined;
  #failure: Error | undefined;

  /** @param isKept whether a whole body is needed as one buffer, however long */
  constructor(
    rules: ExchangeRules,
    { subject, client, isKept }: { readonly subject: string; readonly client: string; readonly isKept: boolean },
  ) {
    this.#rules = rules;
    this.subject = subject;
    this.client = client;
    this.#isKept = isKept;
    const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
    this.answer = promise;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get isStreaming(): boolean {
    return this.#stream !== undefined;
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
    } else if (this.#stream === undefined) {
      this.#chunks.push(chunk);
      if (this.#length <= this.#rules.maxWholeBytes) return;
      if (this.#rules.takeStream(this)) this.#startStream(controller);
      else this.abort(this.#rules.noStream());
    } else if (!this.#stream.push(chunk)) {
      controller.pause();
    }
  }

  onResponseEnd(): void {
    this.#controller = undefined;
    GARBAGE_ROOM.countBody(this.#length);
    if (this.#stream === undefined) {
      this.#resolve({ status: this.#status, headers: this.#headers, body: this.#whole() });
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

  #whole(): Buffer | BodyPieces {
    const [chunks, length] = [this.#chunks, this.#length];
    if (chunks.length === 1 && chunks[0] !== undefined) return chunks[0];
    const isJoined = this.#isKept || length <= MAX_JOINED_BYTES || chunks.length > MAX_PIECES;
    return isJoined ? Buffer.concat(chunks, length) : chunks;
  }

  #startStream(controller: Dispatcher.DispatchController): void {
    const stream = new Readable({
      read: () => controller.resume(),
      destroy: (error, callback) => {
        // Nobody reads the rest, which may be long: the connection is closed.
        this.#controller?.abort(error ?? new Error('nobody reads the rest of the answer'));
        callback(error);
      },
    });
    // If it breaks after its reader has gone, nobody else listens for its error.
    stream.on('error', () => undefined);
    this.#stream = stream;
    for (const chunk of this.#chunks.splice(0)) stream.push(chunk);
    controller.pause();
    this.#resolve({ status: this.#status, headers: this.#headers, body: stream });
  }
}
