import type { FastifySchema } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { integer, oneOf, text } from '../../lib/encoding/schema.ts';
import { RPC_METHODS, type RpcMethod } from '../catalogue/rpc-methods.ts';
import { MAX_BATCH } from './rpc-calls.ts';

const ANY_METHOD: RpcMethod = { params: Type.Object({}), result: Type.Any() };

/** The parts of an object's schema that the table of methods shows. */
interface ObjectSchema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

/**
 * Describes the calls for the OpenAPI document. `checkRpcCalls` checks them; the node checks the fields of `params`. The schemas of params and
 * results are in `x-methods`, by method: as one body with dozens of forms they would be hundreds of types in a generated client.
 */
export function rpcSchema(methods: ReadonlySet<string>, maxBytes: number): FastifySchema {
  const described = [...methods].map((method) => [method, RPC_METHODS[method] ?? ANY_METHOD] as const);
  const schema = {
    operationId: 'callNode',
    tags: ['Node RPC'],
    summary: "JSON-RPC of the network's X-Chain and P-Chain, and of other blockchains",
    description:
      `A batch has at most ${MAX_BATCH} calls and costs as many units as its calls together; one that costs more than a ` +
      "minute's units is rejected with 400. avalanchego itself answers batches with an error. A body has at most " +
      `${maxBytes} bytes. A wrong call is answered with a JSON-RPC error with the ID of the call, and status 400. The node checks the ` +
      'fields of params; its JSON-RPC errors are passed on with its status. All other errors have the form of every route.\n\n' +
      ['| Method | Fields of params | Fields of the result |', '|---|---|---|', ...described.map(rowOf)].join('\n'),
    'x-methods': Object.fromEntries(described),
    body: Type.Union(
      [
        callSchema('JsonRpcCall', methods),
        Type.Array(callSchema('BatchedCall', methods), { minItems: 1, maxItems: MAX_BATCH }),
      ],
      {
        title: 'JsonRpcBody',
        examples: [{ jsonrpc: '2.0', id: 1, method: 'platform.getHeight', params: {} }],
      },
    ),
  };
  return schema;
}

function rowOf([method, { params, result, deprecatedSince }]: readonly [string, RpcMethod]): string {
  const note = deprecatedSince === undefined ? '' : `, deprecated as of avalanchego ${deprecatedSince}`;
  return `| \`${method}\`${note} | ${fieldsOf(params)} | ${fieldsOf(result)} |`;
}

function fieldsOf(schema: TSchema): string {
  const { properties = {}, required = [] } = schema as ObjectSchema;
  const names = Object.keys(properties).map((name) => `\`${name}\`${required.includes(name) ? '' : '?'}`);
  return names.length === 0 ? '–' : names.join(', ');
}

/** @param title another one in a batch: generators import each form of a union by its name, and cannot import one twice */
function callSchema(title: string, methods: ReadonlySet<string>): TSchema {
  return Type.Object(
    {
      jsonrpc: Type.Literal('2.0'),
      id: Type.Union([Type.Number(), text()], { description: 'Passed on unchanged' }),
      method: oneOf([...methods] as [string, ...string[]], 'The methods that are passed on'),
      params: Type.Optional(
        Type.Union([Type.Object({}), Type.Array(Type.Object({}), { maxItems: 1 }), Type.Null()], {
          description: 'An object with the fields of the method, or a list with it',
        }),
      ),
    },
    { title, additionalProperties: false },
  );
}

/** @param errors schemas of the errors of every route */
export function rpcResponses(errors: Readonly<Record<number, TSchema>>): Record<number, TSchema> {
  const { 'x-response-description': description, 'x-error-codes': codes } = (errors[400] ?? {}) as ErrorSchema;
  return {
    200: Type.Union([responseSchema('JsonRpcResponse'), Type.Array(responseSchema('BatchedResponse'))], {
      title: 'JsonRpcAnswer',
      description: 'A JSON-RPC response, or a list of them for a batch',
    }),
    400: Type.Union([responseSchema('JsonRpcResponse'), ...(errors[400] === undefined ? [] : [errors[400]])], {
      title: 'RefusedCall',
      'x-response-description': description,
      'x-error-codes': codes,
    }),
  };
}

interface ErrorSchema {
  readonly 'x-response-description'?: string;
  readonly 'x-error-codes'?: readonly string[];
}

/** @param title see {@link callSchema} */
function responseSchema(title: string): TSchema {
  return Type.Object(
    {
      jsonrpc: Type.Literal('2.0'),
      id: Type.Union([Type.Number(), text(), Type.Null()], { description: 'The ID of the call' }),
      result: Type.Optional(Type.Any({ description: 'The result of the method' })),
      error: Type.Optional(
        Type.Object(
          {
            code: integer(),
            message: text(),
            data: Type.Optional(Type.Any({ description: '{code, statusCode} if this service rejected the call' })),
          },
          { title: 'JsonRpcError' },
        ),
      ),
    },
    { title, description: 'A JSON-RPC response, with either result or error' },
  );
}
