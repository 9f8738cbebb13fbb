import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as ClientModule from '@avalanche-sdk/chainkit';
import { build, type Plugin } from 'esbuild';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { packClient } from '../../scripts/pack-client.ts';
import type * as OwnClientModule from '../../src/client/package-entry.ts';
import { parseHex } from '../../src/lib/encoding/bytes.ts';
import { parseUnsignedMessage } from '../../src/warp/unsigned-message.ts';
import { startStandIn } from '../integration/proxy/stand-in.ts';
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
let context: BrowserContext;
let service: RunningService;
let origin: string;

beforeAll(async () => {
  browser = await startChromium();
  opened.defer(() => browser.close());
  const pages = opened.use(await servePages());
  ({ origin } = pages);
  const standIn = opened.use(await startStandIn());
  const sha256 = createHash('sha256').update(KEY).digest('hex');
  const key = { name: 'console', sha256, unitsPerMinute: 1_000, routes: ['aggregation', 'data'] };
  const settings = {
    upstream: upstreamSettings(standIn, { cacheBytes: 1024 * 1024 }),
    access: { apiKeys: [key], unitsPerMinute: 1_000 },
    server: { corsOrigins: [origin, insecure(origin)] },
    network: { feed: { chains: [{ blockchainId: 'C', fromBlock: 1 }] } },
  };
  service = opened.use(await startService(5, { settings }));
});
afterAll(() => opened.disposeAsync());
afterEach(() => context.close());

/** Returns the origin by a name that browsers do not trust without https. */
function insecure(url: string): string {
  return url.replace('127.0.0.1', OTHER_HOST);
}

/** Opens a page in a separate profile; the list fills with what it must not do. */
async function open(url: string): Promise<{ readonly page: Page; readonly problems: readonly string[] }> {
  context = await browser.newContext({ viewport: { width: 1_280, height: 1_600 } });
  context.setDefaultTimeout(STEP_TIMEOUT_MS);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('console', (message) => problems.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url());
    if (protocol !== 'data:' && host !== new URL(url).host) problems.push(`another host: ${request.url()}`);
  });
  await page.goto(url);
  return { page, problems };
}

/** What a script of the page gets to see of an answer. */
function fetchIn(page: Page, path: string, init: { method?: string; headers?: object; body?: string } = {}) {
  return page.evaluate(
    async ([url, options]) => {
      const response = await fetch(url, options as RequestInit);
      // Those that the page is shown.
      const headers = Object.fromEntries(response.headers) as Record<string, string>;
      return { status: response.status, headers, body: await response.text() };
    },
    [`${service.app.url}${path}`, init] as const,
  );
}

describe('the page at /docs', () => {
  /** Opens the page as most users do: over plain HTTP, from a host that is not the browser's own. */
  const openDocs = async (url = service.app.url, path = '/docs/') => {
    const { page, problems } = await open(`http://${OTHER_HOST}:${new URL(url).port}${path}`);
    await page.locator('.opblock').first().waitFor();
    return { page, problems, operation: (id: string) => page.locator(`.opblock[id$="-${id}"]`) };
  };

  test('shows every operation and the limits of parameters, and sends a request, below a path of a proxy', async () => {
    await using proxy = await serveBelow('/below', service.app.url);
    const { page, problems, operation } = await openDocs(proxy.origin, '/below/docs');
    const { body } = await service.get('/openapi.json');
    const documented = Object.values(body['paths'] as Record<string, Record<string, { operationId: string }>>)
      .flatMap((methods) => Object.values(methods))
      .map(({ operationId }) => operationId);
    const shown: string[] = await page
      .locator('.opblock')
      .evaluateAll((blocks) => blocks.map(({ id }) => id.slice(id.lastIndexOf('-') + 1)));
    expect(shown.toSorted()).toEqual(documented.toSorted());

    const validators = operation('listValidators');
    await validators.locator('.opblock-summary').click();
    const row = (name: string) => validators.locator(`tr[data-param-name="${name}"]`);
    await row('pageSize').waitFor();
    expect(await row('pageSize').innerText()).toMatch(/Default value : 10\s[^]*minimum: 1\s+maximum: 100/);
    expect(await row('network').innerText()).toContain('Available values : mainnet, fuji, testnet');
    await validators.getByRole('button', { name: 'Try it out' }).click();
    await row('network').locator('select').selectOption('fuji');
    await validators.getByRole('button', { name: 'Execute' }).click();
    const live = validators.locator('.live-responses-table');
    await live.waitFor();
    expect(await live.locator('.response-col_status').last().innerText()).toContain('200');
    expect(await live.innerText()).toContain('"validators"');
    expect(problems).toEqual([]);
  });

  test('has a message signed on a phone', async () => {
    const { page, problems, operation } = await openDocs();
    await page.setViewportSize({ width: 360, height: 760 });
    const aggregation = operation('aggregateSignatures');
    await aggregation.locator('.opblock-summary').click();
    expect(await aggregation.locator('.examples-select').first().innerText()).toContain('C-Chain message');
    await aggregation.getByRole('button', { name: 'Try it out' }).click();
    // The example is of the public network that has this network's alias.
    const [message] = service.devnet.emitMessages(1);
    await aggregation.locator('textarea').fill(JSON.stringify({ message }));
    await aggregation.getByRole('button', { name: 'Execute' }).click();
    const live = aggregation.locator('.live-responses-table');
    await live.waitFor();
    expect(await live.locator('.response-col_status').last().innerText()).toContain('201');
    expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')).toBe(false);
    expect(problems).toEqual([]);
  });
});

describe('a page of an origin that is allowed', () => {
  test('reads lists and errors with their headers, and asks again only for what changed', async () => {
    const { page } = await open(origin);
    const first = await fetchIn(page, LIST);
    expect(first.status).toBe(200);
    const { etag } = first.headers;
    expect(first.headers).toMatchObject({ age: expect.any(String), etag: expect.any(String) });
    expect(first.headers).toMatchObject({ 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': expect.any(String) });
    const again = await fetchIn(page, LIST, { headers: { 'if-none-match': etag } });
    expect([again.status, again.body]).toEqual([304, '']);
    const wrong = await fetchIn(page, `${LIST}00`);
    expect([wrong.status, JSON.parse(wrong.body)]).toMatchObject([400, { code: 'invalid_request' }]);
  });

  test('aggregates with its key, after one preflight for all requests', async () => {
    let preflights = 0;
    const count = ({ method }: { method?: string }) => {
      if (method === 'OPTIONS') preflights += 1;
    };
    service.app.server?.server.on('request', count);
    const { page } = await open(origin);
    for (const message of service.devnet.emitMessages(3)) {
      const headers = { 'content-type': 'application/json', 'x-service-api-key': KEY };
      const seen = await fetchIn(page, AGGREGATION, { method: 'POST', headers, body: JSON.stringify({ message }) });
      expect(seen.status).toBe(201);
    }
    service.app.server?.server.off('request', count);
    expect(preflights).toBe(1);
    const unknown = await fetchIn(page, LIST, { headers: { 'x-service-api-key': 'unknown' } });
    expect(unknown.status).toBe(401);
  });

  test('uses the public client of the API', async () => {
    const { page } = await open(`${origin}/client`);
    const [message = ''] = service.devnet.emitMessages(1);
    const seen = await page.evaluate(
      async ([serverURL, apiKey, unsigned]) => {
        const { Avalanche } = globalThis as unknown as typeof ClientModule;
        const { data } = new Avalanche({ network: 'fuji', apiKey, retryConfig: { strategy: 'none' } });
        const request = { signatureAggregatorRequest: { message: unsigned } };
        const { signedMessage } = await data.signatureAggregator.aggregate(request, { serverURL });
        const failure = await data.evm.blocks
          .get({ chainId: '1', blockId: 'latest' }, { serverURL })
          .catch((error: unknown) => error as Error);
        return { signedMessage, failure: 'name' in failure && failure.name };
      },
      [service.app.url, KEY, message] as const,
    );
    expect(seen).toEqual({ signedMessage: expect.stringMatching(/^[0-9a-f]+$/), failure: 'BadRequestError' });
  });
});

test('the package of the client has a message signed and receives it from the feed, on a trusted page and on one without https', async () => {
  for (const [url, isSecure] of [
    [origin, true],
    [insecure(origin), false],
  ] as const) {
    const { page } = await open(`${url}/own-client`);
    const [message = ''] = service.devnet.emitMessages(1);
    const seen = await page.evaluate(
      async ([baseUrl, apiKey, unsigned]) => {
        const { createClient, messageIdOf, toAccessList } = globalThis as unknown as typeof OwnClientModule;
        const client = createClient({ baseUrl, apiKey, network: 'fuji' });
        const events: string[] = [];
        const { signedMessage } = await client.sign(unsigned, { onProgress: ({ event }) => void events.push(event) });
        const failure = await client.sign('0x00').catch((error: unknown) => error as { readonly code?: string });
        const ids = [unsigned, signedMessage].map((bytes) => messageIdOf(bytes));
        const code = 'code' in failure && failure.code;
        const [id] = ids;
        let received = '';
        // Leaving the loop ends the stream.
        for await (const { message } of client.messages({ status: 'signed' })) {
          received = message.messageId;
          if (received === id) break;
        }
        const { isSecureContext } = globalThis as unknown as { isSecureContext: boolean };
        return { isSecureContext, last: events.at(-1), ids, received, code, accessList: toAccessList(signedMessage) };
      },
      [service.app.url, KEY, message] as const,
    );
    const { id } = parseUnsignedMessage(parseHex(message, 'message'));
    expect(seen).toMatchObject({ isSecureContext: isSecure, last: 'result', ids: [id, id], code: 'invalid_request' });
    expect(seen.received).toBe(id);
    expect(seen.accessList).toHaveLength(1);
    await context.close();
  }
});

test('a page of another origin can read nothing', async () => {
  const { page } = await open(origin.replace('127.0.0.1', 'localhost'));
  for (const headers of [{}, { 'x-service-api-key': KEY }])
    await expect(fetchIn(page, LIST, { headers })).rejects.toThrow('Failed to fetch');
});

/** Leaves out what the client needs for the signatures of webhooks, which are no matter of browsers. */
const withoutWebhooks: Plugin = {
  name: 'without webhooks',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(crypto|json-canonicalize)$/ }, ({ path }) => ({ path, namespace: 'none' }));
    onLoad({ filter: /^/, namespace: 'none' }, () => ({ contents: '' }));
  },
};

/** A proxy that serves the whole service below a path. */
function serveBelow(path: string, url: string) {
  return listen(
    createServer((request, response) => {
      const { method = '', headers, url: target = '' } = request;
      if (!target.startsWith(path)) {
        response.writeHead(404).end();
        return;
      }
      const passed = forward(`${url}${target.slice(path.length)}`, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      request.pipe(passed);
    }),
  );
}

/** Bundles a module for a page, and puts exports of it into the globals. */
async function scriptOf(module: string, ...names: readonly string[]): Promise<string> {
  const list = names.join(', ');
  const contents = `import { ${list} } from '${module}'; Object.assign(globalThis, { ${list} });`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    platform: 'browser',
    plugins: [withoutWebhooks],
  });
  return `<script>${outputFiles[0]?.text.replaceAll('</script', '<\\/script')}</script>`;
}

/** Packs the client of this service as a release does; returns its one module. */
async function scriptOfOwnClient(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'client-package-'));
  try {
    execFileSync('tar', ['-xzf', await packClient(folder), '-C', folder]);
    return await scriptOf(join(folder, 'package', 'index.mjs'), 'createClient', 'messageIdOf', 'toAccessList');
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Serves an empty page, and pages with the public client of the API or the client of this service in their globals. */
async function servePages() {
  const scripts = new Map([
    ['/client', await scriptOf('@avalanche-sdk/chainkit', 'Avalanche')],
    ['/own-client', await scriptOfOwnClient()],
  ]);
  const empty = '<!doctype html><title>console</title><link rel="icon" href="data:," />';
  const server = createServer(({ url = '' }, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(`${empty}${scripts.get(url) ?? ''}`);
  });
  return listen(server);
}

async function listen(server: Server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
