import { readFile, rm } from 'node:fs/promises';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import type { BenchmarkOptions, Row } from './benchmark.ts';
import { startDevnetProcess, startService } from './processes.ts';
import { median, round } from './statistics.ts';

const DEFAULT_SIZES = [20, 200, 2_000];
/** Requests that a median is of; at 2,000 validators one takes seconds, so there are fewer. */
const distinctRounds = (validators: number): number => (validators >= 1_000 ? 5 : 20);
const IN_FLIGHT = 16;
/** One after the other for each of those in flight: the last percent of the event loop's delays is then of more than a moment. */
const IN_FLIGHT_ROUNDS = 4;
const REPEATED_ROUNDS = 200;
const READY_TIMEOUT_MS = 180_000;

/**
 * The whole service against the embedded network, each in its own process: time to ready, one distinct and one repeated
 * request, requests in flight together, memory.
 */
export async function benchService({ sizes, report }: BenchmarkOptions): Promise<void> {
  for (const validators of sizes.length > 0 ? sizes : DEFAULT_SIZES) await benchSize(validators, report);
}

async function benchSize(validators: number, report: (row: Row) => void): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const agent = new Agent({ bodyTimeout: 0, headersTimeout: 0 });
  opened.defer(() => agent.close());

  const devnet = opened.use(await startDevnetProcess(validators));
  const service = opened.use(
    await startService(
      {
        network: { pChainApi: [{ baseUrl: devnet.apiUrl }] },
        aggregation: { requestTimeoutMs: 60_000 },
      },
      ['--import', './bench/loop-delay.js'],
    ),
  );
  const { url, startedMs: startMs } = service;
  const name = (what: string): string => `${validators} validators: ${what}`;
  report({ name: name('listening'), ms: round(performance.now() - startMs) });
  await untilReady(url, agent);
  report({ name: name('ready (67 % connected)'), ms: round(performance.now() - startMs), ...(await resources(url)) });

  const post = (message: string): Promise<number> => postMessage(url, message, agent);
  const rounds = distinctRounds(validators);
  const messages = await newMessages(devnet.url, 1 + rounds + 2 * IN_FLIGHT_ROUNDS * IN_FLIGHT);
  const [first = '', ...others] = messages;
  report({ name: name('first request (keys undecoded)'), ms: round(await post(first)) });
  const before = await resources(url);
  const distinct: number[] = [];
  for (const message of others.slice(0, rounds)) distinct.push(await post(message));
  const after = await resources(url);
  report({
    name: name('distinct request'),
    n: rounds,
    ms: round(median(distinct)),
    cpu_ms: round(((after.cpu_s - before.cpu_s) * 1000) / rounds),
  });
  const rest = others.slice(rounds).values();
  const inFlight = async (): Promise<Omit<Row, 'name'>> => {
    await loopDelay(service.pid);
    const togetherMs = performance.now();
    const client = async (): Promise<void> => {
      for (const message of rest.take(IN_FLIGHT_ROUNDS)) await post(message);
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, client));
    const ms = round((performance.now() - togetherMs) / (IN_FLIGHT_ROUNDS * IN_FLIGHT));
    return { ms, ...(await loopDelay(service.pid)) };
  };
  report({ name: name(`distinct, ${IN_FLIGHT} in flight`), ...(await inFlight()) });
  // Its validators are elsewhere in truth, and take no core from the service.
  setPriority(devnet.pid, constants.priority.PRIORITY_LOW);
  report({ name: name(`distinct, ${IN_FLIGHT} in flight, the network behind the service`), ...(await inFlight()) });
  const repeated: number[] = [];
  for (let index = 0; index < REPEATED_ROUNDS; index += 1) repeated.push(await post(first));
  report({ name: name('repeated request'), n: REPEATED_ROUNDS, ms: round(median(repeated)) });
  report({ name: name('after the run'), ...(await resources(url)) });
}

export async function untilReady(url: string, agent: Agent, path = '/health/ready'): Promise<void> {
  const deadlineMs = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    const { statusCode, body } = await request(`${url}${path}`, { dispatcher: agent });
    const text = await body.text();
    if (statusCode === 200) return;
    if (performance.now() > deadlineMs) throw new Error(`not ready after ${READY_TIMEOUT_MS} ms: ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Has a message signed. @returns how long that took, in milliseconds. @throws where it was not signed */
export async function postMessage(url: string, message: string, agent: Agent): Promise<number> {
  const sentMs = performance.now();
  const answer = await request(`${url}/v1/signatureAggregator/fuji/aggregateSignatures`, {
    method: 'POST',
    dispatcher: agent,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message }),
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 201) throw new Error(`status ${answer.statusCode}: ${text}`);
  return performance.now() - sentMs;
}

/** Has the embedded network's C-Chain emit messages, and returns them in hex. */
export async function newMessages(url: string, count: number): Promise<string[]> {
  const { body } = await request(`${url}/devnet/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ count }),
  });
  return ((await body.json()) as { messages: string[] }).messages;
}

const LOOP_DELAY_TIMEOUT_MS = 10_000;

/** Of the service's event loop since the last call; see loop-delay.js, with which it must have been started. */
async function loopDelay(pid: number): Promise<Omit<Row, 'name'>> {
  const path = join(tmpdir(), `loop-delay-${pid}.json`);
  process.kill(pid, 'SIGUSR2');
  const deadlineMs = performance.now() + LOOP_DELAY_TIMEOUT_MS;
  for (;;) {
    const text = await readFile(path, 'utf8').catch(() => undefined);
    if (text !== undefined) {
      await rm(path);
      const figures = Object.entries(JSON.parse(text) as Record<string, number>);
      return Object.fromEntries(figures.map(([what, ms]) => [`loop_delay_${what}_ms`, round(ms, 1)]));
    }
    if (performance.now() > deadlineMs) throw new Error(`no delay of the event loop of process ${pid}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export async function resources(url: string): Promise<{ rss_mib: number; cpu_s: number }> {
  const { body } = await request(`${url}/metrics`);
  const text = await body.text();
  const value = (metric: string): number => Number(new RegExp(`^${metric} (.+)$`, 'm').exec(text)?.[1]);
  return {
    rss_mib: Math.round(value('process_resident_memory_bytes') / 2 ** 20),
    cpu_s: round(value('process_cpu_seconds_total')),
  };
}
