import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { BenchmarkOptions, Row } from './benchmark.ts';
import { startProcess, startService } from './processes.ts';

/** Bytes of an answer: a block, a page of transactions, one with all its UTXOs. */
const DEFAULT_SIZES = [1_000, 20_000, 200_000];
const CONNECTIONS = 16;
/** Of all processes: those of the same code differ for as long as they live, by what V8 compiles when. */
const STARTS = 3;
/**
 * Of each start, over all targets in turns, to and fro, so that all have the same of a noisy machine; each ratio is the median of its
 * rounds'. They are many and short, as the same process is a quarter faster or slower from one second to the next.
 */
const ROUNDS = 12;
/** Once idle after its start, a service collects all garbage, and V8 lets go of compiled code then: what was warm would be cold again. */
const SETTLE_MS = 4_000;
/** Until V8 has compiled what is hot: the service has more of that than the bare proxy, and is slow for longer. */
const WARM_UP_MS = 5_000;
/**
 * Before what is counted, in each round. Who waited while the others had their turns begins cold, as no proxy under such a load is: in the
 * first quarter of a second `checked` has 0.80 of the bare proxy's requests, as it has more code to get back into the caches.
 */
const LEAD_IN_MS = 400;
const ROUND_MS = 400;
/** Then one at a time, for what the proxy adds to an answer where nothing queues. */
const LONE_ROUND_MS = 100;
const CACHE_BYTES = 32 * 1024 * 1024;
/** Rate limits are counted, and never reached. */
const RATE_LIMIT = 10_000_000;
const DEVNET_VALIDATORS = 5;

/**
 * GETs of an upstream asked directly, through a bare proxy of Fastify and undici, and through the whole service with its cache off
 * and on, and without limits and CORS; upstream, proxy, service and this client each in a process of its own.
 */
export async function benchUpstream({ sizes, report }: BenchmarkOptions): Promise<void> {
  for (const size of sizes.length > 0 ? sizes : DEFAULT_SIZES) await benchSize(size, report);
}

interface Round {
  readonly perSecond: number;
  readonly saturatedP99Ms: number;
  readonly loneMs: readonly number[];
}

async function benchSize(size: number, report: (row: Row) => void): Promise<void> {
  const rounds: Record<string, Round[]> = {};
  for (let start = 0; start < STARTS; start += 1) await measureStart(size, rounds);
  reportRounds(size, rounds, report);
}

/** Starts all processes, and adds their rounds to those of earlier starts. */
async function measureStart(size: number, rounds: Record<string, Round[]>): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const start = async (...args: string[]) => opened.use(await startProcess(args)).announced;
  const { url: upstream } = await start('bench/upstream-stand-in.ts', String(size));
  const { url: bare } = await start('bench/bare-proxy.ts', String(upstream));
  const { apiUrl } = await start('bench/devnet-process.ts', String(DEVNET_VALIDATORS));
  const service = async (cacheBytes: number, settings: object): Promise<string> => {
    const endpoints = { dataApi: { fuji: { baseUrl: upstream } } };
    const network = { pChainApi: [{ baseUrl: apiUrl }] };
    const all = { network, upstream: { ...endpoints, cacheBytes }, ...settings };
    return opened.use(await startService(all)).url;
  };
  const targets: Readonly<Record<string, string>> = {
    direct: String(upstream),
    'bare proxy': String(bare),
    // What is comparable to the bare proxy: parameters and answers are checked, and that is all.
    'checked alone': await service(0, { access: { unitsPerMinute: 0 }, server: { port: 0, corsOrigins: [] } }),
    checked: await service(0, { access: { unitsPerMinute: RATE_LIMIT } }),
    cached: await service(CACHE_BYTES, { access: { unitsPerMinute: RATE_LIMIT } }),
  };

  await sleep(SETTLE_MS);
  const pools = Object.entries(targets).map(
    ([name, url]) => [name, opened.adopt(new Pool(url, { connections: CONNECTIONS }), (pool) => pool.close())] as const,
  );
  for (const [, pool] of pools) await run(pool, CONNECTIONS, WARM_UP_MS);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, pool] of round % 2 === 0 ? pools : pools.toReversed()) {
      (rounds[name] ??= []).push(await measure(pool));
    }
  }
}

function reportRounds(
  size: number,
  rounds: Readonly<Record<string, readonly Round[]>>,
  report: (row: Row) => void,
): void {
  const of = (name: string): readonly Round[] => rounds[name] ?? [];
  const loneP99 = (name: string): number =>
    quantile(
      of(name).flatMap(({ loneMs }) => loneMs),
      0.99,
    );
  for (const name of Object.keys(rounds)) {
    const ratios = of(name).map(({ perSecond }, index) => perSecond / (of('bare proxy')[index]?.perSecond ?? 1));
    const lone = of(name).flatMap(({ loneMs }) => loneMs);
    report({
      name: `${size} bytes: ${name}`,
      perSecond: Math.round(median(of(name).map(({ perSecond }) => perSecond))),
      ofBareProxy: round2(median(ratios)),
      saturatedP99Ms: round2(median(of(name).map(({ saturatedP99Ms }) => saturatedP99Ms))),
      loneP50Ms: round2(median(lone)),
      loneP99Ms: round2(loneP99(name)),
      loneP99AddedMs: round2(loneP99(name) - loneP99('direct')),
    });
  }
}

async function measure(pool: Pool): Promise<Round> {
  await run(pool, CONNECTIONS, LEAD_IN_MS);
  const together = await run(pool, CONNECTIONS, ROUND_MS);
  const lone = await run(pool, 1, LONE_ROUND_MS);
  return {
    perSecond: (together.each.length / together.tookMs) * 1_000,
    saturatedP99Ms: quantile(together.each, 0.99),
    loneMs: lone.each,
  };
}

/** @param clients that each send one request after the other */
async function run(pool: Pool, clients: number, forMs: number): Promise<{ tookMs: number; each: number[] }> {
  const each: number[] = [];
  const startMs = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < startMs + forMs) {
        const askedMs = performance.now();
        // A hundred targets that come again: so a cache has something to do.
        const path = `/v1/networks/fuji/blockchains/p-chain/transactions?pageSize=50&pageToken=${each.length % 100}`;
        await get(pool, path);
        each.push(performance.now() - askedMs);
      }
    }),
  );
  return { tookMs: performance.now() - startMs, each };
}

/** Reads the answer and drops it as it comes: this process is to do as little as possible beside those that are measured. */
function get(pool: Pool, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  pool.dispatch(
    { method: 'GET', path },
    {
      onRequestStart: () => undefined,
      onResponseStart(controller, status) {
        if (status !== 200) controller.abort(new Error(`status ${status}`));
      },
      onResponseData: () => undefined,
      onResponseEnd: () => resolve(),
      onResponseError: (_controller, error) => reject(error),
    },
  );
  return promise;
}

function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
}

function round2(value: number): number {
  return Math.round(value * 100) / 100;
}
