import { Agent, Pool, request } from 'undici';
import type { BenchmarkOptions, Figures } from './benchmark.ts';
import { AGGREGATION_PATH, bodyOf, JSON_HEADERS, newMessages, postMessage, untilReady } from './client.ts';
import { type DevnetProcess, type ServiceProcess, startDevnetProcess, startService } from './processes.ts';
import { median, quantile, round } from './statistics.ts';

const DEFAULT_CONNECTIONS = 1_200;
const VALIDATORS = 5;
const BODY_BYTES = 400 * 1024;
const BODIES = 100;
const ROUNDS = 5;
const TIMEOUT_MS = 60_000;

/**
 * Opens many connections of one address at once, each with a request for a message that is signed already. Then sends bodies of 400 KB over 4
 * and 16 connections, in alternating rounds to a service that counts the address as a client and one to which it is a trusted proxy.
 */
export async function benchConnections({ sizes, report }: BenchmarkOptions): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const devnet = opened.use(await startDevnetProcess(VALIDATORS));
  const client = opened.use(await start(devnet, []));
  const proxy = opened.use(await start(devnet, ['127.0.0.0/8']));
  const [message = ''] = await newMessages(devnet.url, 1);
  for (const count of sizes.length > 0 ? sizes : [DEFAULT_CONNECTIONS]) {
    report({ name: `${count} connections at once`, ...(await openAtOnce(client.url, message, count)) });
  }
  for (const connections of [4, 16]) {
    report({ name: `bodies of 400 KB, ${connections} connections`, ...(await compare(client, proxy, connections)) });
  }
}

async function start({ apiUrl }: DevnetProcess, trustedProxies: readonly string[]): Promise<ServiceProcess> {
  const service = await startService({
    network: { pChainApi: [{ baseUrl: apiUrl }] },
    server: { port: 0, trustedProxies },
    access: { unitsPerMinute: 0 },
  });
  await untilReady(service.url);
  return service;
}

async function openAtOnce(url: string, message: string, count: number): Promise<Figures> {
  const agent = new Agent({ pipelining: 0 });
  await postMessage(url, message, agent);
  const tookMs: number[] = [];
  const failures = new Map<string, number>();
  await Promise.all(
    Array.from({ length: count }, async () => {
      const failure = await postMessage(url, message, agent).then(
        ({ ms }) => void tookMs.push(ms),
        (error: Error) => error.message.slice(0, 80),
      );
      if (failure !== undefined) failures.set(failure, (failures.get(failure) ?? 0) + 1);
    }),
  );
  await agent.destroy();
  for (const [failure, times] of failures) process.stderr.write(`${times} × ${failure}\n`);
  return { answered: tookMs.length, p50_ms: round(median(tookMs)), max_ms: round(quantile(tookMs, 1)) };
}

async function compare(client: ServiceProcess, proxy: ServiceProcess, connections: number): Promise<Figures> {
  const tookMs: Record<'client' | 'proxy', number[]> = { client: [], proxy: [] };
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [name, { url }] of [
      ['client', client],
      ['proxy', proxy],
    ] as const) {
      const ms = await sendBodies(url, connections);
      // The first round warms up.
      if (round >= 0) tookMs[name].push(ms);
    }
  }
  const ratios = tookMs.client.map((ms, index) => ms / (tookMs.proxy[index] ?? Number.NaN));
  return {
    n: BODIES,
    client_ms: round(median(tookMs.client)),
    proxy_ms: round(median(tookMs.proxy)),
    ratio: round(median(ratios)),
  };
}

/** Sends bodies that are no message. @returns the time until all are answered */
async function sendBodies(url: string, connections: number): Promise<number> {
  await using pool = new AsyncDisposableStack();
  const dispatcher = pool.adopt(new Pool(url, { connections, pipelining: 1 }), (each) => each.destroy());
  const body = bodyOf('z'.repeat(BODY_BYTES));
  const startMs = performance.now();
  await Promise.all(
    Array.from({ length: BODIES }, async () => {
      const { statusCode, body: answer } = await request(`${url}${AGGREGATION_PATH}`, {
        method: 'POST',
        dispatcher,
        headers: JSON_HEADERS,
        body,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      await answer.dump();
      if (statusCode !== 400) throw new Error(`status ${statusCode}`);
    }),
  );
  return performance.now() - startMs;
}
