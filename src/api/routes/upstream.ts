import replyFrom from '@fastify/reply-from';
import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import { type TSchema, Type } from 'typebox';
import type { GrantedClaim, LimitCounters } from '../../store/limit-counters.ts';
import type { CachedResponse, CachePolicy } from '../../upstream/response-cache.ts';
import type { UpstreamResponse } from '../../upstream/upstream-client.ts';
import { mayHaveArrived } from '../../upstream/upstream-error.ts';
import type { UpstreamName, Upstreams } from '../../upstream/upstreams.ts';
import { chargeMore } from '../access.ts';
import { findTargetProblem, splitTarget } from '../canonical-target.ts';
import { checkParameters, type Parameters } from '../check-parameters.ts';
import { errorResponses } from '../error-body.ts';
import { handleNotFound } from '../error-handler.ts';
import { badRequest, ClientGone, type HttpError, rateLimited } from '../http-error.ts';
import type { Server } from '../http-server.ts';
import { DATA_ACCESS, RPC_ACCESS } from '../route-access.ts';
import { checkRpcCalls, type RpcLimits } from '../rpc-calls.ts';
import { untilClientGone } from '../until-client-gone.ts';
import {
  canonicalChainId,
  REINDEX_PARAMS,
  REINDEX_PATH,
  RPC_PARAMS,
  RPC_PATH,
  UPSTREAM_ENDPOINTS,
  type UpstreamEndpointDefinition,
} from '../upstream-endpoints.ts';
import { sendUpstreamAnswer } from '../upstream-reply.ts';

export interface UpstreamRouteOptions {
  readonly upstreams: Upstreams;
  readonly limits: LimitCounters;
  /** For one answer, its body included. */
  readonly timeoutMs: number;
  /** Whether GETs under /v1 that no document names are passed on, unchecked but for the form of their path. */
  readonly passUnknown: boolean;
  readonly rpc: RpcLimits;
}

const ERRORS = errorResponses(400, 401, 403, 404, 429, 500, 502, 503);
/** A full batch of 20 whose calls ask for the UTXOs of a hundred addresses each. */
const RPC_BODY_LIMIT = 100 * 1024;

/** What the dispatcher below reply-from is to know of a request beyond its target. */
interface Passage {
  readonly upstream: UpstreamName;
  readonly target: string;
  readonly timeoutMs: number;
  readonly cache: CachePolicy | undefined;
  readonly signal: AbortSignal;
  readonly isDocumented: boolean;
}
/** reply-from hands the headers down as they are: the only way there is to tell one request from another. */
const PASSAGE = Symbol('passage');

export async function registerUpstreamRoutes(server: Server, options: UpstreamRouteOptions): Promise<void> {
  const { upstreams, timeoutMs, limits } = options;
  await server.register(async (scope: Server) => {
    scope.addHook('onRequest', ({ raw }, _reply, done) => done(findTargetError(raw.url ?? '')));
    scope.setValidatorCompiler(({ schema }) => (values) => {
      checkParameters(schema as TSchema, values as Parameters);
      return true;
    });
    // Answers come as bytes, and errors are small: no serializers are compiled for hundreds of fields at each start.
    scope.setSerializerCompiler(() => (body) => JSON.stringify(body));
    // Calls are parsed by checkRpcCalls, which keeps their numbers as they are written.
    scope.removeContentTypeParser('application/json');
    scope.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => done(null, body));
    await scope.register(replyFrom, {
      cacheURLs: 1,
      disableRequestLogging: true,
      undici: { request: createDispatcher(upstreams) } as never,
    });

    const pass = createPass(timeoutMs);
    for (const endpoint of UPSTREAM_ENDPOINTS) registerEndpoint(scope, endpoint, pass);
    registerReindex(scope, pass, limits);
    registerNodeRpc(scope, pass, options.rpc);
    if (options.passUnknown) registerUnknown(scope, pass);
  });
}

type Pass = (
  request: FastifyRequest,
  reply: FastifyReply,
  how: {
    readonly upstream: UpstreamName;
    readonly patience?: number | undefined;
    readonly cache?: CachePolicy | undefined;
    /** JSON; null for a POST without one. */
    readonly body?: string | null;
    /** Default true. */
    readonly isDocumented?: boolean;
    /** Told of the upstream's status before it is sent on. */
    readonly onStatus?: (status: number) => void;
  },
) => FastifyReply;

/** Passes a request on through reply-from, with nothing of its headers: what upstreams are told is ours to say. */
function createPass(timeoutMs: number): Pass {
  return (request, reply, { upstream, patience = 1, cache, body, isDocumented = true, onStatus }) => {
    const passage: Passage = {
      upstream,
      target: request.raw.url ?? '',
      timeoutMs: timeoutMs * patience,
      cache,
      signal: untilClientGone(reply),
      isDocumented,
    };
    // The target goes with the passage, byte for byte: as a URL, reply-from would mend it.
    return reply.from('/', {
      getUpstream: () => 'http://upstream',
      queryString: () => '',
      ...(body !== undefined && { body, contentType: 'application/json' }),
      rewriteRequestHeaders: () => ({ [PASSAGE]: passage }),
      rewriteHeaders: () => ({}),
      // By default it would ask up to ten times again after a 503.
      retryDelay: () => null,
      onResponse(_request, _reply, response) {
        const { answer } = response.stream as unknown as PassedAnswer;
        onStatus?.(statusOf(answer));
        sendUpstreamAnswer(request, reply, answer);
      },
      onError(_reply, { error }) {
        // Wrapped by reply-from as an error of its own.
        reply.send(error.cause instanceof Error ? error.cause : error);
      },
    });
  };
}

function statusOf(answer: CachedResponse | UpstreamResponse): number {
  return answer.kind === 'cached' ? answer.response.status : answer.status;
}

/** The part of undici's dispatcher that reply-from uses, with our pools, cache, deadlines and circuit breakers below it. */
function createDispatcher(upstreams: Upstreams) {
  return (
    { method, headers, body }: DispatchedRequest,
    callback: (error: unknown, response?: object) => void,
  ): void => {
    const { upstream, cache, ...passage } = headers[PASSAGE];
    upstreams
      .request(upstream, { ...passage, method, ...(typeof body === 'string' && body !== '' && { body }) }, cache)
      .then(
        (answer) => callback(null, { statusCode: statusOf(answer), headers: {}, body: passOn(answer) }),
        (error: unknown) => callback(error),
      );
  };
}

/** What reply-from takes for a stream. It destroys it where the client has left meanwhile. */
interface PassedAnswer {
  readonly answer: CachedResponse | UpstreamResponse;
  destroy(): void;
}

function passOn(answer: CachedResponse | UpstreamResponse): PassedAnswer {
  return {
    answer,
    destroy() {
      if (answer.kind === 'success' && !Buffer.isBuffer(answer.body)) answer.body.destroy();
    },
  };
}

interface DispatchedRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: { readonly [PASSAGE]: Passage };
  readonly body?: unknown;
}

function registerEndpoint(scope: Server, endpoint: UpstreamEndpointDefinition, pass: Pass): void {
  const { method, path, params, query, response, rules, findConflict, cache, patience } = endpoint;
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
      ...ERRORS,
    },
  };
  scope.route({
    method,
    url: path,
    exposeHeadRoute: false,
    config: { access: DATA_ACCESS },
    schema,
    handler(request, reply) {
      const ofPath = request.params as Parameters;
      const conflict = findConflict?.(request.query as Parameters, ofPath);
      if (conflict !== undefined) throw badRequest(conflict.join(' '));
      const upstream = endpoint.service === 'metrics service' ? 'metrics' : upstreamOf(ofPath['network']);
      return pass(request, reply, { upstream, cache: cache(ofPath), patience });
    },
  });
}

/** `testnet` is an old name of fuji; what is of no network is of EVM chains. */
function upstreamOf(network: unknown): UpstreamName {
  if (network === 'mainnet') return 'mainnet';
  return network === 'fuji' || network === 'testnet' ? 'fuji' : 'evm';
}

/** The specification: once an hour for each token. */
const REINDEX_INTERVAL_MS = 60 * 60 * 1_000;

function registerReindex(scope: Server, pass: Pass, limits: LimitCounters): void {
  /** Of requests that the upstream has not carried out, as far as is known: given back when they are answered. */
  const claims = new WeakMap<FastifyRequest, GrantedClaim>();
  const schema: FastifySchema = {
    operationId: 'reindexNftToken',
    tags: ['EVM chains'],
    summary: "Index a token's metadata anew, at most once an hour",
    params: REINDEX_PARAMS,
    response: { 201: Type.Null({ description: 'No body' }), ...ERRORS },
  };
  scope.route({
    method: 'POST',
    url: REINDEX_PATH,
    config: { access: DATA_ACCESS },
    schema,
    async handler(request, reply) {
      const { chainId, address, tokenId } = request.params as Record<'chainId' | 'address' | 'tokenId', string>;
      // One token however it is written.
      const claim = await limits.claim(
        `reindex:${canonicalChainId(chainId)}:${address.toLowerCase()}:${BigInt(tokenId)}`,
        REINDEX_INTERVAL_MS,
      );
      if (!claim.isGranted) throw rateLimited('tokenId was reindexed within the last hour', claim.leftMs);
      if (reply.raw.destroyed) {
        await claim.giveBack();
        throw new ClientGone();
      }
      claims.set(request, claim);
      return pass(request, reply, {
        upstream: 'evm',
        body: null,
        onStatus: (status) => {
          if (status >= 200 && status < 300) claims.delete(request);
        },
      });
    },
    onError(request, _reply, error, done) {
      // The token may be reindexed though the answer was late, broke off, or was not waited for. It stays claimed: else who
      // asks and leaves, again and again, would have it reindexed each time.
      if (mayHaveArrived(error)) claims.delete(request);
      done();
    },
    async onSend(request) {
      // The answer waits, so that whoever has read it may at once ask another replica.
      await claims.get(request)?.giveBack();
    },
  });
}

function registerNodeRpc(scope: Server, pass: Pass, limits: RpcLimits): void {
  const Call = Type.Object(
    {
      jsonrpc: Type.Literal('2.0'),
      id: Type.Union([Type.Number(), Type.String()], { description: 'Goes to the node as it is written' }),
      method: Type.Enum([...limits.methods], { type: 'string' }),
      params: Type.Optional(Type.Object({}, { description: 'Goes to the node as it is written' })),
    },
    { additionalProperties: false },
  );
  const schema: FastifySchema = {
    operationId: 'callNode',
    tags: ['Node RPC'],
    summary: "JSON-RPC of the network's X-Chain and P-Chain, and of other blockchains",
    description:
      `A batch has at most ${limits.maxBatch} calls, and costs as many as it has: one that costs more than a minute's units ` +
      `is refused with 400; avalanchego itself answers batches with an error. A body has at most ${RPC_BODY_LIMIT} bytes.`,
    params: RPC_PARAMS,
    response: { 200: Type.Object({}, { description: 'A JSON-RPC response, or a list of them' }), ...ERRORS },
    // The text, checked call by call; this is for the document.
    body: Type.Union([Call, Type.Array(Call, { minItems: 1, maxItems: limits.maxBatch })]),
  };
  scope.route({
    method: 'POST',
    url: RPC_PATH,
    config: { access: RPC_ACCESS },
    bodyLimit: RPC_BODY_LIMIT,
    schema,
    // The body's schema is there for the document; its check names fields of single calls.
    validatorCompiler: (route) => (values) => {
      if (route.httpPart === 'params') checkParameters(RPC_PARAMS, values as Parameters);
      return true;
    },
    async handler(request, reply) {
      if (typeof request.body !== 'string' || request.body === '') {
        throw badRequest('body is missing: a JSON-RPC call is needed, with the header content-type: application/json');
      }
      const { body, count } = checkRpcCalls(request.body, limits);
      await chargeMore(request, reply, (count - 1) * RPC_ACCESS.units);
      return pass(request, reply, { upstream: 'node', body });
    },
  });
}

function registerUnknown(scope: Server, pass: Pass): void {
  scope.route({
    method: 'GET',
    url: '/v1/*',
    exposeHeadRoute: false,
    config: { access: DATA_ACCESS },
    schema: { hide: true },
    handler(request: FastifyRequest, reply: FastifyReply) {
      const { path } = splitTarget(request.raw.url ?? '');
      if (CHECKED_PATHS.some((pattern) => pattern.test(path))) return handleNotFound(request, reply);
      const [, network] = /^\/v1\/networks\/([^/]+)/.exec(path) ?? [];
      return pass(request, reply, { upstream: upstreamOf(network), isDocumented: false });
    },
  });
}

/**
 * Paths that servers which look neither at case nor at a slash at the end would take for one of a checked route; and those of
 * signature aggregation, which nobody behind us serves.
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
