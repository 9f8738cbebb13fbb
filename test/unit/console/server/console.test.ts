import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { openConsole } from '../../../../src/console/server/console.ts';
import type { ConsoleFacts } from '../../../../src/console/server/console-facts.ts';
import { createPageFiles } from '../../../../src/console/server/page-files.ts';
import { ERROR_CODES } from '../../../../src/http/errors/error-codes.ts';
import type { ApiKey } from '../../../../src/http/request/client-identity.ts';
import type { Server } from '../../../../src/http/request/http-server.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createTestServer, expectError, limitedTo, scriptedNetwork } from '../../api/api-fixture.ts';

const BROWSER = { accept: 'text/html,*/*;q=0.8', 'accept-encoding': 'gzip, deflate' };
const files = createPageFiles();

async function serve(options: Partial<Parameters<typeof openConsole>[0]> = {}) {
  const {
    networks = [scriptedNetwork({ subnets: { weights: () => [] } as never, feed: { chains: () => [] } as never })],
    access = limitedTo(undefined),
  } = options;
  const console = openConsole({
    networks,
    registry: new Registry(),
    clock: new FakeClock(),
    version: '1.2.3',
    hasDevnet: false,
    areFiguresPublic: true,
    access,
    files,
    ...options,
  });
  const server = await createTestServer({
    networks,
    access,
    startPage: console.sendPage,
    registerMore: (more) => console.registerRoutes(more),
  });
  return { server, console };
}

const { server } = await serve();

test('the page is what browsers get at /, and programs get what they had', async () => {
  const page = await server.inject({ url: '/', headers: BROWSER });
  expect(page.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-encoding': 'gzip',
    vary: 'Accept, Accept-Encoding',
  });
  expect(gunzipSync(page.rawPayload).toString()).toContain('console/app.js');
  expect((await server.inject('/')).json()).toMatchObject({ version: '1.2.3', links: { docs: '/docs/' } });
});

test('the page may run and load nothing but its own files, and be framed by nobody', async () => {
  const { headers, body } = await server.inject({ url: '/', headers: { accept: 'text/html' } });
  const policy = String(headers['content-security-policy']);
  expect(policy).toMatch(/^default-src 'none'; /);
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:|data:/);
  expect(body).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=|https?:\/\//);
});

test('the page names files that are there: all that are imported, and no more than 150 KB together', async () => {
  const seen = new Map<string, number>();
  const page = await server.inject({ url: '/', headers: BROWSER });
  const html = gunzipSync(page.rawPayload).toString();
  const waiting = [...html.matchAll(/(?:href|src)="console\/([^"]+)"/g)].map(([, name]) => String(name));
  expect(waiting.sort()).toEqual(['app.js', 'icon.svg', 'style.css']);
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (seen.has(name)) continue;
    const file = await server.inject({ url: `/console/${name}`, headers: BROWSER });
    expect(file.statusCode, name).toBe(200);
    const text = gunzipSync(file.rawPayload).toString();
    seen.set(name, file.rawPayload.length);
    if (!name.endsWith('.js')) continue;
    // A text in the page that is there to be copied is no import.
    const imported = [...text.matchAll(/(?:from|import)\s*\(?\s*["']([^"'\n]+)["']/g)]
      .map(([, from]) => String(from))
      .filter((from) => from !== '@avalanche-sdk/chainkit');
    for (const from of imported) expect(from, `${name} imports it`).toMatch(/^\.\/[\w-]+\.js$/);
    waiting.push(...imported.map((from) => from.slice(2)));
  }
  const total = [...seen.values()].reduce((sum, size) => sum + size, page.rawPayload.length);
  expect(total).toBeLessThan(150 * 1024);
});

test('the page comes as it is for who takes no gzip, and not again for who has it', async () => {
  const url = '/console/style.css';
  const plain = await server.inject({ url, headers: { 'accept-encoding': 'br, gzip;q=0' } });
  expect(plain.headers).not.toHaveProperty('content-encoding');
  expect(plain.body).toContain(':root');
  const packed = await server.inject({ url, headers: BROWSER });
  expect(packed.headers['etag']).not.toBe(plain.headers['etag']);
  const etag = String(packed.headers['etag']);
  const again = await server.inject({ url, headers: { ...BROWSER, 'if-none-match': etag } });
  expect([again.statusCode, again.body]).toEqual([304, '']);
});

test.each(['/console/none.js', '/console/..%2fconsole.ts', '/console/app.tsx', '/console/tsconfig.json'])(
  '%s is not there',
  async (url) => {
    expectError(await server.inject(url), 404, /no route/, 'not_found');
  },
);

test('the page is made before anybody asks, once, and again only where that failed', async () => {
  const built = [{ name: 'index.html', bytes: Buffer.from('page') }];
  let asked = 0;
  const made = await serve({
    files: createPageFiles(async () => {
      asked += 1;
      if (asked === 1) throw new Error('no room');
      return built;
    }),
  });
  expect(asked).toBe(0);
  await expect(made.console.prepare()).rejects.toThrow('no room');
  await Promise.all([made.console.prepare(), made.console.prepare()]);
  const page = await made.server.inject({ url: '/', headers: { accept: 'text/html' } });
  expect([page.body, asked]).toEqual(['page', 2]);
});

test('the facts say what the page cannot know', async () => {
  const facts = (await server.inject('/console/facts')).json() as ConsoleFacts;
  expect(facts).toMatchObject({
    version: '1.2.3',
    networks: [{ name: 'fuji', aliases: ['testnet'] }],
    hasDevnet: false,
    areFiguresPublic: true,
    isKeyNeeded: false,
  });
  expect(facts.errorCodes).toEqual(ERROR_CODES);
  expect(facts.example).toMatchObject({ message: expect.stringMatching(/^0x/) });
});

test('the facts offer no example that fails where there are some that succeed', async () => {
  const { server: other } = await serve({ hasDevnet: true });
  expect((await other.inject('/console/facts')).json()).not.toHaveProperty('example');
});

test('the figures are what the activity says', async () => {
  const response = await server.inject('/console/activity');
  expect(response.statusCode).toBe(200);
  expect(response.headers['cache-control']).toBe('no-store');
  expect(response.json()).toMatchObject({
    intervals: [{ requests: { '2xx': 0 } }],
    networks: [{ name: 'fuji' }],
    upstreams: [],
  });
});

test('the figures are for operators where the metrics have an address of their own', async () => {
  const activity = (other: Server, headers = {}) => other.inject({ url: '/console/activity', headers });
  const operator = limitedTo(undefined, undefined, { operateWithoutKey: true });
  const { server: local } = await serve({ areFiguresPublic: false, access: operator });
  expect((await local.inject('/console/facts')).json()).toMatchObject({ areFiguresPublic: false });
  expect((await activity(local)).json()).toMatchObject({ networks: [{ name: 'fuji' }] });
  expectError(await activity(local, { 'x-forwarded-for': '10.0.0.1' }), 403, /machine of the service/, 'forbidden');

  const key = (name: string, routes: ApiKey['routes']): ApiKey => {
    return { name, sha256: createHash('sha256').update(name).digest(), unitsPerMinute: 100, routes };
  };
  const apiKeys = [key('operator', ['operate']), key('client', ['aggregation'])];
  const keyed = limitedTo(undefined, undefined, { apiKeys });
  const { server: other } = await serve({ areFiguresPublic: false, access: keyed });
  expectError(await activity(other), 401, /the figures are shown for an API key/, 'unauthorized');
  expectError(await activity(other, { 'x-service-api-key': 'client' }), 403, /right operate/, 'forbidden');
  expect((await activity(other, { 'x-service-api-key': 'operator' })).statusCode).toBe(200);
});

test('the facts say that a key is needed, as the rules of access have it now', async () => {
  const access = limitedTo(undefined);
  const { server: other } = await serve({ access });
  const isKeyNeeded = async () => ((await other.inject('/console/facts')).json() as ConsoleFacts).isKeyNeeded;
  expect(await isKeyNeeded()).toBe(false);
  access.rules = { ...access.rules, requireKey: true };
  expect(await isKeyNeeded()).toBe(true);
});

test('the chains of the primary network have their names on every network', async () => {
  const chains = { P: '1', X: '2', C: '3' } as never;
  const networks = [scriptedNetwork({ primaryChains: { find: async () => chains } })];
  const { server: other } = await serve({ networks });
  expect((await other.inject('/console/chains/fuji')).json()).toEqual(chains);
  expectError(await other.inject('/console/chains/other'), 404, /no network other/, 'unknown_network');
});
