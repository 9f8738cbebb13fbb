import { readFile, rm } from 'node:fs/promises';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import type { BenchmarkOptions, Figures, Row } from './benchmark.ts';
import { newMessages, postMessage, readResources, untilConnected, untilReady } from './client.ts';
import { cpuMs, type ServiceProcess, startDevnetProcess, startService } from './processes.ts';
import { median, round } from './statistics.ts';

const DEFAULT_SIZES = [20, 200, 2_000];
/** Fewer at 2,000 validators, where a request takes seconds on a busy machine. */
const distinctRounds = (validators: number): number => (validators >= 1_000 ? 5 : 20);
const IN_FLIGHT = 16;
/** Several requests for each client, so that the 99th percentile of the event-loop delay has enough samples. */
const IN_FLIGHT_ROUNDS = 4;
const REPEATED_ROUNDS = 200;

/** Measures the service on a devnet: time to ready, distinct, concurrent and repeated requests, event-loop delay, memory. */
export async function benchService({ sizes, report }: BenchmarkOptions): Promise<void> {
  for (const validators of sizes.length > 0 ? sizes : DEFAULT_SIZES) await benchSize(validators, report);
}

async function benchSize(validators: number, report: (row: Row) => void): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const agent = new Agent({ bodyTimeout: 0, headersTimeout: 0 });
  opened.defer(() => agent.close());
  const devnet = opened.use(await startDevnetProcess(validators));
  const settings = {
    network: { pChainApi: [{ baseUrl: devnet.apiUrl }] },
    aggregation: { requestTimeoutMs: 60_000 },
  };
  const service = opened.use(await startService(settings, ['--import', './bench/loop-delay.js']));
  const { url, startedMs } = service;
  const name = (what: string): string => `${validators} validators: ${what}`;
  report({ name: name('listening'), ms: round(performance.now() - startedMs) });
  await untilReady(url, agent);
  const readyMs = round(performance.now() - startedMs);
  report({ name: name('ready (67 % connected)'), ms: readyMs, ...(await resources(service)) });
  // Until then the handshakes take the devnet's time, which has its API in the same process.
  await untilConnected(url, agent);

  const post = async (message: string): Promise<number> => (await postMessage(url, message, agent)).ms;
  const rounds = distinctRounds(validators);
  const [first = '', ...others] = await newMessages(devnet.url, 1 + rounds + 2 * IN_FLIGHT_ROUNDS * IN_FLIGHT);
  report({ name: name('first request (keys undecoded)'), ms: round(await post(first)) });
  const beforeMs = cpuMs(service.pid);
  const distinct: number[] = [];
  for (const message of others.slice(0, rounds)) distinct.push(await post(message));
  const usedMs = cpuMs(service.pid) - beforeMs;
  report({
    name: name('distinct request'),
    n: rounds,
    ms: round(median(distinct)),
    cpu_ms: round(usedMs / rounds),
  });
  const rest = others.slice(rounds).values();
  const inFlight = async (): Promise<Figures> => {
    await loopDelay(service.pid);
    const startMs = performance.now();
    let failed = 0;
    // On a busy machine the devnet may not answer in time, above all at low priority: that is a figure, too.
    const fail = (): void => {
      failed += 1;
    };
    const client = async (): Promise<void> => {
      for (const message of rest.take(IN_FLIGHT_ROUNDS)) await post(message).catch(fail);
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, client));
    const ms = round((performance.now() - startMs) / (IN_FLIGHT_ROUNDS * IN_FLIGHT));
    return { ms, ...(failed > 0 && { failed }), ...(await loopDelay(service.pid)) };
  };
  report({ name: name(`distinct, ${IN_FLIGHT} in flight`), ...(await inFlight()) });
  // Real validators use other machines' cores.
  setPriority(devnet.pid, constants.priority.PRIORITY_LOW);
  report({ name: name(`distinct, ${IN_FLIGHT} in flight, devnet at low priority`), ...(await inFlight()) });
  const repeated: number[] = [];
  for (let index = 0; index < REPEATED_ROUNDS; index += 1) repeated.push(await post(first));
  report({ name: name('repeated request'), n: REPEATED_ROUNDS, ms: round(median(repeated)) });
  report({ name: name('after the run'), ...(await resources(service)) });
}

const LOOP_DELAY_TIMEOUT_MS = 10_000;

/** Reads the event-loop delay since the last call, which loop-delay.js measures in the service. */
async function loopDelay(pid: number): Promise<Figures> {
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
    if (performance.now() > deadlineMs) throw new Error(`no event-loop delay of process ${pid}`);
    await sleep(10);
  }
}

async function resources({ url, pid }: ServiceProcess): Promise<Figures> {
  const { rssMib } = await readResources(url);
  return { rss_mib: rssMib, cpu_s: round(cpuMs(pid) / 1_000) };
}
