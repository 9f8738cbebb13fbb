import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Span } from '../../telemetry/spans.ts';
import type { ErrorCode } from '../errors/error-codes.ts';
import { ClientGone } from '../errors/http-error.ts';
import { type ApiKey, clientIdOf } from './client-identity.ts';

/** Takes units from the client of a request; `http/access` implements it. */
export interface Charging {
  chargeMore(context: RequestContext, units: number, advice?: string): Promise<void>;
  chargeAfterwards(context: RequestContext, units: number): Promise<void>;
}

/** An answer that is a stream of events. */
export interface AnswerStream {
  readonly hasBegun: boolean;
  /** Sends the last event and ends the answer. */
  end(last: string): void;
  /** Sends nothing more. */
  stop(): void;
}

export interface RequestFailure {
  readonly code: ErrorCode;
  /** The error text of the answer; undefined if an upstream wrote it. */
  readonly message?: string | undefined;
  /** The error itself, which may have more for those that know its class. */
  readonly error?: unknown;
  /** Status that a plain answer would have had, if a stream ended with the error after its 200. */
  readonly statusOfStream?: number | undefined;
}

/**
 * Record of one request, from its first hook to its access line: `request.context`. Each part of the HTTP side adds its facts by a method, and
 * reads those of others. What a route knows besides, such as the aggregation, it keeps by this object.
 */
export class RequestContext {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** `routeOptions`, which Fastify creates at each access. */
  readonly route: FastifyRequest['routeOptions'];
  /** Span of the whole request, the parent of all spans of its work. */
  readonly span: Span;
  readonly #charging: Charging;
  #apiKey: ApiKey | undefined;
  #client: string | undefined;
  #units = 0;
  #waitedMs = 0;
  #failure: RequestFailure | undefined;
  #network: string | undefined;
  #stream: AnswerStream | undefined;
  #gone: AbortController | undefined;

  constructor(request: FastifyRequest, reply: FastifyReply, span: Span, charging: Charging) {
    this.request = request;
    this.reply = reply;
    this.route = request.routeOptions;
    this.span = span;
    this.#charging = charging;
  }

  /** Undefined if the client sent no key, or an unknown one. */
  get apiKey(): ApiKey | undefined {
    return this.#apiKey;
  }

  /** Client ID for limits and fair queues. It is kept for the time after a disconnect, when the socket has no address. */
  get client(): string {
    this.#client ??= clientIdOf(this.#apiKey, this.request.ip);
    return this.#client;
  }

  /** Units charged so far. */
  get units(): number {
    return this.#units;
  }

  /** Milliseconds in which a transaction was awaited: they are no part of the measured duration. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  get failure(): RequestFailure | undefined {
    return this.#failure;
  }

  /** Configured name of the network, of which the path may have an alias; undefined until a route has looked it up. */
  get network(): string | undefined {
    return this.#network;
  }

  /** Undefined unless the answer is a stream of events. */
  get stream(): AnswerStream | undefined {
    return this.#stream;
  }

  /**
   * Aborted if the client has disconnected, or disconnects before its answer is written. Fastify's `request.signal` aborts already when
   * the request's body was read.
   */
  get signal(): AbortSignal {
    this.#gone ??= new AbortController();
    if (this.reply.raw.destroyed) this.#gone.abort(new ClientGone());
    return this.#gone.signal;
  }

  identify(apiKey: ApiKey | undefined): void {
    this.#apiKey = apiKey;
  }

  addUnits(units: number): void {
    this.#units += units;
  }

  addWait(durationMs: number): void {
    this.#waitedMs += durationMs;
  }

  fail(failure: RequestFailure): void {
    this.#failure = failure;
  }

  servedBy(network: string): void {
    this.#network = network;
  }

  answerAsStream(stream: AnswerStream): void {
    this.#stream = stream;
  }

  /** Aborts the request's work. Call it when the client disconnected before its answer was written. */
  abandon(): void {
    this.#gone?.abort(new ClientGone());
  }

  /**
   * Charges the client for what is known only after the body was read, such as the length of a batch.
   *
   * @param advice for a request that costs more than a minute's units, such as to send it in parts
   * @throws {HttpError} `rate_limited`, or `invalid_request` if the request costs more than a minute's units
   */
  chargeMore(units: number, advice?: string): Promise<void> {
    return this.#charging.chargeMore(this, units, advice);
  }

  /** Charges the client for what is known only after the work began. The request continues; the units are missing for the next one. */
  chargeAfterwards(units: number): Promise<void> {
    return this.#charging.chargeAfterwards(this, units);
  }
}
