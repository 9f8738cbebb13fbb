import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { AggregationStage } from '../../aggregation/aggregator-metrics.ts';
import type { AggregateOptions, DeliveryAdvice } from '../../aggregation/request/aggregate.ts';
import type { AggregationRequest, AggregationResult } from '../../aggregation/request/aggregation-request.ts';
import type { CompleteRequest } from '../../aggregation/request/complete-request.ts';
import type { Signing } from '../../aggregation/request/signing-resolver.ts';
import { clientOf } from '../../http/access/client-identity.ts';
import { AGGREGATION_ACCESS, MESSAGE_AGGREGATION_ACCESS, unitsForSigners } from '../../http/access/route-access.ts';
import { aggregationErrorResponses } from '../../http/errors/error-body.ts';
import type { Parameters } from '../../http/parameters/check-parameters.ts';
import { checkQuery, convertQuery } from '../../http/parameters/query-parameters.ts';
import type { Server } from '../../http/request/http-server.ts';
import { JSON_TYPE } from '../../http/request/json-type.ts';
import type { NetworkOfPath } from '../../http/request/network-of-path.ts';
import { untilClientGone } from '../../http/request/until-client-gone.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { text } from '../../lib/encoding/schema.ts';
import type { Span } from '../../telemetry/spans.ts';
import type { BlockchainID } from '../../warp/ids.ts';
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

const RESPONSES = {
  200: AGGREGATION_STREAM,
  201: SignedMessageBody,
  ...aggregationErrorResponses(400, 403, 404, 500, 502, 503),
};
const AGGREGATION_PATH = '/v1/signatureAggregator/:network/aggregateSignatures';
const tags = ['Signature aggregation'];

export function registerAggregateSignatures(
  server: Server,
  { network, networkOf, onRequest }: NetworkOfPath,
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
    const context = new RequestContext(request, reply, name, asked);
    context.waitMs = 1_000 * (request.query.wait ?? 0);
    context.waitEnds = stopping.signal;
    if (request.method === 'HEAD' || !prefersEvents(request.headers.accept)) {
      context.result = await aggregator.aggregate(asked, context);
      reply.status(201).type(JSON_TYPE).send(signedMessageJson(context.result, context.advice));
      return undefined;
    }
    const stream = streamAggregation(reply, clock, name, asked);
    context.onProgress = stream.onProgress;
    context.onSigning = stream.onResolved;
    context.result = await aggregator.aggregate(asked, context);
    stream.end(context.result, context.advice);
    // Fastify sends nothing then; its types do not allow for that.
    return reply as unknown as undefined;
  }

  server.post(
    AGGREGATION_PATH,
    {
      config: { access: MESSAGE_AGGREGATION_ACCESS, isRecorded: true },
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
      await chargeForSize(request, reply, request.body);
      const asked = parseAggregationRequest(request.body);
      const followsTeleporter = networkOf(request).defaultDestination === 'teleporter';
      return answer(request, reply, followsTeleporter ? { ...asked, followsTeleporter } : asked);
    },
  );

  server.get(
    `${AGGREGATION_PATH}/:txHash`,
    {
      config: { access: AGGREGATION_ACCESS, isRecorded: true },
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

declare module 'fastify' {
  interface FastifyRequest {
    /** The aggregation that the request asks for, once its body was parsed. */
    aggregation: RequestContext | undefined;
  }
}

/**
 * The HTTP request behind an aggregation: its signal, its client, its charges, and the facts for its record. Created lazily, because a
 * cached result needs little.
 */
export class RequestContext implements AggregateOptions {
  readonly network: string;
  readonly asked: AggregationRequest;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  onProgress: AggregateOptions['onProgress'];
  waitMs: number | undefined;
  waitEnds: AbortSignal | undefined;
  readonly stages: Partial<Record<AggregationStage, number>> = {};
  onSigning: ((signing: Signing) => void) | undefined;
  resolved: ResolvedRequest | undefined;
  result: AggregationResult | undefined;
  advice: DeliveryAdvice | undefined;

  constructor(request: FastifyRequest, reply: FastifyReply, network: string, asked: AggregationRequest) {
    this.#request = request;
    this.#reply = reply;
    this.network = network;
    this.asked = asked;
    request.aggregation = this;
  }

  get signal(): AbortSignal {
    return untilClientGone(this.#reply);
  }

  get client(): string {
    return clientOf(this.#request);
  }

  get span(): Span {
    return this.#request.span;
  }

  onCacheMiss(): Promise<void> {
    return this.#request.server.accessGate.chargeMore(this.#request, this.#reply, UNITS_OF_WORK);
  }

  onSigners(validators: number, messageBytes: number): Promise<void> {
    // A body was charged for its size already.
    const ofSize = this.asked.subject.kind === 'transaction' ? unitsForSize(messageBytes) : 0;
    const units = unitsForSigners(AGGREGATION_ACCESS, validators) + ofSize;
    return this.#request.server.accessGate.chargeAfterwards(this.#request, this.#reply, units);
  }

  onResolved({ message, destination }: CompleteRequest, signing: Signing): void {
    const { signingSubnetID, pChainHeight, quorumNum } = signing;
    const { sourceChainID } = message;
    const destinationChainID = destination?.chainID;
    this.resolved = { sourceChainID, destinationChainID, signingSubnetID, pChainHeight, quorumNum };
    this.onSigning?.(signing);
  }

  onAdvice(advice: DeliveryAdvice): void {
    this.advice = advice;
  }

  onStage(stage: AggregationStage, durationMs: number): void {
    this.stages[stage] = (this.stages[stage] ?? 0) + durationMs;
    if (stage === 'execution') this.#request.waitedMs += durationMs;
  }
}

interface ResolvedRequest extends Pick<Signing, 'signingSubnetID' | 'pChainHeight' | 'quorumNum'> {
  readonly sourceChainID: BlockchainID;
  readonly destinationChainID: BlockchainID | undefined;
}

/** Units for a result that is not cached, on top of those for a cached one. */
const UNITS_OF_WORK = AGGREGATION_ACCESS.units - AGGREGATION_ACCESS.unitsIfCached;

function unitsForSize(bytes: number): number {
  return MESSAGE_AGGREGATION_ACCESS.unitsPerKiB * Math.floor(bytes / 1024);
}

/** Charges for a long message and justification by their length, before they are parsed. @throws {HttpError} */
export function chargeForSize(
  request: FastifyRequest,
  reply: FastifyReply,
  { message = '', justification = '' }: Pick<Static<typeof AggregationBody>, 'message' | 'justification'>,
): Promise<void> {
  const bytes = (message.length + justification.length) / 2;
  return request.server.accessGate.chargeMore(request, reply, unitsForSize(bytes));
}
