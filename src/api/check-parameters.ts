import type { TSchema } from 'typebox';
import { BadRequest } from './error-handler.ts';
import { PARAMETER_FORMATS } from './parameter-formats.ts';

/** The keywords that schemas of path and query parameters are made of. One without an entry here is a programmer's error. */
interface ParameterSchema {
  readonly type?: 'string' | 'integer' | 'number' | 'array';
  readonly enum?: readonly string[];
  readonly format?: string;
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
 * looked at, but for names that some servers take for known ones.
 *
 * @throws {BadRequest} naming the parameter
 */
export function checkParameters(schema: TSchema, values: Parameters): void {
  const { properties, required = [] } = schema as unknown as ObjectSchema;
  for (const name of required) {
    if (values[name] === undefined || values[name] === '') throw new BadRequest(`${name} is missing`);
  }
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    const parameter = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (parameter === undefined) {
      const meant = Object.keys(properties).find((known) => isMistakenFor(name, known));
      if (meant !== undefined) throw new BadRequest(`${meant} must be written so, is ${JSON.stringify(name)}`);
      continue;
    }
    const problem = parameter.type === 'array' ? findListProblem(parameter, value) : findProblem(parameter, value);
    if (problem !== undefined) throw new BadRequest(`${name} ${problem}`);
  }
}

/** `pageSize[]` and `pagesize` are `pageSize` to some servers. */
function isMistakenFor(name: string, known: string): boolean {
  return name.replace(/[[.].*$/s, '').toLowerCase() === known.toLowerCase();
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
  const check = PARAMETER_FORMATS[format];
  if (check === undefined) throw new RangeError(`no format ${format}`);
  return check(value);
}

function findNumberProblem({ type, minimum = 0, maximum }: ParameterSchema, text: string): string | undefined {
  const form = type === 'integer' ? /^(0|[1-9]\d{0,15})$/ : /^(0|[1-9]\d{0,15})(\.\d{1,15})?$/;
  const value = Number(text);
  const isWithin = value >= minimum && value <= (maximum ?? Number.MAX_SAFE_INTEGER);
  if (form.test(text) && isWithin) return undefined;
  const range = maximum === undefined ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`;
  return `must be ${type === 'integer' ? 'an integer' : 'a number'} ${range}`;
}
