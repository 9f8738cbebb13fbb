import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify';
import type { AggregatorError } from '../aggregator/aggregator-error.ts';
import type { Clock } from '../primitives/clock.ts';
import type { Logger } from '../telemetry/logger.ts';
import { presentDetails } from './aggregation-details.ts';
import { clientNetwork } from './client-network.ts';
import type { ErrorCode } from './error-codes.ts';
import type { RequestEnd, RequestFollower } from './follow-request.ts';
import { traceOf } from './http-traces.ts';
import { LineBudget } from './line-budget.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Of the error that was answered. */
    errorCode: ErrorCode | undefined;
  }

  interface FastifyContextConfig {
    /** Of a route whose path names no network, and that asks one. */
    network?: string;
  }
}

type Level = 'debug' | 'info' | 'warn' | 'error';

/**
 * The lines about requests. Each carries its `requestId`; none has a key, a payload or the bytes of a request. Each kind has a
 * budget of its own, so that a flood of one leaves the others readable.
 */
export class RequestLog implements RequestFollower {
  readonly #logger: Logger;
  readonly #answered: LineBudget;
  readonly #failed: LineBudget;
  readonly #refused: LineBudget;
  readonly #unexpected: LineBudget;
  readonly #malformed: LineBudget;

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#answered = new LineBudget(clock);
    this.#failed = new LineBudget(clock);
    this.#refused = new LineBudget(clock);
    this.#unexpected = new LineBudget(clock);
    this.#malformed = new LineBudget(clock);
  }

  /** Writes the access line. Operations have none: probes and scrapes would bury everything else. */
  over(request: FastifyRequest, { raw }: FastifyReply, { isAnswered, status, durationMs }: RequestEnd): void {
    if (request.route.config?.access?.group === 'operations') return;
    // By the service's logger, which is cheaper than one of the request's own for a single line.
    this.#write('info', this.#answered, this.#logger, 'request', () => ({
      requestId: request.id,
      ...traceOf(request),
      method: request.method,
      route: request.route.url, // the pattern, so that lines of one route are found together
      ...(raw.headersSent && { status }),
      ...(!isAnswered && { clientGone: true }),
      durationMs: Math.round(durationMs * 10) / 10,
      ...whoAsked(request),
      units: request.units,
      ...(request.errorCode !== undefined && { code: request.errorCode }),
    }));
  }

  /** By its lines alone an operator can tell which validators of which weight said what. */
  aggregationFailed(request: FastifyRequest, { code, message, report }: AggregatorError): void {
    this.#write('warn', this.#failed, request.log, 'aggregation failed', () => ({
      ...traceOf(request),
      network: (request.params as { readonly network?: string }).network ?? request.route.config.network, // as the client calls it
      code,
      reason: message,
      ...(report !== undefined && {
        messageId: report.messageID,
        sourceChainId: report.sourceChainID,
        ...presentDetails(report),
      }),
    }));
  }

  /** An error that the client can correct, for those who help that client. */
  refused(request: FastifyRequest, code: ErrorCode, message: string): void {
    this.#write('debug', this.#refused, request.log, 'request refused', () => ({
      ...traceOf(request),
      code,
      reason: message,
    }));
  }

  /** A bug, with its stack. */
  unexpected(request: FastifyRequest, error: unknown): void {
    this.#write('error', this.#unexpected, request.log, 'unexpected error', () => ({
      ...traceOf(request),
      err: error,
    }));
  }

  /** Bytes that were no valid request. They are not logged, as they may hold keys. */
  malformed(requestId: string, code: ErrorCode, reason: string): void {
    this.#write('debug', this.#malformed, this.#logger, 'malformed request', () => ({ requestId, code, reason }));
  }

  #write(level: Level, budget: LineBudget, to: FastifyBaseLogger, text: string, fields: () => object): void {
    if (!this.#logger.isLevelEnabled(level)) return;
    const omitted = budget.take();
    if (omitted !== undefined) to[level]({ ...fields(), ...(omitted > 0 && { omitted }) }, text);
  }
}

/** By the names that limits and shares go by, so that whoever floods the service is found. Who went at once may have no address. */
function whoAsked(request: FastifyRequest): { readonly key?: string; readonly client?: string } {
  const { apiKey } = request;
  if (apiKey !== undefined) return { key: apiKey.name };
  const { ip }: { readonly ip?: string | undefined } = request;
  return ip === undefined ? {} : { client: clientNetwork(ip) };
}
