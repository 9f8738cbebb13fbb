import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { newMessages } from '../../bench/client.ts';
import { startRig } from '../../bench/rig.ts';
import type { ReadinessBody } from '../../src/api/health/health.ts';
import { type App, startApp } from '../../src/app/app.ts';
import { parseConfig } from '../../src/config/load/load-config.ts';
import { systemClock } from '../../src/lib/concurrency/clock.ts';
import { bytesToHex } from '../../src/lib/encoding/bytes.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
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

test('while the network is down, each view says so and nothing is green or in reach', async () => {
  await shown.open({ fails: true });
  const { page } = shown;
  await page.route('**/health/ready', async (route) => {
    const body = (await (await route.fetch()).json()) as ReadinessBody;
    const networks = body.networks.map((network) => ({ ...network, status: 'down', reason: 'the API is silent' }));
    await route.fulfill({ status: 503, json: { ...body, status: 'down', networks } });
  });
  await page.reload();
  await page.getByRole('alert').getByText('Network local is down, so nothing can be signed').waitFor();
  await shown.pasteNew();
  const consequences = page.locator('.consequences').filter({ visible: true });
  await consequences.getByText('Not now').waitFor();
  expect(await consequences.innerText()).not.toContain('In reach');
  for (const view of ['Subnets', 'Service'] as const) {
    await shown.goTo(view);
    await page.locator('.subnet-row').first().waitFor();
    const colours = await page
      .locator('.subnet-row .swatch')
      .evaluateAll((all) => all.map((one) => one.style.background));
    expect(new Set(colours)).toEqual(new Set(['var(--cell-unknown)']));
  }
});

test('a key is accepted, wrong or ignored, and what the console reads is no traffic of the service', async () => {
  const sha256 = createHash('sha256').update('a good key').digest('hex');
  const access = { apiKeys: [{ name: 'console', sha256, routes: ['aggregation', 'operate'] }] };
  await using keyed = await startOnDevnet(5, {}, { access });
  const use = async (key: string) => {
    const { page } = shown;
    await page.getByLabel('API key', { exact: true }).fill(key);
    await page.getByRole('button', { name: 'Use it' }).click();
  };
  await shown.open({ origin: keyed.url, fails: true });
  const { page } = shown;
  await page.getByRole('button', { name: 'API key: none' }).click();
  await use('a wrong key');
  await page.getByRole('alert').getByText('The service does not know this key.').waitFor();
  const button = page.getByRole('button', { name: 'API key: the service does not know it' });
  expect(await button.innerText()).toBe('Key ✕');
  expect(await shown.findAccessibilityProblems()).toEqual([]);
  await use('a good key');
  const accepted = page.getByRole('button', { name: 'API key: accepted' });
  await expect.poll(() => accepted.evaluate((element) => element === document.activeElement)).toBe(true);
  await shown.goTo('Activity');
  await page.getByText('No request yet, or none that fits.').waitFor();
  await shown.goTo('Service');
  await page.getByText('in the last hour, without what the console reads').waitFor();
  expect(await page.locator('.figures').innerText()).toMatch(/Requests\s+0[^]*Failed\s+0\s%/);

  await shown.context.close();
  await shown.open();
  await shown.page.getByRole('button', { name: 'API key: none' }).click();
  await use('any');
  await shown.page.getByRole('alert').getByText('The service has no API keys: it ignores this one.').waitFor();
});

/** A service whose network is the devnet of another one, which it knows as any operator's network. */
async function startBeside(devnetApp: App, sections: object): Promise<App> {
  const { apiUrl } = devnetApp.devnet!;
  const network = { pChainApi: [{ baseUrl: apiUrl }], feed: { chains: [{ blockchainId: 'C', fromBlock: 1 }] } };
  const { config } = parseConfig({ networks: { private: network }, server: { port: 0 }, ...sections }, {}, {});
  const app = await startApp({ config, logger: createLogger('silent'), clock: systemClock, random: Math.random });
  await app.untilReady(AbortSignal.timeout(STEP_TIMEOUT_MS));
  return app;
}

test('the chains of the primary network have their names on a network that is not the devnet', async () => {
  await using app = await startBeside(shown.app, {});
  await shown.open({ origin: app.url });
  const { page } = shown;
  await shown.pasteNew();
  expect(await page.locator('.decoded').filter({ visible: true }).innerText()).toMatch(/Source chain\s+C-Chain/);
  await page.getByText('Accepted by the P-Chain and the C-Chain').waitFor();
  await shown.goTo('Messages');
  await shown.table('Messages').getByText('C-Chain, block').first().waitFor();
  await shown.goTo('Service');
  await page.getByText('Feed of C-Chain').waitFor();
  expect(shown.problems).toEqual([]);
});

test('where the metrics have a port of their own, operators see the figures, and others why not', async () => {
  const sections = { metrics: { port: 0 } };
  await using app = await startOnDevnet(5, {}, { ...sections, access: { operateWithoutKey: true } });
  await shown.open({ origin: app.url });
  await shown.goTo('Service');
  await shown.page.getByRole('img', { name: /^Every 30 s/ }).waitFor();
  await shown.heading('At a glance').waitFor();
  expect(shown.problems).toEqual([]);
  await shown.context.close();
  await using closed = await startOnDevnet(5, {}, { ...sections, access: { operateWithoutKey: false } });
  await shown.open({ origin: closed.url, fails: true });
  await shown.goTo('Service');
  await shown.page.getByText('the figures are shown for API keys only').waitFor();
  await shown.heading('Network local up').waitFor();
});

test('where a key is needed, the form for it is there from the start, and no text is meant for programs', async () => {
  const sha256 = createHash('sha256').update('a good key').digest('hex');
  const access = { apiKeys: [{ name: 'console', sha256, routes: ['aggregation', 'operate'] }], requireKey: true };
  await using keyed = await startOnDevnet(5, {}, { access });
  await shown.open({ origin: keyed.url, fails: true });
  const { page } = shown;
  await page.getByText('This service answers requests with one only.').waitFor();
  await shown.input.fill(shown.devnet.emitMessages(1)[0] ?? '');
  await page.getByRole('alert').getByText('for an API key only: type yours in above').waitFor();
  expect(await page.locator('body').innerText()).not.toContain('x-service-api-key');
  expect(await shown.findAccessibilityProblems()).toEqual([]);
  await page.getByLabel('API key', { exact: true }).fill('a good key');
  await page.getByRole('button', { name: 'Use it' }).click();
  await page.getByRole('button', { name: 'API key: accepted' }).waitFor();
  await shown.pasteNew(keyed.devnet);
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
    await page.getByLabel('Find', { exact: true }).fill(shown.devnet.nodeIDs[0] as string);
    await page.getByText('1 of 20 validators').waitFor();
    expect(shown.problems).toEqual([]);
  });

  test('shows who signed in the last day, in which hours, and what remains if validators stop', async () => {
    // Another test may have read the record of the shared service, which keeps its sums for some seconds.
    await using other = await startOnDevnet(20);
    await shown.open({ origin: other.url });
    const { page } = shown;
    await shown.pasteNew(other.devnet);
    await shown.sign();
    await goToAddress(`#/subnets/${PRIMARY_NETWORK_ID}`);
    const table = shown.table('Validators');
    const row = table
      .locator('tr.row')
      .filter({ hasText: /●\s*100/ })
      .first();
    await row.getByRole('checkbox').check();
    await shown.heading('If this one stops').waitFor();
    const remaining = page.locator('.remaining');
    await expect.poll(() => remaining.allInnerTexts()).toHaveLength(2);
    for (const text of await remaining.allInnerTexts()) {
      expect(text).toMatch(/^(Now|Worst hour, \w+ \d+, \d\d:00)\s+✓ 9\d\.\d\s% 2\d\.\d\s% above the quorum of 67\s%$/);
    }
    await row.click();
    expect(await table.locator('tr.opened').innerText()).toMatch(
      /In the last 24 hours: signed (\d+) of \1; answers within/,
    );
    await table.getByRole('img', { name: /^The last 48 hours: in (\d) of \1 hours with a question/ }).waitFor();
    expect(await shown.findAccessibilityProblems()).toEqual([]);
    await page.locator('.if-stop').getByRole('button', { name: 'Clear' }).click();
    await shown.heading('If validators stop').waitFor();
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

  test('columns with long texts fit on a wide screen', async () => {
    await using other = await startOnDevnet(5);
    await shown.open({ origin: other.url, fails: true });
    await shown.fail();
    const isWithin = (name: string) => shown.table(name).evaluate((box) => box.scrollWidth <= box.clientWidth);
    expect(await isWithin('Validators that did not sign')).toBe(true);
    // Their last refusals have a column now.
    await goToAddress(`#/subnets/${PRIMARY_NETWORK_ID}`);
    await shown.table('Validators').getByText('3: unknown message').first().waitFor();
    expect(await isWithin('Validators')).toBe(true);
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
    await shown.input.fill('changed');
    await expect.poll(() => page.url()).toContain('message=changed');
    await page.goBack();
    await page.getByRole('button', { name: 'Sign it for a destination' }).click();
    expect(await shown.input.inputValue()).toBe(bytesToHex(bytes));
    expect(shown.problems).toEqual([]);
  });

  test('goes back to older messages, page by page, and to the newest again', async () => {
    await using other = await startOnDevnet(5);
    const { C, L1 } = other.devnet!.chains;
    for (let index = 0; index < 130; index++) L1.emit(Buffer.from(`old ${index}`));
    expect(C.height).toBeGreaterThan(0);
    await shown.open({ origin: other.url });
    await shown.goTo('Messages');
    const rows = shown.table('Messages').locator('tr.row');
    const older = shown.page.getByRole('button', { name: 'Older' });
    await expect.poll(() => rows.count()).toBe(100);
    // Its status may change meanwhile.
    const messageOf = async () => (await rows.first().innerText()).split('\t')[2];
    const newest = await messageOf();
    await older.press('Enter');
    // Some examples of the L1 are older.
    const isRest = async () => {
      const count = await rows.count();
      return count >= 30 && count < 100;
    };
    await expect.poll(isRest).toBe(true);
    await expect.poll(() => older.getAttribute('aria-disabled')).toBe('true');
    expect(await older.evaluate((element) => element === document.activeElement)).toBe(true);
    await shown.page.getByRole('button', { name: 'Newest' }).click();
    await expect.poll(messageOf).toBe(newest);
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

describe('one box leads to the place of', () => {
  const find = async (text: string) => {
    const box = shown.page.getByRole('searchbox', { name: /^Find an ID/ });
    await box.fill(text);
    await box.press('Enter');
  };

  test('a message that the feed signed, by its ID, its bytes and its transaction', async () => {
    await shown.open({ fails: true });
    const { message, transactionHash } = shown.devnet.emit('L1');
    const place = `#/messages/${message.id}`;
    const texts = [
      message.id,
      bytesToHex(message.bytes),
      transactionHash,
      `https://subnets.test/tx/${transactionHash}`,
    ];
    await goToAddress('#/messages');
    await shown.table('Messages').getByText(message.id.slice(0, 8)).waitFor();
    for (const text of texts) {
      await goToAddress('#/service');
      await find(text);
      await expect.poll(() => shown.page.url(), { message: text }).toContain(place);
    }
    await shown.heading('Message signed').waitFor();
  });

  test('a request, also in Sign; and of what has several places all are listed', async () => {
    await shown.open({ fails: true });
    const { page, app } = shown;
    const { message } = shown.devnet.emit('L1');
    const path = `${app.url}/v1/signatureAggregator/local/aggregateSignatures`;
    const headers = { 'x-request-id': 'a-request-to-find', 'content-type': 'application/json' };
    await fetch(path, { method: 'POST', headers, body: JSON.stringify({ message: bytesToHex(message.bytes) }) });
    await shown.input.fill('a-request-to-find');
    await page.getByText('This is the ID of a request').getByRole('link').click();
    await shown.heading('Request signed').waitFor();
    await goToAddress('#/sign');
    await find(`${app.url}/#/activity/a-request-to-find`);
    await shown.heading('Request signed').waitFor();
    await goToAddress('#/messages');
    await shown.table('Messages').getByText(message.id.slice(0, 8)).waitFor();
    await find(message.id);
    const places = page.locator('main .list a').filter({ visible: true });
    await expect
      .poll(() => places.allInnerTexts())
      .toEqual([expect.stringMatching(/^Message /), expect.stringMatching(/^Request a-req/)]);
    expect(await shown.findAccessibilityProblems()).toEqual([]);
    await goToAddress('#/activity');
    await page.getByLabel('Search').fill(bytesToHex(message.bytes));
    await shown.table('Requests').getByText('a-reques').waitFor();
  });

  test('a subnet and a validator; what is nowhere can be signed', async () => {
    await shown.open({ fails: true });
    const { page, devnet } = shown;
    await find(devnet.subnets.l1.subnetID);
    await expect.poll(() => page.url()).toContain(`#/subnets/${devnet.subnets.l1.subnetID}`);
    await find(devnet.nodeIDs[0] as string);
    await page.getByRole('link', { name: 'Validators of Primary network' }).click();
    await page.getByText('1 of 20 validators').waitFor();
    const unknown = bytesToHex(devnet.chains.C.prepare(Buffer.from('never sent')).bytes);
    await find(unknown);
    await page.getByText('The service has no request, message, subnet or validator of this.').waitFor();
    await page.getByRole('button', { name: 'Have it signed' }).click();
    expect(await shown.input.inputValue()).toBe(unknown);
  });
});

test.each([
  ['subnets', `**/subnets/${PRIMARY_NETWORK_ID}?*`, () => `#/subnets/${PRIMARY_NETWORK_ID}`],
  ['messages', '**/messages/*', () => `#/messages/${shown.devnet.emit('L1').message.id}`],
  ['activity', '**/v1/requests/*', () => '#/activity/reloaded'],
])('the focus stays where a page of %s that failed is loaded again', async (_, url, address) => {
  await shown.open({ fails: true });
  const { page } = shown;
  const path = `${shown.app.url}/v1/signatureAggregator/local/aggregateSignatures`;
  await fetch(path, {
    method: 'POST',
    headers: { 'x-request-id': 'reloaded', 'content-type': 'application/json' },
    body: '{}',
  });
  const failing = { code: 'overloaded', message: 'later', statusCode: 503 };
  const headers = { 'x-request-id': 'failed' };
  await page.route(url, (route) => route.fulfill({ status: 503, headers, json: failing }));
  await goToAddress(address());
  const button = page.getByRole('button', { name: 'Try again', exact: true });
  await button.focus();
  // Only requests for signatures have a record.
  expect(await shown.page.locator('.failure-card').filter({ visible: true }).innerText()).toMatch(
    /Request\s+failed\s+Copy\s*$/,
  );
  await page.unroute(url);
  // The page may have been loaded again by itself.
  await page.keyboard.press('Enter');
  await button.waitFor({ state: 'detached' });
  const focused = page.locator('main .view:focus');
  await focused.locator('.card').first().waitFor();
  expect(await focused.innerText()).not.toContain('overloaded');
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
    const card = shown.page.locator('main .failure-card').filter({ visible: true }).first();
    // What Sign shows of the same failure.
    const sameAsSign =
      /No validator knows this message: \d of 5 refused\.[^]*0\s% signed, 67\.0\s% is needed[^]*NodeID-[^]*code 3:/;
    expect(await card.innerText()).toMatch(sameAsSign);
  });

  test('finds the requests of a message, links the message, and has all about one in an opened row', async () => {
    await shown.open({ fails: true });
    const { page, app, devnet } = shown;
    const { message, transactionHash } = devnet.emit('L1');
    const send = (id: string, path: string, body?: object) =>
      fetch(`${app.url}/v1/signatureAggregator/local/aggregateSignatures${path}`, {
        headers: { 'content-type': 'application/json', 'x-request-id': id },
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
      });
    await send('by-message', '', { message: bytesToHex(message.bytes) });
    await send('by-hash', `/${transactionHash}`);
    await send('wrong', '', { message: '0x00' });
    await shown.goTo('Activity');
    const table = shown.table('Requests');
    const untilFound = (...ids: string[]) =>
      expect.poll(() => table.locator('tr.row a').allInnerTexts(), { timeout: STEP_TIMEOUT_MS }).toEqual(ids);
    const search = page.getByLabel('Search');
    await search.fill('127.0.0.1');
    await table.getByText('wrong').waitFor();
    await search.fill(message.id);
    await untilFound('by-hash', 'by-message');
    await search.fill('by-message');
    await untilFound('by-message');
    await search.fill(transactionHash);
    await untilFound('by-hash');
    await table.getByRole('button', { name: 'Details' }).press('Enter');
    const opened = await table.locator('tr.opened').innerText();
    for (const fact of [message.id, 'resolve ', '/v1/signatureAggregator/:network/aggregateSignatures/:txHash']) {
      expect(opened).toContain(fact);
    }
    await table.getByRole('link', { name: 'all requests for it' }).click();
    await untilFound('by-hash', 'by-message');
    await table.getByRole('link', { name: 'by-message' }).click();
    await page.getByRole('link', { name: 'The message, with its block and its sender' }).click();
    await shown.heading(/^Message /).waitFor();
  });

  test('outcomes are whole on a phone', async () => {
    await shown.open({ ...PHONE, fails: true });
    await shown.fail();
    const cutCells = (name: string) =>
      shown.table(name).evaluate((box) => {
        const cells = [...box.querySelectorAll('tr.row td')].filter((cell) => cell.clientWidth > 0);
        return cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent);
      });
    expect(await cutCells('Validators that did not sign')).toEqual([]);
    await shown.goTo('Activity');
    await shown.table('Requests').getByText('insufficient_weight').first().waitFor();
    expect(await cutCells('Requests')).toEqual([]);
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
    expect(await page.getByLabel('Search').inputValue()).toBe(PRIMARY_NETWORK_ID);
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

test('axe finds nothing in a message on a phone, whose long texts scroll', async () => {
  await shown.open(PHONE);
  const { message } = shown.devnet.emit('L1');
  await goToAddress('#/messages');
  await shown.table('Messages').getByText(message.id.slice(0, 8)).click();
  await shown.heading('Message signed').waitFor();
  expect(await shown.findAccessibilityProblems()).toEqual([]);
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
  const focused = () => page.evaluate('document.activeElement.textContent');
  expect(await focused()).toMatch(/^Collect/);
  await shown.heading('Signed verified').waitFor();
  expect(await focused()).toBe('Collect signatures');
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

/** Collects in `areas` how many areas of the map each rendering draws. */
const COUNT_AREAS = `
  globalThis.areas = [];
  new MutationObserver((records) => {
    const drawn = new Set();
    for (const { target, addedNodes } of records) {
      drawn.add(target);
      for (const node of addedNodes) for (const part of [node, ...(node.querySelectorAll?.('*') ?? [])]) drawn.add(part);
    }
    const count = [...drawn].filter(({ classList }) => classList?.contains('cell')).length;
    if (count > 0) areas.push(count);
  }).observe(document.body, { subtree: true, childList: true, attributes: true });`;

test('no rendering draws more than 150 of 2,000 validators, so that the page is not held up', async () => {
  await using rig = await startRig(2_000);
  const [message = ''] = await newMessages(rig.devnetUrl, 1);
  await shown.open({ origin: rig.service.url });
  const { page } = shown;
  await shown.input.fill(message);
  await page.getByText('Unsigned Warp message').waitFor();
  await page.evaluate(COUNT_AREAS);
  await shown.sign();
  await page.getByRole('img', { name: /^Map of 2000 validators/ }).waitFor();
  await expect.poll(() => page.locator('.cell').count(), { timeout: STEP_TIMEOUT_MS }).toBe(2_000);
  const areas = (await page.evaluate('areas')) as number[];
  expect(areas.reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(2_000);
  expect(Math.max(...areas)).toBeLessThanOrEqual(150);
  await page.getByText('List of the 2000 validators').click();
  expect(await shown.table('Validators').locator('tr.row').last().innerText()).toMatch(/0\.0\d\d\s%/);
});
