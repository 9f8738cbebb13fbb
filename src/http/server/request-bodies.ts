import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorCodes, type FastifyRequest } from 'fastify';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { FairSemaphore, type Permit } from '../../lib/concurrency/fair-semaphore.ts';
import { GrowingBuffer } from '../../lib/encoding/growing-buffer.ts';
import type { Counter, Metrics } from '../../telemetry/metrics.ts';
import { ClientGone, HttpError } from '../errors/http-error.ts';
import { clientOf } from '../request/client-identity.ts';
// Declares the `route` of a request.
import type {} from '../request/follow-request.ts';
import { type PieceCount, ReadScheduler } from './read-scheduler.ts';

/**
 * Bytes of request bodies, over all connections of all listeners; one client gets half of them at most. A body that was parsed takes some
 * four times its bytes: its text, its message, and what validators are sent.
 */
const MAX_BYTES = 32 * 1024 * 1024;
/** The time in which some of the bodies are answered. */
const RETRY_AFTER_MS = 1_000;

export interface RequestBodiesOptions {
  readonly clock: Pick<Clock, 'after' | 'afterTurn'>;
  readonly metrics: Metrics;
  readonly maxBytes?: number;
}

/** A content type parser of Fastify, once the body is a text. */
export type ParseText = (request: FastifyRequest, text: string, done: Done<unknown>) => void;
type Done<Value> = (error: Error | null, value?: Value) => void;

declare module 'fastify' {
  interface FastifyInstance {
    bodies: RequestBodies;
  }
}

/** A `WeakMap` of requests, each of which lives for a moment, would keep V8's collector busy. */
const BODY = Symbol('body');

interface Receiving extends IncomingMessage {
  [BODY]?: RequestBody;
}

/**
 * Receives the bodies of all requests of the process. A body is received from the moment that its head is there, also while keys and limits
 * are checked, since the pieces would wait as one object each. What has arrived counts, until the request is answered.
 */
export class RequestBodies {
  readonly #permits: FairSemaphore;
  readonly #scheduler: ReadScheduler;
  readonly #refusals: Counter;

  constructor({ clock, metrics, maxBytes = MAX_BYTES }: RequestBodiesOptions) {
    this.#permits = new FairSemaphore({ clock, limit: maxBytes, keyShare: 1 });
    this.#scheduler = new ReadScheduler(clock);
    this.#refusals = metrics.counter({
      name: 'http_bodies_refused_total',
      help: 'Request bodies refused because too many bytes of bodies had arrived, of one client or of all',
    });
    metrics.readGauge(
      { name: 'http_body_bytes', help: 'Bytes of request bodies that have arrived and are not answered yet' },
      () => this.#permits.held,
    );
  }

  /** Begins to receive the body, where there is one. May be called again for the same request. */
  receive(request: Receiving, response: ServerResponse): void {
    const { headers } = request;
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    if (!hasBody || request[BODY] !== undefined) return;
    const body = new RequestBody(request, this.#permits, this.#scheduler, this.#refusals);
    request[BODY] = body;
    response.on('close', () => body.discard());
  }

  /** A content type parser that gives `parse` the whole body, up to the route's limit. A request without a route is answered unread. */
  parser(parse: ParseText) {
    return (request: FastifyRequest, _payload: unknown, done: Done<unknown>): void => {
      if (request.is404) return done(null);
      const { [BODY]: body } = request.raw as Receiving;
      if (body === undefined) return parse(request, '', done);
      body.read(clientOf(request), request.route.bodyLimit, (error, text = '') => {
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
  /** The route's, once it is known. Until then the permits are the bound. */
  #limit = Number.POSITIVE_INFINITY;
  /** Undefined once the body is not wanted any more. */
  #received: GrowingBuffer | undefined = new GrowingBuffer();
  /** By its key or its address, also where a proxy forwards that; before, what its connection sends counts for the connection's address. */
  #client: string | undefined;
  #held: Permit[] = [];
  #heldBytes = 0;
  #isWhole = false;
  #failure: Error | undefined;
  #done: Done<string> | undefined;

  constructor(request: IncomingMessage, permits: FairSemaphore, scheduler: ReadScheduler, refusals: Counter) {
    this.#permits = permits;
    this.#refusals = refusals;
    const { socket, headers } = request;
    const length = headers['content-length'];
    this.#declaredBytes = length === undefined ? undefined : Number(length);
    this.#address = socket.remoteAddress;
    const count: PieceCount = scheduler.countOf(socket);
    request.on('data', (piece: Buffer) => {
      scheduler.count(socket, count);
      this.#receive(piece);
    });
    request.on('end', () => {
      this.#isWhole = true;
      this.#finish();
    });
    request.on('error', (error) => this.#fail(Object.assign(error, { statusCode: 400 })));
  }

  /** Calls back once, when the body is whole or has failed. */
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

  /** Frees what has arrived, and drops what still comes. */
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
    this.#client ??= clientOf({ apiKey: undefined, ip: this.#address });
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
  return new HttpError('overloaded', 'too many bytes of request bodies are under way, of this client or of all', {
    retryAfterMs: RETRY_AFTER_MS,
  });
}
