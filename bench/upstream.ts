import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import replyFrom from '@fastify/reply-from';
import fastify from 'fastify';
import { Registry } from 'prom-client';
import { Pool } from 'undici';
import { registerUpstreamRoutes } from '../src/api/routes/upstream.ts';
import { parseConfig } from '../src/config/config.ts';
import { systemClock } from '../src/primitives/clock.ts';
import { createUpstreams } from '../src/upstream/upstreams.ts';

type Row = Readonly<Record<string, string | number>>;
interface Bench {
  readonly sizes: readonly number[];
  readonly report: (row: Row) => void;
}

/** Bytes of an answer: a block, a page of transactions, one with all its UTXOs. */
const DEFAULT_SIZES = [1_000, 20_000, 200_000];
const CONNECTIONS = 16;
const ROUNDS = 5;
const REQUESTS_PER_ROUND = 1_500;
/** One at a time, for what the proxy adds to an answer where nothing queues. */
const LONE_REQUESTS_PER_ROUND = 400;

/**
 * GETs of an upstream asked directly, through a bare @fastify/reply-from, and through the service's checks with the cache off
 * and on; in turns, so that all have the same of a noisy machine. All in one process: what counts is the ratio to the bare
 * proxy.
 */
export async function benchUpstream({ sizes, report }: Bench): Promise<void> {
  for (const size of sizes.length > 0 ? sizes : DEFAULT_SIZES) await benchSize(size, report);
}

async function benchSize(size: number, report: (row: Row) => void): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const text = JSON.stringify({
    blockHash: '',
    transactions: Array.from({ length: Math.ceil(size / 50) }, (_, index) => ({ index, hash: 'x'.repeat(28) })),
  });
  const upstream = createServer((_request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
      .end(text);
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  opened.defer(() => void upstream.close());
  const baseUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;

  const bare = fastify();
  await bare.register(replyFrom, { base: baseUrl });
  bare.get('/*', (_request, reply) => reply.from());
  const targets: Record<string, string> = {
    direct: baseUrl,
    'bare proxy': await bare.listen({ host: '127.0.0.1', port: 0 }),
    checked: await startChecked(baseUrl, 0, opened),
    cached: await startChecked(baseUrl, 32 * 1024 * 1024, opened),
  };
  opened.defer(() => bare.close());

  const times: Record<string, number[]> = {};
  const loneTimes: Record<string, number[]> = {};
  const seconds: Record<string, number> = {};
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [name, url] of Object.entries(targets)) {
      const { tookMs, each } = await run(url, CONNECTIONS, REQUESTS_PER_ROUND);
      const lone = await run(url, 1, LONE_REQUESTS_PER_ROUND);
      if (round < 0) continue; // warms up
      (times[name] ??= []).push(...each);
      (loneTimes[name] ??= []).push(...lone.each);
      seconds[name] = (seconds[name] ?? 0) + tookMs / 1_000;
    }
  }
  const rate = (name: string): number => (ROUNDS * REQUESTS_PER_ROUND) / (seconds[name] ?? 1);
  const p99 = (name: string): number => quantile(loneTimes[name] ?? [], 0.99);
  for (const name of Object.keys(targets)) {
    report({
      name: `${size} bytes: ${name}`,
      perSecond: Math.round(rate(name)),
      ofBareProxy: round2(rate(name) / rate('bare proxy')),
      saturatedP99Ms: round2(quantile(times[name] ?? [], 0.99)),
      loneP50Ms: round2(quantile(loneTimes[name] ?? [], 0.5)),
      loneP99Ms: round2(p99(name)),
      loneP99AddedMs: round2(p99(name) - p99('direct')),
    });
  }
}

async function startChecked(baseUrl: string, cacheBytes: number, opened: AsyncDisposableStack): Promise<string> {
  const endpoint = { baseUrl };
  const { upstream } = parseConfig(
    { network: 'local', pChainApi: [endpoint], upstream: { dataApi: { fuji: endpoint }, cacheBytes } },
    {},
    {},
  );
  const upstreams = opened.use(createUpstreams({ ...upstream, clock: systemClock, registry: new Registry() }));
  const server = fastify();
  await registerUpstreamRoutes(server as never, {
    upstreams,
    clock: systemClock,
    timeoutMs: upstream.timeoutMs,
    passUnknown: true,
    rpc: { methods: new Set(), maxBatch: 1 },
  });
  opened.defer(() => server.close());
  return server.listen({ host: '127.0.0.1', port: 0 });
}

async function run(url: string, connections: number, requests: number): Promise<{ tookMs: number; each: number[] }> {
  const pool = new Pool(url, { connections });
  const each: number[] = [];
  const startMs = performance.now();
  let left = requests;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (left > 0) {
        left -= 1;
        const askedMs = performance.now();
        // A hundred targets that come again: so a cache has something to do.
        const path = `/v1/networks/fuji/blockchains/p-chain/transactions?pageSize=50&pageToken=${left % 100}`;
        const { statusCode, body } = await pool.request({ method: 'GET', path });
        await body.arrayBuffer();
        if (statusCode !== 200) throw new Error(`status ${statusCode}`);
        each.push(performance.now() - askedMs);
      }
    }),
  );
  const tookMs = performance.now() - startMs;
  await pool.close();
  return { tookMs, each };
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
}

function round2(value: number): number {
  return Math.round(value * 100) / 100;
}
