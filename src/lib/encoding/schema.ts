import type { Type as TypeBox } from 'typebox';

type Schema = Record<string, unknown>;
type Used =
  | 'Any'
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Partial'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unsafe';

/** What a property has that may be left out. Not enumerable: it is no keyword of JSON Schema. */
const OPTIONAL = '~optional';

const plain =
  (type: string) =>
  (options: Schema = {}): Schema => ({ type, ...options });

function object(properties: Record<string, Schema>, options: Schema = {}): Schema {
  const required = Object.keys(properties).filter((key) => properties[key]?.[OPTIONAL] === undefined);
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
}

function optional(schema: Schema): Schema {
  return Object.defineProperty({ ...schema }, OPTIONAL, { value: true });
}

/**
 * The builders of typebox that the service uses, with typebox's types: the JSON Schemas that come out are the same, and tests compare
 * them. The library itself would load 680 files for them, a quarter of a second and 30 MB.
 */
export const Type = {
  Any: (options: Schema = {}) => ({ ...options }),
  Array: (items: Schema, options: Schema = {}) => ({ type: 'array', items, ...options }),
  Boolean: plain('boolean'),
  Enum: (values: readonly unknown[], options: Schema = {}) => ({ enum: values, ...options }),
  Integer: plain('integer'),
  Literal: (value: unknown, options: Schema = {}) => ({ type: typeof value, const: value, ...options }),
  Null: plain('null'),
  Number: plain('number'),
  Object: object,
  Optional: optional,
  Partial({ properties }: Schema) {
    const inner = Object.entries(properties as Record<string, Schema>);
    return object(Object.fromEntries(inner.map(([key, schema]) => [key, optional(schema)])));
  },
  Record: ({ pattern = '^.*$' }: Schema, value: Schema, options: Schema = {}) => ({
    ...{ type: 'object', patternProperties: { [pattern as string]: value } },
    ...options,
  }),
  String: plain('string'),
  Union: (anyOf: readonly Schema[], options: Schema = {}) => ({ anyOf, ...options }),
  Unsafe: (schema: Schema) => schema,
} as unknown as Pick<typeof TypeBox, Used>;

/** Shorthands for the fields that most schemas consist of. */
export const text = (description?: string) => Type.String(described(description));
export const optionalText = (description?: string) => Type.Optional(text(description));
export const integer = (description?: string) => Type.Integer(described(description));
export const oneOf = <const Values extends string[]>(values: readonly [...Values], description?: string) =>
  Type.Enum(values, { type: 'string', ...described(description) });

function described(description: string | undefined): { readonly description?: string } {
  return description === undefined ? {} : { description };
}
