import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Aggregator } from '../../aggregator/aggregate.ts';
import type { AggregationResult } from '../../aggregator/aggregation-request.ts';
import { bytesToHex } from '../../primitives/bytes.ts';
import { errorResponses } from '../error-body.ts';
import type { Server } from '../http-server.ts';
import {
  AGGREGATION_BODY_LIMIT,
  AggregationBody,
  DESTINATION_DESCRIPTION,
  parseAggregationRequest,
  parseDestination,
  parseTxHash,
} from '../parse-aggregation-request.ts';
import { untilClientGone } from '../until-client-gone.ts';

const SignedMessageBody = Type.Object(
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
  ...errorResponses(400, 404, 500, 502, 503),
};
const PATH = '/v1/signatureAggregator/:network/aggregateSignatures';
const tags = ['Signature aggregation'];

/** @param networks the names of `{network}` that this service serves */
export function registerAggregateSignatures(
  server: Server,
  { aggregator, networks }: { readonly aggregator: Aggregator; readonly networks: readonly string[] },
): void {
  const network = Type.Enum([...networks], { type: 'string' });
  // Before the body is read: a request for a network that is not here costs nothing.
  const onRequest = async (request: FastifyRequest): Promise<void> => requireNetwork(request, networks);

  server.post(
    PATH,
    {
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
      const signal = untilClientGone(reply);
      const result = await aggregator.aggregate(parseAggregationRequest(request.body), { signal });
      return reply.status(201).send(present(result));
    },
  );

  server.get(
    `${PATH}/:txHash`,
    {
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
        querystring: Type.Object(
          {
            destinationBlockchainId: Type.Optional(
              Type.String({
                description: `${DESTINATION_DESCRIPTION}. The default is the chain of the L1's validator manager where the API serves it, else the proposed height`,
              }),
            ),
          },
          { additionalProperties: false },
        ),
        response: RESPONSES,
      },
      onRequest,
    },
    async (request, reply) => {
      const signal = untilClientGone(reply);
      const txID = parseTxHash(request.params.txHash);
      const { destinationBlockchainId } = request.query;
      const destinationChainID =
        destinationBlockchainId === undefined ? undefined : parseDestination(destinationBlockchainId);
      const subject = { kind: 'transaction', txID } as const;
      const result = await aggregator.aggregate({ subject, destinationChainID }, { signal });
      return reply.status(201).send(present(result));
    },
  );
}

function present(result: AggregationResult) {
  return {
    signedMessage: bytesToHex(result.signedMessage),
    pChainHeight: Number(result.pChainHeight),
    signingSubnetId: result.signingSubnetID,
    signedWeight: String(result.signedWeight),
    totalWeight: String(result.totalWeight),
    signers: [...result.signers],
  };
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
