import { describe, expect, test } from 'vitest';
import { newMessages } from '../../bench/client.ts';
import { startRig } from '../../bench/rig.ts';
import { bytesToHex } from '../../src/lib/encoding/bytes.ts';
import { PRIMARY_NETWORK_ID } from '../../src/warp/ids.ts';
import { type ConsoleView, STEP_TIMEOUT_MS, startOnDevnet, useConsole, VIEWS } from './console-page.ts';

/** What the views of the console show of a service that is well, that fails and that is gone, and for whom they are fit. */

const PHONE = { width: 390, height: 844 } as const;

const shown = useConsole();

const goToAddress = (hash: string) => shown.page.evaluate(`location.hash = '${hash}'`);

test('a service that stops is said to be away since when, and its old figures are grey and have an age', async () => {
  await using stopping = await startOnDevnet(5);
  await shown.open({ origin: stopping.url, fails: true });
  const { page } = shown;
  await page.getByText('up', { exact: true }).first().waitFor();
  await shown.goTo('Service');
  await shown.heading('Network local up').waitFor();
  await page.getByText(/^at the head, block \d/).waitFor();
  await stopping[Symbol.asyncDispose]();
  await page.getByText(/^cannot be reached since \d\d:\d\d:\d\d$/).waitFor();
  const problem = /cannot be reached.*These figures are of \d\d:\d\d:\d\d, .* ago\./;
  await page.getByRole('alert').getByText(problem).waitFor();
  expect(await page.evaluate(`getComputedStyle(document.querySelector('.stale')).filter`)).toBe('grayscale(1)');
  expect(await page.locator('.stale').innerText()).toContain('Network local');
  expect(await shown.findAccessibilityProblems()).toEqual([]);
});

test('an address that no view has says so', async () => {
  await shown.open();
  await goToAddress('#/nonsense');
  await shown.heading('There is no such page').waitFor();
  expect(await shown.page.title()).toContain('Not found');
});

describe('subnets', () => {
  test('shows validators, and finds, sorts and counts them', async () => {
    await shown.open();
    const { page } = shown;
    await shown.goTo('Subnets');
    await page.getByRole('link', { name: /Devnet L1/ }).waitFor();
    await page.getByRole('link', { name: /Primary network/ }).click();
    const table = shown.table('Validators');
    await table.getByText('signable').first().waitFor();
    expect(await page.getByText('20 of 20 validators').isVisible()).toBe(true);
    const first = () => table.locator('tbody tr').first().innerText();
    const heaviest = await first();
    await page.getByRole('button', { name: 'Weight' }).click();
    expect(await first()).not.toBe(heaviest);
    expect(await page.getByRole('columnheader', { name: 'Weight' }).getAttribute('aria-sort')).toBe('ascending');
    await page.getByLabel('Find').fill(shown.devnet.nodeIDs[0] as string);
    await page.getByText('1 of 20 validators').waitFor();
    expect(shown.problems).toEqual([]);
  });

  test('columns fit on a phone, and rows open to show the others', async () => {
    await shown.open(PHONE);
    await goToAddress(`#/subnets/${PRIMARY_NETWORK_ID}`);
    const table = shown.table('Validators');
    await table.locator('tr.row').first().click();
    expect(await table.locator('tr.opened').innerText()).toMatch(/NodeID-[^]*Version[^]*avalanchego/);
    expect(await table.evaluate((box) => box.scrollWidth <= box.clientWidth)).toBe(true);
  });
});

describe('messages', () => {
  test('lists messages as they come, filters them, and shows one with a link to Sign', async () => {
    await shown.open();
    const { page } = shown;
    await shown.goTo('Messages');
    const { id, bytes } = shown.devnet.emit('L1').message;
    const row = shown.table('Messages').getByRole('row', { name: `${id.slice(0, 8)}…` });
    await row.getByText('signed').waitFor();
    await page.getByLabel('Status').selectOption('failed');
    await row.waitFor({ state: 'detached' });
    await page.getByLabel('Status').selectOption('signed');
    await row.getByRole('link').click();
    await shown.heading('Message signed').waitFor();
    expect(await page.getByText(/ later$/).isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Sign it for a destination' }).click();
    expect(await shown.input.inputValue()).toBe(bytesToHex(bytes));
    expect(shown.problems).toEqual([]);
  });

  test('says how to watch chains where none is watched', async () => {
    await using other = await startOnDevnet(5, { feed: { chains: [] } });
    await shown.open({ origin: other.url, fails: true });
    await shown.goTo('Messages');
    await shown.page.getByText('networks.local.feed.chains').waitFor();
    expect(await shown.table('Messages').count()).toBe(0);
  });
});

describe('activity', () => {
  test('has what happened to a request that failed', async () => {
    // The failure of an equal request would be cached, without a collection.
    await using other = await startOnDevnet(5);
    await shown.open({ origin: other.url, fails: true });
    await shown.fail();
    await shown.page.getByRole('link', { name: 'what happened to it' }).click();
    await shown.heading('Request insufficient_weight').waitFor();
    await shown.page.getByRole('img', { name: /^Stages: .*collect \d/ }).waitFor();
    const card = shown.page.locator('main .card').filter({ visible: true }).first();
    expect(await card.innerText()).toMatch(/refused 100\s%[^]*NodeID-[^]*code 3:/);
  });

  test('lists requests as they come, by outcome, and counts failures', async () => {
    await shown.open({ fails: true });
    const { page, app } = shown;
    await shown.pasteNew();
    await shown.sign();
    await shown.fail();
    await shown.goTo('Activity');
    const table = shown.table('Requests');
    const rows = table.locator('tr.row');
    await rows.first().waitFor();
    const before = await rows.count();
    await fetch(`${app.url}/v1/signatureAggregator/local/aggregateSignatures`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"message":"0x00"}',
    });
    await expect.poll(() => rows.count(), { timeout: STEP_TIMEOUT_MS }).toBe(before + 1);
    expect(await rows.first().innerText()).toContain('invalid_request');
    await page.getByLabel('Outcome').selectOption('signed');
    await expect.poll(() => table.getByText('invalid_request').count(), { timeout: STEP_TIMEOUT_MS }).toBe(0);
    expect(await table.innerText()).toContain('signed');
    await page.getByRole('button', { name: /\d+ insufficient_weight/ }).click();
    await table.getByText('insufficient_weight').first().waitFor();
    expect(await page.getByPlaceholder('subnet ID').inputValue()).toBe(PRIMARY_NETWORK_ID);
  });
});

test('on a phone the result scrolls into view', async () => {
  await shown.open({ ...PHONE, fails: true });
  const isInView = (name: string) =>
    shown.heading(name).evaluate((element, height) => {
      const { top, bottom } = element.getBoundingClientRect();
      return top >= 0 && bottom <= height;
    }, PHONE.height);
  await shown.pasteNew();
  await shown.sign();
  await expect.poll(() => isInView('Signed message')).toBe(true);
  await shown.fail();
  await expect.poll(() => isInView('What went wrong')).toBe(true);
});

/** Fills each view, and shows one after the other. */
async function* filledViews(): AsyncGenerator<ConsoleView> {
  const { page } = shown;
  shown.devnet.emit('L1');
  await shown.pasteNew();
  await shown.sign();
  await page.getByText('List of the 20 validators').click();
  await page.getByText('Subnet, height and justification').click();
  await page.getByRole('button', { name: 'Inspect' }).click();
  await shown.heading('Valid a destination accepts it').waitFor();
  for (const view of VIEWS) {
    if (view === 'Subnets') await goToAddress(`#/subnets/${PRIMARY_NETWORK_ID}`);
    else await shown.goTo(view);
    if (view === 'Subnets') await shown.table('Validators').getByText('signable').first().waitFor();
    if (view === 'Messages') await shown.table('Messages').getByText('signed').first().waitFor();
    if (view === 'Activity') await shown.table('Requests').waitFor();
    if (view === 'Service') await page.getByRole('img', { name: /^Every 30 s/ }).waitFor();
    yield view;
  }
}

test.each(['light', 'dark'] as const)('axe finds nothing in any view, %s', async (scheme) => {
  await shown.open({ scheme });
  for await (const view of filledViews()) expect(await shown.findAccessibilityProblems(), view).toEqual([]);
});

test.each([67, 80])('320 pixels are enough, in every view, with a quorum of %i percent', async (quorum) => {
  await shown.open({ width: 320 });
  await shown.quorum.fill(String(quorum));
  for await (const view of filledViews())
    expect(await shown.page.evaluate('document.documentElement.scrollWidth'), view).toBe(320);
});

test('all can be done by the keyboard', async () => {
  await shown.open();
  const { page } = shown;
  const [message = ''] = shown.devnet.emitMessages(1);
  /** Presses Tab until that has the focus; fails if it never has. */
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
  expect(await shown.quorum.inputValue()).toBe('68');
  await tabTo('Collect signatures');
  await page.keyboard.press('Enter');
  await shown.heading('Signed verified').waitFor();
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

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of the thread's own time. */
  readonly tdur?: number;
  readonly args?: Readonly<Record<string, unknown>>;
}

test('2,000 validators fill without a frame that takes longer than 100 ms', async () => {
  await using rig = await startRig(2_000);
  const [message = ''] = await newMessages(rig.devnetUrl, 1);
  await shown.open({ origin: rig.service.url });
  await shown.input.fill(message);
  await shown.page.getByText('Unsigned Warp message').waitFor();
  await shown.browser.startTracing(shown.page, { categories: ['toplevel', 'devtools.timeline'] });
  await shown.sign();
  const trace = (await shown.browser.stopTracing()).toString();
  const { traceEvents } = JSON.parse(trace) as { traceEvents: TraceEvent[] };
  // Of the page's thread, by its own time: what other processes of the machine take is none of the page's.
  const mains = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.['name'] === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasksMs = traceEvents
    .filter(({ name, pid, tid }) => name.endsWith('RunTask') && mains.has(`${pid} ${tid}`))
    .flatMap(({ tdur }) => (tdur === undefined ? [] : [tdur / 1_000]));
  expect(tasksMs.length).toBeGreaterThan(100);
  expect(Math.max(...tasksMs)).toBeLessThan(100);
  expect(await shown.page.getByRole('img', { name: /^Map of 2000 validators/ }).isVisible()).toBe(true);
});
