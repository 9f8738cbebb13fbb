import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AggregatorError } from '../../aggregation/aggregator-error.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { type LogLimit, LogThrottle } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { presentDetails } from '../errors/aggregation-details.ts';
import type { ErrorCode } from '../errors/error-codes.ts';
import { clientNetwork } from '../request/client-network.ts';
import type { RequestEnd, RequestFollower } from '../request/follow-request.ts';
import { traceOf } from './http-traces.ts';

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

/** For each kind of line: a thousand failures in a row are all there, twice over. */
const LINE_LIMIT: LogLimit = { burst: 2_000, intervalMs: 5 };

/**
 * The lines about requests. Each carries its `requestId`; none has a key, a payload or the bytes of a request. Each kind has a
 * limit of its own, so that a flood of one leaves the others readable.
 */
export class RequestLog implements RequestFollower {
  readonly #logger: Logger;
  readonly #throttle: LogThrottle;

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#throttle = new LogThrottle(clock, LINE_LIMIT);
  }

  /** Writes the access line. Operations have none: probes and scrapes would bury everything else. */
  over(request: FastifyRequest, { raw }: FastifyReply, { isAnswered, status, durationMs }: RequestEnd): void {
    if (request.route.config?.access?.group === 'operations') return;
    this.#write('info', 'request', () => ({
      ...idsOf(request),
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
    this.#write('warn', 'aggregation failed', () => ({
      ...idsOf(request),
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
    this.#write('debug', 'request refused', () => ({
      ...idsOf(request),
      code,
      reason: message,
    }));
  }

  /** A bug, with its stack. */
  unexpected(request: FastifyRequest, error: unknown): void {
    this.#write('error', 'unexpected error', () => ({
      ...idsOf(request),
      err: error,
    }));
  }

  /** Bytes that were no valid request. They are not logged, as they may hold keys. */
  malformed(requestId: string, code: ErrorCode, reason: string): void {
    this.#write('debug', 'malformed request', () => ({ requestId, code, reason }));
  }

  #write(level: Level, text: string, fields: () => object): void {
    if (!this.#logger.isLevelEnabled(level)) return;
    const omitted = this.#throttle.take(text);
    if (omitted !== undefined) this.#logger[level]({ ...fields(), ...(omitted > 0 && { omitted }) }, text);
  }
}

/** Request ID and, where the request is traced, trace ID: they find all lines of one request. */
function idsOf(request: FastifyRequest): { readonly requestId: string; readonly traceId?: string } {
  return { requestId: request.id, ...traceOf(request) };
}

/** By the names that limits and shares go by, so that whoever floods the service is found. Who went at once may have no address. */
function whoAsked(request: FastifyRequest): { readonly key?: string; readonly client?: string } {
  const { apiKey } = request;
  if (apiKey !== undefined) return { key: apiKey.name };
  const { ip }: { readonly ip?: string | undefined } = request;
  return ip === undefined ? {} : { client: clientNetwork(ip) };
}
