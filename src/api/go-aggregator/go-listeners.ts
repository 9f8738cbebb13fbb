import type { Registry } from 'prom-client';
import { OPERATIONS_ACCESS } from '../../http/access/route-access.ts';
import { RequestLog } from '../../http/observability/request-log.ts';
import type { Server } from '../../http/request/http-server.ts';
import { type BaseServerOptions, createBaseServer } from '../../http/server/base-server.ts';
import { namingSettings } from '../../http/server/listen-error.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { oneOf, optionalText, Type, text } from '../../lib/encoding/schema.ts';
import type { Network } from '../../network/network.ts';
import { isServing } from '../health/health.ts';
import { GO_ERROR_FORM } from './go-error-form.ts';
import { goMetricsText } from './go-metrics.ts';
import { registerGoRoutes } from './go-routes.ts';

/** The Go aggregator's two ports for one network; undefined is none, 0 any free one. */
export interface GoPorts {
  readonly network: Network;
  readonly apiPort?: number | undefined;
  readonly metricsPort?: number | undefined;
}

export interface GoListenersOptions extends Omit<BaseServerOptions, 'corsOrigins'> {
  readonly host: string;
  readonly ports: readonly GoPorts[];
  readonly registry: Registry;
  /** Whether shutdown has begun. */
  readonly isStopping?: () => boolean;
}

export interface GoListeners {
  /** Keyed by the network's name. */
  readonly urls: ReadonlyMap<string, { readonly api?: string; readonly metrics?: string }>;
  /** Drains as the main listener does. */
  close(): Promise<void>;
}

/** Opens the Go aggregator's ports of each network. */
export async function openGoListeners(options: GoListenersOptions): Promise<GoListeners> {
  const servers: Server[] = [];
  const urls = new Map<string, { api?: string; metrics?: string }>();
  const close = async (): Promise<void> => void (await Promise.all(servers.map((server) => server.close())));

  async function listen(server: Server, port: number, setting: string): Promise<string> {
    servers.push(server);
    const { host } = options;
    return namingSettings({ host: 'server.host', port: setting }, () => server.listen({ host, port }));
  }

  try {
    for (const { network, apiPort, metricsPort } of options.ports) {
      const setting = `networks.${network.name}.goApi`;
      const url: { api?: string; metrics?: string } = {};
      if (apiPort !== undefined) {
        url.api = await listen(await createGoServer(network, options), apiPort, `${setting}.apiPort`);
      }
      if (metricsPort !== undefined) {
        url.metrics = await listen(await createGoServer(network, options), metricsPort, `${setting}.metricsPort`);
      }
      if (apiPort !== undefined || metricsPort !== undefined) urls.set(network.name, url);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { urls, close };
}

/** The Go aggregator serves all its paths on both ports. */
async function createGoServer(network: Network, options: GoListenersOptions): Promise<Server> {
  const { access, metrics, clock, isStopping = () => false } = options;
  const log = new RequestLog(options.logger, clock);
  const server = createBaseServer(options, log, GO_ERROR_FORM);
  const isLimited = access !== undefined;
  await registerGoRoutes(server, { ...{ log, metrics, clock, isLimited }, networks: [network], withNames: false });
  registerHealth(server, network, clock, isStopping);
  registerMetrics(server, network, options.registry);
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
      const { status: networkStatus, reason } = network.readiness();
      const stops = isStopping();
      const isUp = isServing(networkStatus) && !stops;
      const status = isUp ? ('up' as const) : ('down' as const);
      const check = {
        status,
        timestamp: new Date(clock.now()).toISOString(),
        ...(!isUp && { error: stops ? 'stopping' : (reason ?? networkStatus) }),
      };
      return reply.status(isUp ? 200 : 503).send({ status, details: { [CHECK]: check } });
    },
  );
}

function registerMetrics(server: Server, network: Network, registry: Registry): void {
  server.get('/metrics', { config: { access: OPERATIONS_ACCESS } }, async (_request, reply) =>
    reply.type('text/plain; version=0.0.4; charset=utf-8').send(await goMetricsText(registry, network.name)),
  );
}
