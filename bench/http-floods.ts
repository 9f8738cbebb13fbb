import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import type { BenchmarkOptions, Figures } from './benchmark.ts';
import { newMessages, peakRssMib, postMessage, type Resources, readResources } from './client.ts';
import { generateLoad, type LoadJob, type LoadResult } from './load.ts';
import { Prober } from './prober.ts';
import { cpuMs } from './processes.ts';
import { type Rig, startRig } from './rig.ts';
import { round } from './statistics.ts';

interface Flood {
  readonly kind: LoadJob['kind'];
  readonly connections: number;
  /** Sends ten times the rate of a closed loop; otherwise each connection waits for its answer. */
  readonly isOpen?: boolean;
  readonly isPChainHanging?: boolean;
}

const FLOODS: Readonly<Record<string, Flood>> = {
  distinct: { kind: 'distinct', connections: 256, isOpen: true },
  'unknown-chains': { kind: 'unknown-chains', connections: 256, isOpen: true },
  refused: { kind: 'refused', connections: 256, isOpen: true },
  huge: { kind: 'huge', connections: 64, isOpen: true },
  garbage: { kind: 'garbage', connections: 256, isOpen: true },
  unread: { kind: 'unread', connections: 64 },
  'half-sent': { kind: 'half-sent', connections: 10_000 },
  'one-byte-chunks': { kind: 'one-byte-chunks', connections: 60 },
  'long-one-byte-chunks': { kind: 'long-one-byte-chunks', connections: 14 },
  'one-byte-segments': { kind: 'one-byte-segments', connections: 60 },
  'unfinished-bodies': { kind: 'unfinished-bodies', connections: 4_000 },
  'hanging-p-chain': { kind: 'unknown-chains', connections: 256, isOpen: true, isPChainHanging: true },
};
/** Clients that use HTTP in ways that cost the service much and themselves little, each as fast as it can; then a chain's RPC, and validators. */
const HOSTILE: Readonly<Record<string, Flood>> = {
  pieces: { kind: 'short-one-byte-chunks', connections: 128 },
  'pieces-to-nowhere': { kind: 'chunks-to-nowhere', connections: 128 },
  pipelines: { kind: 'unread', connections: 64 },
  reconnecting: { kind: 'reconnecting', connections: 128 },
  crowd: { kind: 'crowd', connections: 1_000 },
  'crowd-in-pieces': { kind: 'crowd-in-pieces', connections: 800 },
  'slow-streams': { kind: 'slow-streams', connections: 5_000 },
  receipts: { kind: 'receipts', connections: 30 },
  validators: { kind: 'validators', connections: 6 },
};
/** Multiple of the measured capacity. */
const OVERLOAD = 10;
/** A higher rate would take too much of the machine's time from the service. */
const MOST_PER_SECOND = 2_000;
const CAPACITY_CONNECTIONS = 16;
const GOOD_PER_SECOND = 3;
const RECOVERY_S = 10;
/** Latency must be normal again from then on. */
const RECOVERED_AFTER_MS = 5_000;
const FLOOD_DEFAULTS = { seconds: 20, validators: 200, settlingSeconds: 120 };
const HOSTILE_DEFAULTS = { seconds: 10, validators: 20, settlingSeconds: 0 };

/**
 * Sends each kind of flood at ten times capacity from one address, with good requests and health probes from two others, and measures how
 * long the service takes to recover. Numbers: seconds of a flood, validators, seconds until memory is read again.
 */
export const benchHttpFloods = benchFloods(FLOODS, FLOOD_DEFAULTS);

/** Like {@link benchHttpFloods}, with hostile uses of HTTP, a hostile RPC of a chain, and validators that flood. */
export const benchHostile = benchFloods(HOSTILE, HOSTILE_DEFAULTS);

function benchFloods(floods: Readonly<Record<string, Flood>>, defaults: typeof FLOOD_DEFAULTS) {
  return async ({ sizes, words, report }: BenchmarkOptions): Promise<void> => {
    const [seconds = defaults.seconds, validators = defaults.validators, settlingSeconds = defaults.settlingSeconds] =
      sizes;
    for (const [name, flood] of Object.entries(floods)) {
      if (words.length > 0 && !words.includes(name)) continue;
      // A new service for each, because the state that a flood leaves behind would count for the next.
      await using rig = await startRig(validators);
      report({ name: `flood of ${name}`, validators, ...(await measure(rig, flood, { seconds, settlingSeconds })) });
    }
  };
}

async function measure(
  rig: Rig,
  flood: Flood,
  { seconds, settlingSeconds }: { seconds: number; settlingSeconds: number },
): Promise<Figures> {
  const { service, devnetUrl, pChain } = rig;
  const { url, operationsUrl, pid } = service;
  const messages = await newMessages(devnetUrl, 10_000);
  const job = { url, devnetUrl, kind: flood.kind, connections: flood.connections, seconds };
  // Warm-up: the cost of the first requests belongs to no flood. The OpenAPI document, for which a flood asks, is made at its first request.
  for (const path of ['/openapi.json', '/docs/json']) await (await fetch(url + path)).text();
  await generateLoad({ ...job, kind: 'mixed', connections: CAPACITY_CONNECTIONS, seconds: Math.min(5, seconds) });
  const perSecond = flood.isOpen === true ? Math.min(MOST_PER_SECOND, OVERLOAD * (await capacityOf(job))) : undefined;
  const before = await readResources(operationsUrl);
  const hangingPrefix = flood.isPChainHanging === true ? `,"pChainHeight":${await heightOf(rig)}` : '';
  await using prober = new Prober({ url, operationsUrl, messages, perSecond: GOOD_PER_SECOND, extra: hangingPrefix });

  const quietFromMs = Date.now();
  await sleep(1_000 * Math.max(2, seconds / 2));
  const quiet = prober.figures(quietFromMs, Date.now());

  if (flood.isPChainHanging === true) pChain.isHanging = true;
  const watch = watchMemory(operationsUrl);
  const cpuBeforeMs = cpuMs(pid);
  const load = await generateLoad({ ...job, ...(perSecond !== undefined && { perSecond }) });
  const peakMib = Math.max(watch.stop(), peakRssMib(pid) ?? 0);
  pChain.isHanging = false;
  const cores = (cpuMs(pid) - cpuBeforeMs) / (load.endedMs - load.startedMs);
  await sleep(1_000 * Math.min(RECOVERY_S, seconds));
  const flooded = prober.figures(load.startedMs, load.endedMs);
  const recoveredS = prober.recoveredAfter(load.endedMs, 2 * quiet.p95Ms);
  const afterwards = prober.figures(load.endedMs + RECOVERED_AFTER_MS, Date.now());
  const atEnd = await readResources(operationsUrl);
  process.stderr.write('the flood is over; memory settles\n');
  await prober[Symbol.asyncDispose]();
  await sleep(1_000 * settlingSeconds);
  const after = await readResources(operationsUrl);
  return {
    ...describeLoad(load, perSecond),
    // On a machine with other work the service has less than it could use, and all times are longer.
    cores_of_service: round(cores),
    good: flooded.count,
    good_ok_percent: flooded.goodPercent,
    good_p50_ms: flooded.p50Ms,
    good_p95_ms: flooded.p95Ms,
    good_max_ms: flooded.maxMs,
    quiet_p50_ms: quiet.p50Ms,
    quiet_p95_ms: quiet.p95Ms,
    p95_x_quiet: round(flooded.p95Ms / quiet.p95Ms),
    new_connection_ok_percent: flooded.newConnectionGoodPercent,
    new_connection_p50_ms: flooded.newConnectionP50Ms,
    new_connection_max_ms: flooded.newConnectionMaxMs,
    health_p50_ms: flooded.healthP50Ms,
    health_max_ms: flooded.healthMaxMs,
    probe_p50_ms: flooded.probeP50Ms,
    probe_max_ms: flooded.probeMaxMs,
    recovered_s: recoveredS,
    later_p95_ms: afterwards.p95Ms,
    rss_before_mib: before.rssMib,
    rss_peak_mib: peakMib,
    rss_end_mib: atEnd.rssMib,
    rss_after_mib: after.rssMib,
    ...describeChange(before, after),
  };
}

/** @returns answers a second of sixteen clients in a closed loop */
async function capacityOf(job: LoadJob): Promise<number> {
  const seconds = Math.min(3, job.seconds);
  const { signed, other } = await generateLoad({ ...job, connections: CAPACITY_CONNECTIONS, seconds });
  return Math.max(1, (signed.count + other.count) / seconds);
}

/** @returns the P-Chain height of the last signature, with which good requests need no answer of the P-Chain */
async function heightOf({ service, devnetUrl }: Rig): Promise<number> {
  const [message = ''] = await newMessages(devnetUrl, 1);
  const agent = new Agent();
  const { text } = await postMessage(service.url, message, agent);
  await agent.close();
  return (JSON.parse(text) as { pChainHeight: number }).pChainHeight;
}

function watchMemory(operationsUrl: string): { stop(): number } {
  let most = 0;
  const timer = setInterval(() => {
    readResources(operationsUrl).then(
      ({ rssMib }) => {
        most = Math.max(most, rssMib);
      },
      () => undefined,
    );
  }, 1_000);
  return {
    stop() {
      clearInterval(timer);
      return most;
    },
  };
}

function describeLoad(
  { signed, refused, other, errors, unsent, startedMs, endedMs }: LoadResult,
  perSecond: number | undefined,
): Figures {
  const seconds = (endedMs - startedMs) / 1_000;
  const perSecondOf = (count: number): number => round(count / seconds, 1);
  return {
    ...(perSecond !== undefined && { due_per_s: Math.round(perSecond), unsent_per_s: perSecondOf(unsent) }),
    answered_per_s: perSecondOf(signed.count + refused.count + other.count),
    signed: signed.count,
    refused: refused.count,
    other: other.count,
    errors,
    ...(refused.count > 0 && { refused_p50_ms: refused.p50Ms ?? 0, refused_p99_ms: refused.p99Ms ?? 0 }),
  };
}

function describeChange(before: Resources, after: Resources): Figures {
  return {
    rss_kept_mib: after.rssMib - before.rssMib,
    heap_before_mib: before.heapMib,
    heap_after_mib: after.heapMib,
    external_before_mib: before.externalMib,
    external_after_mib: after.externalMib,
    sockets_before: before.sockets,
    sockets_after: after.sockets,
  };
}
