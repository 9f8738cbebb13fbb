import type { FastifyError, FastifyRequest } from 'fastify';
import { isObject } from '../../lib/encoding/is-object.ts';
import { nearestName } from '../../lib/encoding/nearest-name.ts';
import { MAX_SHOWN_LENGTH } from './http-error.ts';

type Validation = NonNullable<FastifyError['validation']>;
type Problem = Validation[number];

export const MISSING_BODY = 'body is missing: a JSON object is needed, with the header content-type: application/json';

/** Describes why a request does not match its route's schema: the field, what is allowed, and the field that was probably meant. */
export function describeValidation(
  [problem]: Validation,
  context: FastifyError['validationContext'],
  request: FastifyRequest,
): string {
  if (problem === undefined) return 'the request is not valid';
  const field = problem.instancePath.slice(1).replaceAll('/', '.');
  if (problem.keyword === 'additionalProperties') {
    return describeUnknownField(problem, request, context);
  }
  if (field === '' && context === 'body' && request.body === undefined) return MISSING_BODY;
  const subject = field === '' ? (context ?? 'body') : field;
  switch (problem.keyword) {
    case 'required':
      return `${field === '' ? '' : `${field}.`}${String(problem.params['missingProperty'])} is missing`;
    case 'enum':
      return `${subject} must be one of ${(problem.params['allowedValues'] as readonly unknown[]).join(', ')}`;
    case 'discriminator':
      return describeForms(String(problem.params['tag']), request);
    case 'type':
    case 'minimum':
    case 'maximum':
      return `${subject} ${describeAllowed(problem, field, request)}`;
    default:
      return `${subject} ${problem.message ?? 'is not valid'}`;
  }
}

/** Returns the type and, for an integer of the body itself, both ends of its range. */
function describeAllowed(problem: Problem, field: string, request: FastifyRequest): string {
  const known = fieldsOf(problem, request, 'body')[field] ?? {};
  const { type: typeOfField = problem.params['type'] as FieldSchema['type'], minimum, maximum } = known;
  if (typeOfField === undefined) return problem.message ?? 'is not valid';
  // Null means the same as leaving the field out, so it is not advertised.
  const type = [typeOfField]
    .flat()
    .filter((each) => each !== 'null')
    .join(',');
  const range = minimum === undefined || maximum === undefined ? '' : ` from ${minimum} to ${maximum}`;
  const isNumberInQuotes = type === 'integer' && /^\d+$/.test(String(textAt(request, field)));
  return `must be ${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}${range}${isNumberInQuotes ? ', without quotes' : ''}`;
}

function describeUnknownField(
  problem: Problem,
  request: FastifyRequest,
  context: FastifyError['validationContext'],
): string {
  const name = String(problem.params['additionalProperty']);
  const isOfQuery = context === 'querystring';
  const known = Object.keys(fieldsOf(problem, request, isOfQuery ? 'querystring' : 'body'));
  const nearest = nearestName(plain(name), known.map(plain));
  const meant =
    known.find((candidate) => plain(candidate) === nearest) ??
    known.find((candidate) => name.length >= MIN_PREFIX_LENGTH && plain(candidate).startsWith(plain(name)));
  const hint = meant === undefined ? `; known are: ${known.join(', ')}` : `: did you mean ${meant}?`;
  // The Go aggregator's clients may have been given the wrong URL.
  const isOfGo = !isOfQuery && name.includes('-') && known.includes('signingSubnetId');
  const route = isOfGo ? ' Names with hyphens are those of the route /aggregate-signatures' : '';
  return `unknown ${isOfQuery ? 'parameter' : 'field'} ${name.slice(0, MAX_SHOWN_LENGTH)}${hint}${route}`;
}

/** Shortest prefix that names a field, such as `quorum` for `quorumPercentage`. */
const MIN_PREFIX_LENGTH = 4;

/** Makes `signing-subnet-id`, `signing_subnet_id` and `signingSubnetId` equal. */
function plain(name: string): string {
  return name.replaceAll(/[-_\s]/g, '').toLowerCase();
}

interface FieldSchema {
  readonly type?: string | readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly const?: string;
}

type FieldSchemas = Readonly<Record<string, FieldSchema>>;

interface RequestSchema {
  readonly properties?: FieldSchemas;
  /** Forms of a body, which one field tells apart. */
  readonly oneOf?: readonly { readonly properties?: FieldSchemas }[];
}

/** Returns the values of the field that selects one of several forms of a body. */
function describeForms(field: string, request: FastifyRequest): string {
  const { oneOf = [] } = schemaOf(request, 'body');
  return `${field} must be one of ${oneOf.map(({ properties }) => properties?.[field]?.const).join(', ')}`;
}

/** Returns the schema of each field of the body, in the form that the problem is about, or of each parameter of the query. */
function fieldsOf({ schemaPath }: Problem, request: FastifyRequest, part: 'body' | 'querystring'): FieldSchemas {
  const { properties, oneOf = [] } = schemaOf(request, part);
  const [, form] = /^#\/oneOf\/(\d+)\//.exec(schemaPath) ?? [];
  return properties ?? oneOf[Number(form)]?.properties ?? {};
}

function schemaOf({ routeOptions }: FastifyRequest, part: 'body' | 'querystring'): RequestSchema {
  const schema = routeOptions.schema as Partial<Record<typeof part, RequestSchema>> | undefined;
  return schema?.[part] ?? {};
}

/** Returns the client's value of a field of the body if it is a string. */
function textAt({ body }: FastifyRequest, field: string): unknown {
  const value = isObject(body) ? body[field] : undefined;
  return typeof value === 'string' ? value : undefined;
}
