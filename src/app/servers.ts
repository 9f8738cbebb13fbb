import { registerHealth } from '../api/health/health.ts';
import { RequestHistory } from '../api/requests/request-history.ts';
import { createServer, type ServerOptions } from '../api/server.ts';
import type { Config } from '../config/settings.ts';
import type { AccessOptions } from '../http/access/access.ts';
import type { Server } from '../http/request/http-server.ts';
import { createNetworkOfPath } from '../http/request/network-of-path.ts';
import { listen } from '../http/server/listen-error.ts';
import { openMetricsServer } from '../http/server/metrics-server.ts';
import { RequestBodies } from '../http/server/request-bodies.ts';
import type { ServedNetwork } from '../network/served-network.ts';
import type { Upstreams } from '../proxy/client/upstreams.ts';
import type { OpenedSharedStore } from '../store/redis/open-shared.ts';
import { createSharedRecords } from '../store/redis/shared-records.ts';
import type { Metrics, ServiceRegistry } from '../telemetry/metrics.ts';
import type { AppPart, PartListeners } from './app-part.ts';

export interface AppServersOptions
  extends Pick<ServerOptions, 'clock' | 'logger' | 'metrics' | 'tracer' | 'isStopping' | 'identityProblem'> {
  readonly config: Config;
  /** Of clients, for each listener. */
  readonly maxConnections: number;
  readonly version: string;
  readonly registry: ServiceRegistry;
  readonly networks: readonly ServedNetwork[];
  readonly access: AccessOptions;
  readonly upstreams: Upstreams;
  readonly shared: OpenedSharedStore | undefined;
  readonly parts: readonly AppPart[];
}

/** Opens all listeners, which `opened` closes. */
export async function openServers(opened: AsyncDisposableStack, options: AppServersOptions) {
  const { config, version, registry, networks, parts, isStopping, metrics, tracer, logger, clock } = options;
  const requests = new RequestHistory(clock, options.shared && createSharedRecords(options.shared, clock));
  const common = {
    registry,
    metrics,
    tracer,
    logger,
    clock,
    requests,
    isStopping,
    isDraining: isStopping,
    onRecordedEnd: requests.onRecordedEnd,
    bodies: new RequestBodies({ clock, metrics }),
    ...serverSettings(options),
  };
  const { host, port } = config.metrics;
  // Closed after the servers, so that the metrics of the stop can be read.
  const registerMore = (metricsServer: Server): void =>
    registerHealth(metricsServer, networks, createNetworkOfPath(networks), options);
  const metricsServer =
    port === undefined ? undefined : opened.use(await openMetricsServer({ ...common, registerMore }, host, port));
  const [examples] = parts.flatMap((part) => (part.examples === undefined ? [] : [() => part.examples?.()]));
  const [startPage] = parts.flatMap(({ sendPage }) => sendPage ?? []);
  const createOwnServer = () =>
    createServer({
      ...common,
      networks,
      version,
      areMetricsElsewhere: metricsServer !== undefined,
      identityProblem: options.identityProblem,
      examples,
      startPage,
      registerMore(server) {
        for (const part of parts) part.registerRoutes?.(server);
      },
    });
  const server = config.server.ownApi ? await createOwnServer() : undefined;
  const listeners: PartListeners[] = [];
  opened.defer(async () => {
    // In parallel, because each may take the whole shutdown timeout.
    await Promise.all([server?.close(), ...listeners.map((each) => each.close())]);
  });
  for (const part of parts) {
    if (part.listen !== undefined) listeners.push(await part.listen(common, networks));
  }
  const ownUrl = server && (await listen(server, config.server, { host: 'server.host', port: 'server.port' }));
  const more = Object.assign({}, ...listeners.map(({ logged }) => logged));
  opened.defer(() => logger.info('stopping: no more requests are taken'));
  const names = networks.map(({ name }) => name);
  logger.info({ url: ownUrl, metricsUrl: metricsServer?.url, networks: names, ...more }, 'listening');
  return {
    url: [ownUrl, ...listeners.map(({ url }) => url)].find((url) => url !== undefined) ?? '',
    server,
  };
}

function serverSettings({ config: { server, upstream }, maxConnections, access, upstreams }: AppServersOptions) {
  return {
    corsOrigins: server.corsOrigins,
    maxConnections,
    drainTimeoutMs: server.shutdownTimeoutMs,
    access,
    upstream: {
      upstreams,
      limits: access.limits,
      timeoutMs: upstream.timeoutMs,
      passUnknown: upstream.passUnknown && Object.keys(upstream.endpoints).length > 0,
      rpcMethods: new Set(upstream.rpcMethods),
    },
  } satisfies Partial<ServerOptions>;
}

export function showBuild(metrics: Metrics, build: Record<'version' | 'node' | 'bls_backend', string>): void {
  metrics
    .gauge({
      name: 'build_info',
      help: 'Always 1; its labels are the version, the Node version and the BLS backend',
      labels: ['version', 'node', 'bls_backend'],
    })
    .set(build, 1);
}
