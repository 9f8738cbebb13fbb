import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { PublicError } from '../../lib/net/coded-error.ts';
import { retryAfterSeconds } from '../../lib/net/http-failure.ts';
import { ERROR_CODES, type ErrorCode, isErrorCode } from '../errors/error-codes.ts';
import type { ErrorFacts, FactsOfError } from '../errors/error-facts.ts';
import type { ErrorAnswer, ErrorForm } from '../errors/error-form.ts';
import { ClientGone, HttpError, noSuchRoute } from '../errors/http-error.ts';
import { describeValidation, MISSING_BODY } from '../errors/validation-text.ts';
import type { RequestLog } from '../observability/request-log.ts';
import { JSON_TYPE } from '../request/json-type.ts';
import { answerBeforeBody } from './answer-before-body.ts';
import { encodeEvent } from './event-stream.ts';

/** Valid path parameters have at most 78 characters; those up to this length are refused by the route's check. */
export const MAX_PARAM_LENGTH = 1_000;

export type ErrorHandler = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void;

export interface ErrorHandlerOptions {
  readonly log: RequestLog;
  /** The form of routes that declare no other. */
  readonly form: ErrorForm;
  readonly factsOf: FactsOfError;
  readonly clock: Pick<Clock, 'after'>;
}

export function createErrorHandler({ log, form: formOfServer, factsOf, clock }: ErrorHandlerOptions): ErrorHandler {
  return (error, request, reply) => {
    const { context } = request;
    const { stream, route } = context;
    const form = route.config?.errorForm ?? formOfServer;
    if (stream?.hasBegun !== true) stream?.stop();
    if (error instanceof ClientGone) {
      reply.hijack();
      return;
    }
    const facts = factsOf(error);
    const answer = answerTo(error, facts, request, form);
    const { code, message, retryAfterMs = ERROR_CODES[code].retryAfterMs } = answer;
    const statusCode = form.statusOf(code);
    const statusOfStream = stream?.hasBegun === true ? statusCode : undefined;
    context.fail({ code, message: String(message), error, statusOfStream });
    if (code === 'internal_error') log.unexpected(context, error);
    else if (facts !== undefined && (statusCode >= 500 || facts.failure !== undefined))
      log.aggregationFailed(context, { code, reason: error.message }, facts.failure);
    else if (statusCode < 500 || route.config?.isRecorded === true) log.refused(context, code, String(message));
    const body = form.bodyOf(answer, statusCode, request.url);
    const retryAfter = retryAfterMs === undefined ? undefined : retryAfterSeconds(retryAfterMs);
    if (stream?.hasBegun) {
      // Its headers are sent.
      stream.end(encodeEvent({ event: 'error', data: { ...(body as object), retryAfter } }));
      return;
    }
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
    reply.status(statusCode).type(JSON_TYPE);
    // A string, because a route's schema of this status must not filter the fields.
    const text = JSON.stringify(body);
    if (!endsConnection(code, request)) return void reply.send(text);
    reply.header('connection', 'close');
    // No end of such a body can be found; an injected request has no connection.
    if (code === 'unsupported_transfer_coding' || request.raw.complete !== false) return void reply.send(text);
    reply.header('content-length', Buffer.byteLength(text)).send(answerBeforeBody(text, request.raw, clock));
  };
}

function endsConnection(code: ErrorCode, { is404, raw }: FastifyRequest): boolean {
  // A proxy in front may see another end of such a body.
  if (code === 'unsupported_transfer_coding') return true;
  // The rest of a body that is not used would be read and parsed.
  return !raw.complete && (is404 || code === 'body_too_large');
}

function answerTo(
  error: FastifyError,
  facts: ErrorFacts | undefined,
  request: FastifyRequest,
  { fieldNames }: ErrorForm,
): ErrorAnswer {
  if (error instanceof PublicError && isErrorCode(error.code)) {
    const { code, retryAfterMs } = error;
    const message = facts?.field === undefined ? error.message : `${fieldNames[facts.field]}: ${error.message}`;
    return { code, message, retryAfterMs, details: error instanceof HttpError ? error.details : facts?.details };
  }
  if (error.validation !== undefined) {
    return { code: 'invalid_request', message: describeValidation(error.validation, error.validationContext, request) };
  }
  // The log has the stack, which clients must not see.
  if ((error.statusCode ?? 500) >= 500) {
    return {
      code: 'internal_error',
      message: `internal error: the service's log has more, under request ${request.id}`,
    };
  }
  return answerToFastify(error, request);
}

/** Describes Fastify's own errors, which occur before a handler runs. */
function answerToFastify({ code, message }: FastifyError, request: FastifyRequest): ErrorAnswer {
  switch (code) {
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      if (request.is404) return noSuchRoute(request);
      return {
        code: 'unsupported_media_type',
        message: 'body must be JSON, with the header content-type: application/json',
      };
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return { code: 'invalid_request', message: MISSING_BODY };
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return { code: 'invalid_request', message: 'body is not valid JSON' };
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return {
        code: 'invalid_request',
        message: `the path of the URL has a part of more than the ${MAX_PARAM_LENGTH} characters allowed`,
      };
    case 'FST_ERR_BAD_URL':
      return { code: 'invalid_request', message: 'the path of the URL is not valid' };
    default:
      return { code: 'invalid_request', message };
  }
}
