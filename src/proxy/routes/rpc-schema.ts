import type { FastifySchema } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { integer, oneOf, text } from '../../lib/encoding/schema.ts';
import { RPC_METHODS, type RpcMethod } from '../catalogue/rpc-methods.ts';
import { MAX_BATCH } from './rpc-calls.ts';

const ANY_METHOD: RpcMethod = { params: Type.Object({}), result: Type.Any() };

/** Describes the calls for the OpenAPI document. `checkRpcCalls` checks them; the node checks the fields of `params`. */
export function rpcSchema(methods: ReadonlySet<string>, maxBytes: number): FastifySchema {
  const Call = Type.Union([...methods].map(callSchema));
  return {
    operationId: 'callNode',
    tags: ['Node RPC'],
    summary: "JSON-RPC of the network's X-Chain and P-Chain, and of other blockchains",
    description:
      `A batch has at most ${MAX_BATCH} calls and costs as many units as its calls together; one that costs more than a ` +
      "minute's units is rejected with 400. avalanchego itself answers batches with an error. A body has at most " +
      `${maxBytes} bytes. A wrong call is answered with a JSON-RPC error with the ID of the call, and status 400. The node checks the ` +
      'fields of params; its JSON-RPC errors are passed on with its status. All other errors have the form of every route.',
    body: Type.Union([Call, Type.Array(Call, { minItems: 1, maxItems: MAX_BATCH })], {
      examples: [{ jsonrpc: '2.0', id: 1, method: 'platform.getHeight', params: {} }],
    }),
  };
}

function callSchema(method: string): TSchema {
  const { params, deprecatedSince } = RPC_METHODS[method] ?? ANY_METHOD;
  const { required } = params as { readonly required?: readonly string[] };
  const inAnyForm = Type.Union([
    params,
    Type.Array(params, { maxItems: 1, ...(required !== undefined && { minItems: 1 }) }),
    ...(required === undefined ? [Type.Null()] : []),
  ]);
  return Type.Object(
    {
      jsonrpc: Type.Literal('2.0'),
      id: Type.Union([Type.Number(), text()], { description: 'Passed on unchanged' }),
      method: oneOf([method]),
      params: required === undefined ? Type.Optional(inAnyForm) : inAnyForm,
    },
    {
      ...titled(method),
      additionalProperties: false,
      ...(deprecatedSince !== undefined && {
        deprecated: true,
        description: `Deprecated as of avalanchego ${deprecatedSince}`,
      }),
    },
  );
}

/** @param errors schemas of the errors of every route */
export function rpcResponses(
  methods: ReadonlySet<string>,
  errors: Readonly<Record<number, TSchema>>,
): Record<number, TSchema> {
  const { description = '' } = (errors[400] ?? {}) as { readonly description?: string };
  const Response = responseSchema([...methods]);
  return {
    200: Type.Union([Response, Type.Array(Response)], {
      description: 'A JSON-RPC response, or a list of them for a batch',
    }),
    400: Type.Union([Response, ...(errors[400] === undefined ? [] : [errors[400]])], { description }),
  };
}

/** Names a schema in the document, except for methods added by the operator, whose names could be any text. */
function titled(method: string, suffix = ''): { readonly title?: string } {
  return RPC_METHODS[method] === undefined ? {} : { title: `${method}${suffix}` };
}

function responseSchema(methods: readonly string[]): TSchema {
  const results = methods.map((method) => {
    const { result } = RPC_METHODS[method] ?? ANY_METHOD;
    return { ...result, ...titled(method, '.result') };
  });
  return Type.Object(
    {
      jsonrpc: Type.Literal('2.0'),
      id: Type.Union([Type.Number(), text(), Type.Null()], { description: 'The ID of the call' }),
      result: Type.Optional(Type.Union(results, { description: 'The result of the method' })),
      error: Type.Optional(
        Type.Object({
          code: integer(),
          message: text(),
          data: Type.Optional(Type.Any({ description: '{code, statusCode} if this service rejected the call' })),
        }),
      ),
    },
    { title: 'JsonRpcResponse', description: 'A JSON-RPC response, with either result or error' },
  );
}
