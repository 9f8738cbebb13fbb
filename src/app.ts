import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import packageJson from '../package.json' with { type: 'json' };
import { type GoListeners, openGoListeners } from './api/go-aggregator/go-listeners.ts';
import type { AggregationExamples } from './api/openapi/example-request.ts';
import { createServer, type ServerOptions } from './api/server.ts';
import { backendShape } from './bls/backends/load-backend.ts';
import { createBlsService } from './bls/service/aggregation.ts';
import { openWorkerPool } from './bls/service/worker-pool.ts';
import type { Config, NetworkConfig } from './config/settings.ts';
import { openConsole } from './console/server/console.ts';
import type { Devnet } from './devnet/devnet.ts';
import { AccessSettings } from './http/access/access-settings.ts';
import type { Server } from './http/request/http-server.ts';
import { namingSettings } from './http/server/listen-error.ts';
import { openMetricsServer } from './http/server/metrics-server.ts';
import { RequestBodies } from './http/server/request-bodies.ts';
import { type Clock, type Random, sleep } from './lib/concurrency/clock.ts';
import { parseHex } from './lib/encoding/bytes.ts';
import type { ApiEndpoint } from './lib/net/api-endpoint.ts';
import { type IdentityWatch, USE_LAPSES_MS, watchIdentity } from './network/identity-watch.ts';
import { createServedNetwork, type ServedNetwork } from './network/served-network.ts';
import { createIdentity, findKeyFileProblem, type Identity } from './p2p/identity/identity.ts';
import { openIdentity } from './p2p/identity/identity-folder.ts';
import { Upstreams } from './proxy/client/upstreams.ts';
import { createMemoryLimitCounters } from './store/local/limit-counters.ts';
import { registerIdentity } from './store/redis/identity-registration.ts';
import { createSharedLimitCounters } from './store/redis/shared-limit-counters.ts';
import type { SharedStore } from './store/redis/shared-store.ts';
import type { Logger } from './telemetry/logger.ts';
import { createMetrics, type Metrics, ServiceRegistry } from './telemetry/metrics.ts';
import { NO_TRACER, type Tracer } from './telemetry/spans.ts';
import type { NodeID } from './warp/ids.ts';

export interface App extends AsyncDisposable {
  /** Of the service's own API; without one, of the first network's Go API. */
  readonly url: string;
  readonly nodeID: NodeID;
  /** Undefined where the configuration leaves the service's own API out. */
  readonly server: Server | undefined;
  /** Where networks have the Go aggregator's API and metrics on ports of their own, by the networks' names. */
  readonly goUrls: GoListeners['urls'];
  /** The embedded network, once it is up; undefined where none is configured. */
  readonly devnet: Devnet | undefined;
  /** Rejects when there is no point in going on: none of the configured networks can be served. */
  readonly failed: Promise<never>;
  /** Resolves when every network is up; rejects with the signal's reason. */
  untilReady(signal: AbortSignal): Promise<void>;
  /** Makes what the first visitor of the console would wait for, in a process of its own: for when there is time. */
  prepareConsole(): Promise<void>;
  /** Says from now on that the service is about to stop, and answers as before. Resolves after the time that the configuration gives. */
  announceStop(): Promise<void>;
  /**
   * Takes what of another configuration can be taken while the service runs, which `config/reload-plan.ts` lists; all else stays.
   *
   * @returns for networks whose API addresses stay as they are: their names, and why
   */
  update(config: Config): Promise<ReadonlyMap<string, string>>;
}

export interface AppOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: Random;
  /** Called with the progress of the embedded network's start, until its validators are there to be connected. */
  readonly onProgress?: (text: string) => void;
}

/** All APIs turned out to be of other networks than those configured. */
export class WrongNetworks extends Error {
  override readonly name = 'WrongNetworks';
}

/** The composition root: everything it opens, it closes, in reverse order. It listens before any network is open. */
export async function startApp({ config, logger, clock, random, onProgress }: AppOptions): Promise<App> {
  await using opened = new AsyncDisposableStack();
  const registry = new ServiceRegistry(clock);
  const metrics = createMetrics(registry);
  const ports = { logger, clock, random, metrics };
  showBuild(metrics, config);

  const identity = config.identity === undefined ? createIdentity() : await openIdentity(config.identity);
  const keyProblem = config.identity && (await findKeyFileProblem(config.identity));
  if (keyProblem !== undefined) logger.warn(keyProblem);
  logger.info({ nodeID: identity.nodeID }, 'staking identity');
  const tracer = await openTraces(opened, config, ports);
  // Opened early, so that a missing backend is refused at once; closed last, when nothing needs it any more.
  const blsThreads = opened.use(await openWorkerPool({ ...config.bls, clock, metrics }));
  const audit = config.bls.backend === 'noble' ? { ...ports, auditPercentage: config.bls.auditPercentage } : undefined;
  const bls = createBlsService(blsThreads, await backendShape(config.bls.backend), audit);
  const shared = await openShared(opened, config, ports);
  const ownLimits = createMemoryLimitCounters(clock);
  const limits = shared === undefined ? ownLimits : createSharedLimitCounters(shared.store, ownLimits);
  const upstreams = opened.use(new Upstreams({ ...config.upstream, ...ports }));
  const embedded = await prepareEmbedded(opened, { config, logger, clock, onProgress }, (node) => {
    // Where the configuration names another node, that one is meant.
    if (config.upstream.endpoints.node === undefined) upstreams.open('node', node);
  });
  const access = new AccessSettings({ ...accessOf(config), trustedProxies: config.server.trustedProxies, limits });
  const settings = serverSettings(config, access, upstreams);
  const networks = config.networks.map((network) =>
    opened.use(
      createServedNetwork({
        ...{ network, identity, bls, shared, ...ports },
        aggregation: config.aggregation,
        storePath: config.store.path,
        startEmbedded: network.embedded && embedded?.start,
      }),
    ),
  );
  const identityWatch = openIdentityWatch(opened, { identity, networks, store: shared?.store, ...ports });
  const { host, port } = config.metrics;
  // Opened before the server and closed after it: what happens while the service stops can be read to the end.
  const metricsServer =
    port === undefined ? undefined : opened.use(await openMetricsServer({ host, port, registry, clock }));
  let isStopping = false;
  const consolePage =
    config.server.ownApi && config.server.console
      ? opened.use(
          openConsole({
            ...{ networks, registry, clock, version: packageJson.version },
            hasDevnet: embedded !== undefined,
            hasFigures: metricsServer === undefined,
          }),
        )
      : undefined;
  const bodies = new RequestBodies({ clock, metrics });
  const createOwnServer = () =>
    createServer({
      ...{ networks, registry, metrics, tracer, logger, clock, bodies },
      areMetricsElsewhere: metricsServer !== undefined,
      state: { isStopping: () => isStopping, identityProblem: () => identityWatch.problem() },
      version: packageJson.version,
      ...settings,
      ...(embedded && { examples: embedded.example }),
      ...(consolePage && { startPage: consolePage.sendPage }),
      registerMore(server) {
        embedded?.registerRoutes(server);
        consolePage?.registerRoutes(server);
      },
    });
  const server = config.server.ownApi ? await createOwnServer() : undefined;
  const goListeners = await openGoListeners({
    ...{ registry, metrics, tracer, logger, clock, bodies },
    ...settings,
    isStopping: () => isStopping,
    host: config.server.host,
    ports: config.networks.map(({ goApi }, index) => ({ ...goApi, network: networks[index] as ServedNetwork })),
  });
  opened.defer(async () => {
    // Together, as each of them may take its whole time.
    await Promise.all([server?.close(), goListeners.close()]);
  });
  const address = { host: config.server.host, port: config.server.port };
  const ownUrl =
    server && (await namingSettings({ host: 'server.host', port: 'server.port' }, () => server.listen(address)));
  const [firstGo] = goListeners.urls.values();
  const url = ownUrl ?? firstGo?.api ?? firstGo?.metrics ?? '';
  const go = goListeners.urls.size > 0 && { go: Object.fromEntries(goListeners.urls) };
  opened.defer(() => logger.info('stopping: no more requests are taken'));
  logger.info(
    { url: ownUrl, metricsUrl: metricsServer?.url, networks: networks.map(({ name }) => name), ...go },
    'listening',
  );
  for (const network of networks) network.open();
  // Not before: on few cores it is the start of the service that would wait for them. Networks need them for requests only.
  blsThreads.start();

  const failed = untilUseless(networks);
  // Nobody has to listen: stopping the service is no failure.
  failed.catch(() => undefined);
  const closing = opened.move();
  return {
    ...{ url, server, failed, goUrls: goListeners.urls, nodeID: identity.nodeID },
    get devnet() {
      return embedded?.devnet();
    },
    async untilReady(signal) {
      await Promise.all(networks.map((network) => network.untilUp(signal)));
    },
    async prepareConsole() {
      await consolePage?.prepare();
    },
    async announceStop() {
      isStopping = true;
      const { drainDelayMs } = config.server;
      logger.info({ drainDelayMs }, 'about to stop: not ready any more');
      await sleep(clock, drainDelayMs, new AbortController().signal);
    },
    async update(next) {
      logger.level = next.log.level;
      access.update(accessOf(next));
      upstreams.update(next.upstream.endpoints);
      const updates = networks.map(async (network) => {
        const settings = next.networks.find(({ name }) => name === network.name);
        return [network.name, settings && (await network.update(settings))] as const;
      });
      return new Map((await Promise.all(updates)).flatMap(([name, why]) => (why === undefined ? [] : [[name, why]])));
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

function showBuild(metrics: Metrics, { bls }: Config): void {
  metrics
    .gauge({
      name: 'build_info',
      help: 'Always 1; its labels say what runs here',
      labels: ['version', 'node', 'bls_backend'],
    })
    .set({ version: packageJson.version, node: process.version, bls_backend: bls.backend }, 1);
}

function accessOf({ access }: Config): Pick<AccessSettings, 'apiKeys' | 'unitsPerMinute'> {
  return {
    apiKeys: access.apiKeys.map((key) => ({ ...key, sha256: parseHex(key.sha256, 'sha256') })),
    unitsPerMinute: access.unitsPerMinute === 0 ? undefined : access.unitsPerMinute,
  };
}

/** What the configuration says of the HTTP side. */
function serverSettings({ server, upstream }: Config, access: AccessSettings, upstreams: Upstreams) {
  return {
    corsOrigins: server.corsOrigins,
    maxConnections: server.maxConnections,
    drainTimeoutMs: server.shutdownTimeoutMs,
    access,
    upstream: {
      ...{ upstreams, limits: access.limits },
      timeoutMs: upstream.timeoutMs,
      passUnknown: upstream.passUnknown && Object.keys(upstream.endpoints).length > 0,
      rpc: { methods: new Set(upstream.rpcMethods), maxBatch: upstream.maxRpcBatch },
    },
  } satisfies Partial<ServerOptions>;
}

/** Rejects when a network cannot be opened at all, or when every API turns out to belong to another network. */
async function untilUseless(networks: readonly ServedNetwork[]): Promise<never> {
  const allRefused = Promise.all(networks.map(({ refused }) => refused));
  await Promise.race([allRefused, ...networks.map(({ failed }) => failed)]);
  const refusals = networks.map(({ name, refusal }) => refusal && `${name}: ${refusal}`);
  // Each was refused at some time, but one has been corrected meanwhile, and no network is refused once it was accepted.
  if (refusals.includes(undefined)) return Promise.race(networks.map(({ failed }) => failed));
  throw new WrongNetworks(refusals.join('; '));
}

interface Ports {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
}

/** The store that replicas share. It may be away at any time, and is no reason not to start. */
async function openShared(opened: AsyncDisposableStack, { store: { shared } }: Config, ports: Ports) {
  if (shared === undefined) return undefined;
  // Only where it is asked for: the client library takes a tenth of a second to load, and 25 MB.
  const { openSharedStore } = await import('./store/redis/shared-store.ts');
  return { store: opened.use(openSharedStore({ ...shared, ...ports })), secret: shared.secret };
}

/** Watches whether another process has our identity, in every way that the configuration allows. */
function openIdentityWatch(
  opened: AsyncDisposableStack,
  options: Ports & {
    readonly identity: Identity;
    readonly networks: readonly ServedNetwork[];
    readonly store: SharedStore | undefined;
  },
): IdentityWatch {
  const { identity, networks, store, metrics } = options;
  const us = { replica: randomUUID(), description: `process ${process.pid} on ${hostname()}` };
  const { nodeID } = identity;
  return opened.use(
    watchIdentity({
      ...options,
      registration: store && registerIdentity({ ...us, store, nodeID, metrics, lapsesMs: USE_LAPSES_MS }),
      peers: () =>
        networks.flatMap((network) => {
          const counts = network.peerCounts();
          return counts === undefined ? [] : [{ ...counts, network: network.name }];
        }),
    }),
  );
}

/** Closed late, so that the spans of the last requests are sent. */
async function openTraces(
  opened: AsyncDisposableStack,
  { traces }: Config,
  ports: { readonly logger: Logger; readonly clock: Clock; readonly metrics: Metrics },
): Promise<Tracer> {
  for (const problem of traces.ignored) ports.logger.warn({ problem }, 'a variable of OpenTelemetry is ignored');
  if (traces.exported === undefined) return NO_TRACER;
  // Only where it is asked for: docs/traces.md says what it takes to load.
  const { openTraceSdk } = await import('./telemetry/trace-sdk.ts');
  const { sampling } = traces.exported;
  const resource = { 'service.name': packageJson.name, 'service.version': packageJson.version };
  const { tracer } = opened.use(openTraceSdk({ ...ports, resource, sampling }));
  ports.logger.info(sampling, 'traces are exported');
  return tracer;
}

interface Embedded {
  /** Resolves with the address of its API. */
  readonly start: () => Promise<ApiEndpoint>;
  readonly registerRoutes: (server: Server) => void;
  /** A request to try on the page of the API; undefined until the network is up. */
  readonly example: () => AggregationExamples | undefined;
  readonly devnet: () => Devnet | undefined;
}

/** Loads what runs the embedded network where one is configured, and nothing of it anywhere else. */
async function prepareEmbedded(
  opened: AsyncDisposableStack,
  {
    config,
    logger,
    clock,
    onProgress,
  }: Pick<AppOptions, 'config' | 'logger' | 'clock'> & { readonly onProgress: AppOptions['onProgress'] | undefined },
  onApi: (node: ApiEndpoint) => void,
): Promise<Embedded | undefined> {
  const network = config.networks.find(({ embedded }) => embedded !== undefined);
  if (network?.embedded === undefined) return undefined;
  const { validators } = network.embedded;
  const [{ startDevnet }, { registerDevnetRoutes }] = await Promise.all([
    import('./devnet/devnet.ts'),
    import('./devnet/node/devnet-routes.ts'),
  ]);
  // It stops after everything that talks to it.
  const running = opened.use(new AsyncDisposableStack());
  let devnet: Devnet | undefined;
  return {
    async start() {
      const started = await startDevnet({
        validators,
        clock,
        logger,
        onProgress: (done, total) => onProgress?.(`starting validators: ${done} of ${total}`),
      });
      devnet = running.use(started);
      onProgress?.('connecting to the validators');
      const node = { baseUrl: devnet.apiUrl };
      onApi(node);
      return node;
    },
    registerRoutes: (server) => registerDevnetRoutes(server, () => devnet, exampleNameOf(network)),
    example() {
      const name = exampleNameOf(network);
      const examples = devnet?.examples(name);
      if (examples === undefined) return undefined;
      const validationID = devnet?.l1Validators().find(({ isActive }) => isActive)?.validationID;
      return {
        network: name,
        requests: examples.flatMap(({ name, body }) => (body === undefined ? [] : [{ name, value: body }])),
        transactions: examples.flatMap(({ name, method, path }) =>
          method === 'GET' ? [{ name, value: path.slice(path.lastIndexOf('/') + 1) }] : [],
        ),
        ...(validationID !== undefined && { validationId: validationID }),
      };
    },
    devnet: () => devnet,
  };
}

/**
 * The name under which examples call an embedded network: `fuji` where it has that name, as the documents' examples do, or the
 * other name that the public client of the API knows.
 */
export function exampleNameOf({ name, aliases }: NetworkConfig): string {
  return ['fuji', 'mainnet'].find((known) => known === name || aliases.includes(known)) ?? name;
}
