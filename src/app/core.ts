import packageJson from '../../package.json' with { type: 'json' };
import { type AggregationLimits, aggregationLimits } from '../aggregation/aggregation-limits.ts';
import type { GoUrls } from '../api/go-aggregator/go-listeners.ts';
import { openBlsService } from '../bls/service/bls-service.ts';
import type { Config } from '../config/settings.ts';
import type { Server } from '../http/request/http-server.ts';
import { type Clock, type Random, sleep } from '../lib/concurrency/clock.ts';
import { openIdentityWatch } from '../network/identity-watch.ts';
import type { NetworkLimits } from '../network/network-limits.ts';
import { untilUnservable, updateNetworks } from '../network/networks.ts';
import { createServedNetwork } from '../network/served-network.ts';
import { createIdentity, findKeyFileProblem, openIdentity } from '../p2p/identity/identity.ts';
import { Upstreams } from '../proxy/client/upstreams.ts';
import { createClaimStore } from '../store/local/claim-store.ts';
import { createMemoryLimitCounters } from '../store/local/limit-counters.ts';
import { checkStoreFolder, StoreError } from '../store/local/sqlite.ts';
import { lockStore } from '../store/local/store-lock.ts';
import { openShared } from '../store/redis/open-shared.ts';
import { createSharedLimitCounters } from '../store/redis/shared-limit-counters.ts';
import { createThrottledWarnings } from '../telemetry/log-throttle.ts';
import type { Logger } from '../telemetry/logger.ts';
import { createMetrics, type Metrics, ServiceRegistry } from '../telemetry/metrics.ts';
import { openTracer } from '../telemetry/open-tracer.ts';
import type { NodeID } from '../warp/ids.ts';
import type { AppPart } from './app-part.ts';
import type { ConnectionLimits } from './file-limits.ts';
import { type AppServersOptions, openServers, showBuild } from './servers.ts';

/** Limits that are no settings. */
export interface AppLimits {
  readonly aggregation?: Partial<AggregationLimits>;
  readonly network?: Partial<NetworkLimits>;
  readonly auditPercentage?: number;
  /** Files that the process may open. */
  readonly fileLimit?: number;
}

export interface CoreOptions extends Pick<AppServersOptions, 'examples' | 'startPage'> {
  readonly config: Config;
  /** Replaces some limits, for tests. */
  readonly limits?: AppLimits;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: Random;
  readonly connections: ConnectionLimits;
  readonly parts: readonly AppPart[];
  /** Replaces names of settings in texts for operators, if the configuration has another form. */
  readonly describe?: (text: string) => string;
}

/** The running service, without what its parts offer. Disposing of it closes all. */
export interface Core extends AsyncDisposable {
  /** URL of the service's API; without one, of the Go aggregator's first port. */
  readonly url: string;
  /** Undefined if the configuration disables the service's API. */
  readonly server: Server | undefined;
  /** URLs of the Go aggregator's ports by the network's name. */
  readonly goUrls: ReadonlyMap<string, GoUrls>;
  readonly nodeID: NodeID;
  /** Rejects when none of the configured networks can be served. */
  readonly failed: Promise<never>;
  /** Resolves when every network is up; rejects with the signal's reason. */
  untilReady(signal: AbortSignal): Promise<void>;
  /** Reports the service as not ready, and resolves after the configured delay. Requests are served meanwhile. */
  announceStop(): Promise<void>;
  /** Shows in the metrics whether the configuration could be read and applied, at a reload. */
  reportReload(isSuccessful: boolean): void;
  /** Applies the settings that can change at run time. Returns networks whose API addresses were rejected, with the reason. */
  update(next: Config): Promise<ReadonlyMap<string, string>>;
}

/** A full disk stops what is stored, and not the signing of requests. @throws {StoreError} */
function checkFolder(path: string, logger: Logger): void {
  try {
    checkStoreFolder(path);
  } catch (error) {
    if (!(error instanceof StoreError && error.isFull)) throw error;
    logger.error({ err: error }, 'the disk of the store is full; the service starts without what it cannot store');
  }
}

/** Opens the service in order and closes it in reverse order. The servers listen before any network is open. */
export async function startCore(options: CoreOptions): Promise<Core> {
  const { config, limits: replaced = {}, logger, clock, random, connections, parts, describe } = options;
  await using opened = new AsyncDisposableStack();
  const { name: serviceName, version } = packageJson;
  const registry = new ServiceRegistry(clock);
  const warn = createThrottledWarnings(logger, clock);
  const metrics = createMetrics(registry, (name, err) =>
    warn('metric', { metric: name, err }, 'a metric cannot be read, and is left out'),
  );
  const ports = { logger, clock, random, metrics };
  const reportReload = declareReloads(metrics, clock);
  showBuild(metrics, { version, node: process.version, bls_backend: config.bls.backend });

  if (config.store.path !== undefined) {
    checkFolder(config.store.path, logger);
    opened.use(lockStore(config.store.path));
  }
  const identity = config.identity === undefined ? createIdentity() : await openIdentity(config.identity);
  const keyProblem = config.identity && (await findKeyFileProblem(config.identity));
  if (keyProblem !== undefined) logger.warn(keyProblem);
  logger.info({ nodeId: identity.nodeID }, 'staking identity');
  const tracer = await openTracer(opened, { ...ports, ...config.traces, service: { name: serviceName, version } });
  const bls = opened.use(await openBlsService({ ...config.bls, ...ports, auditPercentage: replaced.auditPercentage }));
  const shared = await openShared(opened, config.store.shared, ports);
  const claims = config.store.path === undefined ? undefined : createClaimStore(config.store.path, clock, logger);
  if (claims !== undefined) opened.use(claims);
  const ownLimits = createMemoryLimitCounters(clock, claims);
  const limits = shared === undefined ? ownLimits : createSharedLimitCounters(shared.store, ownLimits);
  const access = { rules: config.access, trustedProxies: config.server.trustedProxies, limits };
  const upstreams = opened.use(new Upstreams({ ...config.upstream, ...ports }));
  const networks = config.networks.map((network) =>
    opened.use(
      createServedNetwork({
        network,
        identity,
        bls,
        // The devnet is a different network in each process, with the same name and ID.
        shared: network.name === config.devnet?.network ? undefined : shared,
        describe,
        ...ports,
        aggregation: { ...aggregationLimits(config.aggregation), ...replaced.aggregation },
        limits: { maxPeerConnections: connections.maxPeerConnections, ...replaced.network },
        storePath: config.store.path,
        recordValidators: config.store.recordValidators,
      }),
    ),
  );
  for (const part of parts) part.start?.({ clock, registry, networks, version, access });
  const identityWatch = opened.use(openIdentityWatch({ ...ports, identity, networks, store: shared?.store }));
  let isStopping = false;
  const { url, server, goUrls } = await openServers(opened, {
    config,
    maxConnections: connections.maxConnections,
    version,
    registry,
    metrics,
    tracer,
    logger,
    clock,
    networks,
    access,
    upstreams,
    shared,
    parts,
    examples: options.examples,
    startPage: options.startPage,
    identityProblem: () => identityWatch.problem(),
    isStopping: () => isStopping,
  });
  for (const network of networks) network.open();
  // Last, because the threads would delay the start on few cores; only requests need them.
  bls.start();

  const failed = untilUnservable(networks);
  const closing = opened.move();
  return {
    url,
    server,
    goUrls,
    nodeID: identity.nodeID,
    failed,
    async untilReady(signal: AbortSignal): Promise<void> {
      await Promise.all(networks.map((network) => network.untilUp(signal)));
    },
    async announceStop(): Promise<void> {
      isStopping = true;
      const { drainDelayMs } = config.server;
      logger.info({ drainDelayMs }, 'about to stop: not ready any more');
      await sleep(clock, drainDelayMs);
    },
    reportReload,
    async update(next: Config): Promise<ReadonlyMap<string, string>> {
      logger.level = next.log.level;
      access.rules = next.access;
      upstreams.update(next.upstream.endpoints);
      return updateNetworks(networks, next.networks);
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Names and meaning as in Prometheus itself. The start counts as the first reload. @returns the function that shows the result of one */
function declareReloads(metrics: Metrics, clock: Clock): (isSuccessful: boolean) => void {
  const successful = metrics.gauge({
    name: 'config_last_reload_successful',
    help: '1 if the last reload of the configuration was applied; 0 if it could not be read or has mistakes, or an API address was rejected',
  });
  const timestamp = metrics.gauge({
    name: 'config_last_reload_success_timestamp_seconds',
    help: 'Time of the last successful reload of the configuration, since the Unix epoch',
  });
  const report = (isSuccessful: boolean): void => {
    successful.set(Number(isSuccessful));
    if (isSuccessful) timestamp.set(Math.floor(clock.now() / 1_000));
  };
  report(true);
  return report;
}
