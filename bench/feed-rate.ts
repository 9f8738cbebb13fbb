import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import type { BenchmarkOptions } from './benchmark.ts';
import { cursorAtEnd, openReader, type SignedMessage } from './feed-readers.ts';
import { cpuMs, type DevnetProcess, type ServiceProcess } from './processes.ts';
import { quantile, round } from './statistics.ts';

/** Messages a second. */
const RATES = [10, 20, 40, 60, 80, 100, 120, 150, 180, 220, 260, 320, 400];
const CHAINS = ['C', 'L1'] as const;
const SECONDS = 20;
/** Each chain has a block in this time. */
const BLOCK_MS = 500;
/** The lag is bounded if it is no longer than this in the last part of the time. */
const MAX_LAG_MS = 2_000;
const LAST_PART = 0.25;
/** Time in which readers have to receive all. */
const DRAIN_MS = 120_000;

interface RateOptions extends Pick<BenchmarkOptions, 'report'> {
  readonly devnet: DevnetProcess;
  readonly service: ServiceProcess;
  readonly readers: number;
}

/** Emits messages faster and faster, until readers no longer follow. The lag of a message ends when its last reader has it. */
export async function benchFeedRate({ devnet, service, readers, report }: RateOptions): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const received = new Map<string, Received>();
  const take = (message: SignedMessage): void => {
    const { count = 0 } = received.get(message.messageId) ?? {};
    received.set(message.messageId, { ...message, count: count + 1 });
  };
  await emitBlock(devnet, 'L1', 1);
  const cursor = await cursorAtEnd(service.url);
  for (let reader = 0; reader < readers; reader += 1) opened.defer(await openReader(service.url, cursor, take));
  let best = 0;
  let broken = 'nothing up to the highest rate';
  for (const rate of RATES) {
    const { isBounded, longestStage, ...figures } = await runRate({ devnet, service, readers, received, rate });
    report({ name: `${readers} readers, ${rate} messages a second`, ...figures });
    if (!isBounded) {
      broken = longestStage;
      break;
    }
    best = rate;
  }
  report({ name: `${readers} readers, highest rate`, messages_a_second: best, breaks_first: broken });
}

/** A message as its last reader so far received it. */
interface Received extends SignedMessage {
  /** Readers that have it. */
  readonly count: number;
}

interface RunOptions extends Omit<RateOptions, 'report'> {
  readonly received: ReadonlyMap<string, Received>;
  readonly rate: number;
}

async function runRate({ devnet, service, readers, received, rate }: RunOptions) {
  const emittedMs = new Map<string, number>();
  const startMs = performance.now();
  const [serviceMs, devnetMs] = [cpuMs(service.pid), cpuMs(devnet.pid)];
  for (let block = 0; block < (1_000 * SECONDS) / BLOCK_MS; block += 1) {
    for (const [index, chain] of CHAINS.entries()) {
      const before = (total: number) => Math.round((rate * BLOCK_MS * total) / (1_000 * CHAINS.length));
      const atMs = Date.now();
      for (const id of await emitBlock(devnet, chain, before(block + 1) - before(block))) emittedMs.set(id, atMs);
      const nextMs = startMs + BLOCK_MS * (block + (index + 1) / CHAINS.length);
      await sleep(Math.max(0, nextMs - performance.now()));
    }
  }
  const elapsedMs = performance.now() - startMs;
  const cpu = (pid: number, beforeMs: number) => Math.round((100 * (cpuMs(pid) - beforeMs)) / elapsedMs);
  const load = { service_cpu_percent: cpu(service.pid, serviceMs), devnet_cpu_percent: cpu(devnet.pid, devnetMs) };
  const ids = [...emittedMs.keys()];
  const isReceived = (id: string) => received.get(id)?.count === readers;
  for (let waitedMs = 0; waitedMs < DRAIN_MS && !ids.every(isReceived); waitedMs += BLOCK_MS) await sleep(BLOCK_MS);
  const last = ids.slice(-Math.ceil(LAST_PART * ids.length));
  const p95 = (timesOf: (message: Received, atMs: number) => number) =>
    Math.round(
      quantile(
        last.map((id) => {
          const message = received.get(id);
          return message === undefined ? Number.POSITIVE_INFINITY : timesOf(message, emittedMs.get(id) ?? Number.NaN);
        }),
        0.95,
      ),
    );
  const stages = {
    found: p95(({ executedAt }, atMs) => executedAt - atMs),
    signed: p95(({ executedAt, signedAt }) => signedAt - executedAt),
    sent: p95(({ signedAt, receivedAt }) => receivedAt - signedAt),
  };
  const lag = p95(({ receivedAt }, atMs) => receivedAt - atMs);
  const missing = ids.filter((id) => !isReceived(id)).length;
  const [longestStage = ''] = Object.entries(stages).toSorted(([, one], [, other]) => other - one)[0] ?? [];
  return {
    missing,
    p95_ms: lag,
    found_ms: stages.found,
    signed_ms: stages.signed,
    sent_ms: stages.sent,
    ...load,
    emitted_in_s: round(elapsedMs / 1_000),
    isBounded: missing === 0 && lag <= MAX_LAG_MS,
    longestStage,
  };
}

async function emitBlock({ url }: DevnetProcess, chain: string, messages: number): Promise<readonly string[]> {
  if (messages === 0) return [];
  const { body } = await request(`${url}/blocks/${chain}/${messages}`, { method: 'POST' });
  return (await body.json()) as string[];
}
