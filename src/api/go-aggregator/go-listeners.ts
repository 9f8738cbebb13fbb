import type { Registry } from 'prom-client';
import { Type } from 'typebox';
import type { Server } from '../../http/request/http-server.ts';
import { OPERATIONS_ACCESS } from '../../http/request/route-access.ts';
import { type BaseServerOptions, createBaseServer } from '../../http/server/base-server.ts';
import { listen } from '../../http/server/listen-error.ts';
import { registerMetrics } from '../../http/server/metrics-server.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { oneOf, optionalText, text } from '../../lib/encoding/schema.ts';
import type { Network } from '../../network/network.ts';
import { aggregatorErrorFacts } from '../errors/aggregator-error-facts.ts';
import { decideReadiness, type ServiceState } from '../health/health.ts';
import { GO_ERROR_FORM } from './go-error-form.ts';
import { goMetricsText } from './go-metrics.ts';
import { registerGoRoutes } from './go-routes.ts';

/** The Go aggregator's two ports for one network; undefined is none, 0 any free one. */
export interface GoPorts {
  readonly network: Network;
  readonly apiPort?: number | undefined;
  readonly metricsPort?: number | undefined;
}

/** URLs of a network's two ports. */
export interface GoUrls {
  readonly api: string | undefined;
  readonly metrics: string | undefined;
}

export interface GoListenersOptions extends BaseServerOptions, Pick<ServiceState, 'isStopping'> {
  readonly host: string;
  readonly ports: readonly GoPorts[];
  readonly registry: Registry;
}

/**
 * Opens the Go aggregator's ports of each network.
 *
 * @returns the URLs by the network's name, and `close`, which drains as the main listener does
 */
export async function openGoListeners(options: GoListenersOptions) {
  const servers: Server[] = [];
  const urls = new Map<string, GoUrls>();
  const close = async (): Promise<void> => void (await Promise.all(servers.map((server) => server.close())));

  async function open(network: Network, port: number | undefined, name: 'apiPort' | 'metricsPort') {
    if (port === undefined) return undefined;
    const server = await createGoServer(network, options);
    servers.push(server);
    const settings = { host: 'server.host', port: `networks.${network.name}.goApi.${name}` };
    return listen(server, { host: options.host, port }, settings);
  }

  try {
    for (const { network, apiPort, metricsPort } of options.ports) {
      const api = await open(network, apiPort, 'apiPort');
      const metrics = await open(network, metricsPort, 'metricsPort');
      if (api !== undefined || metrics !== undefined) urls.set(network.name, { api, metrics });
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { urls, close };
}

/** The Go aggregator serves all its paths on both ports. */
async function createGoServer(network: Network, options: GoListenersOptions): Promise<Server> {
  const { metrics, clock, bodies, isStopping } = options;
  const server = createBaseServer({ ...options, factsOfError: aggregatorErrorFacts }, GO_ERROR_FORM);
  await registerGoRoutes(server, { metrics, clock, bodies, networks: [network], withNames: false });
  registerHealth(server, network, clock, isStopping);
  registerMetrics(server, options.registry.contentType, () => goMetricsText(options.registry, network.name));
  await server.ready();
  return server;
}

const CHECK = 'signature-aggregator-health';
const UpOrDown = oneOf(['up', 'down']);
const Health = Type.Object({
  status: UpOrDown,
  details: Type.Object({ [CHECK]: Type.Object({ status: UpOrDown, timestamp: text(), error: optionalText() }) }),
});

/** The status of `/health/ready/{network}` in the Go aggregator's form. */
function registerHealth(server: Server, network: Network, clock: Clock, isStopping: () => boolean): void {
  server.get(
    '/health',
    { config: { access: OPERATIONS_ACCESS }, schema: { response: { 200: Health, 503: Health } } },
    async (_request, reply) => {
      const readiness = network.readiness();
      const { isReady, status } = decideReadiness([readiness], isStopping());
      const check = {
        status: isReady ? ('up' as const) : ('down' as const),
        timestamp: new Date(clock.now()).toISOString(),
        ...(!isReady && { error: status === 'stopping' ? status : (readiness.reason ?? status) }),
      };
      return reply.status(isReady ? 200 : 503).send({ status: check.status, details: { [CHECK]: check } });
    },
  );
}
