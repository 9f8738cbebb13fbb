import { createRequire } from 'node:module';
import type AjvCompiler from '@fastify/ajv-compiler';
import type SerializerSelector from '@fastify/fast-json-stringify-compiler';
import { once } from '../primitives/once.ts';

const require = createRequire(import.meta.url);

type Validate = ((value: unknown) => unknown) & { errors?: unknown };
type Serialize = (value: unknown) => string;
type Compiler<Compiled> = (route: SerializerSelector.RouteDefinition) => Compiled;

/** For small answers that have nothing but what their schema names, which is there for the document. Nothing is loaded for it. */
export const PLAIN_SERIALIZER = (): Serialize => (value) => JSON.stringify(value);

/**
 * Fastify's own compilers of schemas. Each schema is compiled when a request first needs it, and the libraries for that are loaded then,
 * which takes that request some 30 ms. Fastify would do it all before it listens, for every status of every route.
 */
export const LAZY_COMPILERS = {
  buildValidator(...args: Parameters<AjvCompiler.BuildCompilerFromPool>): never {
    const compiler = once(() => {
      const createFactory = require('@fastify/ajv-compiler') as typeof AjvCompiler;
      return createFactory()(...args) as Compiler<unknown> as Compiler<Validate>;
    });
    const compile: Compiler<Validate> = (route) => {
      const validate = once(() => compiler()(route));
      const check: Validate = (value) => {
        const isValid = validate()(value);
        // Fastify looks for them at the function that it called.
        check.errors = validate().errors;
        return isValid;
      };
      return check;
    };
    // Fastify's types ask for one of ajv's own functions, of which it uses no more than these parts.
    return compile as never;
  },
  buildSerializer(...args: Parameters<SerializerSelector.SerializerFactory>): Compiler<Serialize> {
    const compiler = once(() => {
      const createFactory = require('@fastify/fast-json-stringify-compiler') as typeof SerializerSelector;
      return createFactory()(...args);
    });
    return (route) => {
      const serialize = once(() => compiler()(route));
      return (value) => serialize()(value);
    };
  },
};
