import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Dispatcher, request } from 'undici';
import type { ReadinessBody } from '../src/api/health/health.ts';

export const AGGREGATION_PATH = '/v1/signatureAggregator/fuji/aggregateSignatures';
export const JSON_HEADERS = { 'content-type': 'application/json' };
const READY_TIMEOUT_MS = 180_000;

/** Waits until the service answers 200. @throws after three minutes */
export function untilReady(url: string, dispatcher?: Dispatcher, path = '/health/ready'): Promise<void> {
  return until(`${url}${path}`, dispatcher, () => true);
}

/** Waits until all validators of the primary network are connected. @throws after three minutes */
export function untilConnected(url: string, dispatcher?: Dispatcher): Promise<void> {
  return until(`${url}/health/ready`, dispatcher, (text) => {
    const { networks } = JSON.parse(text) as ReadinessBody;
    return networks.every(({ subnets: [primary] }) => primary?.connectedWeight === primary?.totalWeight);
  });
}

async function until(url: string, dispatcher: Dispatcher | undefined, isIt: (text: string) => boolean): Promise<void> {
  const deadlineMs = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    const { statusCode, body } = await request(url, { ...(dispatcher && { dispatcher }) });
    const text = await body.text();
    if (statusCode === 200 && isIt(text)) return;
    if (performance.now() > deadlineMs) throw new Error(`not ready after ${READY_TIMEOUT_MS} ms: ${text}`);
    await sleep(10);
  }
}

export function bodyOf(message: string): string {
  return `{"message":"${message}"}`;
}

/** Requests the signatures of a message. @returns milliseconds and the response. @throws if it was not signed */
export async function postMessage(
  url: string,
  message: string,
  dispatcher: Dispatcher,
): Promise<{ readonly ms: number; readonly text: string }> {
  const sentMs = performance.now();
  const { statusCode, body } = await request(`${url}${AGGREGATION_PATH}`, {
    method: 'POST',
    dispatcher,
    headers: JSON_HEADERS,
    body: bodyOf(message),
  });
  const text = await body.text();
  if (statusCode !== 201) throw new Error(`status ${statusCode}: ${text}`);
  return { ms: performance.now() - sentMs, text };
}

/** A message that the devnet's C-Chain has accepted. */
export interface EmittedMessage {
  readonly message: string;
  readonly transactionHash: string;
}

/** Emits messages on the devnet's C-Chain, and returns them in hex. */
export async function newMessages(devnetUrl: string, count: number): Promise<string[]> {
  return (await emitMessages(devnetUrl, count)).map(({ message }) => message);
}

export async function emitMessages(devnetUrl: string, count: number): Promise<readonly EmittedMessage[]> {
  const { body } = await request(`${devnetUrl}/devnet/messages`, {
    method: 'POST',
    headers: JSON_HEADERS,
    body: JSON.stringify({ count }),
  });
  return ((await body.json()) as { messages: EmittedMessage[] }).messages;
}

/** The service's use of memory, from its metrics, which are read once a second. */
export interface Resources {
  readonly rssMib: number;
  readonly heapMib: number;
  readonly externalMib: number;
  readonly sockets: number;
}

export async function readResources(url: string): Promise<Resources> {
  const { body } = await request(`${url}/metrics`);
  const lines = (await body.text()).split('\n');
  const value = (series: string): number =>
    Number(lines.find((line) => line.startsWith(`${series} `))?.slice(series.length + 1) ?? 0);
  const mib = (series: string): number => Math.round(value(series) / 2 ** 20);
  return {
    rssMib: mib('process_resident_memory_bytes'),
    heapMib: mib('nodejs_heap_size_used_bytes'),
    externalMib: mib('nodejs_external_memory_bytes'),
    sockets: value('nodejs_active_resources{type="TCPSocketWrap"}'),
  };
}

/** The highest resident set of the process so far; undefined if the system has no /proc. */
export function peakRssMib(pid: number): number | undefined {
  try {
    const kib = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? undefined : Math.round(Number(kib) / 1024);
  } catch {
    return undefined;
  }
}
