import { type Static, Type } from 'typebox';
import { recordErrorResponses } from '../../http/errors/error-body.ts';
import { badRequest, HttpError } from '../../http/errors/http-error.ts';
import { pageOf, parsePageToken } from '../../http/parameters/page-token.ts';
import { parseID, parseNode } from '../../http/parameters/parse-fields.ts';
import { checkQuery } from '../../http/parameters/query-parameters.ts';
import type { Server } from '../../http/request/http-server.ts';
import type { NetworkOfPath } from '../../http/request/network-of-path.ts';
import { SUBNET_VIEW_ACCESS, unitsForSigners } from '../../http/request/route-access.ts';
import { text } from '../../lib/encoding/schema.ts';
import type { Network } from '../../network/network.ts';
import { paged } from '../../proxy/catalogue/data-api-parameters.ts';
import type { SubnetID } from '../../warp/ids.ts';
import {
  presentRecordedValidator,
  presentSubnetRecord,
  presentValidatorRecord,
  SubnetHistoryBody,
  ValidatorHistoryBody,
} from './history-records.ts';

const PATH = '/v1/signatureAggregator/:network/subnets/:subnetId';
const tags = ['Signature aggregation'];
const DEFAULT_PAGE_SIZE = 100;
const MAX_PAGE_SIZE = 1_000;
const COUNTED =
  'Each validator is counted once in each collection of signatures that ended signed. The service records the primary network and tracked subnets. ' +
  'Each replica has a record of its own.';
const subnetId = text('In cb58 or hex; 11111111111111111111111111111111LpoYY is the primary network');

const HistoryQuery = Type.Object({
  since: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'Unix time in milliseconds from which validators are counted, a day ago by default. Within 48 hours whole hours are counted, and before that whole days, at most 90',
    }),
  ),
  ...paged(DEFAULT_PAGE_SIZE, 1, MAX_PAGE_SIZE),
});

/** What the validators of a subnet did in past collections. */
export function registerSubnetHistory(server: Server, { network, networkOf, onRequest }: NetworkOfPath<Network>): void {
  server.get(
    `${PATH}/history`,
    {
      config: { access: SUBNET_VIEW_ACCESS },
      validatorCompiler: checkQuery,
      schema: {
        operationId: 'getSubnetHistory',
        tags,
        summary: 'What the validators of a subnet did when they were asked for signatures, the worst first',
        description: COUNTED,
        params: Type.Object({ network, subnetId }),
        querystring: HistoryQuery,
        response: { 200: SubnetHistoryBody, ...recordErrorResponses(400, 404, 500, 503) },
      },
      onRequest,
    },
    async (request, reply) => {
      const { params, query } = request;
      const subnetID = parseID<SubnetID>('subnetId', params.subnetId);
      const { offset, since } = parsePage(subnetID, query) ?? { offset: 0, since: query.since };
      const record = await networkOf(request).record?.subnet(subnetID, since, request.context.signal);
      if (record === undefined) throw notRecorded(subnetID);
      await request.context.chargeAfterwards(unitsForSigners(SUBNET_VIEW_ACCESS, record.validators.length));
      const list = `history ${subnetID} ${since ?? ''}`;
      const { items, ...next } = pageOf(record.validators, { list, offset }, query.pageSize ?? DEFAULT_PAGE_SIZE);
      return reply.send({ ...presentSubnetRecord(record), validators: items.map(presentRecordedValidator), ...next });
    },
  );

  server.get(
    `${PATH}/validators/:nodeId/history`,
    {
      config: { access: SUBNET_VIEW_ACCESS },
      schema: {
        operationId: 'getValidatorHistory',
        tags,
        summary: 'What a validator did when it was asked for signatures, by hour for 48 hours and by day for 90',
        description: COUNTED,
        params: Type.Object({ network, subnetId, nodeId: text('A NodeID of the validator') }),
        response: { 200: ValidatorHistoryBody, ...recordErrorResponses(400, 404, 500, 503) },
      },
      onRequest,
    },
    async (request, reply) => {
      const { params } = request;
      const subnetID = parseID<SubnetID>('subnetId', params.subnetId);
      const nodeID = parseNode('nodeId', params.nodeId);
      const record = await networkOf(request).record?.validator(subnetID, nodeID);
      if (record === undefined) throw notRecorded(subnetID);
      if (record === 'no validator') {
        throw new HttpError('unknown_validator', `${nodeID} is no validator with a BLS key of subnet ${subnetID} now`);
      }
      return reply.send(presentValidatorRecord(record));
    },
  );
}

/** Returns undefined for the first page. Later pages have the beginning of the first. */
function parsePage(subnetID: SubnetID, query: Static<typeof HistoryQuery>) {
  if (query.pageToken === undefined) return undefined;
  const { list, offset } = parsePageToken(query.pageToken);
  const [kind, subnet, since = ''] = list.split(' ');
  if (kind !== 'history' || subnet !== subnetID || !/^\d{0,16}$/.test(since)) {
    throw badRequest('pageToken belongs to another list: give the nextPageToken of the page before');
  }
  if (query.since !== undefined) {
    throw badRequest('since cannot be combined with pageToken, which has the beginning of the first page');
  }
  return { offset, since: since === '' ? undefined : Number(since) };
}

function notRecorded(subnetID: SubnetID): HttpError {
  return new HttpError('not_recorded', `there is no record of the validators of subnet ${subnetID}`);
}
