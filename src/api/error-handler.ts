import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { AggregatorError, type AggregatorErrorCode, type RequestField } from '../aggregator/aggregator-error.ts';
import { UpstreamError, type UpstreamErrorCode } from '../upstream/upstream-error.ts';
import { presentDetails } from './aggregation-details.ts';
import { createErrorBody, type ErrorStatus } from './error-body.ts';

/** The one place where a code becomes a status. */
const STATUS_OF: Readonly<Record<AggregatorErrorCode, ErrorStatus>> = {
  invalid_request: 400,
  wrong_network: 400,
  height_not_reached: 400,
  no_message_in_transaction: 400,
  message_superseded: 400,
  validation_not_over: 400,
  signing_refused: 400,
  unknown_source_chain: 404,
  unknown_subnet: 404,
  unknown_transaction: 404,
  justification_not_found: 404,
  justification_pending: 503,
  no_validators_yet: 503,
  not_connected: 503,
  insufficient_weight: 500,
  p_chain_unavailable: 503,
  p_chain_invalid: 502,
  overloaded: 503,
  network_unavailable: 503,
};

/** How the API spells the parts of a request. */
const FIELD_NAMES: Readonly<Record<RequestField, string>> = {
  message: 'message',
  justification: 'justification',
  transaction: 'txHash',
  signingSubnetID: 'signingSubnetId',
  quorumNum: 'quorumPercentage',
  quorumBuffer: 'quorumPercentageBuffer',
  pChainHeight: 'pChainHeight',
  destinationChainID: 'destinationBlockchainId',
};

const STATUS_OF_UPSTREAM: Readonly<Record<UpstreamErrorCode, ErrorStatus>> = {
  'not configured': 503,
  unreachable: 502,
  'too slow': 503,
  'invalid answer': 502,
  'circuit open': 503,
  overloaded: 503,
};

/** A request that the caller can mend: 400 with a sentence that starts with the field. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest';
}

/** The same request may be made again, after a while. */
export class TooManyRequests extends Error {
  override readonly name = 'TooManyRequests';
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The API key is none of ours. */
export class Unauthorized extends Error {
  override readonly name = 'Unauthorized';
}

/** The API key is not for this route. */
export class Forbidden extends Error {
  override readonly name = 'Forbidden';
}

/** The client closed the connection before its answer was there. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

export function handleError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  if (error instanceof ClientGone) {
    reply.hijack(); // nobody is there to be answered
  } else if (error instanceof BadRequest) {
    sendError(reply, 400, error.message);
  } else if (error instanceof AggregatorError) {
    const status = STATUS_OF[error.code];
    setRetryAfter(reply, error.retryAfterMs);
    if (status >= 500) request.log.warn({ code: error.code, reason: error.message }, 'aggregation failed');
    const message = error.field === undefined ? error.message : `${FIELD_NAMES[error.field]}: ${error.message}`;
    sendError(reply, status, message, error.report && presentDetails(error.report.tally));
  } else if (error instanceof UpstreamError) {
    setRetryAfter(reply, error.retryAfterMs ?? (error.code === 'too slow' ? UPSTREAM_RETRY_MS : undefined));
    sendError(reply, STATUS_OF_UPSTREAM[error.code], error.message);
  } else if (error instanceof Unauthorized) {
    sendError(reply, 401, error.message);
  } else if (error instanceof Forbidden) {
    sendError(reply, 403, error.message);
  } else if (error instanceof TooManyRequests) {
    setRetryAfter(reply, error.retryAfterMs);
    sendError(reply, 429, error.message);
  } else if (error.validation !== undefined || (error.statusCode ?? 500) < 500) {
    sendError(reply, error.statusCode === 404 ? 404 : 400, describeClientError(error, request));
  } else {
    // A bug of ours. The client learns nothing of it but that it happened; the log has the stack.
    request.log.error({ err: error }, 'unexpected error');
    sendError(reply, 500, 'internal error: see the log of the service');
  }
}

export function handleNotFound(request: FastifyRequest, reply: FastifyReply): void {
  const path = request.url.split('?', 1)[0];
  sendError(reply, 404, `no route ${request.method} ${path}; the routes are listed in /openapi.json`);
}

/** A slow upstream may well be quick again a moment later. */
const UPSTREAM_RETRY_MS = 5_000;

function setRetryAfter(reply: FastifyReply, afterMs: number | undefined): void {
  if (afterMs !== undefined) reply.header('retry-after', Math.ceil(afterMs / 1_000));
}

function sendError(reply: FastifyReply, status: ErrorStatus, message: string, details?: unknown): void {
  reply
    .status(status)
    .type('application/json; charset=utf-8')
    .send(createErrorBody(status, message, details));
}

/** Fastify's own errors before a handler runs, in words that name the field or the limit. */
function describeClientError(error: FastifyError, request: FastifyRequest): string {
  const [problem] = error.validation ?? [];
  if (problem !== undefined) {
    const field = problem.instancePath.slice(1).replaceAll('/', '.');
    if (problem.keyword === 'additionalProperties') {
      return `unknown field ${String(problem.params['additionalProperty'])}${field === '' ? '' : ` in ${field}`}`;
    }
    if (field === '' && request.body === undefined) return BODY_MISSING;
    const subject = field === '' ? (error.validationContext ?? 'body') : field;
    return `${subject} ${describeProblem(problem)}`;
  }
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return `body is larger than the ${request.routeOptions.bodyLimit} bytes allowed here`;
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return 'body must be JSON, with the header content-type: application/json';
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return BODY_MISSING;
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return 'body is not valid JSON';
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return 'the path of the URL is not valid';
    default:
      return error.message;
  }
}

type ValidationProblem = NonNullable<FastifyError['validation']>[number];

function describeProblem({ keyword, params, message }: ValidationProblem): string {
  if (keyword !== 'type') return message ?? 'is not valid';
  const type = String(params['type']);
  return `must be ${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`;
}

const BODY_MISSING = 'body is missing: a JSON object is needed, with the header content-type: application/json';
