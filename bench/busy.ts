import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { BenchmarkOptions, Figures } from './benchmark.ts';
import { AGGREGATION_PATH, bodyOf, JSON_HEADERS, newMessages, untilConnected } from './client.ts';
import { type DevnetProcess, type ServiceProcess, startDevnetProcess, startService } from './processes.ts';
import { quantile, round } from './statistics.ts';

const VALIDATORS = 20;
const BUSY_LOOPS = 4;
const CLIENTS = 64;
const MESSAGES = 1_500;
const BURST = { messages: 300, lagMs: 2_000 };
const HOSTILE_MESSAGES = 2_000;
const GOOD_MESSAGES = 100;
const GOOD = '127.0.0.2';
const HOSTILE = '127.0.0.3';

/**
 * Requests signatures beside loops that keep all cores busy. `clients`: distinct messages of many clients at one address. `burst`: many at
 * once right after their block was accepted, which validators execute later. `hostile`: one address with many at once, and another one
 * that sends one after the other. All figures are of first answers.
 */
export async function benchBusy({ words, report }: BenchmarkOptions): Promise<void> {
  const isWanted = (part: string): boolean => words.length === 0 || words.includes(part);
  if (isWanted('clients')) {
    await using busy = await startBusy();
    const messages = await newMessages(busy.devnet.url, MESSAGES);
    const name = `busy: ${MESSAGES} messages of ${CLIENTS} clients at one address`;
    report({ name, ...describe(await ask(busy.service, HOSTILE, messages, CLIENTS)) });
  }
  if (isWanted('burst')) {
    await using busy = await startBusy(BURST.lagMs);
    const messages = await newMessages(busy.devnet.url, BURST.messages);
    const name = `busy: ${BURST.messages} at once, lag ${BURST.lagMs} ms`;
    report({ name, ...describe(await ask(busy.service, HOSTILE, messages, BURST.messages)) });
  }
  if (isWanted('hostile')) {
    await using busy = await startBusy();
    const [alone, beside, hostile] = [
      await newMessages(busy.devnet.url, GOOD_MESSAGES),
      await newMessages(busy.devnet.url, GOOD_MESSAGES),
      await newMessages(busy.devnet.url, HOSTILE_MESSAGES),
    ];
    report({ name: 'busy: another address alone', ...describe(await ask(busy.service, GOOD, alone, 1)) });
    const flood = ask(busy.service, HOSTILE, hostile, HOSTILE_MESSAGES);
    await sleep(500);
    report({ name: 'busy: beside a hostile one', ...describe(await ask(busy.service, GOOD, beside, 1)) });
    report({ name: `busy: the hostile one, ${HOSTILE_MESSAGES} at once`, ...describe(await flood) });
  }
}

interface Busy extends AsyncDisposable {
  readonly devnet: DevnetProcess;
  readonly service: ServiceProcess;
}

async function startBusy(lagMs = 0): Promise<Busy> {
  await using opened = new AsyncDisposableStack();
  const devnet = opened.use(await startDevnetProcess(VALIDATORS, 'none', '0', String(lagMs)));
  const network = { pChainApi: [{ baseUrl: devnet.apiUrl }] };
  const service = opened.use(await startService({ network }));
  await untilConnected(service.url);
  for (let loop = 0; loop < BUSY_LOOPS; loop += 1) {
    const child = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
    opened.defer(() => void child.kill('SIGKILL'));
  }
  const closing = opened.move();
  return { devnet, service, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}

interface FirstAnswer {
  readonly status: number;
  readonly code: string;
  readonly ms: number;
}

/** Sends the messages from an address of this machine, so many at a time. */
async function ask(
  { url }: ServiceProcess,
  localAddress: string,
  messages: readonly string[],
  concurrency: number,
): Promise<readonly FirstAnswer[]> {
  const timeouts = { headersTimeout: 120_000, bodyTimeout: 120_000 };
  const agent = new Agent({ connections: concurrency, connect: { localAddress, timeout: 60_000 }, ...timeouts });
  const left = [...messages];
  const answers: FirstAnswer[] = [];
  const client = async (): Promise<void> => {
    for (let message = left.pop(); message !== undefined; message = left.pop()) {
      const sentMs = performance.now();
      const { status, code } = await post(url, agent, message);
      answers.push({ status, code, ms: performance.now() - sentMs });
    }
  };
  await Promise.all(Array.from({ length: concurrency }, client));
  await agent.close();
  return answers;
}

/** @returns the status 0 for a connection that was reset */
async function post(url: string, dispatcher: Agent, message: string): Promise<Omit<FirstAnswer, 'ms'>> {
  try {
    const { statusCode, body } = await request(`${url}${AGGREGATION_PATH}`, {
      method: 'POST',
      dispatcher,
      headers: JSON_HEADERS,
      body: bodyOf(message),
    });
    const { code = '' } = (await body.json()) as { readonly code?: string };
    return { status: statusCode, code };
  } catch (error) {
    return { status: 0, code: (error as NodeJS.ErrnoException).code ?? 'unknown' };
  }
}

function describe(answers: readonly FirstAnswer[]): Figures {
  const times = answers.map(({ ms }) => ms);
  const byCode = Map.groupBy(answers, ({ status, code }) => (status === 201 ? 'signed' : `${status} ${code}`));
  return {
    ...Object.fromEntries(Array.from(byCode, ([code, all]) => [code, all.length])),
    p50_ms: round(quantile(times, 0.5)),
    p95_ms: round(quantile(times, 0.95)),
  };
}
