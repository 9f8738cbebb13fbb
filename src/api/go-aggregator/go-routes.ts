import { METHODS } from 'node:http';
import type { FastifyRequest, FastifySchema, onRequestHookHandler, RouteOptions } from 'fastify';
import { Type } from 'typebox';
import type { Server } from '../../http/request/http-server.ts';
import { JSON_TYPE } from '../../http/request/json-type.ts';
import { createNetworkOfPath } from '../../http/request/network-of-path.ts';
import { MESSAGE_AGGREGATION_ACCESS } from '../../http/request/route-access.ts';
import type { RequestBodies } from '../../http/server/request-bodies.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { text } from '../../lib/encoding/schema.ts';
import type { Network } from '../../network/network.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { AggregationCall, chargeForSize } from '../aggregation/aggregation-call.ts';
import { AGGREGATION_BODY_LIMIT } from '../aggregation/parse-aggregation-request.ts';
import { GO_ERROR_FORM, goErrorResponses } from './go-error-form.ts';
import { GoAggregationBody, parseGoRequest, readGoBody } from './parse-go-request.ts';

export interface GoRoutesOptions {
  /** At least one; the first serves the path without a network. */
  readonly networks: readonly Network[];
  /** Whether to register paths with the networks' names, too. */
  readonly withNames: boolean;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly bodies: RequestBodies;
}

const GO_PATH = '/aggregate-signatures';
/** The Go aggregator holds a request so long: the proposed height reaches a conversion 30 s after its block. */
const SIGNERS_WAIT_MS = 30_000;

const SignedMessageBody = Type.Object(
  { 'signed-message': text('The signed Warp message in hex, without a prefix') },
  { title: 'GoSignedMessage', description: 'Signed, verified message' },
);

/**
 * The Go aggregator's API: other field names, errors and metrics for the same aggregation. It ignores media types and has no networks,
 * so its path serves the first network; `/{network}` before it selects one.
 */
export async function registerGoRoutes(server: Server, options: GoRoutesOptions): Promise<void> {
  const { networks, clock } = options;
  const [first] = networks;
  if (first === undefined) throw new Error('there is no network');
  const { network, onRequest, networkOf } = createNetworkOfPath(networks);
  const recorders = new Map(networks.map((one) => [one, createRecorder(one, options)]));
  const stopping = new AbortController();
  server.addHook('preClose', async () => stopping.abort());
  const errors = goErrorResponses(400, 401, 403, 413, 429, 500);

  async function answer({ context, body: text }: FastifyRequest, asked: Network) {
    const body = readGoBody(text as string);
    await chargeForSize(context, body);
    const startMs = clock.monotonicMs();
    // These answers have no warnings, so the epoch is read only where it decides.
    const pChainMessages = asked.goApi.pChainMessages === 'epoch' ? 'epoch' : undefined;
    const call = new AggregationCall(context, asked.name, { ...parseGoRequest(body), pChainMessages });
    call.signersWaitMs = SIGNERS_WAIT_MS;
    call.waitEnds = stopping.signal;
    call.result = await asked.aggregator.aggregate(call.asked, call);
    recorders.get(asked)?.onSuccess(clock.monotonicMs() - startMs);
    return { 'signed-message': bytesToHex(call.result.signedMessage) };
  }

  await server.register(async (scope: Server) => {
    readAnyBody(scope, options.bodies);
    const register = (url: string, schema: FastifySchema, of: typeof networkOf, ...hooks: onRequestHookHandler[]) =>
      route(scope, {
        url,
        bodyLimit: AGGREGATION_BODY_LIMIT,
        config: { access: MESSAGE_AGGREGATION_ACCESS, errorForm: GO_ERROR_FORM, isRecorded: true },
        schema: { tags: ['Go aggregator'], body: GoAggregationBody, ...schema },
        // The schemas are for the OpenAPI document: readGoBody checks the body.
        validatorCompiler: () => () => true,
        onRequest: [...hooks, async (request) => recorders.get(of(request))?.onRequest()],
        handler: (request) => answer(request, of(request)),
      });
    const ofFirst = {
      operationId: 'goAggregateSignatures',
      summary: "The Go aggregator's API, for the first network of the configuration",
      response: { 200: SignedMessageBody, ...errors },
    };
    register(GO_PATH, ofFirst, () => first);
    if (!options.withNames) return;
    const ofNetwork = {
      operationId: 'goAggregateSignaturesOfNetwork',
      summary: "The Go aggregator's API, for a network by its name",
      params: Type.Object({ network }),
      response: { 200: SignedMessageBody, ...errors, ...goErrorResponses(404) },
    };
    register(`/:network${GO_PATH}`, ofNetwork, networkOf, onRequest);
  });
}

const OTHER_METHODS = METHODS.filter((method) => method !== 'POST' && method !== 'CONNECT');

/** Go's mux accepts every method; the OpenAPI document has the POST. */
function route(scope: Server, options: Omit<RouteOptions, 'method'>): void {
  for (const method of OTHER_METHODS) {
    if (!scope.supportedMethods.includes(method)) scope.addHttpMethod(method);
  }
  scope.route({ ...options, method: 'POST' });
  scope.route({ ...options, method: OTHER_METHODS, schema: { hide: true } });
}

/** Metrics of ours from which those of the Go aggregator are computed, for both of its listeners. */
function createRecorder({ name }: Network, { metrics }: Pick<GoRoutesOptions, 'metrics'>) {
  const ofNetwork = metrics.with({ network: name });
  const requests = ofNetwork.counter({
    name: 'go_api_requests_total',
    help: "Requests to the Go aggregator's API that passed API keys and rate limits",
  });
  const latency = ofNetwork.gauge({
    name: 'go_api_last_success_seconds',
    help: "Duration of the last request to the Go aggregator's API that returned a signed message",
  });
  requests.inc(0);
  latency.set(0);
  return {
    onRequest: () => requests.inc(),
    onSuccess: (tookMs: number) => latency.set(tookMs / 1_000),
  };
}

/** Reads the body as text for every method and media type: `curl --data` sends a form type, and Fastify parses no body of a GET. */
function readAnyBody(scope: Server, bodies: RequestBodies): void {
  const readText = bodies.parser((request, text, done) => {
    request.body = text;
    done(null);
  });
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
  scope.addHook('onRequest', ({ headers }, _reply, done) => {
    headers['content-type'] = JSON_TYPE;
    done();
  });
  scope.addHook('preValidation', (request, reply, done) =>
    readText(request, undefined, (error) => {
      // The rest of the body may still come.
      if (error !== null) reply.header('connection', 'close');
      done(error ?? undefined);
    }),
  );
}
