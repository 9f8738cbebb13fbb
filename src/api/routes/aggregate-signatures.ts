import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { AggregationRequest, AggregationResult } from '../../aggregator/aggregation-request.ts';
import type { Network } from '../../network/network.ts';
import { bytesToHex } from '../../primitives/bytes.ts';
import { Type } from '../../primitives/schema.ts';
import { chargeMore, clientOf } from '../access.ts';
import { aggregationErrorResponses } from '../error-body.ts';
import type { Server } from '../http-server.ts';
import { createNetworkOfPath } from '../network-of-path.ts';
import {
  AGGREGATION_BODY_LIMIT,
  AggregationBody,
  parseAggregationRequest,
  parseTransactionRequest,
  TransactionQuery,
} from '../parse-aggregation-request.ts';
import { AGGREGATION_ACCESS, MESSAGE_AGGREGATION_ACCESS } from '../route-access.ts';
import { untilClientGone } from '../until-client-gone.ts';

export const SignedMessageBody = Type.Object(
  {
    signedMessage: Type.String({ description: 'The signed Warp message in hex, without a prefix' }),
    pChainHeight: Type.Integer({ description: 'The P-Chain height whose validators signed' }),
    signingSubnetId: Type.String({ description: 'The subnet whose validators signed, in cb58' }),
    signedWeight: Type.String({ description: 'Weight of those who signed' }),
    totalWeight: Type.String({ description: 'Weight of all validators of the subnet, of which the quorum is a part' }),
    signers: Type.Array(Type.String(), {
      description: 'NodeIDs of those who signed, in the canonical order; one NodeID for each BLS key',
    }),
  },
  { description: 'Signed, verified message' },
);

const RESPONSES = {
  201: SignedMessageBody,
  ...aggregationErrorResponses(400, 403, 404, 500, 502, 503),
};
export const AGGREGATION_PATH = '/v1/signatureAggregator/:network/aggregateSignatures';
const tags = ['Signature aggregation'];

export function registerAggregateSignatures(server: Server, networks: readonly Network[]): void {
  const { network, networkOf, onRequest } = createNetworkOfPath(networks);

  function aggregate(
    request: FastifyRequest,
    reply: FastifyReply,
    asked: AggregationRequest,
  ): Promise<AggregationResult> {
    const waiter = { signal: untilClientGone(reply), client: clientOf(request), span: request.span };
    return networkOf(request).aggregator.aggregate(asked, waiter);
  }

  server.post(
    AGGREGATION_PATH,
    {
      config: { access: MESSAGE_AGGREGATION_ACCESS },
      bodyLimit: AGGREGATION_BODY_LIMIT,
      schema: {
        operationId: 'aggregateSignatures',
        tags,
        summary: "Collect and aggregate the validators' signatures of a Warp message",
        params: Type.Object({ network }),
        body: AggregationBody,
        response: RESPONSES,
      },
      onRequest,
    },
    async (request, reply) => {
      await chargeMore(request, reply, unitsForSize(request.body), 'it takes an API key with a higher limit');
      const asked = parseAggregationRequest(request.body);
      const result = await aggregate(request, reply, asked);
      return reply.status(201).send(presentSigned(result));
    },
  );

  server.get(
    `${AGGREGATION_PATH}/:txHash`,
    {
      config: { access: AGGREGATION_ACCESS },
      schema: {
        operationId: 'aggregateSignaturesOfTransaction',
        tags,
        summary: "Collect and aggregate the validators' signatures of the P-Chain's message about an L1 transaction",
        description:
          'ConvertSubnetToL1Tx gives a SubnetToL1Conversion message, RegisterL1ValidatorTx an L1ValidatorRegistration, ' +
          'SetL1ValidatorWeightTx an L1ValidatorWeight or, for weight 0, the L1ValidatorRegistration that the validation is ' +
          "over. The subnet signs that validates the chain of the L1's validator manager.",
        params: Type.Object({
          network,
          txHash: Type.String({ description: 'ID of an accepted P-Chain transaction, in cb58 or hex' }),
        }),
        querystring: TransactionQuery,
        response: RESPONSES,
      },
      onRequest,
    },
    async (request, reply) => {
      const asked = parseTransactionRequest(request.params.txHash, request.query);
      const result = await aggregate(request, reply, asked);
      return reply.status(201).send(presentSigned(result));
    },
  );
}

/** By the digits alone, before anything is made of them. */
export function unitsForSize({
  message = '',
  justification = '',
}: Pick<Static<typeof AggregationBody>, 'message' | 'justification'>): number {
  const bytes = (message.length + justification.length) / 2;
  return MESSAGE_AGGREGATION_ACCESS.unitsPerKiB * Math.floor(bytes / 1024);
}

export function presentSigned(result: AggregationResult): Static<typeof SignedMessageBody> {
  return {
    signedMessage: bytesToHex(result.signedMessage),
    pChainHeight: Number(result.pChainHeight),
    signingSubnetId: result.signingSubnetID,
    signedWeight: String(result.signedWeight),
    totalWeight: String(result.totalWeight),
    signers: [...result.signers],
  };
}
