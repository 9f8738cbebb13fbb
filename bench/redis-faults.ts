import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { Agent } from 'undici';
import { type RedisProcess, startRedis } from '../test/network/redis-process.ts';
import { startRedisCluster } from '../test/network/redis-topologies.ts';
import type { BenchmarkOptions, Row } from './benchmark.ts';
import { Prober } from './prober.ts';
import { startDevnetProcess, startService } from './processes.ts';
import { newMessages, untilReady } from './service.ts';

const DEFAULT_VALIDATORS = 20;
/** Over both replicas: less than half of what two cores do, so that the queue of one moment is not the latency of the next. */
const PER_SECOND = 16;
/** Keys are decoded, and code is compiled. */
const WARM_UP_MS = 4_000;
const QUIET_MS = 6_000;
/** The bar: by then latency is normal again. */
const BACK_AFTER_MS = 5_000;
/** How long a fault lasts, and how long it is looked at afterwards. */
const PHASE_MS = BACK_AFTER_MS + 4_000;

/** The servers of a store, what befalls them, and what makes it good. */
interface Fault extends AsyncDisposable {
  readonly store: object;
  begin(): Promise<unknown>;
  end(): Promise<unknown>;
}

const FAULTS: Readonly<Record<string, () => Promise<Fault>>> = {
  none: async () => ofOne(await startRedis(), { begin: async () => undefined, end: async () => undefined }),
  async stopped() {
    const redis = await startRedis();
    return ofOne(redis, { begin: () => redis.kill(), end: () => redis.restart() });
  },
  async frozen() {
    const redis = await startRedis();
    return ofOne(redis, { begin: () => redis.freeze(), end: async () => redis.thaw() });
  },
  async wiped() {
    const redis = await startRedis();
    const wipe = (): Promise<void> => command(redis, ['FLUSHALL']);
    return ofOne(redis, { begin: wipe, end: wipe });
  },
  async full() {
    const redis = await startRedis();
    const limitTo = (bytes: string) => () => command(redis, ['CONFIG', 'SET', 'maxmemory', bytes]);
    return ofOne(redis, { begin: limitTo('1'), end: limitTo('0') });
  },
  async 'cluster-node'() {
    const cluster = await startRedisCluster();
    const [first, ...others] = cluster.nodes;
    const sharedNodes = others.map(({ port }) => `127.0.0.1:${port}`);
    return {
      store: { sharedUrl: urlOf(first as RedisProcess), sharedNodes },
      begin: async () => first?.kill(),
      end: async () => first?.restart(),
      [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
    };
  },
};

/**
 * Two replicas before a Redis that fails: how long requests take before, in the first five seconds of the fault and after them, and the
 * same from its end on. Each message is asked of one replica, and at the next turn of the other, so that they wait for each other.
 * Number: validators.
 */
export async function benchRedisFaults({ sizes, words, report }: BenchmarkOptions): Promise<void> {
  for (const [name, start] of Object.entries(FAULTS)) {
    if (words.length > 0 && !words.includes(name)) continue;
    await using fault = await start();
    report({ name: `Redis ${name}`, ...(await measure(fault, sizes[0] ?? DEFAULT_VALIDATORS)) });
  }
}

async function measure(fault: Fault, validators: number): Promise<Omit<Row, 'name'>> {
  await using opened = new AsyncDisposableStack();
  const agent = new Agent();
  opened.defer(() => agent.close());
  const devnet = opened.use(await startDevnetProcess(validators));
  const settings = {
    network: { pChainApi: [{ baseUrl: devnet.apiUrl }] },
    bls: { backend: 'native' },
    store: { ...fault.store, sharedSecret: 'the secret of a benchmark' },
  };
  const replicas = [opened.use(await startService(settings)), opened.use(await startService(settings))];
  for (const { url } of replicas) await untilReady(url, agent);
  const seconds = Math.ceil((WARM_UP_MS + QUIET_MS + 2 * PHASE_MS) / 1_000) + 2;
  const messages = await newMessages(devnet.url, (PER_SECOND * seconds) / replicas.length);
  const twice = messages.flatMap((message) => replicas.map(() => message));
  const urls = replicas.map(({ url }) => url);

  const prober = opened.use(new Prober(urls, twice, PER_SECOND));
  await sleep(WARM_UP_MS);
  const quietMs = Date.now();
  await sleep(QUIET_MS);
  const begunMs = Date.now();
  await fault.begin();
  await sleep(PHASE_MS);
  const endedMs = Date.now();
  await fault.end();
  await sleep(PHASE_MS);

  const quiet = prober.figures(quietMs, begunMs);
  const phase = (name: string, fromMs: number) => {
    const first = prober.figures(fromMs, fromMs + BACK_AFTER_MS);
    const then = prober.figures(fromMs + BACK_AFTER_MS, fromMs + PHASE_MS);
    return {
      [`${name}_first_5_s_p99_ms`]: first.p99Ms,
      [`${name}_then_p99_ms`]: then.p99Ms,
    };
  };
  const whole = prober.figures(quietMs, Date.now());
  return {
    ...{ n: whole.count, good_percent: whole.goodPercent, quiet_p50_ms: quiet.p50Ms, quiet_p99_ms: quiet.p99Ms },
    ...phase('fault', begunMs),
    ...phase('end', endedMs),
    ...{ p50_ms: whole.p50Ms, max_ms: whole.maxMs },
  };
}

function ofOne(redis: RedisProcess, { begin, end }: Pick<Fault, 'begin' | 'end'>): Fault {
  return {
    store: { sharedUrl: urlOf(redis) },
    ...{ begin, end },
    [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
  };
}

const urlOf = ({ port }: RedisProcess): string => `redis://127.0.0.1:${port}`;

async function command(redis: RedisProcess, args: string[]): Promise<void> {
  const client = createClient({ url: urlOf(redis) });
  await client.connect();
  await client.sendCommand(args);
  client.destroy();
}
