import { Type } from 'typebox';

/** The one form of every error answer, as the specification has it, with `details` beside it where they help. */
export interface ErrorBody {
  readonly message: string;
  readonly statusCode: number;
  readonly error: string;
  readonly details?: unknown;
}

export const ErrorBodySchema = Type.Object(
  {
    message: Type.String({ description: 'What is wrong, and what is allowed' }),
    statusCode: Type.Integer({ description: 'The HTTP status' }),
    error: Type.String({ description: 'The reason phrase of the status' }),
    details: Type.Optional(Type.Any({ description: 'Where validators were asked: what each outcome weighs' })),
  },
  { description: 'Error' },
);

const REASON_PHRASES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
};

export type ErrorStatus = 400 | 401 | 403 | 404 | 429 | 500 | 502 | 503;

export function createErrorBody(statusCode: ErrorStatus, message: string, details?: unknown): ErrorBody {
  return {
    message,
    statusCode,
    error: REASON_PHRASES[statusCode] ?? 'Error',
    ...(details === undefined ? {} : { details }),
  };
}
