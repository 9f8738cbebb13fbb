import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { BenchmarkOptions, Row } from './benchmark.ts';
import { startProcess, startService } from './processes.ts';
import { median, quantile, round } from './statistics.ts';

/** Bytes of an answer: a block, a page of transactions, one with all its UTXOs. */
const DEFAULT_SIZES = [1_000, 20_000, 200_000];
const CONNECTIONS = 16;
/** Starts of all processes: two processes of the same code differ in speed, depending on what V8 compiles when. */
const STARTS = 3;
/** Short alternating rounds of each start: the same process is a quarter faster or slower from one second to the next. */
const ROUNDS = 12;
/** An idle service collects its garbage, with which V8 drops compiled code; the warm-up comes after that. */
const SETTLE_MS = 4_000;
const WARM_UP_MS = 5_000;
/** Load before each round that is not counted: a target that was idle while others were measured begins with cold CPU caches. */
const LEAD_IN_MS = 400;
const ROUND_MS = 400;
/** Requests one at a time, for the latency that the proxy adds without queueing. */
const LONE_ROUND_MS = 100;
const CACHE_BYTES = 32 * 1024 * 1024;
/** Rate limits are counted and never reached. */
const RATE_LIMIT = 10_000_000;
const DEVNET_VALIDATORS = 5;

/**
 * Compares GETs of an upstream directly, through a bare proxy, and through the service with its cache off, on, and without limits and CORS.
 * Each runs in a separate process.
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
    // Comparable to the bare proxy: only parameters and answers are checked.
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
      ofBareProxy: round(median(ratios)),
      saturatedP99Ms: round(median(of(name).map(({ saturatedP99Ms }) => saturatedP99Ms))),
      loneP50Ms: round(median(lone)),
      loneP99Ms: round(loneP99(name)),
      loneP99AddedMs: round(loneP99(name) - loneP99('direct')),
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
        // A hundred targets that repeat, for the cache.
        const path = `/v1/networks/fuji/blockchains/p-chain/transactions?pageSize=50&pageToken=${each.length % 100}`;
        await get(pool, path);
        each.push(performance.now() - askedMs);
      }
    }),
  );
  return { tookMs: performance.now() - startMs, each };
}

/** Drops the answer as it arrives, because this process should use as little CPU as possible. */
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
