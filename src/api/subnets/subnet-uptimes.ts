import { type Static, Type } from 'typebox';
import { AggregatorError } from '../../aggregation/aggregator-error.ts';
import type { ValidatorUptime } from '../../aggregation/subnets/subnet-uptimes.ts';
import { badRequest } from '../../http/errors/http-error.ts';
import { encodePageToken, parsePageToken } from '../../http/parameters/page-token.ts';
import { parseID, parseOptionalID, toBigInt } from '../../http/parameters/parse-fields.ts';
import { checkQuery, HEIGHT_PARAMETERS, percentage } from '../../http/parameters/query-parameters.ts';
import type { Server } from '../../http/request/http-server.ts';
import { PLAIN_SERIALIZER } from '../../http/request/json-type.ts';
import type { NetworkOfPath } from '../../http/request/network-of-path.ts';
import { UPTIMES_ACCESS } from '../../http/request/route-access.ts';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { Decimal, integer, optionalText, text } from '../../lib/encoding/schema.ts';
import type { Network } from '../../network/network.ts';
import { paged } from '../../proxy/catalogue/data-api-parameters.ts';
import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import type { BlockchainID, SubnetID, ValidationID } from '../../warp/ids.ts';
import { aggregationErrorResponses } from '../errors/aggregation-error-responses.ts';

/** Searches take some 0.1 s each, and 30 units. */
const DEFAULT_PAGE_SIZE = 10;
const MAX_PAGE_SIZE = 50;

const ValidatorUptimeRecord = Type.Object(
  {
    validationId: text('In cb58'),
    nodeId: text(),
    weight: Decimal,
    uptimeSeconds: Type.Optional(integer('The highest uptime that the quorum signs')),
    signedMessage: optionalText(
      'The signed ValidatorUptime message in hex, for submitUptimeProof of the staking manager',
    ),
    failure: Type.Optional(
      Type.Object(
        { code: text(), message: text() },
        { title: 'UptimeFailure', description: 'Why no uptime is signed' },
      ),
    ),
  },
  { title: 'ListedUptime' },
);

const UptimesBody = Type.Object(
  {
    subnetId: text('In cb58'),
    validators: Type.Array(ValidatorUptimeRecord, { description: 'In the order of their validation IDs' }),
    nextPageToken: optionalText('The pageToken of the next page, if there is one'),
  },
  { title: 'SubnetUptimes', description: 'Uptimes of the active validators of an L1' },
);

export function registerSubnetUptimes(server: Server, { network, networkOf, onRequest }: NetworkOfPath<Network>): void {
  server.get(
    '/v1/signatureAggregator/:network/subnets/:subnetId/uptimes',
    {
      config: { access: UPTIMES_ACCESS },
      validatorCompiler: checkQuery,
      schema: {
        operationId: 'listUptimes',
        tags: ['Signature aggregation'],
        summary:
          'The highest uptime of each active L1 validator that the quorum signs, as signed ValidatorUptime messages',
        description:
          'Searches for one validator after the other, as the route for one validation does. A page ends after 15 seconds, too. A client has ' +
          'one such request at a time.',
        params: Type.Object({ network, subnetId: text('In cb58 or hex') }),
        querystring: Type.Object({
          quorumPercentage: percentage(DEFAULT_QUORUM_NUM, "Percentage of the L1's weight that must sign"),
          blockchainId: optionalText(
            "The L1's chain whose nodes are asked; the default is that of its validator manager",
          ),
          ...HEIGHT_PARAMETERS,
          ...paged(DEFAULT_PAGE_SIZE, 1, MAX_PAGE_SIZE),
        }),
        response: { 200: UptimesBody, ...aggregationErrorResponses(400, 403, 404, 500, 502, 503) },
      },
      onRequest,
      serializerCompiler: PLAIN_SERIALIZER,
    },
    async (request, reply) => {
      const { params, query, context } = request;
      const subnetID = parseID<SubnetID>('subnetId', params.subnetId);
      const page = await networkOf(request).subnetUptimes.list(
        {
          subnetID,
          after: parseAfter(subnetID, query.pageToken),
          limit: query.pageSize ?? DEFAULT_PAGE_SIZE,
          uptimeChainID: parseOptionalID<BlockchainID>('blockchainId', query.blockchainId),
          quorumNum: toBigInt(query.quorumPercentage),
          pChainHeight: toBigInt(query.pChainHeight),
          destinationChainID: parseOptionalID<BlockchainID>('destinationBlockchainId', query.destinationBlockchainId),
        },
        {
          signal: context.signal,
          client: context.client,
          onValidators: (count) =>
            context.chargeMore(UPTIMES_ACCESS.unitsPerValidator * count, 'ask for smaller pages'),
        },
      );
      const { last } = page;
      return reply.send({
        subnetId: subnetID,
        validators: page.validators.map(presentUptime),
        ...(last !== undefined && { nextPageToken: encodePageToken({ list: listOf(subnetID, last), offset: 0 }) }),
      });
    },
  );
}

function presentUptime({
  validationID,
  nodeID,
  weight,
  result,
}: ValidatorUptime): Static<typeof ValidatorUptimeRecord> {
  const validator = { validationId: validationID, nodeId: nodeID, weight: String(weight) };
  if (result instanceof AggregatorError) {
    return { ...validator, failure: { code: result.code, message: result.message } };
  }
  return { ...validator, uptimeSeconds: Number(result.uptime), signedMessage: bytesToHex(result.signedMessage) };
}

function listOf(subnetID: SubnetID, last: ValidationID): string {
  return `uptimes@${subnetID}@${last}`;
}

/** @throws {HttpError} */
function parseAfter(subnetID: SubnetID, pageToken: string | undefined): ValidationID | undefined {
  if (pageToken === undefined) return undefined;
  const [kind, subnet, last] = parsePageToken(pageToken).list.split('@');
  if (kind !== 'uptimes' || subnet !== subnetID || last === undefined) {
    throw badRequest('pageToken belongs to another list: give the nextPageToken of the page before');
  }
  return last as ValidationID;
}
