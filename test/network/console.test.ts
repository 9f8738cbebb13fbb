import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newMessages } from '../../bench/client.ts';
import { startRig } from '../../bench/rig.ts';
import { startApp } from '../../src/app.ts';
import { parseConfig } from '../../src/config/load/load-config.ts';
import { systemClock } from '../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { type RunningService, startService } from '../integration/service/running-service.ts';
import {
  type ConsoleOptions,
  type ConsolePage,
  type ConsoleView,
  STEP_TIMEOUT_MS,
  useConsole,
  VIEWS,
} from './console-page.ts';

/** The console in a real browser, before the devnet. */

const PRIMARY_NETWORK = '11111111111111111111111111111111LpoYY';

const opened = new AsyncDisposableStack();
let service: RunningService;
const shownConsole = useConsole();
beforeAll(async () => {
  service = opened.use(await startService(20));
});
afterAll(() => opened.disposeAsync());

let shown: ConsolePage;
let page: Page;

/** Opens the console; the list fills with all that it must not do. */
async function open({
  origin = service.app.url,
  ...options
}: ConsoleOptions & { readonly origin?: string } = {}): Promise<readonly string[]> {
  shown = await shownConsole.open(origin, options);
  ({ page } = shown);
  return shown.problems;
}

const goTo = (view: ConsoleView) => shown.goTo(view);
const heading = (name: string | RegExp) => shown.heading(name);
const collect = () => shown.collect();
const paste = (text: string) => shown.paste(text);

/** A message that nobody has asked for yet, pasted. */
async function pasteNew(): Promise<string> {
  const [message = ''] = service.devnet.emitMessages(1);
  await paste(message);
  await page.getByText('Unsigned Warp message').waitFor();
  return message;
}

test('who starts the service on its devnet signs the example in two clicks, each time again', async () => {
  const { config } = parseConfig(
    { networks: { local: { embedded: { validators: 20 } } }, server: { port: 0 } },
    {},
    {},
  );
  await using app = await startApp({ config, logger: createLogger('silent'), clock: systemClock, random: Math.random });
  await app.untilReady(AbortSignal.timeout(STEP_TIMEOUT_MS));
  const problems = await open({ origin: app.url });
  const signed = new Set<string>();
  for (let round = 0; round < 2; round++) {
    await page.getByRole('button', { name: 'Try an example' }).click();
    await page.getByText('Unsigned Warp message').waitFor();
    await collect();
    await heading('Signed verified').waitFor();
    // It was asked for anew, and so there is something to see.
    await page.getByRole('img', { name: /^Map of 20 validators.* \d+ signed/ }).waitFor();
    signed.add(await page.getByRole('region', { name: 'Signed message' }).innerText());
  }
  expect(signed.size).toBe(2);
  const examples = page.getByLabel('Another example');
  await examples.selectOption({ label: 'by transaction: ConvertSubnetToL1Tx' });
  await page.getByLabel('These 32 bytes are').waitFor();
  await collect();
  await page.getByText('Looking up validators').or(heading('Signed verified')).first().waitFor();
  await heading('Signed verified').waitFor();
  expect(problems).toEqual([]);
});

describe('sign', () => {
  test('shows how the bar fills, and hands over the result in each form', async () => {
    const problems = await open();
    await pasteNew();
    expect(await page.locator('.as-text').innerText()).toMatch(/^message \d+$/);
    await collect();
    await heading('Signed verified').waitFor();
    const bar = page.getByRole('progressbar', { name: 'Weight that has signed' });
    expect(Number(await bar.getAttribute('aria-valuenow'))).toBeGreaterThanOrEqual(67);
    expect(await page.getByRole('img', { name: /^Map of 20 validators/ }).getAttribute('aria-label')).toMatch(
      /\d+ signed/,
    );
    const hex = await page.getByRole('region', { name: 'Signed message' }).innerText();
    const { status, body } = await service.post({ signedMessage: hex }, '/v1/signatureAggregator/local/verify');
    expect([status, body['isValid']]).toEqual([200, true]);
    const shown: Record<string, RegExp> = {
      'For an EVM chain': /0x0200000000000000000000000000000000000005[^]*0x6f825350/,
      'For the P-Chain': /RegisterL1ValidatorTx/,
      curl: /curl -s 'http:[^]*"quorumPercentage":67/,
      SDK: /signatureAggregator\.aggregate\(/,
      'Signers (': /NodeID-/,
    };
    for (const [tab, text] of Object.entries(shown)) {
      await page.getByRole('tab', { name: tab }).click();
      expect(await page.getByRole('tabpanel').innerText()).toMatch(text);
    }
    expect(problems).toEqual([]);
  });

  test('says of a message that validators refuse who refused it, why, and what can be done', async () => {
    await open({ fails: true });
    const message = await pasteNew();
    // The last byte of what the chain has sent.
    await paste(`${message.slice(0, -2)}${message.endsWith('00') ? '11' : '00'}`);
    await page.getByText('Unsigned Warp message').waitFor();
    await collect();
    await heading('What went wrong').waitFor();
    const card = await page.locator('.failure-card').innerText();
    expect(card).toMatch(/insufficient_weight|signing_refused/);
    expect(card).toContain('What to do:');
    expect(card).toMatch(/Validators with [\d.]+\s% of the weight refused/);
    expect(card).toMatch(/No validator knows this message: 20 of 20 refused\./);
    expect(card).toMatch(/NodeID-[^]*refused[^]*code \d+/);
    expect(card).not.toContain('threshold of stake');
    const table = page.getByRole('region', { name: 'Validators that did not sign' });
    await table.getByRole('button', { name: 'Details' }).first().press('Enter');
    expect(await table.locator('tr.opened').innerText()).toMatch(
      /code 1: the payload type .* no such message was emitted/,
    );
  });
});

test('names validators that do not answer while the request goes on', async () => {
  const behaviours = new Map([
    [0, { kind: 'silent' }],
    [1, { kind: 'silent' }],
  ] as const);
  await using other = await startService(5, { faults: { behaviours } });
  const silent = [...other.devnet.network.nodeIDs].slice(0, 2);
  await open({ origin: other.app.url, fails: true });
  const [message = ''] = other.devnet.emitMessages(1);
  await paste(message);
  await page.getByLabel('Quorum', { exact: true }).fill('100');
  await collect();
  await page.getByText(/No answer yet from/).waitFor();
  const named = await page.locator('.awaited').innerText();
  for (const nodeID of silent) expect(named).toContain(nodeID);
  expect(await page.getByRole('button', { name: 'Stop' }).isVisible()).toBe(true);
  await heading('What went wrong').waitFor();
  expect(await page.locator('.failure-card').innerText()).toMatch(/timed out/);
});

test('inspect says of a signed message that was changed what is wrong with it', async () => {
  await open({ fails: true });
  const [message = ''] = service.devnet.emitMessages(1);
  const { body } = await service.post({ message });
  const hex = String(body['signedMessage']);
  await goTo('Inspect');
  const field = page.getByLabel('A signed message, or anything that Warp knows');
  await field.fill(hex);
  await heading('Valid a destination accepts it').waitFor();
  // A letter of the text that was sent.
  const at = message.length - 2 - 4;
  await field.fill(`${hex.slice(0, at)}${hex[at] === '3' ? '4' : '3'}${hex.slice(at + 1)}`);
  await heading('Not valid wrong signature').waitFor();
  await field.fill(hex);
  await heading('Valid a destination accepts it').waitFor();
  await page.getByRole('spinbutton', { name: 'Quorum in percent' }).fill('100');
  await heading('Not valid insufficient weight').waitFor();
  expect(await page.locator('.failure-card').innerText()).toMatch(/What to do: Have it signed anew/);
});

test('subnets shows validators, and finds, sorts and counts them', async () => {
  const problems = await open();
  await goTo('Subnets');
  await page.getByRole('link', { name: /Primary network/ }).click();
  const table = page.getByRole('region', { name: 'Validators' });
  await table.getByText('signable').first().waitFor();
  expect(await page.getByText('20 of 20 validators').isVisible()).toBe(true);
  const first = () => table.locator('tbody tr').first().innerText();
  const heaviest = await first();
  await page.getByRole('button', { name: 'Weight' }).click();
  expect(await first()).not.toBe(heaviest);
  expect(await page.getByRole('columnheader', { name: 'Weight' }).getAttribute('aria-sort')).toBe('ascending');
  const [nodeID = ''] = service.devnet.network.nodeIDs;
  await page.getByLabel('Find').fill(nodeID);
  await page.getByText('1 of 20 validators').waitFor();
  expect(problems).toEqual([]);
});

/** Fills each view with what it has. */
async function fillViews(): Promise<void> {
  await pasteNew();
  await collect();
  await heading('Signed verified').waitFor();
  await page.getByText('List of the 20 validators').click();
  await page.getByText('Subnet, height and justification').click();
  await page.getByRole('button', { name: 'Inspect' }).click();
  await heading('Valid a destination accepts it').waitFor();
}

async function openView(view: ConsoleView): Promise<void> {
  if (view === 'Subnets') {
    await page.evaluate(`location.hash = '#/subnets/${PRIMARY_NETWORK}'`);
    await page.getByRole('region', { name: 'Validators' }).getByText('signable').first().waitFor();
    return;
  }
  await goTo(view);
  if (view === 'Activity') await page.getByRole('region', { name: 'Requests' }).waitFor();
  if (view === 'Service') await page.getByRole('img', { name: /^Every 30 s/ }).waitFor();
}

test.each(['light', 'dark'] as const)('axe finds nothing in any view, %s', async (scheme) => {
  await open({ scheme });
  await fillViews();
  for (const view of VIEWS) {
    await openView(view);
    expect(await shown.findAccessibilityProblems(), view).toEqual([]);
  }
});

test.each([67, 80])('320 pixels are enough, in every view, with a quorum of %i percent', async (quorum) => {
  await open({ width: 320 });
  await page.getByLabel('Quorum', { exact: true }).fill(String(quorum));
  await fillViews();
  for (const view of VIEWS) {
    await openView(view);
    expect(await page.evaluate('document.documentElement.scrollWidth'), view).toBe(320);
  }
});

test('all can be done by the keyboard', async () => {
  await open();
  const [message = ''] = service.devnet.emitMessages(1);
  /** Goes on with Tab until that is reached; fails where it never is. */
  const tabTo = async (what: string) => {
    for (let steps = 0; steps < 80; steps++) {
      await page.keyboard.press('Tab');
      const name = await page.evaluate(
        `(() => { const e = document.activeElement; return e.labels?.[0]?.textContent ?? e.getAttribute('aria-label') ?? e.textContent; })()`,
      );
      if (String(name).startsWith(what)) return;
    }
    throw new Error(`${what} is not reached by Tab`);
  };
  await tabTo('Skip to the content');
  await page.keyboard.press('Enter');
  await tabTo('Message, transaction or log');
  await page.keyboard.insertText(message);
  await page.getByText('Unsigned Warp message').waitFor();
  await tabTo('Quorum');
  await page.keyboard.press('ArrowRight');
  expect(await page.getByLabel('Quorum', { exact: true }).inputValue()).toBe('68');
  await tabTo('Collect signatures');
  await page.keyboard.press('Enter');
  await heading('Signed verified').waitFor();
  await tabTo('Signed message');
  await page.keyboard.press('ArrowRight');
  expect(await page.getByRole('tabpanel').innerText()).toContain('Access list');
  await page.keyboard.press('End');
  expect(await page.getByRole('tabpanel').innerText()).toContain('NodeID-');
  for (const view of ['Inspect', 'Subnets', 'Activity', 'Service'] as const) {
    await page.evaluate('document.activeElement.blur(); scrollTo(0, 0)');
    await tabTo(view);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.title()).toBe(`${view} – Warp signature aggregator`);
  }
});

test('2,000 validators fill without a frame that takes longer than 100 ms', async () => {
  await using rig = await startRig(2_000);
  const [message = ''] = await newMessages(rig.devnetUrl, 1);
  await open({ origin: rig.service.url });
  await paste(message);
  await page.getByText('Unsigned Warp message').waitFor();
  await shownConsole.browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline'] });
  await collect();
  await heading('Signed verified').waitFor();
  const { traceEvents } = JSON.parse((await shownConsole.browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  // Of the page's thread, by its own time: what other processes of the machine take is none of the page's.
  const mains = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.['name'] === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = traceEvents.filter(
    ({ name, pid, tid, tdur }) => name.endsWith('RunTask') && mains.has(`${pid} ${tid}`) && tdur !== undefined,
  );
  expect(tasks.length).toBeGreaterThan(100);
  const longest = Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1_000;
  expect(longest).toBeLessThan(100);
  expect(await page.getByRole('img', { name: /^Map of 2000 validators/ }).isVisible()).toBe(true);
});

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of the thread's own time. */
  readonly tdur?: number;
  readonly args?: Readonly<Record<string, unknown>>;
}
