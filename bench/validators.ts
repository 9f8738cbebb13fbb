import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { AggregationResult } from '../src/aggregation/request/aggregation-request.ts';
import { createBlsService } from '../src/bls/service/aggregation.ts';
import { runBlsJob } from '../src/bls/service/bls-jobs.ts';
import { createJobRunner } from '../src/bls/service/job-runner.ts';
import { createServedNetwork, type ServedNetwork } from '../src/network/served-network.ts';
import { createIdentity } from '../src/p2p/identity/identity.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import { P_CHAIN_ID } from '../src/warp/ids.ts';
import { encodeWarpPayload } from '../src/warp/payload.ts';
import { createUnsignedMessage } from '../src/warp/unsigned-message.ts';
import { createModelScheme } from '../test/simulation/model-bls.ts';
import type { BenchmarkOptions, Row } from './benchmark.ts';
import { ManyValidators, NETWORK_ID } from './many-validators.ts';
import { type Cost, MeteredTime } from './metered-time.ts';
import { median, round } from './statistics.ts';

const DEFAULT_SIZES = [500, 2_000, 10_000];
const REQUESTS = 5;
const HEIGHTS = 5;
/** Of validator sets. */
const REFRESH_MS = 10_000;
const IDLE_MS = 15_000;
/** Of virtual time. */
const MINUTES_TO_CONNECT = 30;
const never = new AbortController().signal;

/**
 * What the event loop has to do at each size: for a connection, a message of gossip, a query, a validator set, and in a second in which
 * nothing happens. The service is whole from its sockets up, with BLS without a curve, in time that passes at once: so each figure is of
 * one thread alone, without TLS, BLS or waiting.
 */
export async function benchValidators({ sizes, report }: BenchmarkOptions): Promise<void> {
  for (const size of sizes.length > 0 ? sizes : DEFAULT_SIZES) await benchSize(size, report);
}

async function benchSize(size: number, report: (row: Row) => void): Promise<void> {
  const time = new MeteredTime();
  const scheme = createModelScheme(true);
  const validators = new ManyValidators(size, time, scheme);
  const show = (name: string, costs: ReadonlyMap<string, Cost>, per: number): void =>
    report({ name: `${size} validators: ${name}`, n: per, ...summary(costs, per) });

  await using network = openNetwork(time, validators, scheme);
  network.open();
  const isUp = network.untilUp(never);
  if (!(await time.runUntil(60_000 * MINUTES_TO_CONNECT, () => validators.readyCount === size))) {
    throw new Error(`${validators.readyCount} of ${size} are connected after ${MINUTES_TO_CONNECT} minutes`);
  }
  await isUp;
  report({ name: `${size} validators: connected after`, virtual_s: round(time.nowMs / 1_000) });
  const starting = time.takeCosts();
  show('a connection', without(starting, ['gossip', 'validator set', 'api']), size);
  show('gossip while connecting', only(starting, ['gossip']), starting.get('gossip')?.count ?? 1);
  show('the first reading of the set', only(starting, ['validator set']), starting.get('validator set')?.count ?? 1);

  // What waits from the start has passed.
  await time.runUntil(time.nowMs + 5_000);
  time.takeCosts();
  await time.runUntil(time.nowMs + IDLE_MS);
  show('a second of nothing', time.takeCosts(), IDLE_MS / 1_000);

  await benchSets(time, validators, show);
  await benchRequests(time, network, size, report);
}

type Show = (name: string, costs: ReadonlyMap<string, Cost>, per: number) => void;

/** The same validators at the next height, as after almost every block, without a request that waits for them. */
async function benchSets(time: MeteredTime, validators: ManyValidators, show: Show): Promise<void> {
  for (let height = 0; height < HEIGHTS; height += 1) {
    validators.height += 1n;
    await time.runUntil(time.nowMs + REFRESH_MS);
  }
  show('the set at a new height', only(time.takeCosts(), ['validator set']), HEIGHTS);
}

async function benchRequests(
  time: MeteredTime,
  network: ServedNetwork,
  size: number,
  report: (row: Row) => void,
): Promise<void> {
  const totals: number[] = [];
  const longest: { readonly kind: string; readonly longestMs: number }[] = [];
  const costs: ReadonlyMap<string, Cost>[] = [];
  let signers = 0;
  for (let index = 0; index < REQUESTS; index += 1) {
    time.takeCosts();
    signers = (await request(time, network, 1_000 + index)).signers.length;
    const taken = time.takeCosts();
    costs.push(taken);
    totals.push(totalOf(taken));
    longest.push(longestOf(taken));
  }
  report({
    name: `${size} validators: a request`,
    n: REQUESTS,
    signers,
    ms: round(median(totals)),
    us_each_query: round((1_000 * median(totals)) / signers, 1),
    longest_ms: round(median(longest.map(({ longestMs }) => longestMs))),
    longest_of: longest.map(({ kind }) => kind).toSorted()[REQUESTS >> 1] ?? '',
    ...parts(costs[REQUESTS >> 1] as ReadonlyMap<string, Cost>),
  });
}

async function request(time: MeteredTime, network: ServedNetwork, number: number): Promise<AggregationResult> {
  const payload = encodeWarpPayload({
    ...{ kind: 'AddressedCall', sourceAddress: new Uint8Array(20), payload: Buffer.from(`message ${number}`) },
  });
  const message = createUnsignedMessage(NETWORK_ID, P_CHAIN_ID, payload);
  let result: AggregationResult | undefined;
  let failure: unknown;
  time.happen(0, 'request', () => {
    const subject = { kind: 'message', message, justification: new Uint8Array() } as const;
    Promise.resolve(network.aggregator.aggregate({ subject }, { signal: never })).then(
      (made) => (result = made),
      (error: unknown) => (failure = error),
    );
  });
  await time.runUntil(time.nowMs + 60_000, () => result !== undefined || failure !== undefined);
  if (result === undefined) throw failure;
  return result;
}

function openNetwork(
  time: MeteredTime,
  validators: ManyValidators,
  scheme: ReturnType<typeof createModelScheme>,
): ServedNetwork {
  const { clock } = time;
  const endpoints = [{ baseUrl: 'http://node.simulated:9650' }];
  const threads = createJobRunner({
    ...{ threads: 2, concurrency: 4, maxQueued: 10_000 },
    execute(job) {
      const { promise, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof runBlsJob>>>();
      time.elsewhere(1, () => {
        const result = runBlsJob(scheme.backend, job);
        time.happen(0, 'bls result', () => resolve(result));
      });
      return promise;
    },
    close: async () => {},
  });
  return createServedNetwork({
    ...{ clock, random: Math.random, identity: createIdentity(), bls: createBlsService(threads, scheme.backend) },
    ...{ metrics: createMetrics(new Registry()), logger: pino({ level: 'silent' }) },
    ...{ shared: undefined, storePath: undefined },
    outside: { dial: validators.dial, openHttp: validators.openHttp },
    aggregation: {
      ...{ requestTimeoutMs: 30_000, peerTimeoutMs: 5_000, hedgeAfterMs: 1_000, connectTimeoutMs: 5_000 },
      ...{ maxAggregationsInFlight: 256, maxQueriesInFlight: 20_000, maxConcurrentQueries: 20_000 },
      ...{ signatureCacheSize: 100_000, signatureCachePerSigner: 1_000, resultCacheBytes: 1_000_000 },
    },
    network: {
      ...{
        name: 'many',
        aliases: [],
        embedded: undefined,
        apiTimeoutMs: 5_000,
        dataApi: undefined,
        goApi: {},
        chainRpc: new Map(),
      },
      ...{ pChainApi: endpoints, infoApi: endpoints, trackedSubnetIDs: [], allowedSubnetIDs: undefined },
      ...{ manuallyTrackedPeers: [], allowPrivateAddresses: false, dialsPerSecond: 50, validatorRefreshMs: REFRESH_MS },
      ...{ readyQuorumNum: 67n, l1Index: { lookback: 3n, blocksPerSecond: 50 } },
    },
  });
}

function totalOf(costs: ReadonlyMap<string, Cost>): number {
  return [...costs.values()].reduce((sum, { totalMs }) => sum + totalMs, 0);
}

function longestOf(costs: ReadonlyMap<string, Cost>): { readonly kind: string; readonly longestMs: number } {
  const all = [...costs].map(([kind, { longestMs }]) => ({ kind, longestMs }));
  return all.reduce((most, other) => (other.longestMs > most.longestMs ? other : most), {
    kind: 'nothing',
    longestMs: 0,
  });
}

function summary(costs: ReadonlyMap<string, Cost>, per: number): Omit<Row, 'name'> {
  const { kind, longestMs } = longestOf(costs);
  const longest = { longest_ms: round(longestMs), longest_of: kind };
  return { us_each: round((1_000 * totalOf(costs)) / per, 1), ...longest, ...parts(costs) };
}

/** Milliseconds by the kind of event. */
function parts(costs: ReadonlyMap<string, Cost>): Omit<Row, 'name'> {
  return Object.fromEntries(
    [...costs].map(([kind, { totalMs }]) => [`${kind.replaceAll(' ', '_')}_ms`, round(totalMs, 1)]),
  );
}

function only(costs: ReadonlyMap<string, Cost>, kinds: readonly string[]): ReadonlyMap<string, Cost> {
  return new Map([...costs].filter(([kind]) => kinds.includes(kind)));
}

function without(costs: ReadonlyMap<string, Cost>, kinds: readonly string[]): ReadonlyMap<string, Cost> {
  return new Map([...costs].filter(([kind]) => !kinds.includes(kind)));
}
