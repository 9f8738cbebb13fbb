import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Type } from 'typebox';
import { expect, onTestFinished, test } from 'vitest';
import { checkHealth } from '../../../src/cli/commands/health.ts';
import { ServiceClient } from '../../../src/cli/io/service-client.ts';
import { maskedBaseUrl } from '../../../src/config/schema/mask.ts';

const BASIC = `Basic ${Buffer.from('me:secret').toString('base64')}`;

/** A service behind a proxy that asks for a password. */
async function startService(): Promise<{ readonly url: string; readonly asked: unknown[] }> {
  const asked: unknown[] = [];
  const server = createServer(({ url, headers }, response) => {
    asked.push([url, headers.authorization]);
    response.writeHead(headers.authorization === BASIC ? 200 : 401, { 'content-type': 'application/json' }).end('{}');
  });
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://me:secret@127.0.0.1:${(server.address() as AddressInfo).port}/base`, asked };
}

test('user and password of --url are sent', async () => {
  const { url, asked } = await startService();
  await using client = new ServiceClient({ url, apiKey: undefined, timeoutMs: 10_000 });
  expect(await client.get('/v1/x', Type.Object({}))).toEqual({});
  expect(await checkHealth([], { url })).toBe(0);
  expect(asked).toEqual([
    ['/base/v1/x', BASIC],
    ['/base/health/live', BASIC],
  ]);
});

test('the password is in no error', async () => {
  const { url } = await startService();
  await using client = new ServiceClient({ url, apiKey: undefined, timeoutMs: 10_000 });
  const asking = client.get('/v1/x', Type.Object({ missing: Type.String() }));
  await expect(asking).rejects.toThrow(/what answers at http:\/\/\*\*\*@127\.0\.0\.1:\d+\/base is no/);
});

test.each([
  ['https://a.test', 'https://a.test'],
  ['https://me:secret@a.test', 'https://***@a.test'],
  ['https://me:secret@a.test/v3/key?x', 'https://***@a.test/***'],
  ['https://me:sec/ret@a.test', '***'],
])('%s is shown as %s', (url, shown) => {
  expect(maskedBaseUrl(url)).toBe(shown);
});
