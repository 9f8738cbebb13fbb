import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Aggregator } from '../../aggregator/aggregate.ts';
import type { AggregationRequest, AggregationResult } from '../../aggregator/aggregation-request.ts';
import { unwrapJustification } from '../../aggregator/l1-justification.ts';
import type { L1Messages } from '../../aggregator/l1-messages.ts';
import { bytesToHex } from '../../primitives/bytes.ts';
import { errorResponses } from '../error-body.ts';
import type { Server } from '../http-server.ts';
import {
  AGGREGATION_BODY_LIMIT,
  AggregationBody,
  DEFAULT_QUORUM_PERCENTAGE,
  DESTINATION_DESCRIPTION,
  type ParsedAggregationRequest,
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
  {
    aggregator,
    l1Messages,
    networks,
  }: { readonly aggregator: Aggregator; readonly l1Messages: L1Messages; readonly networks: readonly string[] },
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
      const complete = await completeRequest(parseAggregationRequest(request.body), signal);
      return reply.status(201).send(present(await aggregator.aggregate(complete, signal)));
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
      const chosen = destinationBlockchainId === undefined ? undefined : parseDestination(destinationBlockchainId);
      const { managerChainID, ...found } = await l1Messages.ofTransaction(txID, signal);
      const result = await aggregator.aggregate(
        {
          ...found,
          quorumNum: BigInt(DEFAULT_QUORUM_PERCENTAGE),
          quorumBuffer: 0n,
          pChainHeight: 0n,
          destination: { chainID: chosen ?? managerChainID, isRequired: chosen !== undefined },
        },
        signal,
      );
      return reply.status(201).send(present(result));
    },
  );

  async function completeRequest(parsed: ParsedAggregationRequest, signal: AbortSignal): Promise<AggregationRequest> {
    const { message, justification } = parsed;
    if (message !== undefined)
      return { ...parsed, message, justification: unwrapJustification(message, justification) };
    const found = await l1Messages.ofJustification(justification, signal);
    return {
      ...parsed,
      message: found.message,
      justification: found.justification,
      signingSubnetID: parsed.signingSubnetID ?? found.signingSubnetID,
    };
  }
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
