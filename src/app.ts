import { collectDefaultMetrics, Registry } from 'prom-client';
import packageJson from '../package.json' with { type: 'json' };
import type { AggregationExample } from './api/example-request.ts';
import type { Server } from './api/http-server.ts';
import { createServer } from './api/server.ts';
import { createBlsService } from './bls/aggregation.ts';
import { loadBackend } from './bls/load-backend.ts';
import { startWorkerPool } from './bls/worker-pool.ts';
import type { Config, NetworkConfig } from './config/settings.ts';
import type { Devnet } from './devnet/devnet.ts';
import { type OpenedNetwork, openNetwork } from './network/open-network.ts';
import { createIdentity, findKeyFileProblem, loadOrCreateIdentity } from './p2p/identity.ts';
import type { ApiEndpoint } from './primitives/api-endpoint.ts';
import { parseHex } from './primitives/bytes.ts';
import type { Clock, Random } from './primitives/clock.ts';
import type { NodeID } from './primitives/ids.ts';
import { createMemoryLimitCounters, type LimitCounters } from './store/limit-counters.ts';
import { createSharedLimitCounters } from './store/shared-limit-counters.ts';
import type { Logger } from './telemetry/logger.ts';
import { createMetrics, type Metrics } from './telemetry/metrics.ts';
import { createUpstreams } from './upstream/upstreams.ts';

export interface App extends AsyncDisposable {
  readonly url: string;
  readonly nodeID: NodeID;
  readonly server: Server;
  /** The embedded network, once it is up; undefined where none is configured. */
  readonly devnet: Devnet | undefined;
  /** Rejects when the service must not go on: nothing that it is configured to serve can be. */
  readonly failed: Promise<never>;
  /** Resolves when every network is up; rejects with the signal's reason. */
  untilReady(signal: AbortSignal): Promise<void>;
}

export interface AppOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: Random;
  /** Told how the start of the embedded network goes on. */
  readonly onProgress?: (text: string) => void;
}

/** All APIs turned out to be of other networks than those configured. */
export class WrongNetworks extends Error {
  override readonly name = 'WrongNetworks';
}

/** The composition root: everything it opens, it closes, in reverse order. It listens before any network is open. */
export async function startApp(options: AppOptions): Promise<App> {
  const { config, logger, clock, random } = options;
  await using opened = new AsyncDisposableStack();
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = createMetrics(registry);
  const ports = { logger, clock, random, metrics };

  // First, as a backend that is missing is refused at once; closed last, when nobody asks for anything any more.
  const blsThreads = opened.use(await startWorkerPool(config.bls));
  const bls = createBlsService(blsThreads, await loadBackend(config.bls.backend));
  const identity = config.identity === undefined ? createIdentity() : await loadOrCreateIdentity(config.identity);
  const keyProblem = config.identity && (await findKeyFileProblem(config.identity));
  if (keyProblem !== undefined) logger.warn(keyProblem);
  logger.info({ nodeID: identity.nodeID }, 'staking identity');
  const limits = await openLimitCounters(opened, config, ports);
  const upstreams = opened.use(createUpstreams({ ...config.upstream, ...ports }));
  const embedded = await prepareEmbedded(opened, options, (node) => upstreams.open('node', node));

  const networks = config.networks.map((network) =>
    opened.use(
      openNetwork({
        ...{ network, identity, bls, ...ports },
        aggregation: config.aggregation,
        storePath: config.store.path,
        startEmbedded: network.embedded && embedded?.start,
      }),
    ),
  );
  const server = await createServer({
    networks,
    version: packageJson.version,
    registry,
    metrics,
    logger,
    clock,
    corsOrigins: config.server.corsOrigins,
    drainTimeoutMs: config.server.shutdownTimeoutMs,
    access: {
      apiKeys: config.access.apiKeys.map((key) => ({ ...key, sha256: parseHex(key.sha256, 'sha256') })),
      unitsPerMinute: config.access.unitsPerMinute === 0 ? undefined : config.access.unitsPerMinute,
      trustedProxies: config.server.trustedProxies,
      limits,
    },
    upstream: {
      upstreams,
      limits,
      timeoutMs: config.upstream.timeoutMs,
      passUnknown: config.upstream.passUnknown && Object.keys(config.upstream.endpoints).length > 0,
      rpc: { methods: new Set(config.upstream.rpcMethods), maxBatch: config.upstream.maxRpcBatch },
    },
    ...(embedded && { registerMore: embedded.registerRoutes, examples: embedded.example }),
  });
  opened.defer(() => {
    logger.info('stopping: no more requests are taken');
    return server.close();
  });
  const url = await server.listen({ host: config.server.host, port: config.server.port });
  logger.info({ url, networks: networks.map(({ name }) => name) }, 'listening');

  const failed = untilUseless(networks);
  // Nobody need listen: the stop of the service is no failure.
  failed.catch(() => undefined);
  const closing = opened.move();
  return {
    url,
    nodeID: identity.nodeID,
    server,
    get devnet() {
      return embedded?.devnet();
    },
    failed,
    async untilReady(signal) {
      await Promise.all(networks.map((network) => network.untilUp(signal)));
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Rejects when a network cannot be opened at all, or when no API is of the network that it should be of. */
async function untilUseless(networks: readonly OpenedNetwork[]): Promise<never> {
  const reasons = await Promise.race([
    Promise.all(networks.map(({ refused }) => refused)),
    ...networks.map(({ failed }) => failed),
  ]);
  throw new WrongNetworks(networks.map(({ name }, index) => `${name}: ${reasons[index]}`).join('; '));
}

async function openLimitCounters(
  opened: AsyncDisposableStack,
  { store }: Config,
  ports: { readonly logger: Logger; readonly clock: Clock; readonly random: Random; readonly metrics: Metrics },
): Promise<LimitCounters> {
  const own = createMemoryLimitCounters(ports.clock);
  if (store.shared === undefined) return own;
  // Only where it is asked for: the client library takes a tenth of a second to load, and 25 MB.
  const { openSharedStore } = await import('./store/shared-store.ts');
  return createSharedLimitCounters(opened.use(openSharedStore({ ...store.shared, ...ports })), own);
}

interface Embedded {
  /** Resolves with the address of its API. */
  readonly start: (signal: AbortSignal) => Promise<ApiEndpoint>;
  readonly registerRoutes: (server: Server) => void;
  /** A request to try on the page of the API; undefined until the network is up. */
  readonly example: () => AggregationExample | undefined;
  readonly devnet: () => Devnet | undefined;
}

/** Loads what runs the embedded network where one is configured, and nothing of it anywhere else. */
async function prepareEmbedded(
  opened: AsyncDisposableStack,
  { config, logger, clock, onProgress }: AppOptions,
  onApi: (node: ApiEndpoint) => void,
): Promise<Embedded | undefined> {
  const network = config.networks.find(({ embedded }) => embedded !== undefined);
  if (network?.embedded === undefined) return undefined;
  const { validators } = network.embedded;
  const [{ startDevnet }, { registerDevnetRoutes }] = await Promise.all([
    import('./devnet/devnet.ts'),
    import('./devnet/devnet-routes.ts'),
  ]);
  // It is started after the service listens, and stops after everything that talks to it.
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
      const node = { baseUrl: devnet.apiUrl };
      onApi(node);
      return node;
    },
    registerRoutes: (server) => registerDevnetRoutes(server, () => devnet, pathNameOf(network)),
    example() {
      const name = pathNameOf(network);
      const body = devnet?.examples(name).find((example) => example.body !== undefined)?.body;
      return body && { network: name, body };
    },
    devnet: () => devnet,
  };
}

/** The name under which examples call the network: one that the public client of the API knows, where there is one. */
function pathNameOf({ name, aliases }: NetworkConfig): string {
  return [name, ...aliases].find((each) => each === 'fuji' || each === 'mainnet') ?? name;
}
