import type { Registry } from 'prom-client';
import type { Server } from '../http/request/http-server.ts';
import { createNetworkOfPath } from '../http/request/network-of-path.ts';
import { type BaseServerOptions, createBaseServer } from '../http/server/base-server.ts';
import { createMetricsText, registerMetrics } from '../http/server/metrics-server.ts';
import type { Network } from '../network/network.ts';
import { registerUpstreamRoutes, type UpstreamRouteOptions } from '../proxy/routes/upstream.ts';
import { registerAggregateSignatures } from './aggregation/aggregate-signatures.ts';
import { registerDestinations } from './aggregation/destinations.ts';
import { aggregatorErrorFacts } from './errors/aggregator-error-facts.ts';
import { registerFeed } from './feed/feed-routes.ts';
import { registerGoRoutes } from './go-aggregator/go-routes.ts';
import { registerHealth, type ServiceState } from './health/health.ts';
import { registerStartPage, type SendPage } from './health/start-page.ts';
import { registerMessages } from './messages/messages.ts';
import { registerOpenApi } from './openapi/docs-page.ts';
import { type AggregationExamples, publicExample } from './openapi/example-request.ts';
import type { RequestHistory } from './requests/request-history.ts';
import { registerRequests } from './requests/requests.ts';
import { registerSubnetHistory } from './subnets/subnet-history.ts';
import { registerSubnetUptimes } from './subnets/subnet-uptimes.ts';
import { registerSubnets } from './subnets/subnets.ts';
import { registerUptime } from './subnets/uptime.ts';
import { registerValidations } from './subnets/validations.ts';

export interface ServerOptions extends BaseServerOptions, ServiceState {
  /** At least one. A network that is not up answers its requests with an error. */
  readonly networks: readonly Network[];
  /** The version of this service. */
  readonly version: string;
  /** The metrics at `/metrics`. */
  readonly registry: Registry;
  /** Whether the metrics have a separate listener, and no route here. */
  readonly areMetricsElsewhere: boolean;
  /** The rest of the data API, the metrics service and the node RPC. */
  readonly upstream?: UpstreamRouteOptions;
  /** Records of requests; those of all listeners of the process. */
  readonly requests: RequestHistory;
  /** Requests to try at `/docs`; by default those of a public network. */
  readonly examples?: (() => AggregationExamples | undefined) | undefined;
  /** Answers browsers at `/`; without it they get the same JSON as programs. */
  readonly startPage?: SendPage | undefined;
  /** Registers more routes, with the same error form and in the same OpenAPI document. */
  readonly registerMore?: (server: Server) => void;
}

/**
 * Creates the service's HTTP server with all routes, not yet listening. A folder here has the routes of one group, their schemas and
 * their records; `http/` has what all routes share.
 */
export async function createServer(options: ServerOptions): Promise<Server> {
  const { networks, clock, metrics, registry, upstream, bodies } = options;
  const server = createBaseServer({ ...options, factsOfError: aggregatorErrorFacts });
  const names = networks.flatMap(({ pathNames }) => pathNames);
  const paths = createNetworkOfPath(networks);
  registerOpenApi(server, options.examples ?? (() => publicExample(names)));
  registerAggregateSignatures(server, paths, clock);
  await registerGoRoutes(server, { networks, metrics, clock, bodies, withNames: true });
  registerSubnets(server, paths);
  registerSubnetHistory(server, paths);
  registerDestinations(server, paths);
  registerMessages(server, paths);
  registerFeed(server, { networks, paths, clock, metrics, access: options.access });
  registerUptime(server, paths);
  registerValidations(server, paths);
  registerSubnetUptimes(server, paths);
  registerRequests(server, options.requests, options.access);
  registerHealth(server, networks, paths, options);
  registerStartPage(server, names, options.version, options.startPage);
  if (!options.areMetricsElsewhere) {
    registerMetrics(server, registry.contentType, createMetricsText(registry, clock));
  }
  if (upstream !== undefined) await registerUpstreamRoutes(server, bodies, upstream);
  options.registerMore?.(server);
  await server.ready();
  return server;
}
