import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type RunningService, startService } from './running-service.ts';

let service: RunningService;
beforeAll(async () => {
  service = await startService(5);
});
afterAll(() => service[Symbol.asyncDispose]());

interface Call {
  readonly method: string;
  readonly params?: { readonly height?: unknown };
}

/**
 * Starts a gateway before the devnet's API.
 *
 * @param refuse answers a call in place of the API, and returns whether it did
 */
async function startGateway(refuse: (call: Call, response: ServerResponse) => boolean): Promise<string> {
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray());
    if (refuse(JSON.parse(body.toString()) as Call, response)) return;
    const answer = await fetch(`${service.devnet.apiUrl}${request.url}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    response.writeHead(answer.status).end(await answer.text());
  });
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function serveBehind(...baseUrls: readonly string[]) {
  const network = { pChainApi: baseUrls.map((baseUrl) => ({ baseUrl })) };
  const behind = await service.another({ network });
  onTestFinished(() => behind[Symbol.asyncDispose]());
  return behind;
}

describe('behind an API that refuses P-Chain heights as numbers', () => {
  const start = () =>
    startGateway(({ method, params }, response) => {
      const isRefused = method === 'platform.getValidatorsAt' && params?.height !== 'proposed';
      const error = { code: -32_000, message: 'Unsupported height parameter value' };
      if (isRefused) response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
      return isRefused;
    });

  test('all examples work but those that name another height', async () => {
    const behind = await serveBehind(await start());
    const outcomes = new Map<string, unknown>();
    for (const { name, method, path, body } of service.devnet.examples('fuji')) {
      const answer = await (method === 'GET' ? behind.get(path) : behind.post(body, path));
      if (answer.status !== 201) outcomes.set(name, [answer.status, answer.body['code']]);
    }
    expect(Object.fromEntries(outcomes)).toEqual({
      'L1 message at an older P-Chain height': [400, 'height_not_served'],
    });
  });

  test('another height is read from the next API', async () => {
    const behind = await serveBehind(await start(), service.devnet.apiUrl);
    const older = service.devnet.examples('fuji').find(({ name }) => name.includes('older P-Chain height'));
    expect((await behind.post(older?.body)).status).toBe(201);
  });
});

test('a limit of the only API is 503 with its Retry-After, and it is not called meanwhile', async () => {
  let isLimited = false;
  let refused = 0;
  const gateway = await startGateway((_, response) => {
    if (isLimited) response.writeHead(429, { 'retry-after': '30' }).end('slow down');
    refused += Number(isLimited);
    return isLimited;
  });
  const behind = await serveBehind(gateway);
  const [example] = service.devnet.examples('fuji');
  expect((await behind.post(example?.body)).status).toBe(201);
  isLimited = true;
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => behind.get(`/v1/signatureAggregator/fuji/subnets/${UNKNOWN_SUBNET}`)),
  );
  expect(answers.map(({ status, body }) => [status, body['code']])).toEqual(
    answers.map(() => [503, 'p_chain_unavailable']),
  );
  const again = await behind.get(`/v1/signatureAggregator/fuji/subnets/${UNKNOWN_SUBNET}`);
  expect(again.body['message']).toContain('HTTP status 429: slow down');
  expect(Number(again.headers.get('retry-after'))).toBeGreaterThan(20);
  expect(refused).toBeLessThan(10);
});

/** The lookup of a subnet that is not cached asks the API. */
const UNKNOWN_SUBNET = 'SkB7qHwfMsyF2PgrjhMvtFxJKhuR5ZfVoW9VATWRV4P9jV7J';
