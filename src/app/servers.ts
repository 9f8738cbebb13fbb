import { type GoPorts, type GoUrls, openGoListeners } from '../api/go-aggregator/go-listeners.ts';
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
import type { AppPart } from './app-part.ts';

export interface AppServersOptions
  extends Pick<
    ServerOptions,
    'clock' | 'logger' | 'metrics' | 'tracer' | 'isStopping' | 'identityProblem' | 'examples' | 'startPage'
  > {
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

export interface AppServers {
  /** URL of the service's API; without one, of the Go aggregator's first port; empty if nothing listens. */
  readonly url: string;
  /** Undefined if the configuration disables the service's API. */
  readonly server: Server | undefined;
  /** URLs of the Go aggregator's ports by the network's name. */
  readonly goUrls: ReadonlyMap<string, GoUrls>;
}

/** Opens all listeners, which `opened` closes. */
export async function openServers(opened: AsyncDisposableStack, options: AppServersOptions): Promise<AppServers> {
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
  const createOwnServer = () =>
    createServer({
      ...common,
      networks,
      version,
      areMetricsElsewhere: metricsServer !== undefined,
      identityProblem: options.identityProblem,
      examples: options.examples,
      startPage: options.startPage,
      registerMore(server) {
        for (const part of parts) part.routes?.(server);
      },
    });
  const server = config.server.ownApi ? await createOwnServer() : undefined;
  let closeGo: (() => Promise<void>) | undefined;
  opened.defer(async () => {
    // In parallel, because each may take the whole shutdown timeout.
    await Promise.all([server?.close(), closeGo?.()]);
  });
  const go = await openGoListeners({ ...common, host: config.server.host, ports: goPortsOf(config, networks) });
  closeGo = go.close;
  const ownUrl = server && (await listen(server, config.server, { host: 'server.host', port: 'server.port' }));
  opened.defer(() => logger.info('stopping: no more requests are taken'));
  const names = networks.map(({ name }) => name);
  const goFields = go.urls.size > 0 ? { go: Object.fromEntries(go.urls) } : {};
  logger.info({ url: ownUrl, metricsUrl: metricsServer?.url, networks: names, ...goFields }, 'listening');
  const [first] = go.urls.values();
  return { url: ownUrl ?? first?.api ?? first?.metrics ?? '', server, goUrls: go.urls };
}

function goPortsOf(config: Config, networks: readonly ServedNetwork[]): GoPorts[] {
  return config.networks.flatMap(({ name, goApi }) => {
    const network = networks.find((one) => one.name === name);
    return network === undefined ? [] : [{ ...goApi, network }];
  });
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
