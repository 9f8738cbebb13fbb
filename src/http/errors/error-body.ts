import { STATUS_CODES } from 'node:http';
import { type TSchema, Type } from 'typebox';
import { integer, oneOf, text } from '../../lib/encoding/schema.ts';
import { CODE_NAMES, ERROR_CODES, type ErrorCode, type ErrorOrigin, type ErrorStatus } from './error-codes.ts';

const TEXT = { description: 'What is wrong, and what is allowed' };
const EXAMPLE_MESSAGE = 'what is wrong, and what is allowed';
export const PLAIN_FIELDS = { message: Type.String(TEXT) };
const FORWARDED = {
  message: Type.Union([Type.String(), Type.Array(Type.String())], {
    description: `${TEXT.description}; a list if the upstream sent one`,
  }),
};

const ADVICE = {
  never: 'The same request will always fail',
  after_change: 'The same request fails until something has changed',
  may_pass: 'The same request may succeed later',
} as const;
const CODE_WORDS = CODE_NAMES.map((code) => {
  const { meaning, retry, action } = ERROR_CODES[code];
  return `- \`${code}\`: ${meaning}. ${ADVICE[retry]}. ${action}.`;
});
export const ERROR_CODE = oneOf(
  CODE_NAMES,
  `Programs decide by it. Each response lists those that it may have.\n${CODE_WORDS.join('\n')}`,
  { title: 'ErrorCode' },
);

/** Error answers of a route that forwards requests. */
export const errorResponses = describeErrors('UpstreamError', ['upstream', 'api'], FORWARDED);
export const metricsErrorResponses = describeErrors('MetricsError', ['upstream', 'api'], {
  message: Type.Array(Type.String(), TEXT),
});
/** Error answers of a route that asks neither validators nor an upstream. */
export const plainErrorResponses = describeErrors('Error', ['api'], PLAIN_FIELDS);
export const requestErrorResponses = describeErrors('Error', ['requests', 'api'], PLAIN_FIELDS);
/** Error answers of a route that reads the record of validators. */
export const recordErrorResponses = describeErrors('Error', ['record', 'api'], PLAIN_FIELDS);
/** Error answers of a route that reads stored messages. */
export const feedErrorResponses = describeErrors('FeedError', ['feed', 'api'], {
  ...PLAIN_FIELDS,
  details: Type.Optional(
    Type.Object(
      { oldestCursor: Type.Optional(text('Where a cursor has expired: the cursor of the oldest stored messages')) },
      { title: 'ExpiredCursor' },
    ),
  ),
});
/** Error answers of a route that reads a body and sends no request. */
export const bodyErrorResponses = describeErrors('Error', ['body'], PLAIN_FIELDS);
/** Error answers of a route that forwards a body. */
export const passedBodyErrorResponses = describeErrors('UpstreamError', ['upstream', 'api', 'body'], FORWARDED);

type ErrorResponses = (...statuses: readonly ErrorStatus[]) => Record<number, TSchema>;

/**
 * Returns a function that makes the schemas of error answers by status. All have one form, so that generated clients have one type; the
 * OpenAPI document moves `x-error-codes` and the description of a status to the response.
 *
 * @param title name of the form in the OpenAPI document
 */
export function describeErrors(
  title: string,
  origins: readonly ErrorOrigin[],
  fields: { readonly message: TSchema } & Record<string, TSchema>,
): ErrorResponses {
  const message = 'items' in fields.message ? [EXAMPLE_MESSAGE] : EXAMPLE_MESSAGE;
  const properties = {
    ...fields,
    statusCode: integer('The HTTP status'),
    error: text('The reason phrase of the status'),
    code: ERROR_CODE,
  };
  const describe = (statusCode: ErrorStatus): TSchema => {
    const codes = codesOf(statusCode, origins);
    const error = STATUS_CODES[statusCode] ?? 'Error';
    return Type.Object(properties, {
      title,
      'x-response-description': codes.map((code) => `- \`${code}\`: ${ERROR_CODES[code].meaning}`).join('\n'),
      'x-error-codes': codes,
      examples: [{ message, statusCode, error, code: codes[0] }],
    });
  };
  return (...statuses) => Object.fromEntries(statuses.map((statusCode) => [statusCode, describe(statusCode)]));
}

function codesOf(status: ErrorStatus, origins: readonly ErrorOrigin[]): ErrorCode[] {
  return CODE_NAMES.filter((code) => {
    const entry = ERROR_CODES[code];
    const isPossible = entry.status === status || entry.status === 'as_upstream';
    return isPossible && entry.raisedBy.some((origin) => origins.includes(origin));
  });
}
