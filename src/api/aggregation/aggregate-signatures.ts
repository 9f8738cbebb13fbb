import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { AggregationRequest } from '../../aggregation/request/aggregation-request.ts';
import type { Parameters } from '../../http/parameters/check-parameters.ts';
import { checkQuery, convertQuery } from '../../http/parameters/query-parameters.ts';
import type { Server } from '../../http/request/http-server.ts';
import { JSON_TYPE } from '../../http/request/json-type.ts';
import type { NetworkOfPath } from '../../http/request/network-of-path.ts';
import { AGGREGATION_ACCESS, MESSAGE_AGGREGATION_ACCESS } from '../../http/request/route-access.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { text } from '../../lib/encoding/schema.ts';
import type { Network } from '../../network/network.ts';
import { aggregationErrorResponses } from '../errors/aggregation-error-responses.ts';
import { AggregationCall, chargeForSize } from './aggregation-call.ts';
import { streamAggregation } from './aggregation-stream.ts';
import {
  AGGREGATION_BODY_LIMIT,
  AggregationBody,
  MessageQuery,
  parseAggregationRequest,
  parseTransactionRequest,
  TransactionQuery,
} from './parse-aggregation-request.ts';
import { prefersEvents } from './prefers-events.ts';
import { AGGREGATION_STREAM } from './progress-records.ts';
import { SignedMessageBody, signedMessageJson } from './signed-message-record.ts';

/** The event stream has the status 200; it is described apart, because generated clients take one success for the result. */
const RESPONSES = {
  201: SignedMessageBody,
  ...aggregationErrorResponses(400, 403, 404, 500, 502, 503),
};
const AGGREGATION_PATH = '/v1/signatureAggregator/:network/aggregateSignatures';
const tags = ['Signature aggregation'];

export function registerAggregateSignatures(
  server: Server,
  { network, networkOf, onRequest }: NetworkOfPath<Network>,
  clock: Clock,
): void {
  const stopping = new AbortController();
  server.addHook('preClose', async () => stopping.abort());

  async function answer(
    request: FastifyRequest<{ Querystring: Static<typeof MessageQuery> }>,
    reply: FastifyReply,
    asked: AggregationRequest,
  ): Promise<undefined> {
    const { name, aggregator } = networkOf(request);
    const call = new AggregationCall(request.context, name, asked);
    call.waitMs = 1_000 * (request.query.wait ?? 0);
    call.waitEnds = stopping.signal;
    const included = { accessList: request.query.include === 'accessList' };
    if (request.method === 'HEAD' || !prefersEvents(request.headers.accept)) {
      call.result = await aggregator.aggregate(asked, call);
      reply
        .status(201)
        .type(JSON_TYPE)
        .send(signedMessageJson(call.result, call.advice, included));
      return undefined;
    }
    const stream = streamAggregation(reply, clock, name, asked);
    call.onProgress = stream.onProgress;
    call.onSigning = stream.onResolved;
    call.result = await aggregator.aggregate(asked, call);
    stream.end(call.result, call.advice, included);
    // Fastify sends nothing then; its types do not allow for that.
    return reply as unknown as undefined;
  }

  server.post(
    AGGREGATION_PATH,
    {
      config: { access: MESSAGE_AGGREGATION_ACCESS, isRecorded: true, eventStream: AGGREGATION_STREAM },
      bodyLimit: AGGREGATION_BODY_LIMIT,
      schema: {
        operationId: 'aggregateSignatures',
        tags,
        summary: "Collect and aggregate the validators' signatures of a Warp message",
        params: Type.Object({ network }),
        querystring: MessageQuery,
        body: AggregationBody,
        response: RESPONSES,
      },
      preValidation: async (request) => {
        request.query = convertQuery(MessageQuery, request.query as Parameters);
      },
      onRequest,
    },
    async (request, reply) => {
      await chargeForSize(request.context, request.body);
      const asked = parseAggregationRequest(request.body);
      const followsTeleporter = networkOf(request).defaultDestination === 'teleporter';
      return answer(request, reply, followsTeleporter ? { ...asked, followsTeleporter } : asked);
    },
  );

  server.get(
    `${AGGREGATION_PATH}/:txHash`,
    {
      config: { access: AGGREGATION_ACCESS, isRecorded: true, eventStream: AGGREGATION_STREAM },
      schema: {
        operationId: 'aggregateSignaturesOfTransaction',
        tags,
        summary: "Collect and aggregate the validators' signatures of the message of a transaction",
        description:
          'An EVM transaction: the message that it sent by the Warp precompile; one of several is chosen by logIndex. ' +
          'A transaction of the P-Chain: ConvertSubnetToL1Tx gives a SubnetToL1Conversion message, RegisterL1ValidatorTx an L1ValidatorRegistration, ' +
          'SetL1ValidatorWeightTx an L1ValidatorWeight or, for weight 0, the L1ValidatorRegistration that ends the validation. ' +
          "The signing subnet is the one that validates the chain of the L1's validator manager.",
        params: Type.Object({
          network,
          txHash: text(
            'ID of an accepted P-Chain transaction in cb58 or hex, or hash of an EVM transaction: 0x and 64 hex digits',
          ),
        }),
        querystring: TransactionQuery,
        response: RESPONSES,
      },
      validatorCompiler: checkQuery,
      onRequest,
    },
    (request, reply) => answer(request, reply, parseTransactionRequest(request.params.txHash, request.query)),
  );
}
