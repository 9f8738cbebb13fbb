import type { Browser } from 'playwright-core';
import { startChromium } from '../test/network/chromium.ts';
import type { BenchmarkOptions, Row } from './benchmark.ts';
import { newMessages } from './client.ts';
import { startRig } from './rig.ts';
import { median, round } from './statistics.ts';

const DEFAULT_VALIDATORS = [20, 2_000];
const RUNS = 3;
const SIGN_TIMEOUT_MS = 60_000;

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of the thread's own time. */
  readonly tdur?: number;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** Measures the longest task of the console's page while a message is signed, in Chromium. Numbers: validators. */
export async function benchConsole({ sizes, report }: BenchmarkOptions): Promise<void> {
  for (const validators of sizes.length > 0 ? sizes : DEFAULT_VALIDATORS) await benchSize(validators, report);
}

async function benchSize(validators: number, report: (row: Row) => void): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const rig = opened.use(await startRig(validators));
  const browser = await startChromium();
  opened.defer(() => browser.close());
  const longest: number[] = [];
  for (const message of await newMessages(rig.devnetUrl, RUNS)) {
    const tasksMs = await signInBrowser(browser, rig.service.url, message);
    longest.push(Math.max(...tasksMs));
  }
  const name = `the page's longest task, ${validators} validators`;
  report({ name, n: RUNS, median_ms: round(median(longest)), max_ms: round(Math.max(...longest)) });
}

/** Returns the times of the page's tasks. */
async function signInBrowser(browser: Browser, url: string, message: string): Promise<number[]> {
  const context = await browser.newContext();
  context.setDefaultTimeout(SIGN_TIMEOUT_MS);
  try {
    const page = await context.newPage();
    await page.goto(url);
    await page.getByLabel('Message, transaction or log').fill(message);
    await page.getByText('Unsigned Warp message').waitFor();
    await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline'] });
    await page.getByRole('button', { name: 'Collect signatures' }).click();
    await page.getByRole('heading', { name: 'Signed verified' }).waitFor();
    const trace = (await browser.stopTracing()).toString();
    return tasksOf((JSON.parse(trace) as { traceEvents: TraceEvent[] }).traceEvents);
  } finally {
    await context.close();
  }
}

/** Tasks of the page's thread, by its own time: what other processes of the machine take is none of the page's. */
function tasksOf(events: readonly TraceEvent[]): number[] {
  const mains = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args?.['name'] === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  return events
    .filter(({ name, pid, tid }) => name.endsWith('RunTask') && mains.has(`${pid} ${tid}`))
    .flatMap(({ tdur }) => (tdur === undefined ? [] : [tdur / 1_000]));
}
