import type { Browser, BrowserContext } from 'playwright-core';
import { startChromium } from '../test/network/chromium.ts';
import type { BenchmarkOptions } from './benchmark.ts';
import { startRig } from './rig.ts';
import { median, round } from './statistics.ts';

const DEFAULT_VALIDATORS = 20;
/** That a median is of. */
const VISITS = 15;
/** Runs in the page before all of its own: notes the first frame that shows the field for messages, which takes input from then on. */
const WATCH = `globalThis.usable = new Promise((resolve) => {
  const look = () => {
    const field = document.querySelector('textarea');
    if (field !== null && !field.disabled && field.offsetParent !== null) resolve(performance.now());
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})`;
const FIGURES = `(async () => {
  const usableMs = await globalThis.usable;
  const resources = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
  return {
    usableMs,
    paintedMs: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,
    requests: resources.length,
    bytes: resources.reduce((sum, { transferSize }) => sum + transferSize, 0),
  };
})()`;

interface Visit {
  /** From the navigation's start, as the others. */
  readonly usableMs: number;
  readonly paintedMs: number;
  readonly requests: number;
  readonly bytes: number;
}

/** How long a real browser takes from an address to a page that takes a message. Service and network have processes of their own. */
export async function benchConsole({
  sizes: [validators = DEFAULT_VALIDATORS],
  report,
}: BenchmarkOptions): Promise<void> {
  await using rig = await startRig(validators);
  await using browser = await startChromium();
  await openAnyPage(browser);
  const { url } = rig.service;

  const visitAnew = async (): Promise<Visit> => {
    await using context = await browser.newContext();
    return await visit(context, url);
  };
  const row = (name: string, visits: readonly Visit[]): void =>
    report({
      name,
      n: visits.length,
      usable_ms: round(median(visits.map(({ usableMs }) => usableMs)), 0),
      longest_ms: round(Math.max(...visits.map(({ usableMs }) => usableMs)), 0),
      painted_ms: round(median(visits.map(({ paintedMs }) => paintedMs)), 0),
      requests: median(visits.map(({ requests }) => requests)),
      kb: round(median(visits.map(({ bytes }) => bytes)) / 1024, 0),
    });

  // As long after readiness as the browser took to start. The banner with the address is printed when the page's files are made.
  row('first visitor since the start', [await visitAnew()]);
  const anew: Visit[] = [];
  while (anew.length < VISITS) anew.push(await visitAnew());
  row('new visitor', anew);
  await using context = await browser.newContext();
  await visit(context, url);
  const again: Visit[] = [];
  while (again.length < VISITS) again.push(await visit(context, url));
  row('visitor who comes again', again);
}

/** A person's browser has shown pages before: until it has, it is still starting processes of its own. */
async function openAnyPage(browser: Browser): Promise<void> {
  const page = await browser.newPage();
  await page.goto('data:text/html,<textarea></textarea><script type="module">document.title = 1</script>');
  await page.locator('textarea').fill('text');
  await page.close();
}

/** @throws where the field does not react to what is typed */
async function visit(context: BrowserContext, url: string): Promise<Visit> {
  const page = await context.newPage();
  await page.addInitScript(WATCH);
  await page.goto(url);
  const figures = (await page.evaluate(FIGURES)) as Visit;
  await page.getByLabel('Message, transaction or log').fill('0x123');
  await page.getByText('This has 3 hex digits').waitFor();
  await page.close();
  return figures;
}
