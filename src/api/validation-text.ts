import type { FastifyError, FastifyRequest } from 'fastify';
import { nearestName } from '../primitives/nearest-name.ts';

type Validation = NonNullable<FastifyError['validation']>;

export const MISSING_BODY = 'body is missing: a JSON object is needed, with the header content-type: application/json';

/** As much of a client's own text as an error repeats. */
const MAX_SHOWN_LENGTH = 100;

/** Why a request does not fit its route's schema: the field, what is allowed, and what was probably meant. */
export function describeValidation(
  [problem]: Validation,
  context: FastifyError['validationContext'],
  request: FastifyRequest,
): string {
  if (problem === undefined) return 'the request is not valid';
  const field = problem.instancePath.slice(1).replaceAll('/', '.');
  if (problem.keyword === 'additionalProperties') {
    return describeUnknownField(String(problem.params['additionalProperty']), knownFields(request, context));
  }
  if (field === '' && context === 'body' && request.body === undefined) return MISSING_BODY;
  const subject = field === '' ? (context ?? 'body') : field;
  if (problem.keyword !== 'type') return `${subject} ${problem.message ?? 'is not valid'}`;
  // Where null is as good as nothing, nobody is told to send it.
  const type = String(problem.params['type']).replace(',null', '');
  const isNumberInQuotes = type === 'integer' && /^\d+$/.test(String(textAt(request, field)));
  return `${subject} must be ${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}${isNumberInQuotes ? ', without quotes' : ''}`;
}

function describeUnknownField(name: string, known: readonly string[]): string {
  const nearest = nearestName(plain(name), known.map(plain));
  const meant =
    known.find((candidate) => plain(candidate) === nearest) ??
    known.find((candidate) => name.length >= MIN_PREFIX_LENGTH && plain(candidate).startsWith(plain(name)));
  const hint = meant === undefined ? `; known are: ${known.join(', ')}` : `: did you mean ${meant}?`;
  return `unknown field ${name.slice(0, MAX_SHOWN_LENGTH)}${hint}`;
}

/** `quorum` is short for `quorumPercentage`; a letter or two may be the beginning of anything. */
const MIN_PREFIX_LENGTH = 4;

/** `signing-subnet-id` and `signing_subnet_id` are `signingSubnetId` in another style. */
function plain(name: string): string {
  return name.replaceAll(/[-_\s]/g, '').toLowerCase();
}

function knownFields({ routeOptions }: FastifyRequest, context: FastifyError['validationContext']): string[] {
  const { body, querystring } = (routeOptions.schema ?? {}) as Record<string, { properties?: object } | undefined>;
  return Object.keys((context === 'querystring' ? querystring : body)?.properties ?? {});
}

/** What the client wrote in a field of the body, where that is a text. */
function textAt({ body }: FastifyRequest, field: string): unknown {
  const value = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[field] : undefined;
  return typeof value === 'string' ? value : undefined;
}
