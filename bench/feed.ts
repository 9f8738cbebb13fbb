import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { parseHex } from '../src/lib/encoding/bytes.ts';
import { parseUnsignedMessage } from '../src/warp/unsigned-message.ts';
import type { BenchmarkOptions } from './benchmark.ts';
import { JSON_HEADERS, newMessages, untilReady } from './client.ts';
import { benchFeedRate } from './feed-rate.ts';
import { cursorAtEnd, FEED_KEY, FEED_PATH, openReader, type SignedMessage } from './feed-readers.ts';
import { cpuMs, type DevnetProcess, type ServiceProcess, startDevnetProcess, startService } from './processes.ts';
import { quantile, round } from './statistics.ts';

const VALIDATORS = 5;
const DEFAULT_READERS = 200;
const RATE_READERS = [1, 200];
const IDLE = { settleMs: 8_000, seconds: 30, barPercent: 1 };
/** New messages while clients read. */
const LOAD = { perSecond: 10, seconds: 15, rounds: 2 };
/** What the slow reader has to read before: more than the buffers of the system hold. */
const BACKLOG = { messages: 150, bytes: 24_000 };
const SLOW_READ_MS = 1_000;
const SAMPLE_MS = 250;
const SETTLE_TIMEOUT_MS = 120_000;
const BAR_MB = 50;

/**
 * Watches both chains of a devnet. `idle`: the CPU of a service with and without the feed, on chains without new blocks. `readers`: the time until
 * clients receive new messages, all of which read, and one of which reads a byte a second. `rate`: the highest rate of messages that readers follow.
 */
export async function benchFeed({ sizes, words, report }: BenchmarkOptions): Promise<void> {
  const isWanted = (part: string): boolean => words.length === 0 || words.includes(part);
  await using devnet = await startDevnetProcess(VALIDATORS);
  const chains = [{ blockchainId: 'C' }, { blockchainId: await l1Of(devnet) }];
  if (isWanted('idle')) {
    const off = await idle(devnet, []);
    report({ name: 'feed off, idle', ...off });
    const on = await idle(devnet, chains);
    report({
      name: 'feed on, two idle chains',
      ...on,
      more_cpu_percent: round(on.cpu_percent - off.cpu_percent),
      bar_more_percent: IDLE.barPercent,
    });
  }
  for (const readers of isWanted('readers') ? (sizes.length > 0 ? sizes : [DEFAULT_READERS]) : []) {
    await benchReaders({ devnet, chains, readers, report });
  }
  for (const readers of isWanted('rate') ? (sizes.length > 0 ? sizes : RATE_READERS) : []) {
    await using service = await start(devnet, chains);
    await untilReady(service.url);
    await benchFeedRate({ devnet, service, readers, report });
  }
}

interface Chain {
  readonly blockchainId: string;
}

async function l1Of({ url }: DevnetProcess): Promise<string> {
  const [message] = await emit(url, { chain: 'L1' });
  return parseUnsignedMessage(parseHex(message?.message ?? '', 'message')).sourceChainID;
}

function start({ apiUrl }: DevnetProcess, chains: readonly Chain[]): Promise<ServiceProcess> {
  return startService({
    network: { pChainApi: [{ baseUrl: apiUrl }], feed: { chains } },
    access: { apiKeys: [{ name: FEED_KEY, sha256: hash('sha256', FEED_KEY), unitsPerMinute: 1_000_000 }] },
  });
}

async function idle(devnet: DevnetProcess, chains: readonly Chain[]) {
  await using service = await start(devnet, chains);
  await untilReady(service.url);
  await sleep(IDLE.settleMs);
  const before = cpuMs(service.pid);
  await sleep(1_000 * IDLE.seconds);
  const percent = (cpuMs(service.pid) - before) / (10 * IDLE.seconds);
  return { cpu_percent: round(percent), rss_mb: rssMb(service.pid) };
}

interface ReadersOptions extends Pick<BenchmarkOptions, 'report'> {
  readonly devnet: DevnetProcess;
  readonly chains: readonly Chain[];
  readonly readers: number;
}

async function benchReaders({ devnet, chains, readers, report }: ReadersOptions): Promise<void> {
  await using service = await start(devnet, chains);
  await untilReady(service.url);
  await newMessages(devnet.url, 1);
  await addBacklog(devnet, service);
  const cursor = await cursorAtEnd(service.url);
  report({ name: 'feed on, a backlog, no reader', messages: BACKLOG.messages, rss_mb: rssMb(service.pid) });
  const peaks = { all: 0, oneSlow: 0 };
  for (let round_ = 0; round_ < LOAD.rounds; round_ += 1) {
    const all = await readWhile({ devnet, service, cursor, readers, hasSlow: false });
    report({ name: `${readers} readers`, ...all });
    const oneSlow = await readWhile({ devnet, service, cursor, readers: readers - 1, hasSlow: true });
    report({
      name: `${readers} readers, one reads a byte a second`,
      ...oneSlow,
      ratio: round(oneSlow.p95_ms / all.p95_ms),
    });
    peaks.all = Math.max(peaks.all, all.peak_mb);
    peaks.oneSlow = Math.max(peaks.oneSlow, oneSlow.peak_mb);
  }
  report({ name: 'memory of the slow reader', more_mb: peaks.oneSlow - peaks.all, bar_mb: BAR_MB });
}

interface Emitted {
  readonly messageId: string;
  readonly message: string;
}

async function emit(devnetUrl: string, body: object): Promise<readonly Emitted[]> {
  const url = `${devnetUrl}/devnet/messages`;
  const answer = await request(url, { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify(body) });
  return ((await answer.body.json()) as { messages: Emitted[] }).messages;
}

async function addBacklog(devnet: DevnetProcess, service: ServiceProcess): Promise<void> {
  for (let index = 0; index < BACKLOG.messages; index += 1) {
    const payload = Buffer.alloc(BACKLOG.bytes);
    payload.writeUInt32BE(index);
    await emit(devnet.url, { payload: payload.toString('hex') });
  }
  const deadlineMs = performance.now() + SETTLE_TIMEOUT_MS;
  for (;;) {
    const [stored, oldest] = await feedGauges(service.operationsUrl);
    if (stored >= BACKLOG.messages && oldest === 0) return;
    if (performance.now() > deadlineMs)
      throw new Error(`${stored} messages are stored, the oldest unsigned for ${oldest} s`);
    await sleep(SAMPLE_MS);
  }
}

async function feedGauges(url: string): Promise<[stored: number, oldestUnsigned: number]> {
  const { body } = await request(`${url}/metrics`);
  const text = await body.text();
  const valueOf = (name: string) =>
    Number(new RegExp(`^signature_aggregator_feed_${name}{.*} (.*)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  return [valueOf('messages_stored'), valueOf('oldest_unsigned_seconds')];
}

interface ReadOptions {
  readonly devnet: DevnetProcess;
  readonly service: ServiceProcess;
  readonly cursor: string;
  readonly readers: number;
  readonly hasSlow: boolean;
}

/** When messages were received as signed, by their IDs, in milliseconds after their signature. */
type Received = Map<string, number[]>;

async function readWhile({ devnet, service, cursor, readers, hasSlow }: ReadOptions) {
  await using opened = new AsyncDisposableStack();
  if (hasSlow) opened.defer(openSlowReader(service.url));
  const received: Received = new Map();
  // Each stream begins at the end of the backlog, and soon has read what was emitted before.
  const take = ({ messageId, signedAt, receivedAt }: SignedMessage): void => {
    const delays = received.get(messageId) ?? [];
    received.set(messageId, [...delays, receivedAt - signedAt]);
  };
  for (let reader = 0; reader < readers; reader += 1) opened.defer(await openReader(service.url, cursor, take));
  await sleep(IDLE.settleMs);
  received.clear();
  let peak = 0;
  const sampling = setInterval(() => {
    peak = Math.max(peak, rssMb(service.pid));
  }, SAMPLE_MS);
  const before = cpuMs(service.pid);
  const sent: string[] = [];
  for (let index = 0; index < LOAD.perSecond * LOAD.seconds; index += 1) {
    const [emitted] = await emit(devnet.url, { chain: 'L1' });
    if (emitted !== undefined) sent.push(emitted.messageId);
    await sleep(1_000 / LOAD.perSecond);
  }
  await sleep(3_000);
  clearInterval(sampling);
  const delays = sent.flatMap((id) => received.get(id) ?? []);
  return {
    messages: sent.length,
    missing: sent.length * readers - delays.length,
    p50_ms: round(quantile(delays, 0.5)),
    p95_ms: round(quantile(delays, 0.95)),
    cpu_ms_a_message: round((cpuMs(service.pid) - before) / sent.length),
    peak_mb: peak,
  };
}

/** Opens a stream from the oldest message on, and reads a byte a second. @returns a function that closes it */
function openSlowReader(url: string): () => void {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  // In this mode nothing is read before `read` is called, except for one buffer.
  socket.on('readable', () => undefined).on('error', () => undefined);
  socket.write(
    `GET ${FEED_PATH} HTTP/1.1\r\nhost: ${hostname}\r\naccept: text/event-stream\r\nx-glacier-api-key: ${FEED_KEY}\r\n\r\n`,
  );
  const reading = setInterval(() => socket.read(1), SLOW_READ_MS);
  return () => {
    clearInterval(reading);
    socket.destroy();
  };
}

/** The resident set of a process now. MB is a million bytes. */
function rssMb(pid: number): number {
  const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round((Number(kib) * 1024) / 1e6);
}
