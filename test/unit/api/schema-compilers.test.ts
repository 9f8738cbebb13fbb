import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import AjvCompiler from '@fastify/ajv-compiler';
import SerializerSelector from '@fastify/fast-json-stringify-compiler';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { describe, expect, it, test } from 'vitest';
import { LAZY_COMPILERS } from '../../../src/api/schema-compilers.ts';
import { createTestServer } from './api-fixture.ts';

const ROUTE = { method: 'POST', url: '/', httpStatus: '200' };
const NOT_A_SCHEMA = { type: 'nonsense' };

describe('a schema', () => {
  it('is compiled when it is first needed, and not before', () => {
    const validate = LAZY_COMPILERS.buildValidator({}, { customOptions: {} }) as unknown as (
      route: object,
    ) => (value: unknown) => boolean;
    const serialize = LAZY_COMPILERS.buildSerializer({}, {});
    const check = validate({ ...ROUTE, schema: NOT_A_SCHEMA });
    const write = serialize({ ...ROUTE, schema: NOT_A_SCHEMA });
    expect(() => check({})).toThrow('schema is invalid');
    expect(() => write({})).toThrow('schema is invalid');
  });

  it('has its errors where Fastify looks for them, those of the last value', () => {
    const compile = LAZY_COMPILERS.buildValidator({}, { customOptions: {} }) as unknown as (
      route: object,
    ) => ((value: unknown) => boolean) & { errors?: unknown };
    const check = compile({ ...ROUTE, schema: { type: 'string', maxLength: 3 } });
    expect([check('four'), check.errors]).toEqual([false, [expect.objectContaining({ keyword: 'maxLength' })]]);
    expect([check('two'), check.errors]).toEqual([true, null]);
  });

  it('writes only what it has', () => {
    const write = LAZY_COMPILERS.buildSerializer(
      {},
      {},
    )({
      ...ROUTE,
      schema: { type: 'object', properties: { a: { type: 'string' } } },
    });
    expect(write({ a: 'x', b: 'y' })).toBe('{"a":"x"}');
  });
});

test('all schemas of routes can be compiled, which no start tries', async () => {
  const problems: string[] = [];
  let compiled = 0;
  const compile = (what: string, create: () => unknown): void => {
    compiled += 1;
    try {
      create();
    } catch (error) {
      problems.push(`${what}: ${String(error)}`);
    }
  };
  // Its types say that it takes the schema itself.
  const validate = AjvCompiler()({}, { customOptions: {} }) as unknown as (route: object) => unknown;
  const serialize = SerializerSelector()({}, {});
  function lookAt(this: FastifyInstance, { method, url, schema = {}, validatorCompiler }: RouteOptions): void {
    const name = `${String(method)} ${url}`;
    // Some have compilers of their own, which compile nothing.
    if (validatorCompiler === undefined && this.validatorCompiler === undefined) {
      const { body, querystring, params } = schema;
      for (const [part, one] of Object.entries({ body, querystring, params })) {
        if (one !== undefined) compile(`${name} ${part}`, () => validate({ schema: one }));
      }
    }
    if (this.serializerCompiler !== undefined) return;
    for (const [status, one] of Object.entries((schema.response ?? {}) as Record<string, object>)) {
      compile(`${name} ${status}`, () => serialize({ ...ROUTE, schema: one }));
    }
  }
  const onServer = (message: unknown): void => {
    (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', lookAt);
  };
  subscribe('fastify.initialization', onServer);
  await createTestServer().finally(() => unsubscribe('fastify.initialization', onServer));
  expect(problems).toEqual([]);
  expect(compiled).toBeGreaterThan(50);
});
