import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import { startGateway } from '../test/devnet/gateway.ts';
import { GATEWAY_FAULTS } from '../test/devnet/gateway-faults.ts';
import type { BenchmarkOptions, Row } from './benchmark.ts';
import { peakRssMib, readResources, untilReady } from './client.ts';
import { generateLoad } from './load.ts';
import { startDevnetProcess, startService } from './processes.ts';
import { median, round } from './statistics.ts';

const DEFAULT_SIZES = [20, 2_000];
/** The bars are for this number of validators. */
const BARS_FOR = 20;
const BARS_MS = { listening: 800, ready: 1_200 } as const;
const IDLE_BAR_MB = 160;
const LOADED_BAR_MB = 230;
const STARTS = 5;
/** Time for the garbage of the start to be collected. */
const SETTLE_MS = 5_000;
const REQUESTS = 10_000;
const PER_SECOND = 60;
const PART_S = 60;
const CONNECTIONS = 32;

/** Most of the direct start that a start behind an API that refuses numeric heights may take. */
const REFUSED_BAR = 1.5;

/** Measures the time of a start, direct and behind an API that refuses numeric heights, idle memory, and up to 20 validators the memory after 10,000 requests of all kinds. */
export async function benchMemory({ sizes, report }: BenchmarkOptions): Promise<void> {
  for (const validators of sizes.length > 0 ? sizes : DEFAULT_SIZES) await benchSize(validators, report);
}

async function benchSize(validators: number, report: (row: Row) => void): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const agent = new Agent();
  opened.defer(() => agent.close());
  const devnet = opened.use(await startDevnetProcess(validators));
  const gateway = opened.use(await startGateway(devnet.apiUrl, GATEWAY_FAULTS['numeric heights refused']));
  const start = (baseUrl = devnet.apiUrl) => startService({ network: { pChainApi: [{ baseUrl }] } });
  const name = (what: string): string => `${validators} validators: ${what}`;
  const times = { listening: [] as number[], ready: [] as number[], refused: [] as number[] };
  const idle: number[] = [];
  // The first start finds no compiled code where the sources have changed.
  for (let round = 0; round <= STARTS; round += 1) {
    await using service = await start();
    const listeningMs = performance.now() - service.startedMs;
    await untilReady(service.url, agent);
    const readyMs = performance.now() - service.startedMs;
    if (round === 0) continue;
    times.listening.push(listeningMs);
    times.ready.push(readyMs);
    await sleep(SETTLE_MS);
    idle.push(await rssMb(service.url));
    await using refused = await start(gateway.url);
    await untilReady(refused.url, agent);
    times.refused.push(performance.now() - refused.startedMs);
  }
  const hasBars = validators === BARS_FOR;
  for (const what of ['listening', 'ready'] as const) {
    const [ms, mostMs] = [round(median(times[what])), round(Math.max(...times[what]))];
    report({ name: name(what), n: STARTS, ms, most_ms: mostMs, ...(hasBars && { bar_ms: BARS_MS[what] }) });
  }
  const refusedMs = median(times.refused);
  report({
    name: name('ready where numeric heights are refused'),
    n: STARTS,
    ms: round(refusedMs),
    ratio: round(refusedMs / median(times.ready)),
    bar_ratio: REFUSED_BAR,
  });
  report({ name: name('idle'), n: STARTS, rss_mb: median(idle), ...(hasBars && { bar_mb: IDLE_BAR_MB }) });
  if (validators > BARS_FOR) return;

  await using service = await start();
  await untilReady(service.url, agent);
  let answered = 0;
  while (answered < REQUESTS) {
    const seconds = Math.min(PART_S, Math.ceil((REQUESTS - answered) / PER_SECOND));
    const { signed, refused, other } = await generateLoad({
      url: service.url,
      devnetUrl: devnet.url,
      kind: 'mixed',
      connections: CONNECTIONS,
      perSecond: PER_SECOND,
      seconds,
    });
    const part = signed.count + refused.count + other.count;
    if (part === 0) throw new Error('nothing is answered any more');
    answered += part;
  }
  report({
    name: name('after requests of all kinds'),
    n: answered,
    rss_mb: await rssMb(service.url),
    most_mb: toMb(peakRssMib(service.pid) ?? 0),
    ...(hasBars && { bar_mb: LOADED_BAR_MB }),
  });
}

async function rssMb(url: string): Promise<number> {
  return toMb((await readResources(url)).rssMib);
}

function toMb(mib: number): number {
  return Math.round((mib * 2 ** 20) / 1e6);
}
