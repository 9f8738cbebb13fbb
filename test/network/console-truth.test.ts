import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type App, startApp } from '../../src/app.ts';
import { parseConfig } from '../../src/config/load/load-config.ts';
import { systemClock } from '../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { type ConsoleOptions, type ConsolePage, STEP_TIMEOUT_MS, useConsole } from './console-page.ts';

/** What the console shows of a service that is well, that fails and that is gone: a service on its devnet in a real browser. */

const PRIMARY_NETWORK = '11111111111111111111111111111111LpoYY';
const PHONE = { width: 390, height: 844 } as const;

const opened = new AsyncDisposableStack();
let app: App;
const shownConsole = useConsole();
beforeAll(async () => {
  app = opened.use(await startOnDevnet(20));
});
afterAll(() => opened.disposeAsync());

let shown: ConsolePage;
let page: Page;

async function startOnDevnet(validators: number, network: object = {}): Promise<App> {
  const settings = { networks: { local: { embedded: { validators }, ...network } }, server: { port: 0 } };
  const { config } = parseConfig(settings, {}, {});
  const started = await startApp({
    config,
    logger: createLogger('silent'),
    clock: systemClock,
    random: Math.random,
  });
  await started.untilReady(AbortSignal.timeout(STEP_TIMEOUT_MS));
  return started;
}

async function open({ origin = app.url, ...options }: ConsoleOptions & { readonly origin?: string } = {}) {
  shown = await shownConsole.open(origin, { fails: true, ...options });
  ({ page } = shown);
}

async function example(label: string): Promise<void> {
  await page.getByLabel('Another example').selectOption({ label });
}

async function signNew(): Promise<void> {
  await page.getByRole('button', { name: 'Try an example' }).click();
  await page.getByText('Unsigned Warp message').waitFor();
  await shown.collect();
  await shown.heading('Signed verified').waitFor();
}

async function failNew(): Promise<void> {
  await example('Message that its chain never sent');
  await shown.collect();
  await shown.heading('What went wrong').waitFor();
}

const goTo = (hash: string) => page.evaluate(`location.hash = '${hash}'`);
const text = (selector: string) => page.locator(selector).filter({ visible: true }).first().innerText();
const checks = () => page.locator('.consequences').innerText();

test('a service that stops is said to be away since when, and its old figures are grey and have an age', async () => {
  await using stopping = await startOnDevnet(5);
  await open({ origin: stopping.url });
  await page.getByText('up', { exact: true }).first().waitFor();
  await shown.goTo('Service');
  await shown.heading('Network local up').waitFor();
  await stopping[Symbol.asyncDispose]();
  await page.getByText(/^cannot be reached since \d\d:\d\d:\d\d$/).waitFor();
  expect(await text('[role=alert]')).toMatch(/cannot be reached.*These figures are of \d\d:\d\d:\d\d, .* ago\./);
  expect(await page.evaluate(`getComputedStyle(document.querySelector('.stale')).filter`)).toBe('grayscale(1)');
  expect(await page.locator('.stale').innerText()).toContain('Network local');
  expect(await shown.findAccessibilityProblems()).toEqual([]);
});

describe('before a request', () => {
  test('a message of another network, and a buffer that is too much, are not in reach', async () => {
    await open();
    await example('C-Chain message');
    await page.getByText(/^In reach/).waitFor();
    await example('Message of Mainnet');
    await page.getByText('This message is of network ID 1; this service signs for network ID 1337.').waitFor();
    expect(await checks()).not.toContain('In reach');
    await example('Quorum with too much of a buffer');
    await page.getByText(/add up to 110\s%/).waitFor();
    expect(await checks()).not.toContain('In reach');
  });

  test('a message that is too long is not sent to the service', async () => {
    await open();
    await shown.paste('00'.repeat(300_000));
    expect(await text('[role=alert]')).toMatch(
      /This has 300\s000 bytes; messages of more than 262\s186 cannot be signed/,
    );
  });

  test('a subnet that the service does not ask is named', async () => {
    await using other = await startOnDevnet(5, { allowedSubnetIds: [] });
    await open({ origin: other.url });
    await example('L1 message');
    await page.getByText('This service does not ask the validators of that subnet.').waitFor();
    expect(await checks()).not.toContain('In reach');
  });
});

describe('figures', () => {
  test('a value without neighbours is a point', async () => {
    await open();
    await page.route('**/console/activity', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { now: number; intervals: object[] };
      const [last] = body.intervals;
      const at = (index: number, p99Ms?: number) => ({ ...last, endsAt: body.now - 30_000 * index, p99Ms });
      await route.fulfill({ json: { ...body, intervals: [at(4), at(3, 80), at(2), at(1)] } });
    });
    await shown.goTo('Service');
    const series = page
      .getByRole('img', { name: /^Of all requests to the API/ })
      .locator('g')
      .first();
    await series.waitFor({ state: 'attached' });
    expect(await series.locator('.line').getAttribute('d')).toBe('');
    expect(await series.locator('.dots').getAttribute('d')).toMatch(/^M[\d.]+ [\d.]+h0$/);
  });

  test('weights of the primary network are AVAX, exact on hover and when copied', async () => {
    await open();
    await signNew();
    const line = page.locator('.weight-line').filter({ visible: true });
    expect(await line.innerText()).toMatch(/\d\d\.\d\s% of the weight has signed · \d\d\.\d\d\sM of 35\.00\sM AVAX/);
    const total = line.locator('[data-exact]').nth(1);
    expect(await total.getAttribute('title')).toMatch(/^35(?:\s\d{3}){5} nAVAX$/);
    await page.evaluate(`getSelection().selectAllChildren(document.querySelector('.weight-line'))`);
    await page.keyboard.press('Control+c');
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/\d{17} of 35\d{15} nAVAX$/);
  });

  test('percentages add up, and the share that signed is the same everywhere', async () => {
    await open();
    await signNew();
    const shares = await page.locator('.progress-card .legend .muted').allInnerTexts();
    const numbers = shares.map((share) => Number.parseFloat(share));
    expect(numbers.reduce((sum, number) => sum + number, 0)).toBeCloseTo(100, 6);
    expect(await text('.weight-now')).toBe(shares[0]);
    expect(await text('.result-card .hint')).toContain(`${shares[0]} of the weight`);
  });
});

describe('the address', () => {
  test('keeps message, quorum and subnet over a reload', async () => {
    await open();
    await example('C-Chain message signed by the L1');
    await page.getByLabel('Quorum', { exact: true }).fill('80');
    const field = page.getByLabel('Message, transaction or log');
    const pasted = await field.inputValue();
    await expect.poll(() => page.url()).toContain('quorum=80');
    await page.reload();
    await page.getByText('Unsigned Warp message').waitFor();
    expect(await field.inputValue()).toBe(pasted);
    expect(await page.getByLabel('Quorum', { exact: true }).inputValue()).toBe('80');
    await page.getByText('Subnet, height and justification').click();
    expect(pasted).toContain(await page.getByLabel('Signing subnet').first().inputValue());
  });

  test('that no view has says so', async () => {
    await open();
    await goTo('#/nonsense');
    await shown.heading('There is no such page').waitFor();
    expect(await text('main .card')).toContain('#/nonsense');
    expect(await page.title()).toContain('Not found');
  });
});

test.each(['Control', 'Meta'])('%s and Enter sign', async (key) => {
  await open();
  await page.getByRole('button', { name: 'Try an example' }).click();
  await page.getByText('Unsigned Warp message').waitFor();
  await page.getByLabel('Message, transaction or log').press(`${key}+Enter`);
  await expect.poll(() => shown.heading('Signed verified').isVisible(), { timeout: STEP_TIMEOUT_MS }).toBe(true);
});

describe('on a phone', () => {
  test('the result scrolls into view', async () => {
    await open(PHONE);
    await signNew();
    const isInView = (name: string) =>
      shown.heading(name).evaluate((element, height) => {
        const { top, bottom } = element.getBoundingClientRect();
        return top >= 0 && bottom <= height;
      }, PHONE.height);
    await expect.poll(() => isInView('Signed message')).toBe(true);
    await failNew();
    await expect.poll(() => isInView('What went wrong')).toBe(true);
  });

  test('columns fit, and rows open to show the others', async () => {
    await open(PHONE);
    await goTo(`#/subnets/${PRIMARY_NETWORK}`);
    const table = page.getByRole('region', { name: 'Validators' });
    await table.locator('tr.row').first().click();
    expect(await table.locator('tr.opened').innerText()).toMatch(/NodeID-[^]*Version[^]*avalanchego/);
    expect(await table.evaluate((box) => box.scrollWidth <= box.clientWidth)).toBe(true);
  });
});

test('examples are in groups, and the L1 is among the subnets from the start', async () => {
  await open();
  await page.getByLabel('Another example').waitFor();
  const groups = await page
    .locator('select.examples optgroup')
    .evaluateAll((all) => all.map((group) => group.getAttribute('label')));
  expect(groups).toEqual(['Primary network', 'L1', 'Conversions and L1 validators', 'Must fail']);
  await shown.goTo('Subnets');
  await page.getByRole('link', { name: /Devnet L1/ }).click();
  await shown.heading('Devnet L1').waitFor();
  await page.getByRole('region', { name: 'Validators' }).getByText('signable').first().waitFor();
});

describe('activity', () => {
  test('has what happened to a request that failed', async () => {
    // The failure of an equal request would be cached, without a collection.
    await using other = await startOnDevnet(5);
    await open({ origin: other.url });
    await failNew();
    await page.getByRole('link', { name: 'what happened to it' }).click();
    await shown.heading('Request insufficient_weight').waitFor();
    await page.getByRole('img', { name: /^Stages: .*collect \d/ }).waitFor();
    const card = await text('main .card');
    expect(card).toMatch(/refused 100\s%/);
    expect(card).toMatch(/NodeID-[^]*code 1:/);
  });

  test('lists requests as they come, by outcome, and counts failures', async () => {
    await open();
    await signNew();
    await failNew();
    await shown.goTo('Activity');
    const table = page.getByRole('region', { name: 'Requests' });
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
    const failures = page.getByRole('button', { name: /\d+ insufficient_weight/ });
    await failures.click();
    await table.getByText('insufficient_weight').first().waitFor();
    expect(await page.getByPlaceholder('subnet ID').inputValue()).toBe(PRIMARY_NETWORK);
  });
});

test('an EVM transaction is signed by its hash and chain, and of several messages one is chosen', async () => {
  await open();
  await example('by EVM transaction: L1');
  expect(await page.getByLabel('Chain of an EVM transaction').inputValue()).not.toBe('');
  await shown.collect();
  await shown.heading('Signed verified').waitFor();
  await example('by EVM transaction: one of two messages');
  const field = page.getByLabel('Message, transaction or log');
  const pasted = await field.inputValue();
  await field.fill(pasted.replace(/\?.*$/, ''));
  await page.getByLabel('Chain of an EVM transaction').fill('C');
  await shown.collect();
  await page.getByText('several_messages').waitFor();
  await page.getByRole('button', { name: 'Sign log 1' }).click();
  await shown.heading('Signed verified').waitFor();
  await page.getByRole('tab', { name: 'curl' }).click();
  expect(await page.getByRole('tabpanel').innerText()).toContain('?blockchainId=C&logIndex=1');
});
