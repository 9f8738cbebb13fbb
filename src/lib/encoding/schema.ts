import { Type } from 'typebox';

export const text = (description?: string) => Type.String(described(description));
export const optionalText = (description?: string) => Type.Optional(text(description));
/** A number that may exceed 2^53, such as a weight. */
export const Decimal = text('A decimal number, which may exceed 2^53');
export const integer = (description?: string) => Type.Integer(described(description));
export const oneOf = <const Values extends string[]>(
  values: readonly [...Values],
  description?: string,
  options: { readonly title?: string } = {},
) => Type.Enum(values, { type: 'string', ...described(description), ...options });

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
