import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import type { TSchema } from 'typebox';
import { chargeMore } from '../../http/access/access.ts';
import { clientOf } from '../../http/access/client-identity.ts';
import { DATA_ACCESS, RPC_ACCESS } from '../../http/access/route-access.ts';
import { errorResponses, metricsErrorResponses, passedBodyErrorResponses } from '../../http/errors/error-body.ts';
import {
  badRequest,
  ClientGone,
  type HttpError,
  noSuchRoute,
  rateLimited,
  unknownNetwork,
} from '../../http/errors/http-error.ts';
import { checkParameters, type Parameters } from '../../http/parameters/check-parameters.ts';
import { findTargetProblem, splitTarget } from '../../http/request/canonical-target.ts';
import type { Server } from '../../http/request/http-server.ts';
import { JSON_TYPE, PLAIN_SERIALIZER } from '../../http/request/json-type.ts';
import { untilClientGone } from '../../http/request/until-client-gone.ts';
import { Type } from '../../lib/encoding/schema.ts';
import type { LimitCounters } from '../../store/local/limit-counters.ts';
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
import { isStream } from '../client/upstream-answer.ts';
import { mayHaveArrived } from '../client/upstream-error.ts';
import type { UpstreamAnswer, UpstreamName, Upstreams } from '../client/upstreams.ts';
import { type CheckedCalls, checkRpcCalls, RpcCallError, type RpcLimits } from './rpc-calls.ts';
import { rpcResponses, rpcSchema } from './rpc-schema.ts';
import { sendRpcAnswer, sendUpstreamAnswer } from './upstream-reply.ts';

export interface UpstreamRouteOptions {
  readonly upstreams: Upstreams;
  readonly limits: LimitCounters;
  /** For one answer, its body included. */
  readonly timeoutMs: number;
  /** Whether GETs under /v1 that the specification does not name are passed on, unchecked but for the form of their path. */
  readonly passUnknown: boolean;
  readonly rpc: RpcLimits;
}

const STATUSES = [400, 401, 403, 404, 429, 500, 502, 503] as const;
const ERRORS = errorResponses(...STATUSES);
const METRICS_ERRORS = metricsErrorResponses(...STATUSES);
/** A full batch of 20 calls that ask for the UTXOs of a hundred addresses each. */
const RPC_BODY_LIMIT = 100 * 1024;
/** Requests that the specification does not name: what each of them is about is not known. */
const UNKNOWN_SUBJECT = 'unknown';

export async function registerUpstreamRoutes(server: Server, options: UpstreamRouteOptions): Promise<void> {
  const { upstreams, timeoutMs, limits } = options;
  await server.register(async (scope: Server) => {
    scope.addHook('onRequest', ({ raw }, _reply, done) => done(findTargetError(raw.url ?? '')));
    scope.setValidatorCompiler(({ schema }) => (values) => {
      checkParameters(schema as TSchema, values as Parameters);
      return true;
    });
    // Answers come as bytes, and errors are small: without this, serializers for hundreds of fields would be compiled at each start.
    scope.setSerializerCompiler(PLAIN_SERIALIZER);
    // Calls are parsed by checkRpcCalls, which keeps their numbers as they are written.
    scope.removeContentTypeParser('application/json');
    scope.addContentTypeParser(
      'application/json',
      scope.bodies.parser((_request, text, done) => done(null, text)),
    );

    const ask = createAsk(upstreams, timeoutMs);
    for (const endpoint of UPSTREAM_ENDPOINTS) registerEndpoint(scope, endpoint, ask);
    registerReindex(scope, ask, limits);
    registerNodeRpc(scope, ask, options.rpc);
    if (options.passUnknown) registerUnknown(scope, ask);
  });
}

interface Question {
  readonly upstream: UpstreamName;
  /** Whose failures it may share: see `UpstreamRequest`. */
  readonly subject: string;
  /** Multiple of the configured time limit. */
  readonly patience?: number | undefined;
  readonly cache?: CachePolicy | undefined;
  /** JSON. */
  readonly body?: string;
}

type Ask = (request: FastifyRequest, reply: FastifyReply, question: Question) => Promise<UpstreamAnswer>;

/**
 * Asks an upstream for the target of a request. Nothing of the request's headers goes with it. A HEAD is asked as a GET: whether the
 * answer can be passed on, its ETag and its length are known by its body only, and what can be cached is kept for the next GET.
 *
 * @throws {ClientGone} where nobody waits for the answer any more
 */
function createAsk(upstreams: Upstreams, timeoutMs: number): Ask {
  return async (request, reply, { upstream, subject, patience = 1, cache, body }) => {
    const answer = await upstreams.request(
      upstream,
      {
        method: request.method === 'POST' ? 'POST' : 'GET',
        target: request.raw.url ?? '',
        requestID: request.id,
        client: clientOf(request),
        subject,
        timeoutMs: timeoutMs * patience,
        signal: untilClientGone(reply),
        span: request.span,
        body,
      },
      cache,
    );
    if (!reply.raw.destroyed) return answer;
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
      200: { ...response, description: 'As the upstream answers' },
      304: Type.Null({ description: 'What If-None-Match names is still the answer' }),
      ...(isMetrics ? METRICS_ERRORS : ERRORS),
    },
  };
  for (const method of ['GET', 'HEAD'] as const) {
    scope.route({
      method,
      url: path,
      // Fastify's own route for HEAD would read a stream to its end.
      exposeHeadRoute: false,
      config: { access: DATA_ACCESS },
      schema: method === 'GET' ? schema : { ...schema, hide: true },
      onRequest: requireNetwork,
      async handler(request, reply) {
        const ofPath = request.params as Parameters;
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

/** As on the routes of aggregation, a network that is not served is a 404 and no malformed parameter. */
function requireNetwork({ params }: FastifyRequest, _reply: FastifyReply, done: (refusal?: HttpError) => void): void {
  const { network } = params as { readonly network?: string };
  const isServed = network === undefined || DATA_NETWORKS.includes(network);
  done(isServed ? undefined : unknownNetwork(network, DATA_NETWORKS));
}

/** What belongs to no network is asked of the data API for EVM chains. */
function upstreamOf(network: unknown): UpstreamName {
  return (typeof network === 'string' ? publicNetworkNamed(network)?.name : undefined) ?? 'evm';
}

/** The specification: once an hour for each token. */
const REINDEX_INTERVAL_MS = 60 * 60 * 1_000;

function registerReindex(scope: Server, ask: Ask, limits: LimitCounters): void {
  const schema: FastifySchema = {
    operationId: 'reindexNftToken',
    tags: ['EVM chains'],
    summary: "Index a token's metadata again, at most once an hour",
    params: REINDEX_PARAMS,
    response: { 201: Type.Null({ description: 'The upstream took the request; no body' }), ...ERRORS },
  };
  scope.route({
    method: 'POST',
    url: REINDEX_PATH,
    config: { access: DATA_ACCESS },
    schema,
    async handler(request, reply) {
      const { chainId, address, tokenId } = request.params as Record<'chainId' | 'address' | 'tokenId', string>;
      const chain = canonicalChainId(chainId);
      // The same token however it is written.
      const token = `reindex:${chain}:${address.toLowerCase()}:${BigInt(tokenId)}`;
      const claim = await limits.claim(token, REINDEX_INTERVAL_MS);
      if (!claim.isGranted) throw rateLimited('tokenId was reindexed within the last hour', claim.leftMs);
      // Given back before the answer goes out, so that whoever has read it may ask another replica at once.
      if (reply.raw.destroyed) {
        await claim.giveBack();
        throw new ClientGone();
      }
      try {
        const answer = await ask(request, reply, { upstream: 'evm', subject: chain });
        if (answer.kind === 'refusal') {
          await claim.giveBack();
          return await sendUpstreamAnswer(request, reply, answer);
        }
        // The specification has an empty body, and clients know no other status than 201.
        if (answer.kind === 'success' && isStream(answer.body)) answer.body.destroy();
        return await reply.status(201).send();
      } catch (error) {
        // The token may be reindexed though the answer was late, broke off, or was not waited for. Then it stays claimed: else
        // clients could have it reindexed again and again by leaving each time.
        if (!mayHaveArrived(error)) await claim.giveBack();
        throw error;
      }
    },
  });
}

function registerNodeRpc(scope: Server, ask: Ask, limits: RpcLimits): void {
  scope.route({
    method: 'POST',
    url: RPC_PATH,
    bodyLimit: RPC_BODY_LIMIT,
    config: { access: RPC_ACCESS },
    schema: {
      ...rpcSchema(limits, RPC_BODY_LIMIT),
      params: RPC_PARAMS,
      response: { ...ERRORS, ...passedBodyErrorResponses(), ...rpcResponses(limits, ERRORS) },
    },
    // The body's schema is there for the document; the check itself names fields of single calls.
    validatorCompiler: (route) => (values) => {
      if (route.httpPart === 'params') checkParameters(RPC_PARAMS, values as Parameters);
      return true;
    },
    async handler(request, reply) {
      const calls = readCalls(request.body, limits);
      if (calls instanceof RpcCallError) {
        request.errorCode = 'invalid_request';
        return reply.status(calls.status).type(JSON_TYPE).send(calls.toJson());
      }
      await chargeMore(request, reply, (calls.count - 1) * RPC_ACCESS.units, 'send it in parts');
      const { chain } = request.params as { readonly chain: string };
      return sendRpcAnswer(
        request,
        reply,
        await ask(request, reply, { upstream: 'node', subject: chain, body: calls.body }),
      );
    },
  });
}

function readCalls(body: unknown, limits: RpcLimits): CheckedCalls | RpcCallError {
  if (typeof body !== 'string' || body === '') {
    return new RpcCallError(
      'parse',
      'body is missing: a JSON-RPC call is needed, with the header content-type: application/json',
    );
  }
  try {
    return checkRpcCalls(body, limits);
  } catch (error) {
    if (error instanceof RpcCallError) return error;
    throw error;
  }
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
      const answer = await ask(request, reply, { upstream: upstreamOf(network), subject: UNKNOWN_SUBJECT });
      return sendUpstreamAnswer(request, reply, answer);
    },
  });
}

/**
 * What belongs to an account of the data API: webhooks and their secret, exports, the use of its keys and the log of its requests. Our key
 * goes with every request, so that anybody who asks would be told of ours.
 */
const ACCOUNT_PATH = /^\/v1\/(webhooks|operations|\w*usageMetrics|\w*logs|\w*keys?|\w*secrets?)(?![\w-])/i;

/**
 * Paths that servers which ignore case or a slash at the end would take for one of a checked route; and those of signature
 * aggregation, which nobody behind us serves.
 */
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

function findTargetError(url: string): HttpError | undefined {
  const problem = findTargetProblem(splitTarget(url));
  return problem === undefined ? undefined : badRequest(`the ${problem}`);
}
