import type { FastifySchema } from 'fastify';
import type { TSchema } from 'typebox';
import { Type } from '../primitives/schema.ts';
import type { RpcLimits } from './rpc-calls.ts';

/** Deprecated methods of the node, and the version of avalanchego since which they are. */
const DEPRECATED_SINCE: ReadonlyMap<string, string> = new Map([
  ['avm.getAllBalances', 'v1.9.12'],
  ['avm.getBalance', 'v1.9.12'],
  ['avm.getTxStatus', 'v1.10.0'],
  ['platform.getBalance', 'v1.9.12'],
  ['platform.getBlockchains', 'v1.9.12'],
]);

const id = Type.Union([Type.Number(), Type.String()], { description: 'Goes to the node as it is written' });
const Response = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Union([Type.Number(), Type.String(), Type.Null()], { description: 'The ID of the call' }),
    result: Type.Optional(Type.Any({ description: "The method's result" })),
    error: Type.Optional(
      Type.Object({
        code: Type.Integer(),
        message: Type.String(),
        data: Type.Optional(Type.Any({ description: 'Where this service refused the call: {code, statusCode}' })),
      }),
    ),
  },
  { title: 'JsonRpcResponse', description: 'A JSON-RPC response, with either result or error' },
);

/** What the OpenAPI document says of the calls; the check itself is `checkRpcCalls`. */
export function rpcSchema({ methods, maxBatch }: RpcLimits, maxBytes: number): FastifySchema {
  const Call = Type.Object(
    {
      jsonrpc: Type.Literal('2.0'),
      id,
      method: methodSchema([...methods]),
      params: Type.Optional(
        Type.Union([Type.Object({}), Type.Array(Type.Object({}), { maxItems: 1 }), Type.Null()], {
          description: 'An object, alone or as the one item of a list. It goes to the node as it is written',
        }),
      ),
    },
    { additionalProperties: false },
  );
  return {
    operationId: 'callNode',
    tags: ['Node RPC'],
    summary: "JSON-RPC of the network's X-Chain and P-Chain, and of other blockchains",
    description:
      `A batch has at most ${maxBatch} calls and costs as many units as its calls together; one that costs more than a ` +
      "minute's units is refused with 400. avalanchego itself answers batches with an error. A body has at most " +
      `${maxBytes} bytes. What is wrong with a call is answered as a JSON-RPC error with the ID of the call, under 400. ` +
      "A node's own JSON-RPC errors come as they are, with the node's status. All other errors have the form of every route.",
    body: Type.Union([Call, Type.Array(Call, { minItems: 1, maxItems: maxBatch })]),
  };
}

/** @param errors the schemas of errors in the form of every route */
export function rpcResponses(errors: Readonly<Record<number, TSchema>>): Record<number, TSchema> {
  const { description = '' } = (errors[400] ?? {}) as { readonly description?: string };
  return {
    200: Type.Union([Response, Type.Array(Response)], {
      description: 'A JSON-RPC response, or a list of them for a batch',
    }),
    400: Type.Union([Response, ...(errors[400] === undefined ? [] : [errors[400]])], { description }),
  };
}

function methodSchema(methods: readonly string[]): TSchema {
  const current = methods.filter((method) => !DEPRECATED_SINCE.has(method));
  const deprecated = methods.flatMap((method) => {
    const since = DEPRECATED_SINCE.get(method);
    return since === undefined
      ? []
      : [Type.Literal(method, { deprecated: true, description: `Deprecated as of avalanchego ${since}` })];
  });
  return Type.Union([...(current.length === 0 ? [] : [Type.Enum([...current], { type: 'string' })]), ...deprecated]);
}
