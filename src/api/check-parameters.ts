import type { TSchema } from 'typebox';
import { badRequest } from './http-error.ts';
import { PARAMETER_FORMATS, type ParameterFormatName } from './parameter-formats.ts';

/** The keywords that schemas of path and query parameters are made of. One without an entry here is a programmer's error. */
interface ParameterSchema {
  readonly type?: 'string' | 'integer' | 'number' | 'array';
  readonly enum?: readonly string[];
  /** Its `pattern` is in the schema for others: the format's own check is more than that. */
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
 * Checks parameters against the schema that documents them. They are texts, and are passed on as the texts they are: so
 * they are not converted, and `1e2` or `0x10` is no integer, whatever an upstream would make of it. Unknown ones are not
 * looked at, but for names that some server takes for known ones.
 *
 * @throws {BadRequest} naming the parameter
 */
export function checkParameters(schema: TSchema, values: Parameters): void {
  const { properties, required = [] } = schema as unknown as ObjectSchema;
  for (const name of required) {
    if (values[name] === undefined || values[name] === '') throw badRequest(`${name} is missing`);
  }
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    const parameter = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (parameter === undefined) {
      const plain = undecorated(name);
      const meant = Object.keys(properties).find((known) => known.toLowerCase() === plain);
      if (meant === undefined) continue;
      throw badRequest(`${meant} must be written so, is ${JSON.stringify(name.slice(0, MAX_SHOWN_LENGTH))}`);
    }
    const problem = parameter.type === 'array' ? findListProblem(parameter, value) : findProblem(parameter, value);
    if (problem !== undefined) throw badRequest(`${name} ${problem}`);
  }
}

/** As much of a name as is shown to who sent it. */
const MAX_SHOWN_LENGTH = 100;

/**
 * What the most lenient of servers may take a name for: `pageSize[]`, `[pageSize]`, `pageSize.x` and `pagesize` are `pageSize`
 * to one or another, and so is what has blanks (a `+` may be one) or invisible characters in it.
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

function findNumberProblem({ type, minimum = 0, maximum }: ParameterSchema, text: string): string | undefined {
  const [, whole, decimals = ''] = /^(0|[1-9]\d{0,15})(?:\.(\d+))?$/.exec(text) ?? [];
  if (whole !== undefined && (type === 'number' || decimals === '')) {
    // Apart, as `100.000000000000001` is 100 to a double.
    const integer = Number(whole);
    const greatest = maximum ?? Number.MAX_SAFE_INTEGER;
    if (integer >= minimum && (integer < greatest || (integer === greatest && !/[1-9]/.test(decimals))))
      return undefined;
  }
  const range = maximum === undefined ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`;
  return `must be ${type === 'integer' ? 'an integer' : 'a number'} ${range}`;
}
