import type { FastifySchema } from 'fastify';
import type { TSchema } from 'typebox';
import { integer, oneOf, Type, text } from '../../lib/encoding/schema.ts';
import { RPC_METHODS, type RpcMethod } from '../catalogue/rpc-methods.ts';
import type { RpcLimits } from './rpc-calls.ts';

/** A method that the operator added: only the node knows its fields. */
const ANY_METHOD: RpcMethod = { params: Type.Object({}), result: Type.Any() };

/** The calls in the OpenAPI document; `checkRpcCalls` checks them, all but the fields of `params`, which are the node's to judge. */
export function rpcSchema({ methods, maxBatch }: RpcLimits, maxBytes: number): FastifySchema {
  const Call = Type.Union([...methods].map(callSchema));
  return {
    operationId: 'callNode',
    tags: ['Node RPC'],
    summary: "JSON-RPC of the network's X-Chain and P-Chain, and of other blockchains",
    description:
      `A batch has at most ${maxBatch} calls and costs as many units as its calls together; one that costs more than a ` +
      "minute's units is refused with 400. avalanchego itself answers batches with an error. A body has at most " +
      `${maxBytes} bytes. What is wrong with a call is answered as a JSON-RPC error with the ID of the call, under 400; the ` +
      "fields of params are checked by the node, whose own JSON-RPC errors come as they are, with the node's status. All " +
      'other errors have the form of every route.',
    body: Type.Union([Call, Type.Array(Call, { minItems: 1, maxItems: maxBatch })], {
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
      id: Type.Union([Type.Number(), text()], { description: 'Goes to the node as it is written' }),
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

/** @param errors the schemas of errors in the form of every route */
export function rpcResponses(
  { methods }: RpcLimits,
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

/** A schema with a title stands once in the document, under this name: that of an operator's method could be any text. */
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
      result: Type.Optional(Type.Union(results, { description: 'Of the method that was called' })),
      error: Type.Optional(
        Type.Object({
          code: integer(),
          message: text(),
          data: Type.Optional(Type.Any({ description: 'Where this service refused the call: {code, statusCode}' })),
        }),
      ),
    },
    { title: 'JsonRpcResponse', description: 'A JSON-RPC response, with either result or error' },
  );
}
