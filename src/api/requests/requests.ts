import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { AccessOptions } from '../../http/access/access.ts';
import { isOperator } from '../../http/access/operator-access.ts';
import { requestErrorResponses } from '../../http/errors/error-body.ts';
import { badRequest, HttpError } from '../../http/errors/http-error.ts';
import { parseOptionalID } from '../../http/parameters/parse-fields.ts';
import { checkQuery } from '../../http/parameters/query-parameters.ts';
import { clientIdOf } from '../../http/request/client-identity.ts';
import type { Server } from '../../http/request/http-server.ts';
import { VALID_REQUEST_ID } from '../../http/request/request-id.ts';
import { RECORDS_ACCESS } from '../../http/request/route-access.ts';
import { oneOf, text } from '../../lib/encoding/schema.ts';
import { evmHash } from '../../pchain/rpc/evm-api.ts';
import { MAX_RECORDS } from '../../store/local/record-limits.ts';
import type { MessageID, SubnetID, TxID } from '../../warp/ids.ts';
import type { RequestHistory } from './request-history.ts';
import { REQUEST_OUTCOMES, RequestRecord } from './request-record.ts';

const DEFAULT_LIMIT = 100;

const RequestList = Type.Object(
  {
    requests: Type.Array(RequestRecord, {
      description: 'The newest first, by `endedAt`; without `details`, which the record of a single request has',
    }),
  },
  { title: 'RequestList', description: 'Recent requests for signatures' },
);

/** Records of recent requests, for operators and for the clients themselves. */
export function registerRequests(server: Server, history: RequestHistory, access: AccessOptions): void {
  const description =
    'A key with the right `operate` has the requests of all clients, any other key its own. Without configured keys they are 403, ' +
    'unless `access.operateWithoutKey` lets the machine of the service have them: a request from a loopback address that no proxy has passed on.';
  const tags = ['Requests'];

  server.get(
    '/v1/requests/:id',
    {
      config: { access: RECORDS_ACCESS },
      validatorCompiler: checkQuery,
      schema: {
        operationId: 'getRequest',
        tags,
        summary: 'What happened to a request for a signature',
        description: `The latest one with this ID. ${description}`,
        params: Type.Object({ id: text('The x-request-id of the request') }),
        querystring: Type.Object({}),
        response: { 200: RequestRecord, ...requestErrorResponses(400, 401, 403, 404) },
      },
    },
    async (request, reply) => {
      const client = clientShown(request, access);
      const { id } = request.params;
      if (!VALID_REQUEST_ID.test(id)) throw badRequest('id must be 1 to 128 visible ASCII characters, as x-request-id');
      const record = await history.find(id, client);
      if (record !== undefined) return reply.send(record);
      throw new HttpError('unknown_request', `no recent request has the ID ${id}`);
    },
  );

  server.get(
    '/v1/requests',
    {
      config: { access: RECORDS_ACCESS },
      validatorCompiler: checkQuery,
      schema: {
        operationId: 'listRequests',
        tags,
        summary: 'Recent requests for signatures',
        description,
        querystring: Type.Object({
          outcome: Type.Optional(oneOf(REQUEST_OUTCOMES, 'Only requests with this outcome')),
          subnetId: Type.Optional(text('Only requests with this signing subnet, in hex or cb58')),
          messageId: Type.Optional(text('Only requests for the message with this ID, in hex or cb58')),
          txHash: Type.Optional(
            text(
              'Only requests that name this transaction, by its ID or hash in hex or cb58. Those that name a message which it sent are found by messageId',
            ),
          ),
          transaction: Type.Optional(text('The same as txHash, its earlier name')),
          client: Type.Optional(
            text('Only requests of this client: `key:` and the name of its API key, or `address:` and its IP address'),
          ),
          since: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: Number.MAX_SAFE_INTEGER,
              description:
                'Only requests that ended at this Unix time in milliseconds or later. Those of other replicas appear up to 100 ms late',
            }),
          ),
          limit: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: MAX_RECORDS,
              default: DEFAULT_LIMIT,
              description: 'The most requests',
            }),
          ),
        }),
        response: { 200: RequestList, ...requestErrorResponses(400, 401, 403) },
      },
    },
    async (request, reply) => {
      const own = clientShown(request, access);
      const { outcome, since, limit = DEFAULT_LIMIT, ...query } = request.query;
      const client = parseClient(query.client) ?? own;
      const txID =
        parseOptionalID<TxID>('txHash', query.txHash) ?? parseOptionalID<TxID>('transaction', query.transaction);
      const filter = {
        client,
        outcome,
        since,
        signingSubnetID: parseOptionalID<SubnetID>('subnetId', query.subnetId),
        messageID: parseOptionalID<MessageID>('messageId', query.messageId),
        transactions: txID && [txID, evmHash(txID)],
      };
      const isShown = own === undefined || own === client;
      return reply.send({ requests: isShown ? await history.list(filter, limit) : [] });
    },
  );
}

/** @throws {HttpError} naming the parameter */
function parseClient(text: string | undefined): string | undefined {
  if (text === undefined || text.startsWith('key:')) return text;
  const [, address] = /^address:(.+)$/.exec(text) ?? [];
  if (address !== undefined) return clientIdOf(undefined, address);
  throw badRequest('client must be key: and the name of an API key, or address: and an IP address');
}

/**
 * Returns the client whose requests are shown, undefined for all.
 *
 * @throws {HttpError} `unauthorized` or `forbidden`
 */
function clientShown(request: FastifyRequest, access: AccessOptions): string | undefined {
  return isOperator(request, access, 'requests are shown') ? undefined : request.context.client;
}
