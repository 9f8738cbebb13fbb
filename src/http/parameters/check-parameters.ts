import type { TSchema } from 'typebox';
import { badRequest, MAX_SHOWN_LENGTH } from '../errors/http-error.ts';
import { PARAMETER_FORMATS, type ParameterFormatName } from './parameter-formats.ts';

/** The keywords of JSON Schema that schemas of path and query parameters may use. */
interface ParameterSchema {
  readonly type?: 'string' | 'integer' | 'number' | 'array';
  readonly enum?: readonly string[];
  /** Its own check is stricter than the schema's `pattern`, which is for readers of the document. */
  readonly format?: ParameterFormatName;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly items?: ParameterSchema;
}

interface ObjectSchema {
  readonly properties: Readonly<Record<string, ParameterSchema>>;
  readonly required?: readonly string[];
}

export type Parameters = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Checks parameters against the schema that documents them. They are strings and are forwarded unchanged, so they are not converted: `1e2`
 * or `0x10` is no integer. Unknown parameters pass, except those whose name some server would take for a known one; see
 * {@link checkAllParameters}.
 *
 * @throws {HttpError} `invalid_request`, naming the parameter
 */
export function checkParameters(schema: TSchema, values: Parameters): void {
  const { properties, required = [] } = schema as unknown as ObjectSchema;
  for (const name of required) {
    if (values[name] === undefined || values[name] === '') throw badRequest(`${name} is missing`);
  }
  for (const name of Object.keys(values)) {
    const value = values[name];
    if (value === undefined) continue;
    const parameter = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (parameter === undefined) {
      const plain = undecorated(name);
      const meant = Object.keys(properties).find((known) => known.toLowerCase() === plain);
      if (meant === undefined) continue;
      throw badRequest(`${meant} must be written exactly so, not ${JSON.stringify(name.slice(0, MAX_SHOWN_LENGTH))}`);
    }
    const problem = parameter.type === 'array' ? findListProblem(parameter, value) : findProblem(parameter, value);
    if (problem !== undefined) throw badRequest(`${name} ${problem}`);
  }
}

/** Checks parameters as {@link checkParameters} does, and refuses unknown ones. @throws {HttpError} naming the parameter */
export function checkAllParameters(schema: TSchema, values: Parameters): void {
  checkParameters(schema, values);
  const known = Object.keys((schema as unknown as ObjectSchema).properties);
  const unknown = Object.keys(values).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const allowed = known.length === 0 ? 'there is none here' : `known are: ${known.join(', ')}`;
  throw badRequest(`unknown parameter ${unknown.slice(0, MAX_SHOWN_LENGTH)}; ${allowed}`);
}

/**
 * Checks that a query that is passed on has no parameter that some server would take for one of these names: those of the path, and
 * those that the request gets on the way, such as a key.
 *
 * @throws {HttpError} `invalid_request`, naming the parameter
 */
export function requireFreeNames(values: Parameters, taken: readonly string[]): void {
  const names = new Set(taken.map(undecorated));
  const name = Object.keys(values).find((each) => names.has(undecorated(each)));
  if (name === undefined) return;
  throw badRequest(
    `${name.slice(0, MAX_SHOWN_LENGTH)} must be left out of the query: the path has it, or this service adds it`,
  );
}

/**
 * Returns the name as the most lenient server reads it: `pageSize[]`, `[pageSize]`, `pageSize.x` and `pagesize` are `pageSize` to some
 * servers, and so is a name with blanks (also written `+`) or invisible characters.
 */
function undecorated(name: string): string {
  return name
    .replace(/[\s+\p{Cc}\p{Cf}]/gu, '')
    .replace(/^[[\].]+/, '')
    .replace(/[[\].].*$/, '')
    .toLowerCase();
}

function findListProblem(schema: ParameterSchema, value: string | readonly string[]): string | undefined {
  const { items = {}, maxItems = Number.POSITIVE_INFINITY } = schema;
  const texts = [value].flat().flatMap((text) => text.split(','));
  if (texts.length > maxItems) return `has ${texts.length} values, at most ${maxItems} are allowed`;
  for (const text of texts) {
    const problem = findProblem(items, text);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function findProblem(schema: ParameterSchema, value: string | readonly string[]): string | undefined {
  if (typeof value !== 'string') return 'must be given once';
  if (schema.enum !== undefined && !schema.enum.includes(value)) return `must be one of ${schema.enum.join(', ')}`;
  if (schema.type === 'integer' || schema.type === 'number') return findNumberProblem(schema, value);
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, format } = schema;
  if (value.length < minLength) return 'must not be empty';
  if (value.length > maxLength) return `has ${value.length} characters, at most ${maxLength} are allowed`;
  if (format === undefined) return undefined;
  return PARAMETER_FORMATS[format].findProblem(value);
}

function findNumberProblem(
  { type, minimum = 0, maximum = ANY_AMOUNT.maximum }: ParameterSchema,
  text: string,
): string | undefined {
  const [isNumber, , decimals] = DECIMAL.exec(text) ?? [];
  if (
    isNumber !== undefined &&
    (type === 'number' || decimals === undefined) &&
    compareDecimals(text, String(minimum)) >= 0 &&
    compareDecimals(text, String(maximum)) <= 0
  ) {
    return undefined;
  }
  return `must be ${type === 'integer' ? 'an integer' : 'a number'} from ${minimum} to ${maximum}`;
}

/** Range of numbers without another limit: what JSON numbers hold exactly, which suffices for block numbers, heights and times. */
export const ANY_AMOUNT = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
const DECIMAL = /^(0|[1-9]\d{0,19})(\.\d+)?$/;

/** Compares all digits, because `100.000000000000000001` is 100 as a double. Returns a negative number, 0 or a positive one. */
export function compareDecimals(a: string, b: string): number {
  const [wholeA = '', fractionA = ''] = a.split('.', 2);
  const [wholeB = '', fractionB = ''] = b.split('.', 2);
  if (wholeA.length !== wholeB.length) return wholeA.length - wholeB.length;
  const digits = Math.max(fractionA.length, fractionB.length);
  const textA = wholeA + fractionA.padEnd(digits, '0');
  const textB = wholeB + fractionB.padEnd(digits, '0');
  return textA === textB ? 0 : textA < textB ? -1 : 1;
}
