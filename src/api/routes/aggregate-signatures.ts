import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Aggregator } from '../../aggregator/aggregate.ts';
import { bytesToHex } from '../../primitives/bytes.ts';
import { ErrorBodySchema } from '../error-body.ts';
import { ClientGone } from '../error-handler.ts';
import type { Server } from '../http-server.ts';
import { AGGREGATION_BODY_LIMIT, AggregationBody, parseAggregationRequest } from '../parse-aggregation-request.ts';

const SignedMessageBody = Type.Object(
  { signedMessage: Type.String({ description: 'The signed Warp message in hex, without a prefix' }) },
  { description: 'Signed, verified message' },
);

/** @param networks the names of `{network}` that this service serves */
export function registerAggregateSignatures(server: Server, aggregator: Aggregator, networks: readonly string[]): void {
  server.post(
    '/v1/signatureAggregator/:network/aggregateSignatures',
    {
      bodyLimit: AGGREGATION_BODY_LIMIT,
      schema: {
        operationId: 'aggregateSignatures',
        tags: ['Signature aggregation'],
        summary: "Collect and aggregate the validators' signatures of a Warp message",
        params: Type.Object({ network: Type.String({ description: `One of ${networks.join(', ')}` }) }),
        body: AggregationBody,
        response: {
          201: SignedMessageBody,
          400: ErrorBodySchema,
          404: ErrorBodySchema,
          500: ErrorBodySchema,
          502: ErrorBodySchema,
          503: ErrorBodySchema,
        },
      },
      // Before the body is read: a request for a network that is not here costs nothing.
      onRequest: async (request) => requireNetwork(request, networks),
    },
    async (request, reply) => {
      const parsed = parseAggregationRequest(request.body);
      const { signedMessage } = await aggregator.aggregate(parsed, untilClientGone(reply));
      return reply.status(201).send({ signedMessage: bytesToHex(signedMessage) });
    },
  );
}

/** Fastify's `request.signal` will not do: it aborts as soon as the request's body was read. */
function untilClientGone({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort(new ClientGone());
  });
  return gone.signal;
}

function requireNetwork(request: FastifyRequest, networks: readonly string[]): void {
  const { network } = request.params as { network: string };
  if (networks.includes(network)) return;
  throw Object.assign(
    new Error(`network ${JSON.stringify(network)} is not served here; served: ${networks.join(', ')}`),
    {
      statusCode: 404,
    },
  );
}
