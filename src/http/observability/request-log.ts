import type { Clock } from '../../lib/concurrency/clock.ts';
import { type LogLimit, LogThrottle } from '../../telemetry/log-throttle.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { ErrorCode } from '../errors/error-codes.ts';
import { clientNetwork } from '../request/client-identity.ts';
import type { RequestContext } from '../request/request-context.ts';

export interface RequestEnd {
  /** Whether the whole answer was written; otherwise the client disconnected before. */
  readonly isAnswered: boolean;
  readonly status: number;
  readonly durationMs: number;
}

type Level = 'debug' | 'info' | 'warn' | 'error';

/** Limit of each kind of line: a thousand failures in a row are all logged. */
const LINE_LIMIT: LogLimit = { burst: 2_000, intervalMs: 5 };

/** Limit of the lines about refusals of one client: a busy machine refuses hundreds in a second. */
const REFUSALS_LIMIT: LogLimit = { burst: 1, intervalMs: 10_000 };

/**
 * Writes the log lines about requests. Each has the `requestId`; none has a key, a payload or bytes of a request. Each kind has its own
 * limit, so that a flood of one kind does not suppress the others.
 */
export class RequestLog {
  readonly #logger: Logger;
  readonly #throttle: LogThrottle;
  readonly #refusals: LogThrottle;

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#throttle = new LogThrottle(clock, LINE_LIMIT);
    this.#refusals = new LogThrottle(clock, REFUSALS_LIMIT);
  }

  /** Writes the access line, except for operations: probes and scrapes would bury all other lines. */
  answered(context: RequestContext, { isAnswered, status, durationMs }: RequestEnd): void {
    const { request, reply, route, units, failure } = context;
    if (route.config?.access?.group === 'operations') return;
    this.#write('info', 'request', () => ({
      ...idsOf(context),
      method: request.method,
      route: route.url,
      ...(reply.raw.headersSent && { status }),
      ...(!isAnswered && { clientGone: true }),
      durationMs: Math.round(durationMs * 10) / 10,
      ...clientFields(context),
      units,
      ...(failure !== undefined && { code: failure.code }),
    }));
  }

  /** @param failure what each validator did, so that the operator needs no other source */
  aggregationFailed(
    context: RequestContext,
    { code, reason }: { readonly code: ErrorCode; readonly reason: string },
    failure: object | undefined,
  ): void {
    const omitted = code === 'overloaded' ? this.#refusals.take(context.client) : 0;
    if (omitted === undefined) return;
    this.#write('warn', 'aggregation failed', () => ({
      ...idsOf(context),
      ...(omitted > 0 && { ...clientFields(context), omittedOfClient: omitted }),
      network: context.network ?? (context.request.params as { readonly network?: string }).network,
      code,
      reason,
      ...failure,
    }));
  }

  /** Logs any other error. Where access lines are off, the line of a recorded request is the only one with its ID. */
  refused(context: RequestContext, code: ErrorCode, message: string): void {
    const isOnlyLine = context.route.config?.isRecorded === true && !this.#logger.isLevelEnabled('info');
    this.#write(isOnlyLine ? 'warn' : 'debug', 'request refused', () => ({ ...idsOf(context), code, reason: message }));
  }

  unexpected(context: RequestContext, error: unknown): void {
    this.#write('error', 'unexpected error', () => ({ ...idsOf(context), err: error }));
  }

  /** Logs that bytes were no valid request, without the bytes: they may hold keys. */
  malformed(requestId: string, code: ErrorCode, reason: string): void {
    this.#write('debug', 'malformed request', () => ({ requestId, code, reason }));
  }

  #write(level: Level, text: string, fields: () => object): void {
    if (!this.#logger.isLevelEnabled(level)) return;
    const omitted = this.#throttle.take(text);
    if (omitted !== undefined) this.#logger[level]({ ...fields(), ...(omitted > 0 && { omitted }) }, text);
  }
}

function idsOf({ request, span }: RequestContext): { readonly requestId: string; readonly traceId?: string } {
  return { requestId: request.id, ...(span.traceID !== undefined && { traceId: span.traceID }) };
}

/** Returns the client as rate limits name it. A client that disconnected early may have no address. */
function clientFields({ apiKey, request }: RequestContext): { readonly key?: string; readonly client?: string } {
  if (apiKey !== undefined) return { key: apiKey.name };
  const address: string | undefined = request.ip;
  return address === undefined ? {} : { client: clientNetwork(address) };
}
