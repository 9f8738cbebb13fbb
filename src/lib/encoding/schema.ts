import type { Type as TypeBox } from 'typebox';

type Schema = Record<string, unknown>;
/** Marks an optional property. Not enumerable, because it is no keyword of JSON Schema. */
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
 * The typebox builders in use, with typebox's types and the same JSON Schemas, which tests compare. Loading the library would read 680
 * files, in 250 ms and 30 MB.
 */
const builders = {
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
    type: 'object',
    patternProperties: { [pattern as string]: value },
    ...options,
  }),
  String: plain('string'),
  Union: (anyOf: readonly Schema[], options: Schema = {}) => ({ anyOf, ...options }),
  Unsafe: (schema: Schema) => schema,
};

export const Type = builders as unknown as Pick<typeof TypeBox, keyof typeof builders>;

export const text = (description?: string) => Type.String(described(description));
export const optionalText = (description?: string) => Type.Optional(text(description));
/** A number that may exceed 2^53, such as a weight. */
export const Decimal = text('A decimal number, which may exceed 2^53');
export const integer = (description?: string) => Type.Integer(described(description));
export const oneOf = <const Values extends string[]>(values: readonly [...Values], description?: string) =>
  Type.Enum(values, { type: 'string', ...described(description) });

/** The type of a record in JSON, which leaves undefined fields out: they are optional. */
export type InJson<T> = { readonly [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  readonly [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Gives a record the type that it has in JSON, which is that of its schema. The record is not changed. */
export function inJson<T extends object>(record: T): InJson<T> {
  return record as InJson<T>;
}

function described(description: string | undefined): { readonly description?: string } {
  return description === undefined ? {} : { description };
}
