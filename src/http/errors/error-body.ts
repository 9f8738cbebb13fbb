import type { TSchema } from 'typebox';
import { Type } from '../../lib/encoding/schema.ts';
import { STATUS_CODES } from '../../lib/net/node-http.ts';
import { AggregationDetails } from './aggregation-details.ts';
import { ERROR_CODES, type ErrorCode, type ErrorOrigin, type ErrorStatus } from './error-codes.ts';

/** The one form of every error answer: the specification's three fields, and beside them what programs can act on. */
export interface ErrorBody {
  /** A list where an upstream sent one, and on the routes of the metrics service. */
  readonly message: string | readonly string[];
  readonly statusCode: number;
  /** The reason phrase of the status. */
  readonly error: string;
  readonly code: ErrorCode;
  readonly details?: unknown;
}

/** The metrics service's errors have lists of texts, by its specification, whichever side they come from. */
export function messageFor(url: string, message: string | readonly string[]): string | readonly string[] {
  return /^\/v1\/avg_tps(?:[/?]|$)/.test(url) ? [message].flat() : message;
}

export function createErrorBody(
  code: ErrorCode,
  statusCode: number,
  message: string | readonly string[],
  details?: unknown,
): ErrorBody {
  return {
    message,
    statusCode,
    error: STATUS_CODES[statusCode] ?? 'Error',
    code,
    ...(details === undefined ? {} : { details }),
  };
}

/** Schemas of the error answers of a route that passes requests on. */
export function errorResponses(...statuses: readonly ErrorStatus[]): Record<number, TSchema> {
  return describeErrors(statuses, ['upstream', 'api'], 'Error', PASSED);
}

/** Schemas of the error answers of a route of the metrics service. */
export function metricsErrorResponses(...statuses: readonly ErrorStatus[]): Record<number, TSchema> {
  const message = Type.Array(Type.String(), { description: 'What is wrong, and what is allowed' });
  return describeErrors(statuses, ['upstream', 'api'], 'MetricsError', { message });
}

/** Schemas of the error answers of an aggregation route. */
export function aggregationErrorResponses(...statuses: readonly ErrorStatus[]): Record<number, TSchema> {
  return describeErrors(statuses, ['aggregator', 'api'], 'AggregationError', {
    message: Type.String({ description: 'What is wrong, and what is allowed' }),
    details: Type.Optional(AggregationDetails),
  });
}

/** Schemas of the error answers of a route that asks neither validators nor an upstream. */
export function plainErrorResponses(...statuses: readonly ErrorStatus[]): Record<number, TSchema> {
  return describeErrors(statuses, ['api'], 'PlainError', PLAIN);
}

/** The 503 of such a route where it has a body. */
export function bodyErrorResponses(): Record<number, TSchema> {
  return describeErrors([503], ['body'], 'PlainError', PLAIN);
}

/** The 503 of a route that passes a body on. */
export function passedBodyErrorResponses(): Record<number, TSchema> {
  return describeErrors([503], ['upstream', 'api', 'body'], 'BodyError', PASSED);
}

const PASSED = {
  message: Type.Union([Type.String(), Type.Array(Type.String())], {
    description: 'What is wrong, and what is allowed; a list where the upstream sent one',
  }),
};
const PLAIN = { message: Type.String({ description: 'What is wrong, and what is allowed' }) };

const EXAMPLE_MESSAGE = 'what is wrong, and what is allowed';

function describeErrors(
  statuses: readonly ErrorStatus[],
  origins: readonly ErrorOrigin[],
  name: string,
  { message, ...more }: { readonly message: TSchema } & Record<string, TSchema>,
): Record<number, TSchema> {
  const isList = 'items' in message;
  return Object.fromEntries(
    statuses.map((statusCode) => {
      const codes = codesOf(statusCode, origins);
      const error = STATUS_CODES[statusCode] ?? 'Error';
      const schema = Type.Object(
        {
          message,
          statusCode: Type.Integer({ description: 'The HTTP status' }),
          error: Type.String({ description: 'The reason phrase of the status' }),
          code: Type.Enum([...codes], {
            type: 'string',
            description: codes.map((code) => `- \`${code}\`: ${describeCode(code)}`).join('\n'),
          }),
          ...more,
        },
        {
          // The OpenAPI document has it once, under this name.
          title: `${name}${statusCode}`,
          description: codes.map((code) => ERROR_CODES[code].meaning).join('; or: '),
          examples: [{ message: isList ? [EXAMPLE_MESSAGE] : EXAMPLE_MESSAGE, statusCode, error, code: codes[0] }],
        },
      );
      return [statusCode, schema];
    }),
  );
}

function codesOf(status: ErrorStatus, origins: readonly ErrorOrigin[]): ErrorCode[] {
  return (Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => {
    const entry = ERROR_CODES[code];
    const isPossible = entry.status === status || entry.status === 'as_upstream';
    return isPossible && entry.raisedBy.some((origin) => origins.includes(origin));
  });
}

const ADVICE = {
  never: 'The same request will always fail',
  after_change: 'The same request fails until something has changed',
  may_pass: 'The same request may succeed later',
} as const;

function describeCode(code: ErrorCode): string {
  const { meaning, retry, action } = ERROR_CODES[code];
  return `${meaning}. ${ADVICE[retry]}. ${action}.`;
}
