import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import type * as ClientModule from '@avalanche-sdk/chainkit';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type StandIn, startStandIn } from '../integration/proxy/stand-in.ts';
import { upstreamSettings } from '../integration/proxy/upstream-service.ts';
import { type RunningService, startService } from '../integration/service/running-service.ts';
import { OTHER_HOST, startChromium } from './chromium.ts';

/** The service in a real browser: its own page, and pages of other origins that use it. */

const KEY = 'key of the console';
const AGGREGATION = '/v1/signatureAggregator/fuji/aggregateSignatures';
const LIST = '/v1/networks/fuji/validators?pageSize=2';
const STEP_TIMEOUT_MS = 20_000;

const opened = new AsyncDisposableStack();
let browser: Browser;
let service: RunningService;
let pages: Pages;
let page: Page;

beforeAll(async () => {
  browser = await startChromium();
  opened.defer(() => browser.close());
  pages = opened.use(await servePages());
  const standIn = opened.use(await startStandIn());
  rewriteForClient(standIn);
  service = opened.use(
    await startService(5, {
      settings: {
        upstream: upstreamSettings(standIn, { cacheBytes: 1024 * 1024 }),
        access: {
          apiKeys: [
            {
              name: 'console',
              sha256: createHash('sha256').update(KEY).digest('hex'),
              unitsPerMinute: 1_000,
              routes: ['aggregation', 'data'],
            },
          ],
          unitsPerMinute: 1_000,
        },
        server: { corsOrigins: [pages.origin] },
      },
    }),
  );
});
afterAll(() => opened.disposeAsync());
afterEach(() => page.context().close());

/** A page of its own profile, with nothing of another test's. */
async function open(url: string): Promise<Page> {
  const context = await browser.newContext();
  context.setDefaultTimeout(STEP_TIMEOUT_MS);
  page = await context.newPage();
  const problems: string[] = [];
  page.on('console', (message) => problems.push(message.text()));
  page.on('pageerror', ({ message }) => problems.push(message));
  await page.goto(url);
  expect(problems).toEqual([]);
  return page;
}

interface Seen {
  readonly status: number;
  /** Those that the page is shown. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a script of the page gets to see of an answer. */
function fetchIn(
  target: Page,
  url: string,
  init: { method?: string; headers?: object; body?: string } = {},
): Promise<Seen> {
  return target.evaluate(
    async ([address, options]) => {
      const response = await fetch(address, options as RequestInit);
      return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() };
    },
    [url, init] as const,
  );
}

describe('the page at /docs', () => {
  /** As it is for most: over plain HTTP, from a host that is not the browser's own. */
  const openDocs = async () => {
    const origin = `http://${OTHER_HOST}:${new URL(service.app.url).port}`;
    const context = await browser.newContext({ viewport: { width: 1_280, height: 1_600 } });
    context.setDefaultTimeout(STEP_TIMEOUT_MS);
    page = await context.newPage();
    const problems: string[] = [];
    page.on('console', (message) => problems.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
    page.on('requestfailed', (request) => problems.push(`failed: ${request.url()}`));
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.origin !== origin && url.protocol !== 'data:') problems.push(`another host: ${request.url()}`);
    });
    await page.goto(`${origin}/docs/`);
    await page.locator('.opblock').first().waitFor();
    return { problems, operation: (id: string) => page.locator(`.opblock[id$="-${id}"]`) };
  };

  test('shows every operation, grouped, and asks nobody else', async () => {
    const { problems } = await openDocs();
    const { body } = await service.get('/openapi.json');
    const documented = Object.values(body['paths'] as Record<string, Record<string, { operationId: string }>>)
      .flatMap((methods) => Object.values(methods))
      .map(({ operationId }) => operationId);
    const shown: string[] = await page
      .locator('.opblock')
      .evaluateAll((blocks) => blocks.map(({ id }) => id.slice(id.lastIndexOf('-') + 1)));
    expect(shown.toSorted()).toEqual(documented.toSorted());
    expect(documented.length).toBeGreaterThan(20);
    expect(problems).toEqual([]);
  });

  test('shows the limits of parameters, and sends a request', async () => {
    const { problems, operation } = await openDocs();
    const validators = operation('listValidators');
    await validators.locator('.opblock-summary').click();
    const row = (name: string) => validators.locator(`tr[data-param-name="${name}"]`);
    await row('pageSize').waitFor();
    expect(await row('pageSize').innerText()).toMatch(/Default value : 10\s[^]*minimum: 1\s+maximum: 100/);
    expect(await row('network').innerText()).toContain('Available values : mainnet, fuji, testnet');
    expect(await validators.locator('tr.response[data-code="429"]').innerText()).toContain('retry-after');

    await validators.getByRole('button', { name: 'Try it out' }).click();
    await row('network').locator('select').selectOption('fuji');
    await validators.getByRole('button', { name: 'Execute' }).click();
    const live = validators.locator('.live-responses-table');
    await live.waitFor();
    expect(await live.locator('.response-col_status').last().innerText()).toContain('200');
    expect(await live.innerText()).toContain('"validators"');
    expect(await validators.locator('.request-url').innerText()).toContain('/v1/networks/fuji/validators?pageSize=10');
    expect(problems).toEqual([]);
  });

  test('has a message signed on a phone', async () => {
    const { problems, operation } = await openDocs();
    await page.setViewportSize({ width: 360, height: 760 });
    const aggregation = operation('aggregateSignatures');
    await aggregation.locator('.opblock-summary').click();
    expect(await aggregation.locator('.examples-select').first().innerText()).toContain('C-Chain message');
    expect(await aggregation.locator('tr.response').first().getAttribute('data-code')).toBe('201');
    await aggregation.getByRole('button', { name: 'Try it out' }).click();
    // The example is of the public network that has this network's alias.
    const [message] = service.devnet.emitMessages(1);
    await aggregation.locator('textarea').fill(JSON.stringify({ message }));
    await aggregation.getByRole('button', { name: 'Execute' }).click();
    const live = aggregation.locator('.live-responses-table');
    await live.waitFor();
    expect(await live.locator('.response-col_status').last().innerText()).toContain('201');
    const isWide = () => page.evaluate('document.documentElement.scrollWidth > window.innerWidth');
    expect(await isWide()).toBe(false);
    expect(problems).toEqual([]);
  });
});

describe('a page of an origin that is allowed', () => {
  test('reads lists and errors with their headers, and asks again only for what changed', async () => {
    await open(pages.origin);
    const first = await fetchIn(page, `${service.app.url}${LIST}`);
    expect(first.status).toBe(200);
    expect(JSON.parse(first.body)).toHaveProperty('validators');
    const { etag } = first.headers;
    expect(first.headers).toMatchObject({ age: expect.any(String), etag: expect.any(String) });
    expect(first.headers).toMatchObject({ 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': expect.any(String) });
    const again = await fetchIn(page, `${service.app.url}${LIST}`, { headers: { 'if-none-match': etag } });
    expect([again.status, again.body]).toEqual([304, '']);
    const wrong = await fetchIn(page, `${service.app.url}${LIST}00`);
    expect([wrong.status, JSON.parse(wrong.body)]).toMatchObject([400, { code: 'invalid_request' }]);
  });

  test('aggregates with its key, after one preflight for all requests', async () => {
    let preflights = 0;
    const count = ({ method }: { method?: string }) => {
      if (method === 'OPTIONS') preflights += 1;
    };
    service.app.server?.server.on('request', count);
    await open(pages.origin);
    for (const message of service.devnet.emitMessages(3)) {
      const seen = await fetchIn(page, `${service.app.url}${AGGREGATION}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-service-api-key': KEY },
        body: JSON.stringify({ message }),
      });
      expect(seen.status).toBe(201);
      expect(JSON.parse(seen.body)).toMatchObject({ signedMessage: expect.stringMatching(/^[0-9a-f]+$/) });
      // The key's own, not the address's: the key has arrived.
      expect(Number(seen.headers['x-ratelimit-remaining'])).toBeLessThan(1_000);
    }
    service.app.server?.server.off('request', count);
    expect(preflights).toBe(1);
    const unknown = await fetchIn(page, `${service.app.url}${LIST}`, { headers: { 'x-service-api-key': 'unknown' } });
    expect(unknown.status).toBe(401);
  });

  test('uses the public client of the API', async () => {
    await open(`${pages.origin}/client`);
    const [message] = service.devnet.emitMessages(1);
    const seen = await page.evaluate(
      async ([serverURL, apiKey, unsigned]) => {
        const { Avalanche } = globalThis as unknown as typeof ClientModule;
        const client = new Avalanche({
          network: 'fuji',
          apiKey,
          enableTelemetry: false,
          retryConfig: { strategy: 'none' },
        });
        const { signatureAggregator, primaryNetwork } = client.data;
        const request = { signatureAggregatorRequest: { message: unsigned } };
        const { signedMessage } = await signatureAggregator.aggregate(request, { serverURL });
        const lengths: number[] = [];
        for await (const { result } of await primaryNetwork.listValidators({ pageSize: 2 }, { serverURL })) {
          lengths.push(result.validators.length);
        }
        const failure = await client.data.evm.blocks
          .get({ chainId: '1', blockId: 'latest' }, { serverURL })
          .catch((error: unknown) => error as Error);
        return { signedMessage, lengths, failure: 'name' in failure && failure.name };
      },
      [service.app.url, KEY, message as string] as const,
    );
    expect(seen).toEqual({
      signedMessage: expect.stringMatching(/^[0-9a-f]+$/),
      lengths: [1, 1],
      failure: 'BadRequestError',
    });
  });
});

test('a page of another origin is told nothing', async () => {
  await open(pages.origin.replace('127.0.0.1', 'localhost'));
  const outcome = fetchIn(page, `${service.app.url}${LIST}`);
  await expect(outcome).rejects.toThrow('Failed to fetch');
  const keyed = fetchIn(page, `${service.app.url}${LIST}`, { headers: { 'x-service-api-key': KEY } });
  await expect(keyed).rejects.toThrow('Failed to fetch');
});

interface Pages extends AsyncDisposable {
  readonly origin: string;
}

const MODULES = join(import.meta.dirname, '..', '..', 'node_modules');
const EMPTY_PAGE = '<!doctype html><title>console</title><link rel="icon" href="data:," />';
/** Has the public client of the API in its globals. */
const CLIENT_PAGE = `${EMPTY_PAGE}
<script type="importmap">${JSON.stringify({
  imports: {
    '@avalanche-sdk/chainkit': '/node_modules/@avalanche-sdk/chainkit/dist/esm/index.js',
    'zod/v3': '/node_modules/zod/v3/index.js',
    // For the signatures of webhooks, which are no matter of browsers.
    crypto: 'data:text/javascript,export default {}',
    'json-canonicalize': 'data:text/javascript,export const canonicalize = undefined',
  },
})}</script>
<script type="module">import { Avalanche } from '@avalanche-sdk/chainkit'; globalThis.Avalanche = Avalanche;</script>`;

/** The origin of a console, with the packages of this project. */
async function servePages(): Promise<Pages> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://pages');
    if (!pathname.startsWith('/node_modules/') || extname(pathname) !== '.js') {
      response.writeHead(200, { 'content-type': 'text/html' }).end(pathname === '/client' ? CLIENT_PAGE : EMPTY_PAGE);
      return;
    }
    readFile(join(MODULES, pathname.slice('/node_modules/'.length))).then(
      (file) => response.writeHead(200, { 'content-type': 'text/javascript' }).end(file),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The client knows the status by another spelling than the documents, and prices as numbers. */
function rewriteForClient(standIn: StandIn): void {
  standIn.rewrite = (json) => json.replaceAll('"indexed"', '"INDEXED"').replaceAll('"42.42"', '42.42');
}
