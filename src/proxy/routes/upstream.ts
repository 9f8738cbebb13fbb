import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { errorResponses, metricsErrorResponses, passedBodyErrorResponses } from '../../http/errors/error-body.ts';
import { isMetricsRoute } from '../../http/errors/error-form.ts';
import { badRequest, ClientGone, noSuchRoute, rateLimited } from '../../http/errors/http-error.ts';
import { checkParameters, type Parameters, requireFreeNames } from '../../http/parameters/check-parameters.ts';
import { findTargetProblem, splitTarget } from '../../http/request/canonical-target.ts';
import type { Server } from '../../http/request/http-server.ts';
import { JSON_TYPE, PLAIN_SERIALIZER } from '../../http/request/json-type.ts';
import { requireNetwork } from '../../http/request/network-of-path.ts';
import { DATA_ACCESS, RPC_ACCESS } from '../../http/request/route-access.ts';
import type { RequestBodies } from '../../http/server/request-bodies.ts';
import { attempt } from '../../lib/encoding/parse-error.ts';
import type { GrantedClaim, LimitCounters } from '../../store/local/limit-counters.ts';
import { publicNetworkNamed } from '../../warp/networks.ts';
import { DATA_NETWORKS } from '../catalogue/data-api-parameters.ts';
import {
  canonicalChainId,
  REINDEX_PARAMS,
  REINDEX_PATH,
  RPC_PARAMS,
  RPC_PATH,
  UPSTREAM_ENDPOINTS,
  type UpstreamEndpointDefinition,
} from '../catalogue/upstream-endpoints.ts';
import type { CachePolicy } from '../client/response-cache.ts';
import { isStream, type UpstreamAnswer } from '../client/upstream-answer.ts';
import { mayHaveArrived } from '../client/upstream-error.ts';
import type { UpstreamName, Upstreams } from '../client/upstreams.ts';
import { checkRpcCalls, RpcCallError } from './rpc-calls.ts';
import { rpcResponses, rpcSchema } from './rpc-schema.ts';
import { sendRpcAnswer, sendUpstreamAnswer } from './upstream-reply.ts';

export interface UpstreamRouteOptions {
  readonly upstreams: Upstreams;
  readonly limits: LimitCounters;
  /** Bounds one answer, its body included. */
  readonly timeoutMs: number;
  /** Whether unspecified GETs under /v1 are passed on with no check but that of the path's form. */
  readonly passUnknown: boolean;
  /** JSON-RPC methods that are passed on to the node. */
  readonly rpcMethods: ReadonlySet<string>;
}

const STATUSES = [400, 401, 403, 404, 429, 500, 502, 503] as const;
const ERRORS = errorResponses(...STATUSES);
const METRICS_ERRORS = metricsErrorResponses(...STATUSES);
/** 20 calls for the UTXOs of a hundred addresses each. */
const RPC_BODY_LIMIT = 100 * 1024;
const UNKNOWN_SUBJECT = 'unknown';

/** Routes whose requests are checked and passed on to an upstream. `catalogue/` defines them, `client/` sends the requests. */
export async function registerUpstreamRoutes(
  server: Server,
  bodies: RequestBodies,
  options: UpstreamRouteOptions,
): Promise<void> {
  const { upstreams, timeoutMs, limits } = options;
  await server.register(async (scope: Server) => {
    scope.addHook('onRequest', ({ raw }, _reply, done) => {
      const problem = findTargetProblem(splitTarget(raw.url ?? ''));
      done(problem === undefined ? undefined : badRequest(`the ${problem}`));
    });
    scope.setValidatorCompiler(({ schema }) => (values) => {
      checkParameters(schema as TSchema, values as Parameters);
      return true;
    });
    // Answers are bytes; compiled serializers for hundreds of fields would slow down the start.
    scope.setSerializerCompiler(PLAIN_SERIALIZER);
    // checkRpcCalls parses calls, and keeps the digits of their numbers.
    scope.removeContentTypeParser('application/json');
    scope.addContentTypeParser(
      'application/json',
      bodies.parser((_request, text, done) => done(null, text)),
    );

    const ask = createAsk(upstreams, timeoutMs);
    for (const endpoint of UPSTREAM_ENDPOINTS) registerEndpoint(scope, endpoint, ask);
    registerReindex(scope, ask, limits);
    registerNodeRpc(scope, ask, options.rpcMethods);
    if (options.passUnknown) registerUnknown(scope, ask);
  });
}

interface Question {
  readonly upstream: UpstreamName;
  readonly subject: string;
  /** Multiple of the configured time limit. */
  readonly patience?: number | undefined;
  readonly cache?: CachePolicy | undefined;
  readonly body?: string;
  /** Whether the request goes on after the client has disconnected. */
  readonly outlivesClient?: boolean;
}

type Ask = (request: FastifyRequest, reply: FastifyReply, question: Question) => Promise<UpstreamAnswer>;

/**
 * Requests the target of a client's request from an upstream, without the client's headers. A HEAD becomes a GET, because validity,
 * ETag and length depend on the body, and the answer can be cached.
 *
 * @throws {HttpError} if the query has a name of a parameter that requests to the upstream get
 * @throws {ClientGone} if the client has disconnected, unless the request outlives it
 */
function createAsk(upstreams: Upstreams, timeoutMs: number): Ask {
  return async (request, reply, { upstream, subject, patience = 1, cache, body, outlivesClient = false }) => {
    requireFreeNames(request.query as Parameters, upstreams.ownNames(upstream));
    const answer = await upstreams.request(
      upstream,
      {
        method: request.method === 'POST' ? 'POST' : 'GET',
        target: request.raw.url ?? '',
        requestID: request.id,
        client: request.context.client,
        subject,
        timeoutMs: timeoutMs * patience,
        signal: outlivesClient ? new AbortController().signal : request.context.signal,
        span: request.context.span,
        body,
      },
      cache,
    );
    if (outlivesClient || !reply.raw.destroyed) return answer;
    if (answer.kind === 'success' && isStream(answer.body)) answer.body.destroy();
    throw new ClientGone();
  };
}

function registerEndpoint(scope: Server, endpoint: UpstreamEndpointDefinition, ask: Ask): void {
  const { path, params, query, response, rules, findConflict, cache, patience } = endpoint;
  const isMetrics = endpoint.service === 'metrics service';
  const schema: FastifySchema = {
    operationId: endpoint.operationId,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    ...(rules !== undefined && { description: rules }),
    params,
    querystring: query,
    response: {
      200: { ...response, 'x-response-description': 'The answer of the upstream' },
      304: Type.Null({ description: 'The answer is still the one that If-None-Match names' }),
      ...(isMetrics ? METRICS_ERRORS : ERRORS),
    },
  };
  for (const method of ['GET', 'HEAD'] as const) {
    scope.route({
      method,
      url: path,
      // Fastify's HEAD route would read a stream to its end.
      exposeHeadRoute: false,
      config: { access: DATA_ACCESS },
      schema: method === 'GET' ? schema : { ...schema, hide: true },
      onRequest: requireNetwork(DATA_NETWORKS),
      async handler(request, reply) {
        const ofPath = request.params as Parameters;
        requireFreeNames(request.query as Parameters, Object.keys(ofPath));
        const conflict = findConflict?.(request.query as Parameters, ofPath);
        if (conflict !== undefined) throw badRequest(conflict.join(' '));
        const upstream = isMetrics ? 'metrics' : upstreamOf(ofPath['network']);
        const subject = String(ofPath['chainId'] ?? ofPath['blockchainId'] ?? endpoint.operationId);
        const answer = await ask(request, reply, { upstream, subject, cache: cache(ofPath), patience });
        return sendUpstreamAnswer(request, reply, answer);
      },
    });
  }
}

/** Requests without a network go to the data API of EVM chains. */
function upstreamOf(network: unknown): UpstreamName {
  return (typeof network === 'string' ? publicNetworkNamed(network)?.name : undefined) ?? 'evm';
}

/** The specification allows one an hour for each token. */
const REINDEX_INTERVAL_MS = 60 * 60 * 1_000;

function registerReindex(scope: Server, ask: Ask, limits: LimitCounters): void {
  const schema: FastifySchema = {
    operationId: 'reindexNftToken',
    tags: ['EVM chains'],
    summary: "Index a token's metadata again, at most once an hour",
    description:
      'The hour begins with the request, also if its answer is lost: the upstream may have accepted it. A request that the upstream refused, ' +
      'or that did not reach it, may be repeated at once. Without store.path and Redis, the service forgets the hour when it restarts.',
    params: REINDEX_PARAMS,
    querystring: Type.Object({}),
    response: { 201: Type.Null({ description: 'The upstream accepted the request; no body' }), ...ERRORS },
  };
  scope.route({
    method: 'POST',
    url: REINDEX_PATH,
    config: { access: DATA_ACCESS },
    schema,
    async handler(request, reply) {
      requireFreeNames(request.query as Parameters, Object.keys(request.params as Parameters));
      const { chainId, address, tokenId } = request.params as Record<'chainId' | 'address' | 'tokenId', string>;
      const chain = canonicalChainId(chainId);
      // One key for all spellings of a token.
      const token = `reindex:${chain}:${address.toLowerCase()}:${BigInt(tokenId)}`;
      const claim = await limits.claim(token, REINDEX_INTERVAL_MS);
      if (!claim.isGranted) throw rateLimited('tokenId is being reindexed, or was within the last hour', claim.leftMs);
      // The claim is given back before the answer is sent, so that the client can retry at once at another replica.
      if (reply.raw.destroyed) {
        await claim.giveBack();
        throw new ClientGone();
      }
      // A client that disconnects must not be able to repeat what the upstream does all the same.
      const asking = ask(request, reply, { upstream: 'evm', subject: chain, outlivesClient: true });
      const answer = await settleClaim(claim, asking);
      if (reply.raw.destroyed) throw new ClientGone();
      if (answer.kind === 'refusal') return sendUpstreamAnswer(request, reply, answer);
      // By the specification, a 201 without a body.
      return reply.status(201).send();
    },
  });
}

/** Gives the claim back if the upstream refused the request, or never got it. A body is not read. */
async function settleClaim(claim: GrantedClaim, asking: Promise<UpstreamAnswer>): Promise<UpstreamAnswer> {
  let mayBeDone = false;
  try {
    const answer = await asking;
    mayBeDone = answer.kind === 'success';
    if (answer.kind === 'success' && isStream(answer.body)) answer.body.destroy();
    return answer;
  } catch (error) {
    mayBeDone = mayHaveArrived(error);
    throw error;
  } finally {
    if (!mayBeDone) await claim.giveBack();
  }
}

function registerNodeRpc(scope: Server, ask: Ask, methods: ReadonlySet<string>): void {
  scope.route({
    method: 'POST',
    url: RPC_PATH,
    bodyLimit: RPC_BODY_LIMIT,
    config: { access: RPC_ACCESS },
    schema: {
      ...rpcSchema(methods, RPC_BODY_LIMIT),
      params: RPC_PARAMS,
      response: { ...ERRORS, ...passedBodyErrorResponses(503), ...rpcResponses(ERRORS) },
    },
    // The body's schema is for the OpenAPI document; checkRpcCalls names the field of a call.
    validatorCompiler: (route) => (values) => {
      if (route.httpPart === 'params') checkParameters(RPC_PARAMS, values as Parameters);
      return true;
    },
    async handler(request, reply) {
      const calls = attempt(() => checkRpcCalls(request.body, methods), RpcCallError);
      if (calls instanceof RpcCallError) {
        request.context.fail({ code: 'invalid_request' });
        return reply.status(calls.status).type(JSON_TYPE).send(calls.toJson());
      }
      await request.context.chargeMore((calls.count - 1) * RPC_ACCESS.units, 'send it in parts');
      const { chain } = request.params as { readonly chain: string };
      return sendRpcAnswer(
        request,
        reply,
        await ask(request, reply, { upstream: 'node', subject: chain, body: calls.body }),
      );
    },
  });
}

function registerUnknown(scope: Server, ask: Ask): void {
  scope.route({
    method: ['GET', 'HEAD'],
    url: '/v1/*',
    exposeHeadRoute: false,
    config: { access: DATA_ACCESS },
    schema: { hide: true },
    async handler(request: FastifyRequest, reply: FastifyReply) {
      const { path } = splitTarget(request.raw.url ?? '');
      if (ACCOUNT_PATH.test(path) || CHECKED_PATHS.some((pattern) => pattern.test(path))) throw noSuchRoute(request);
      const [, network] = /^\/v1\/networks\/([^/]+)/.exec(path) ?? [];
      const upstream = isMetricsRoute(path) ? 'metrics' : upstreamOf(network);
      const answer = await ask(request, reply, { upstream, subject: UNKNOWN_SUBJECT });
      return sendUpstreamAnswer(request, reply, answer);
    },
  });
}

/** Paths of an account of the data API: webhooks, exports, usage, logs, keys. Requests carry our key, so they would expose our account. */
const ACCOUNT_PATH = /^\/v1\/(webhooks|operations|\w*usageMetrics|\w*logs|\w*keys?|\w*secrets?)(?![\w-])/i;

/** Paths of checked routes in any case, with an optional slash at the end, and those of signature aggregation, which no upstream serves. */
const CHECKED_PATHS = [...UPSTREAM_ENDPOINTS.map(({ path }) => path), REINDEX_PATH, '/v1/signatureAggregator/*'].map(
  (path) => {
    const source = path
      .replaceAll('::', '\0')
      .replaceAll(/:\w+(\([^)]*\))?/g, '[^/]+')
      .replace('*', '.*')
      .replaceAll('\0', ':');
    return new RegExp(`^${source}/?$`, 'i');
  },
);
