import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { shareSchemas } from '../../../../src/api/openapi/named-schemas.ts';
import type { Document } from '../../../../src/api/openapi/openapi-shape.ts';

/** A document with these schemas as answers. */
function shared(...schemas: object[]) {
  const responses = Object.fromEntries(
    schemas.map((schema, at) => [200 + at, { content: { 'application/json': { schema } } }]),
  );
  const document: Document = { paths: { '/': { get: { responses } } } };
  shareSchemas(document);
  const answers = Object.values(document.paths?.['/']?.get?.responses ?? {});
  return {
    schemas: document.components?.schemas ?? {},
    answers: answers.map(({ content }) => content?.['application/json']?.schema),
  };
}

test('a schema with a title is one component, wherever it is used', () => {
  const Owner = Type.Object({ name: Type.String() }, { title: 'Owner', description: 'Who has it' });
  const { schemas, answers } = shared(Owner, Type.Object({ owners: Type.Array(Owner) }, { title: 'Owners' }));
  const reference = { $ref: '#/components/schemas/Owner' };
  expect(answers).toEqual([reference, { $ref: '#/components/schemas/Owners' }]);
  expect(schemas['Owner']).toMatchObject({ title: 'Owner', description: 'Who has it' });
  expect(schemas['Owners']).toMatchObject({ properties: { owners: { type: 'array', items: reference } } });
});

test('two schemas with one title are an error', () => {
  const named = (schema: object) => ({ ...schema, title: 'Named' });
  expect(() => shared(named(Type.String()), named(Type.Boolean()))).toThrow('two schemas have the title Named');
});

test('integers have 64 bits unless their maximum has fewer', () => {
  const { answers } = shared(
    Type.Integer(),
    Type.Integer({ maximum: 2 ** 31 - 1 }),
    Type.Integer({ maximum: 2 ** 53 - 1 }),
  );
  expect(answers.map((schema) => (schema as { format?: string }).format)).toEqual(['int64', undefined, 'int64']);
});

test('the field by which Ajv tells the forms of a union apart names their schemas', () => {
  const form = (kind: string) => Type.Object({ kind: Type.Literal(kind) }, { title: `Form${kind}` });
  const { answers } = shared(Type.Unsafe({ discriminator: { propertyName: 'kind' }, oneOf: [form('A'), form('B')] }));
  const mapping = { A: '#/components/schemas/FormA', B: '#/components/schemas/FormB' };
  expect(answers).toMatchObject([{ discriminator: { propertyName: 'kind', mapping } }]);
});

test('the forms of a union exclude each other, by their constant if they have one', () => {
  const form = (kind: string) => Type.Object({ kind: Type.Literal(kind) }, { title: `Form${kind}` });
  const { answers } = shared(Type.Union([form('A'), form('B')]), Type.Union([Type.String(), Type.Number()]));
  const [a, b] = ['#/components/schemas/FormA', '#/components/schemas/FormB'];
  expect(answers).toMatchObject([
    { oneOf: [{ $ref: a }, { $ref: b }], discriminator: { propertyName: 'kind', mapping: { A: a, B: b } } },
    { oneOf: [{ type: 'string' }, { type: 'number' }] },
  ]);
  expect(answers[1]).not.toHaveProperty('discriminator');
});
