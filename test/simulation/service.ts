import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { AttemptOutcome } from '../../src/aggregation/validators/validator-outcome.ts';
import { runBlsJob } from '../../src/bls/service/bls-jobs.ts';
import { type BlsService, createBlsService } from '../../src/bls/service/bls-service.ts';
import { JobQueue } from '../../src/bls/service/job-queue.ts';
import { nextTurn, sleep } from '../../src/lib/concurrency/clock.ts';
import type { Network } from '../../src/network/network.ts';
import { type NetworkParts, type Outside, openNetwork } from '../../src/network/network-parts.ts';
import { createServedNetwork } from '../../src/network/served-network.ts';
import { createMemoryLimitCounters, type LimitCounters } from '../../src/store/local/limit-counters.ts';
import type { openRedisLink } from '../../src/store/redis/redis-link.ts';
import { createSharedLimitCounters } from '../../src/store/redis/shared-limit-counters.ts';
import { openSharedStore } from '../../src/store/redis/shared-store.ts';
import { createMetrics, METRIC_PREFIX } from '../../src/telemetry/metrics.ts';
import type { NodeID } from '../../src/warp/ids.ts';
import type { ClockView } from '../support/fake-clock.ts';
import type { BlsScheme } from './bls-scheme.ts';
import type { Draws } from './draws.ts';
import type { Plan } from './plan.ts';
import { simulatedIdentity } from './simulated-identity.ts';

/** What the ports of one service see of its work; the invariants are judged by it. */
export interface Watcher {
  /** Called when a collection begins; the returned function is called at its end, with whether a message was valid. */
  collectionBegan(message: Uint8Array): (isSigned: boolean) => void;
  /** A question to a node began; `query` is one object for all questions of one collection. */
  asked(query: object, message: Uint8Array, nodeID: NodeID): (outcome: AttemptOutcome['kind'], code?: number) => void;
}

/** What a replica shares with the others. */
export interface SharedOptions {
  readonly openLink: typeof openRedisLink;
}

/** The network of all replicas. */
export const NETWORK_NAME = 'sim';
/** In front of all keys in the store. */
export const KEY_PREFIX = 'simulated:';

export interface ServiceOptions {
  /** Number of its identity. */
  readonly number: number;
  /** Undefined without replicas. */
  readonly shared: SharedOptions | undefined;
  readonly plan: Plan;
  readonly clock: ClockView;
  readonly draws: Draws;
  readonly outside: Outside;
  readonly scheme: BlsScheme;
  readonly watcher: Watcher;
  /** How long one job of the BLS threads takes now. */
  readonly blsMs: () => Plan['blsMs'];
}

/** One service, but for its HTTP server, which takes long to build and is shared by all simulations: see `http-door.ts`. */
export interface SimulatedService extends AsyncDisposable {
  readonly network: Network;
  readonly limits: LimitCounters;
  /** Returns the values of a metric. */
  valuesOf(
    metric: string,
  ): Promise<readonly { readonly value: number; readonly labels: Readonly<Record<string, unknown>> }[]>;
  isConnected(nodeID: NodeID): boolean;
  /** Those that hear of changes of connections, of collections alone. */
  readonly listeners: number;
}

const silent = pino({ level: 'silent' });

/** Composed as `startApp` does it, over simulated ports. */
export function openService(options: ServiceOptions): SimulatedService {
  const { number, plan, clock, draws, outside, scheme, watcher } = options;
  const registry = new Registry();
  const metrics = createMetrics(registry);
  const random = draws.fork('random').next;
  const ownLimits = createMemoryLimitCounters(clock);
  const shared = options.shared && {
    secret: undefined,
    store: openSharedStore({
      clock,
      random,
      metrics,
      servers: REDIS,
      keyPrefix: KEY_PREFIX,
      logger: silent,
      openLink: options.shared.openLink,
    }),
  };
  const threads = createSimulatedThreads(options.blsMs, clock, draws.fork('bls'), scheme);
  const bls = watched(createBlsService(threads, scheme.backend), watcher);
  let parts: NetworkParts | undefined;
  const listeners = { count: 0 };
  const network = createServedNetwork(
    {
      bls,
      clock,
      outside,
      shared,
      random,
      metrics,
      identity: simulatedIdentity(number),
      aggregation: plan.aggregation,
      storePath: undefined,
      recordValidators: true,
      network: networkConfig(plan),
      limits: {
        apiTimeoutMs: plan.apiTimeoutMs,
        dialsPerSecond: 200,
        indexLookback: 3n,
        maxBlocksPerSecond: 50,
      },
      logger: silent,
    },
    (opened, partsOptions) => {
      const { openParts, ...api } = openNetwork(opened, partsOptions);
      return {
        ...api,
        // The parts are kept, to be watched.
        openParts(openedParts, networkID) {
          parts = openParts(openedParts, networkID);
          watchConnections(parts.connections, watcher, listeners);
          return parts;
        },
      };
    },
  );
  network.open();
  return {
    network,
    limits: shared === undefined ? ownLimits : createSharedLimitCounters(shared.store, ownLimits),
    async valuesOf(metric) {
      const found = registry.getSingleMetric(`${METRIC_PREFIX}${metric}`);
      if (found !== undefined) return (await found.get()).values;
      // What no network has declared yet is not there.
      return [];
    },
    isConnected: (nodeID) => parts?.connections.isConnected(nodeID) ?? false,
    get listeners() {
      return listeners.count;
    },
    async [Symbol.asyncDispose]() {
      await network[Symbol.asyncDispose]();
      await threads[Symbol.asyncDispose]();
      shared?.store[Symbol.dispose]();
    },
  };
}

const REDIS = {
  ...({ kind: 'single', host: 'redis.simulated', port: 6_379, isTls: false } as const),
  username: undefined,
  password: undefined,
  database: 0,
};

function networkConfig({ apis }: Plan) {
  const endpoints = apis.map((_, index) => ({ baseUrl: apiOrigin(index) }));
  return {
    name: NETWORK_NAME,
    aliases: [],
    pChainApi: endpoints,
    infoApi: endpoints,
    dataApi: undefined,
    chainRpc: new Map(),
    feed: { chains: [], retentionHours: 168, maxMessages: 100_000 },
    defaultDestination: 'none' as const,
    pChainMessages: 'epoch' as const,
    trackedSubnetIDs: [],
    allowedSubnetIDs: undefined,
    goApi: { pChainMessages: 'proposed' as const },
    manuallyTrackedPeers: [],
    allowPrivateAddresses: false,
    validatorRefreshMs: 10_000,
    readyQuorumNum: 67n,
  };
}

export function apiOrigin(index: number): string {
  return `http://api-${index}.simulated:9650`;
}

/** Two threads, whose jobs take virtual time. */
function createSimulatedThreads(
  blsMs: ServiceOptions['blsMs'],
  clock: ClockView,
  draws: Draws,
  scheme: BlsScheme,
): JobQueue {
  return new JobQueue({
    threads: 2,
    concurrency: 2,
    async execute(job) {
      const [min, max] = blsMs();
      const ms = min + draws.next() * (max - min);
      if (ms > 0) await sleep(clock, ms);
      else await nextTurn(clock);
      return runBlsJob(scheme.backend, job);
    },
  });
}

function watched(bls: BlsService, watcher: Watcher): BlsService {
  return {
    verifySigned: (signed, signal) => bls.verifySigned(signed, signal),
    startAggregation(message, signal) {
      const aggregation = bls.startAggregation(message, signal);
      const end = watcher.collectionBegan(message);
      const { verify } = aggregation;
      const dispose = aggregation[Symbol.dispose].bind(aggregation);
      let isSigned = false;
      aggregation.verify = async (...args: Parameters<typeof verify>) => {
        isSigned = await verify.apply(aggregation, args);
        return isSigned;
      };
      aggregation[Symbol.dispose] = () => {
        end(isSigned);
        dispose();
      };
      return aggregation;
    },
  };
}

function watchConnections(
  connections: NetworkParts['connections'],
  watcher: Watcher,
  listeners: { count: number },
): void {
  const { requestSignature, onConnectionChange } = connections;
  Object.assign(connections, {
    onConnectionChange(listener: () => void) {
      const stop = onConnectionChange(listener);
      let isOver = false;
      listeners.count += 1;
      return () => {
        if (!isOver) listeners.count -= 1;
        isOver = true;
        stop();
      };
    },
    async requestSignature(...[nodeID, query, options]: Parameters<typeof requestSignature>) {
      const answered = watcher.asked(query, query.message, nodeID);
      try {
        const outcome = await requestSignature(nodeID, query, options);
        answered(outcome.kind, outcome.kind === 'refused' ? outcome.code : undefined);
        return outcome;
      } catch (error) {
        answered('timed_out');
        throw error;
      }
    },
  } satisfies Partial<NetworkParts['connections']>);
}
