import { type TSchema, Type } from 'typebox';

/** The one form of every error answer, as the specification has it, with `details` beside it where they help. */
export interface ErrorBody {
  readonly message: string;
  readonly statusCode: number;
  readonly error: string;
  readonly details?: unknown;
}

const properties = {
  message: Type.String({ description: 'What is wrong, and what is allowed' }),
  statusCode: Type.Integer({ description: 'The HTTP status' }),
  error: Type.String({ description: 'The reason phrase of the status' }),
  details: Type.Optional(Type.Any({ description: 'Where validators were asked: what each outcome weighs' })),
};

export type ErrorStatus = 400 | 401 | 403 | 404 | 429 | 500 | 502 | 503;

/** Of each status its reason phrase, and what it means here. */
const STATUSES: Readonly<Record<ErrorStatus, readonly [phrase: string, meaning: string]>> = {
  400: ['Bad Request', 'The request can be mended: the message names the field or parameter, and what is allowed'],
  401: ['Unauthorized', 'The API key is not known'],
  403: ['Forbidden', 'The API key is not for this route'],
  404: ['Not Found', 'There is no such thing as the message names, or no such route'],
  429: ['Too Many Requests', 'More units in a minute than allowed; Retry-After says when to come again'],
  500: ['Internal Server Error', 'The quorum is out of reach, as the details say; or a failure of what answers'],
  502: ['Bad Gateway', 'A service behind this one cannot be reached, or answered what cannot be right'],
  503: [
    'Service Unavailable',
    'It may work in a while, and Retry-After says when to try again; or it is not configured',
  ],
};

/** Schemas of a route's error answers. */
export function errorResponses(...statuses: readonly ErrorStatus[]): Record<number, TSchema> {
  return Object.fromEntries(
    statuses.map((statusCode) => {
      const [error, description] = STATUSES[statusCode];
      const examples = [{ message: 'what is wrong, and what is allowed', statusCode, error }];
      return [statusCode, Type.Object(properties, { description, examples })];
    }),
  );
}

export function createErrorBody(statusCode: ErrorStatus, message: string, details?: unknown): ErrorBody {
  return {
    message,
    statusCode,
    error: STATUSES[statusCode][0],
    ...(details === undefined ? {} : { details }),
  };
}
