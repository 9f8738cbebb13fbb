import { type TSchema, Type as TypeBox } from 'typebox';
import { expect, test } from 'vitest';
import { Type } from '../../../../src/lib/encoding/schema.ts';

type Builders = Pick<typeof TypeBox, keyof typeof Type>;

/** Each builder, with options and without. */
const SCHEMAS: Record<keyof typeof Type, (type: Builders) => readonly TSchema[]> = {
  Any: (type) => [type.Any(), type.Any({ description: 'a' })],
  Array: (type) => [type.Array(type.Null()), type.Array(type.String(), { maxItems: 2 })],
  Boolean: (type) => [type.Boolean(), type.Boolean({ default: true })],
  Enum: (type) => [type.Enum(['a', 'b']), type.Enum(['a'], { type: 'string' })],
  Integer: (type) => [type.Integer(), type.Integer({ minimum: 1 })],
  Literal: (type) => [type.Literal('a'), type.Literal(1), type.Literal(true, { description: 'a' })],
  Null: (type) => [type.Null(), type.Null({ description: 'a' })],
  Number: (type) => [type.Number(), type.Number({ maximum: 1 })],
  Object: (type) => [
    type.Object({}),
    type.Object({
      a: type.String(),
      b: type.Optional(type.String()),
      c: type.Optional(type.Object({ d: type.Null() })),
    }),
    type.Object({ a: type.Optional(type.String()) }, { additionalProperties: false }),
  ],
  Optional: (type) => [type.Optional(type.String({ examples: ['a'] }))],
  Partial: (type) => [type.Partial(type.Object({ a: type.String(), b: type.Optional(type.Integer()) }))],
  Record: (type) => [
    type.Record(type.String(), type.Integer()),
    type.Record(type.String({ pattern: '^[a-z]+$' }), type.Integer(), { maxProperties: 2 }),
  ],
  String: (type) => [type.String(), type.String({ minLength: 1 })],
  Union: (type) => [type.Union([type.String(), type.Null()]), type.Union([], { description: 'a' })],
  Unsafe: (type) => [type.Unsafe({ type: ['string', 'null'] })],
};

test.each(Object.entries(SCHEMAS))('%s builds what typebox builds', (_name, build) => {
  expect(build(Type as Builders).map((schema) => JSON.stringify(schema))).toEqual(
    build(TypeBox).map((schema) => JSON.stringify(schema)),
  );
});

test('an optional property stays optional in another object', () => {
  const { properties } = Type.Object({ a: Type.Optional(Type.String()), b: Type.String() });
  expect(Type.Object(properties)).toEqual({ type: 'object', required: ['b'], properties });
});
