import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorCodes, type FastifyRequest } from 'fastify';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { FairSemaphore, type Permit } from '../../lib/concurrency/fair-semaphore.ts';
import { GrowingBuffer } from '../../lib/encoding/growing-buffer.ts';
import type { Counter, Metrics } from '../../telemetry/metrics.ts';
import { ClientGone, HttpError } from '../errors/http-error.ts';
import { clientIdOf } from '../request/client-identity.ts';

/**
 * Bound of the bytes of request bodies over all listeners; one client gets half. A parsed body takes some four times its bytes: its text, its
 * message, and the requests to validators.
 */
const MAX_BYTES = 32 * 1024 * 1024;
/** Bound of the small chunks of a body: each costs as much as a long one, and no JSON encoder writes so many. */
const MAX_SMALL_CHUNKS = 64;
const SMALL_CHUNK_BYTES = 16;
/** Some of the bodies are answered within it. */
const RETRY_AFTER_MS = 1_000;

export interface RequestBodiesOptions {
  readonly clock: Pick<Clock, 'after'>;
  readonly metrics: Metrics;
  readonly maxBytes?: number;
}

/** A content type parser of Fastify that gets the body as a string. */
export type ParseText = (request: FastifyRequest, text: string, done: Done<unknown>) => void;
type Done<Value> = (error: Error | null, value?: Value) => void;

/** A property, because a `WeakMap` of short-lived requests burdens V8's garbage collector. */
const BODY = Symbol('body');

interface Receiving extends IncomingMessage {
  [BODY]?: RequestBody;
}

/**
 * Receives the bodies of all requests of the process. It starts with the headers, before keys and limits are checked, because waiting chunks
 * take an object each. Received bytes count until the request is answered.
 */
export class RequestBodies {
  readonly #permits: FairSemaphore;
  readonly #refusals: Counter;

  constructor({ clock, metrics, maxBytes = MAX_BYTES }: RequestBodiesOptions) {
    this.#permits = new FairSemaphore({ clock, limit: maxBytes, keyShare: 1 });
    this.#refusals = metrics.counter({
      name: 'http_bodies_refused_total',
      help: 'Request bodies refused because the bytes of bodies, of one client or of all, reached their limit, or because of too many small chunks',
    });
    metrics.readGauge(
      { name: 'http_body_bytes', help: 'Bytes of received request bodies that are not answered yet' },
      () => this.#permits.held,
    );
  }

  /**
   * Starts to receive the body, if there is one. Further calls for the same request have no effect.
   *
   * @param breakOff closes the connection, for a body of too many small chunks
   */
  receive(request: Receiving, response: ServerResponse, breakOff: () => void): void {
    const { headers } = request;
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    if (!hasBody || request[BODY] !== undefined) return;
    const body = new RequestBody(request, this.#permits, this.#refusals, breakOff);
    request[BODY] = body;
    response.on('close', () => body.discard());
  }

  /** Returns a content type parser that passes the whole body, up to the route's limit, to `parse`. Without a route the body is not parsed. */
  parser(parse: ParseText) {
    return (request: FastifyRequest, _payload: unknown, done: Done<unknown>): void => {
      if (request.is404) return done(null);
      const { [BODY]: body } = request.raw as Receiving;
      if (body === undefined) return parse(request, '', done);
      const { client, route } = request.context;
      body.read(client, route.bodyLimit, (error, text = '') => {
        if (error !== null) done(error);
        else parse(request, text, done);
      });
    };
  }
}

class RequestBody {
  readonly #permits: FairSemaphore;
  readonly #refusals: Counter;
  readonly #address: string | undefined;
  readonly #declaredBytes: number | undefined;
  /** Limit of the route, once it is known; until then the permits are the bound. */
  #limit = Number.POSITIVE_INFINITY;
  /** Undefined once the body was read or discarded. */
  #received: GrowingBuffer | undefined = new GrowingBuffer();
  /** The client's ID once it is known; until then that of the connection's address, which may be a proxy's. */
  #client: string | undefined;
  #held: Permit[] = [];
  #heldBytes = 0;
  #isWhole = false;
  #failure: Error | undefined;
  #done: Done<string> | undefined;

  constructor(request: IncomingMessage, permits: FairSemaphore, refusals: Counter, breakOff: () => void) {
    this.#permits = permits;
    this.#refusals = refusals;
    const { socket, headers } = request;
    const length = headers['content-length'];
    this.#declaredBytes = length === undefined ? undefined : Number(length);
    this.#address = socket.remoteAddress;
    let smallChunks = 0;
    request.on('data', (chunk: Buffer) => {
      if (socket.destroyed) return;
      if (chunk.length < SMALL_CHUNK_BYTES) smallChunks += 1;
      if (smallChunks < MAX_SMALL_CHUNKS) return this.#receive(chunk);
      // An answer would cost more, and the client would go on sending.
      refusals.inc();
      breakOff();
    });
    request.on('end', () => {
      this.#isWhole = true;
      this.#finish();
    });
    request.on('error', (error) => this.#fail(Object.assign(error, { statusCode: 400 })));
    // Each chunk is then received while Node parses it, and not after all that was read.
    request.read(0);
  }

  /** Calls back once, when the body is complete or has failed. */
  read(client: string, limit: number, done: Done<string>): void {
    this.#done = done;
    this.#limit = limit;
    if (Math.max(this.#declaredBytes ?? 0, this.#received?.length ?? 0) > limit) return this.#fail(tooLarge(limit));
    if (client !== this.#client) {
      const heldBytes = this.#heldBytes;
      this.#release();
      this.#client = client;
      if (!this.#acquire(heldBytes)) return;
    }
    this.#finish();
  }

  discard(): void {
    this.#received = undefined;
    this.#release();
  }

  #receive(piece: Buffer): void {
    const received = this.#received;
    if (received === undefined) return;
    if (received.length + piece.length > this.#limit) return this.#fail(tooLarge(this.#limit));
    const maxBytes = Math.min(this.#limit, this.#declaredBytes ?? Number.POSITIVE_INFINITY);
    const more = received.capacityWith(piece.length, maxBytes) - received.capacity;
    if (this.#acquire(more)) received.append(piece, maxBytes);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.discard();
    this.#finish();
  }

  #finish(): void {
    const [done, received] = [this.#done, this.#received];
    if (done === undefined || (this.#failure === undefined && !this.#isWhole)) return;
    this.#done = undefined;
    if (received === undefined) return done(this.#failure ?? new ClientGone());
    const bytes = received.take();
    this.#received = undefined;
    // The last permit covers half of the capacity.
    if (this.#heldBytes > bytes.length) this.#held.at(-1)?.release(this.#heldBytes - bytes.length);
    if (bytes.length === (this.#declaredBytes ?? bytes.length)) done(null, bytes.toString('utf8'));
    else done(new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH());
  }

  #acquire(bytes: number): boolean {
    if (bytes === 0) return true;
    this.#client ??= clientIdOf(undefined, this.#address);
    const permit = this.#permits.tryAcquire({ key: this.#client, weight: bytes });
    if (permit === undefined) {
      this.#refusals.inc();
      this.#fail(overloaded());
      return false;
    }
    this.#held.push(permit);
    this.#heldBytes += bytes;
    return true;
  }

  #release(): void {
    for (const permit of this.#held) permit.release();
    this.#held.length = 0;
    this.#heldBytes = 0;
  }
}

function tooLarge(limit: number): HttpError {
  return new HttpError('body_too_large', `body is larger than the ${limit} bytes allowed here`);
}

function overloaded(): HttpError {
  const message = 'the bytes of request bodies, of this client or of all, have reached their limit';
  return new HttpError('overloaded', message, { retryAfterMs: RETRY_AFTER_MS });
}
