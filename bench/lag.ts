import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, type Dispatcher, request } from 'undici';
import type { BenchmarkOptions, Figures } from './benchmark.ts';
import { AGGREGATION_PATH, bodyOf, type EmittedMessage, emitMessages, JSON_HEADERS, untilReady } from './client.ts';
import { type DevnetProcess, type ServiceProcess, startDevnetProcess, startService } from './processes.ts';
import { median, round } from './statistics.ts';

const VALIDATORS = 20;
const DEFAULT_LAGS_MS = [0, 200, 1_000, 1_500, 3_000];
const MESSAGES = 20;
/** Messages of one client at once, and the units of its key. */
const BURST = { messages: 300, lagMs: 2_000, unitsPerMinute: 30_000 };
const MAX_ATTEMPTS = 10;
const WAIT = { lagMs: 1_500, query: '?wait=10' };
const KEY = 'bench';

/**
 * Requests C-Chain messages right after their block was accepted, with validators that execute it after a lag. `each`: distinct
 * messages one at a time, and a message that no validator knows. `burst`: many of one client at once, which obeys Retry-After.
 * `wait`: requests that wait.
 */
export async function benchLag({ sizes, words, report }: BenchmarkOptions): Promise<void> {
  const isWanted = (part: string): boolean => words.length === 0 || words.includes(part);
  const lags = sizes.length > 0 ? sizes : DEFAULT_LAGS_MS;
  for (const lagMs of isWanted('each') ? lags : []) {
    await using lagging = await startLagging(lagMs);
    report({ name: `lag ${lagMs} ms: one at a time`, ...(await oneAtATime(lagging)) });
    report({ name: `lag ${lagMs} ms: a message nobody knows`, ...(await unknownMessage(lagging)) });
  }
  if (isWanted('burst')) {
    await using lagging = await startLagging(BURST.lagMs);
    report({ name: `lag ${BURST.lagMs} ms: ${BURST.messages} of one client`, ...(await burst(lagging)) });
  }
  if (isWanted('wait')) {
    await using lagging = await startLagging(WAIT.lagMs);
    report({ name: `lag ${WAIT.lagMs} ms: POST${WAIT.query}`, ...(await oneAtATime(lagging, postWaiting)) });
    report({ name: `lag ${WAIT.lagMs} ms: by hash, ${WAIT.query}`, ...(await oneAtATime(lagging, byHashWaiting)) });
  }
}

interface Lagging extends AsyncDisposable {
  readonly lagMs: number;
  readonly devnet: DevnetProcess;
  readonly service: ServiceProcess;
  readonly agent: Dispatcher;
}

/** Starts a devnet with the lag and a service, which has signed a message. */
async function startLagging(lagMs: number): Promise<Lagging> {
  await using opened = new AsyncDisposableStack();
  const agent = new Agent({ headersTimeout: 60_000 });
  opened.defer(() => agent.close());
  const devnet = opened.use(await startDevnetProcess(VALIDATORS, 'none', '0', String(lagMs)));
  const sha256 = hash('sha256', KEY);
  const service = opened.use(
    await startService({
      network: { pChainApi: [{ baseUrl: devnet.apiUrl }] },
      access: { apiKeys: [{ name: 'bench', sha256, unitsPerMinute: BURST.unitsPerMinute }] },
    }),
  );
  await untilReady(service.url, agent);
  const [first] = await emitMessages(devnet.url, 1);
  await sleep(lagMs);
  const { status, text } = await post(service.url, first as EmittedMessage, agent);
  if (status !== 201) throw new Error(`the first message was not signed: ${text}`);
  const closing = opened.move();
  return { lagMs, devnet, service, agent, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

interface TimedAnswer {
  readonly status: number;
  readonly text: string;
  readonly retryAfterMs: number;
}

type Ask = (url: string, emitted: EmittedMessage, dispatcher: Dispatcher) => Promise<TimedAnswer>;

function post(url: string, { message }: EmittedMessage, dispatcher: Dispatcher, query = ''): Promise<TimedAnswer> {
  return ask(`${url}${AGGREGATION_PATH}${query}`, dispatcher, { method: 'POST', body: bodyOf(message) });
}

function postWaiting(url: string, emitted: EmittedMessage, dispatcher: Dispatcher): Promise<TimedAnswer> {
  return post(url, emitted, dispatcher, WAIT.query);
}

function byHashWaiting(url: string, { transactionHash }: EmittedMessage, dispatcher: Dispatcher): Promise<TimedAnswer> {
  return ask(`${url}${AGGREGATION_PATH}/${transactionHash}${WAIT.query}`, dispatcher, { method: 'GET' });
}

async function ask(
  url: string,
  dispatcher: Dispatcher,
  options: { readonly method: 'GET' | 'POST'; readonly body?: string },
): Promise<TimedAnswer> {
  const headers = { 'x-glacier-api-key': KEY, ...(options.body !== undefined && JSON_HEADERS) };
  const { statusCode, headers: received, body } = await request(url, { dispatcher, headers, ...options });
  const text = await body.text();
  return { status: statusCode, text, retryAfterMs: 1_000 * Number(received['retry-after'] ?? 0) };
}

/** Sends a request right after each emission, and measures the time of signed answers after the execution. */
async function oneAtATime({ lagMs, devnet, service, agent }: Lagging, send: Ask = post): Promise<Figures> {
  const afterExecutionMs: number[] = [];
  let example = '';
  for (let sent = 0; sent < MESSAGES; sent += 1) {
    const [emitted] = await emitMessages(devnet.url, 1);
    const executedMs = performance.now() + lagMs;
    const { status, text } = await send(service.url, emitted as EmittedMessage, agent);
    if (status === 201) afterExecutionMs.push(performance.now() - executedMs);
    else example = `${status} ${text.slice(0, 120)}`;
  }
  const isAnySigned = afterExecutionMs.length > 0;
  return {
    signed: afterExecutionMs.length,
    of: MESSAGES,
    ...(isAnySigned && {
      median_ms: round(median(afterExecutionMs)),
      max_ms: round(Math.max(...afterExecutionMs)),
    }),
    ...(example !== '' && { example }),
  };
}

async function unknownMessage({ devnet, service, agent }: Lagging): Promise<Figures> {
  const [emitted] = await emitMessages(devnet.url, 1);
  const { message = '' } = emitted ?? {};
  const unknown = `${message.slice(0, -2)}${message.endsWith('00') ? '01' : '00'}`;
  const before = await appRequests(devnet);
  const startMs = performance.now();
  const { status } = await post(service.url, { message: unknown, transactionHash: '' }, agent);
  const ms = round(performance.now() - startMs);
  return { requests: (await appRequests(devnet)) - before, status, ms };
}

async function appRequests({ url }: DevnetProcess): Promise<number> {
  const { body } = await request(`${url}/app-requests`);
  return ((await body.json()) as { count: number }).count;
}

/** Sends all messages at once, and each that fails again after its Retry-After. */
async function burst({ lagMs, devnet, service, agent }: Lagging): Promise<Figures> {
  const emitted = await emitMessages(devnet.url, BURST.messages);
  const startMs = performance.now();
  const byAttempt = Array.from({ length: MAX_ATTEMPTS }, () => 0);
  const failures = new Map<string, number>();
  const send = async (one: EmittedMessage): Promise<void> => {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const { status, text, retryAfterMs } = await post(service.url, one, agent);
      if (status === 201) {
        byAttempt[attempt] = (byAttempt[attempt] ?? 0) + 1;
        return;
      }
      const { code = '', message = '' } = JSON.parse(text) as { code?: string; message?: string };
      const failure = `${status} ${code}: ${message.slice(0, 120)}`;
      failures.set(failure, (failures.get(failure) ?? 0) + 1);
      if (retryAfterMs === 0) return;
      await sleep(retryAfterMs);
    }
  };
  await Promise.all(emitted.map(send));
  return {
    signed_at_answer: byAttempt.join('+').replace(/(\+0)+$/, ''),
    of: BURST.messages,
    ms_after_execution: round(performance.now() - startMs - lagMs),
    failures: [...failures].map(([failure, count]) => `${count} ${failure}`).join(', '),
  };
}
