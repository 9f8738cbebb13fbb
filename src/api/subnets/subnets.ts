import { type Static, Type } from 'typebox';
import type { SubnetView } from '../../aggregation/subnets/subnet-view.ts';
import { badRequest } from '../../http/errors/http-error.ts';
import { pageOf, parsePageToken } from '../../http/parameters/page-token.ts';
import { parseID, parseOptionalID, toBigInt } from '../../http/parameters/parse-fields.ts';
import { checkQuery, HEIGHT_PARAMETERS } from '../../http/parameters/query-parameters.ts';
import type { Server } from '../../http/request/http-server.ts';
import type { NetworkOfPath } from '../../http/request/network-of-path.ts';
import { LOOKUP_ACCESS, SUBNET_VIEW_ACCESS, unitsForSigners } from '../../http/request/route-access.ts';
import { text } from '../../lib/encoding/schema.ts';
import type { Network } from '../../network/network.ts';
import { paged } from '../../proxy/catalogue/data-api-parameters.ts';
import type { BlockchainID, SubnetID } from '../../warp/ids.ts';
import { aggregationErrorResponses } from '../errors/aggregation-error-responses.ts';
import { presentSubnetState } from '../health/health.ts';
import { presentSubnet, presentValidator, SubnetListBody, SubnetViewBody } from './subnet-records.ts';

const PATH = '/v1/signatureAggregator/:network/subnets';
const tags = ['Signature aggregation'];
/** An L1 and the primary network of fuji fit on one page; a row has under 1.5 KB. */
const DEFAULT_PAGE_SIZE = 100;
const MAX_PAGE_SIZE = 1_000;
const PAGES = paged(DEFAULT_PAGE_SIZE, 1, MAX_PAGE_SIZE);

const ViewQuery = Type.Object({ ...HEIGHT_PARAMETERS, ...PAGES });

/** Views of subnets and their validators; they request no signatures. */
export function registerSubnets(server: Server, { network, networkOf, onRequest }: NetworkOfPath<Network>): void {
  server.get(
    PATH,
    {
      config: { access: LOOKUP_ACCESS },
      validatorCompiler: checkQuery,
      schema: {
        operationId: 'listSubnets',
        tags,
        summary: 'Known subnets, and how much of their weight is connected',
        params: Type.Object({ network }),
        querystring: Type.Object(PAGES),
        response: { 200: SubnetListBody, ...aggregationErrorResponses(400, 404, 500, 502, 503) },
      },
      onRequest,
    },
    async (request, reply) => {
      const { pageToken, pageSize = DEFAULT_PAGE_SIZE } = request.query;
      const start = pageToken === undefined ? { list: 'subnets', offset: 0 } : parsePageToken(pageToken);
      if (start.list !== 'subnets') throw foreignToken();
      const { items, ...next } = pageOf(networkOf(request).subnets.list(), start, pageSize);
      const subnets = items.map((subnet) => ({ ...presentSubnetState(subnet), isTracked: subnet.isTracked }));
      return reply.send({ subnets, ...next });
    },
  );

  server.get(
    `${PATH}/:subnetId`,
    {
      config: { access: SUBNET_VIEW_ACCESS },
      validatorCompiler: checkQuery,
      schema: {
        operationId: 'getSubnet',
        tags,
        summary:
          'The validators of a subnet: which are connected, which can sign, and the highest quorum that could be signed',
        description:
          'Connects to the validators as for a signature, but requests none. For a subnet without recent requests the answer waits up ' +
          'to two seconds for the connections. All pages of a list have the P-Chain height of the first page.',
        params: Type.Object({
          network,
          subnetId: text('In cb58 or hex; 11111111111111111111111111111111LpoYY is the primary network'),
        }),
        querystring: ViewQuery,
        response: { 200: SubnetViewBody, ...aggregationErrorResponses(400, 403, 404, 500, 502, 503) },
      },
      onRequest,
    },
    async (request, reply) => {
      const { params, query } = request;
      const subnetID = parseID<SubnetID>('subnetId', params.subnetId);
      const asked = parsePage(subnetID, query) ?? {
        offset: 0,
        pChainHeight: toBigInt(query.pChainHeight),
        destinationChainID: parseOptionalID<BlockchainID>('destinationBlockchainId', query.destinationBlockchainId),
      };
      const { offset, ...at } = asked;
      const view = await networkOf(request).subnets.view(
        { subnetID, ...at },
        request.context.signal,
        request.context.client,
      );
      const units = unitsForSigners(SUBNET_VIEW_ACCESS, view.validators.length);
      await request.context.chargeAfterwards(units);
      return reply.send(presentPage(view, offset, query.pageSize ?? DEFAULT_PAGE_SIZE));
    },
  );
}

function presentPage(view: SubnetView, offset: number, pageSize: number): SubnetViewBody {
  const list = `${view.subnetID}@${view.pChainHeight}`;
  const { items, ...next } = pageOf(view.validators, { list, offset }, pageSize);
  return { ...presentSubnet(view), validators: items.map(presentValidator), ...next };
}

/** Returns undefined for the first page. Later pages have the height of the first. */
function parsePage(subnetID: SubnetID, { pageToken, pChainHeight, destinationBlockchainId }: Static<typeof ViewQuery>) {
  if (pageToken === undefined) return undefined;
  const { list, offset } = parsePageToken(pageToken);
  const [subnet, height = ''] = list.split('@');
  if (subnet !== subnetID || !/^\d{1,19}$/.test(height)) throw foreignToken();
  if (pChainHeight !== undefined || destinationBlockchainId !== undefined) {
    const name = pChainHeight === undefined ? 'destinationBlockchainId' : 'pChainHeight';
    throw badRequest(`${name} cannot be combined with pageToken, which has the height of the first page`);
  }
  return { offset, pChainHeight: BigInt(height) };
}

function foreignToken() {
  return badRequest('pageToken belongs to another list: give the nextPageToken of the page before');
}
