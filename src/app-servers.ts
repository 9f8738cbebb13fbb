import { openGoListeners } from './api/go-aggregator/go-listeners.ts';
import { RequestHistory } from './api/requests/request-history.ts';
import { createServer, type ServerOptions } from './api/server.ts';
import type { ConfiguredDevnet } from './app-devnet.ts';
import type { Config } from './config/settings.ts';
import { openConsole } from './console/server/console.ts';
import type { AccessOptions } from './http/access/access.ts';
import { listen } from './http/server/listen-error.ts';
import { openMetricsServer } from './http/server/metrics-server.ts';
import { RequestBodies } from './http/server/request-bodies.ts';
import type { ServedNetwork } from './network/served-network.ts';
import type { Upstreams } from './proxy/client/upstreams.ts';
import type { OpenedSharedStore } from './store/redis/open-shared.ts';
import { createSharedRecords } from './store/redis/shared-records.ts';
import type { Metrics, ServiceRegistry } from './telemetry/metrics.ts';

export interface AppServersOptions
  extends Pick<ServerOptions, 'clock' | 'logger' | 'metrics' | 'tracer' | 'isStopping' | 'identityProblem'> {
  readonly config: Config;
  readonly version: string;
  readonly registry: ServiceRegistry;
  readonly networks: readonly ServedNetwork[];
  readonly access: AccessOptions;
  readonly upstreams: Upstreams;
  readonly shared: OpenedSharedStore | undefined;
  readonly devnet: ConfiguredDevnet | undefined;
}

/** Opens all listeners and the console, which `opened` closes. */
export async function openServers(opened: AsyncDisposableStack, options: AppServersOptions) {
  const { config, version, registry, networks, devnet, isStopping, metrics, tracer, logger, clock } = options;
  const requests = new RequestHistory(clock, options.shared && createSharedRecords(options.shared, clock));
  const common = {
    registry,
    metrics,
    tracer,
    logger,
    clock,
    requests,
    isStopping,
    onRecordedEnd: requests.onRecordedEnd,
    bodies: new RequestBodies({ clock, metrics }),
    ...serverSettings(options),
  };
  const { host, port } = config.metrics;
  // Closed after the servers, so that the metrics of the stop can be read.
  const metricsServer = port === undefined ? undefined : opened.use(await openMetricsServer(common, host, port));
  const hasConsole = config.server.ownApi && config.server.console;
  const console = hasConsole
    ? opened.use(
        openConsole({
          networks,
          registry,
          clock,
          version,
          hasDevnet: devnet !== undefined,
          hasFigures: metricsServer === undefined,
        }),
      )
    : undefined;
  const createOwnServer = () =>
    createServer({
      ...common,
      networks,
      version,
      areMetricsElsewhere: metricsServer !== undefined,
      identityProblem: options.identityProblem,
      ...(devnet && { examples: devnet.example }),
      ...(console && { startPage: console.sendPage }),
      registerMore(server) {
        devnet?.registerRoutes(server);
        console?.registerRoutes(server);
      },
    });
  const server = config.server.ownApi ? await createOwnServer() : undefined;
  const goListeners = await openGoListeners({
    ...common,
    host: config.server.host,
    ports: config.networks.map(({ goApi }, index) => ({ ...goApi, network: networks[index] as ServedNetwork })),
  });
  opened.defer(async () => {
    // In parallel, because each may take the whole shutdown timeout.
    await Promise.all([server?.close(), goListeners.close()]);
  });
  const ownUrl = server && (await listen(server, config.server, { host: 'server.host', port: 'server.port' }));
  const goUrls = goListeners.urls;
  const [firstGo] = goUrls.values();
  const go = goUrls.size > 0 && { go: Object.fromEntries(goUrls) };
  opened.defer(() => logger.info('stopping: no more requests are taken'));
  const names = networks.map(({ name }) => name);
  logger.info({ url: ownUrl, metricsUrl: metricsServer?.url, networks: names, ...go }, 'listening');
  return {
    /** URL of the service's API; without one, of the first network's Go API. */
    url: ownUrl ?? firstGo?.api ?? firstGo?.metrics ?? '',
    /** Undefined if the configuration disables the service's API. */
    server,
    goUrls,
    console,
  };
}

function serverSettings({ config: { server, upstream }, access, upstreams }: AppServersOptions) {
  return {
    corsOrigins: server.corsOrigins,
    maxConnections: server.maxConnections,
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
