import { Type } from 'typebox';
import { parseID, parseOptionalID, toBigInt } from '../../http/parameters/parse-fields.ts';
import { checkQuery, HEIGHT_PARAMETERS, percentage } from '../../http/parameters/query-parameters.ts';
import type { Server } from '../../http/request/http-server.ts';
import type { NetworkOfPath } from '../../http/request/network-of-path.ts';
import { UPTIME_ACCESS } from '../../http/request/route-access.ts';
import { integer, optionalText, text } from '../../lib/encoding/schema.ts';
import type { Network } from '../../network/network.ts';
import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import type { BlockchainID, ValidationID } from '../../warp/ids.ts';
import { presentSigned, SignedMessageBody } from '../aggregation/signed-message-record.ts';
import { aggregationErrorResponses } from '../errors/aggregation-error-responses.ts';

const UptimeBody = Type.Object(
  {
    ...SignedMessageBody.properties,
    validationId: text('In cb58'),
    blockchainId: text("The L1's chain whose nodes signed, in cb58"),
    uptimeSeconds: integer('The highest uptime that the quorum signs'),
  },
  { title: 'UptimeProof', description: 'Signed, verified ValidatorUptime message' },
);

export function registerUptime(server: Server, { network, networkOf, onRequest }: NetworkOfPath<Network>): void {
  server.get(
    '/v1/signatureAggregator/:network/validations/:validationId/uptime',
    {
      config: { access: UPTIME_ACCESS },
      validatorCompiler: checkQuery,
      schema: {
        operationId: 'proveUptime',
        tags: ['Signature aggregation'],
        summary:
          'Find the highest uptime of an L1 validator that the quorum signs, and return the signed ValidatorUptime message',
        description:
          "Each node of the L1's chain signs every uptime up to the one that it observed. It usually takes two requests to each node, " +
          'at most 42, and one for the signature; the search has 15 seconds.',
        params: Type.Object({
          network,
          validationId: text('ID of the validation of an L1 validator, in cb58 or hex'),
        }),
        querystring: Type.Object({
          quorumPercentage: percentage(DEFAULT_QUORUM_NUM, "Percentage of the L1's weight that must sign"),
          blockchainId: optionalText(
            "The L1's chain whose nodes are asked, in hex or cb58; the default is that of its validator manager, if the L1 validates it",
          ),
          ...HEIGHT_PARAMETERS,
        }),
        response: { 200: UptimeBody, ...aggregationErrorResponses(400, 403, 404, 500, 502, 503) },
      },
      onRequest,
    },
    async (request, reply) => {
      const { params, query } = request;
      const proof = await networkOf(request).uptimes.prove(
        {
          validationID: parseID<ValidationID>('validationId', params.validationId),
          uptimeChainID: parseOptionalID<BlockchainID>('blockchainId', query.blockchainId),
          quorumNum: toBigInt(query.quorumPercentage),
          pChainHeight: toBigInt(query.pChainHeight),
          destinationChainID: parseOptionalID<BlockchainID>('destinationBlockchainId', query.destinationBlockchainId),
        },
        { signal: request.context.signal, client: request.context.client },
      );
      return reply.send({
        ...presentSigned(proof),
        validationId: proof.validationID,
        blockchainId: proof.uptimeChainID,
        uptimeSeconds: Number(proof.uptime),
      });
    },
  );
}
