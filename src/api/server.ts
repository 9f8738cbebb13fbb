import type { Registry } from 'prom-client';
import { OPERATIONS_ACCESS } from '../http/access/route-access.ts';
import { RequestLog } from '../http/observability/request-log.ts';
import type { Server } from '../http/request/http-server.ts';
import { type BaseServerOptions, createBaseServer } from '../http/server/base-server.ts';
import { createMetricsText } from '../http/server/metrics-server.ts';
import type { Clock } from '../lib/concurrency/clock.ts';
import type { Network } from '../network/network.ts';
import { registerUpstreamRoutes, type UpstreamRouteOptions } from '../proxy/routes/upstream.ts';
import { registerAggregateSignatures } from './aggregation/aggregate-signatures.ts';
import { registerGoRoutes } from './go-aggregator/go-routes.ts';
import { registerHealth, type ServiceState } from './health/health.ts';
import { registerStartPage, type SendPage } from './health/start-page.ts';
import { registerMessages } from './messages/messages.ts';
import { registerOpenApi } from './openapi/docs-page.ts';
import { type AggregationExamples, publicExample } from './openapi/example-request.ts';
import { RequestHistory, recordIn } from './requests/request-history.ts';
import { registerRequests } from './requests/requests.ts';
import { registerSubnets } from './subnets/subnets.ts';
import { registerUptime } from './subnets/uptime.ts';

export interface ServerOptions extends BaseServerOptions {
  /** At least one. A network that is not up answers its requests with an error. */
  readonly networks: readonly Network[];
  /** The version of this service. */
  readonly version: string;
  /** The metrics at `/metrics`. */
  readonly registry: Registry;
  /** Whether the metrics have a separate listener, and no route here. */
  readonly areMetricsElsewhere?: boolean;
  readonly state?: ServiceState;
  /** The rest of the data API, the metrics service and the node RPC. */
  readonly upstream?: UpstreamRouteOptions;
  /** Records of requests; those of all listeners of the process. */
  readonly requests?: RequestHistory;
  /** Requests to try at `/docs`; by default those of a public network. */
  readonly examples?: () => AggregationExamples | undefined;
  /** Answers browsers at `/`; without it they get the same JSON as programs. */
  readonly startPage?: SendPage;
  /** Registers more routes, with the same error form and in the same OpenAPI document. */
  readonly registerMore?: (server: Server) => void;
}

/**
 * Creates the service's HTTP server with all routes, not yet listening. A folder here has the routes of one group, their schemas and
 * their records; `http/` has what all routes share.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  const { networks, clock, access, metrics, upstream, requests = new RequestHistory(clock) } = options;
  const log = new RequestLog(options.logger, clock);
  const server = createBaseServer({ ...options, onRecordedEnd: recordIn(requests, clock) }, log);
  const isLimited = access !== undefined;
  const names = networks.flatMap(({ pathNames }) => pathNames);
  registerOpenApi(server, { isLimited, example: options.examples ?? (() => publicExample(names)) });
  registerAggregateSignatures(server, networks, clock);
  await registerGoRoutes(server, { ...{ networks, log, metrics, clock, isLimited }, withNames: true });
  registerSubnets(server, networks);
  registerMessages(server, networks);
  registerUptime(server, networks);
  registerRequests(server, requests, access);
  registerHealth(server, networks, options.state);
  registerStartPage(server, networks, options.version, options.startPage);
  if (options.areMetricsElsewhere !== true) registerMetrics(server, options.registry, clock);
  if (upstream !== undefined) await registerUpstreamRoutes(server, upstream);
  options.registerMore?.(server);
  await server.ready();
  return server;
}

function registerMetrics(server: Server, registry: Registry, clock: Clock): void {
  const text = createMetricsText(registry, clock);
  server.get('/metrics', { config: { access: OPERATIONS_ACCESS }, schema: { hide: true } }, async (_request, reply) =>
    reply.type(registry.contentType).send(await text()),
  );
}
