import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ApiEndpoint } from '../../../src/lib/net/api-endpoint.ts';
import { movableClock } from './movable-clock.ts';
import { sendJson, startStandIn } from './stand-in.ts';
import { TX_ID } from './stand-in-records.ts';
import { startUpstreamService, type UpstreamService } from './upstream-service.ts';

const LIST = '/v1/networks/fuji/validators?pageSize=3';
const BLOCK = `/v1/chains/43114/blocks/0x${'0f'.repeat(32)}`;
/** Each of them changes: a block of a number after a reorganization, transactions with their outputs, rewards and prices. */
const CHANGING = [
  LIST,
  '/v1/chains/43114/blocks/339',
  `${BLOCK}/transactions`,
  `/v1/chains/43114/transactions/0x${'0f'.repeat(32)}`,
  `/v1/networks/fuji/blockchains/p-chain/transactions/${TX_ID}`,
];
const CHANGING_SLOWLY = ['/v1/networks/fuji/blockchains', '/v1/avg_tps/43114'];
const CACHE_BYTES = 1_000_000;

let clock: ReturnType<typeof movableClock>;
let service: UpstreamService;
beforeEach(async () => {
  clock = movableClock();
  service = await startUpstreamService({ settings: { cacheBytes: CACHE_BYTES }, clock });
});
afterEach(async () => {
  await service[Symbol.asyncDispose]();
});
const arrivals = () => service.standIn.arrivals.length;

describe('the cache', () => {
  test('serves a list again for three seconds, and says how old it is', async () => {
    const first = await service.get(LIST);
    expect(first.headers.get('cache-control')).toBe('public, max-age=3');
    expect(first.headers.get('age')).toBe('0');
    clock.move(2_999);
    const again = await service.get(LIST);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('content-type')).toContain('application/json');
    expect([again.headers.get('age'), again.headers.get('etag'), arrivals()]).toEqual([
      '2',
      first.headers.get('etag'),
      1,
    ]);
    clock.move(1);
    expect((await service.get(LIST)).headers.get('age')).toBe('0');
    expect(arrivals()).toBe(2);
  });

  test.each([
    ...CHANGING.map((target) => [3, target] as const),
    ...CHANGING_SLOWLY.map((target) => [30, target] as const),
  ])('keeps for %d seconds what changes: %s', async (seconds, target) => {
    const first = await service.get(target);
    expect([first.status, first.headers.get('cache-control')]).toEqual([200, `public, max-age=${seconds}`]);
    clock.move(seconds * 1_000 - 1);
    await service.get(target);
    expect(arrivals()).toBe(1);
    clock.move(1);
    await service.get(target);
    expect(arrivals()).toBe(2);
  });

  test('keeps a block requested by its hash for a day', async () => {
    const first = await service.get(BLOCK);
    expect(first.headers.get('cache-control')).toBe('public, max-age=86400, immutable');
    clock.move(86_400_000 - 1);
    await service.get(BLOCK);
    expect(arrivals()).toBe(1);
    clock.move(1);
    await service.get(BLOCK);
    expect(arrivals()).toBe(2);
  });

  test('keeps what has no block yet for seconds only', async () => {
    service.standIn.behaviour = (_request, response) => sendJson(response, 200, { blockHash: '' });
    expect((await service.get(BLOCK)).headers.get('cache-control')).toBe('public, max-age=3');
    clock.move(3_000);
    service.standIn.behaviour = undefined;
    expect((await service.get(BLOCK)).headers.get('cache-control')).toContain('immutable');
  });

  test('answers 304 to a client that has the answer', async () => {
    const etag = String((await service.get(BLOCK)).headers.get('etag'));
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const { status, text, headers } = await service.get(BLOCK, { 'if-none-match': tag });
      expect([status, text, headers.get('etag')]).toEqual([304, '', etag]);
    }
    expect((await service.get(BLOCK, { 'if-none-match': '"x"' })).status).toBe(200);
    expect(arrivals()).toBe(1);
  });

  test('sends one request for equal concurrent ones, which continues while one client waits', async () => {
    const answer = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    service.standIn.behaviour = (_request, response) => {
      arrived.resolve();
      void answer.promise.then(() => sendJson(response, 200, { blockHash: '0x1' }));
    };
    const leaving = new AbortController();
    const left = fetch(`${service.url}${BLOCK}`, { signal: leaving.signal });
    left.catch(() => undefined);
    await arrived.promise;
    const staying = Array.from({ length: 5 }, () => service.get(BLOCK));
    await expect.poll(() => service.received()).toBe(6);
    leaving.abort();
    await expect(left).rejects.toThrow();
    answer.resolve();
    for (const { status } of await Promise.all(staying)) expect(status).toBe(200);
    expect(arrivals()).toBe(1);
  });

  test('keeps apart what differs in target or upstream', async () => {
    for (const target of [LIST, `${LIST}&x=1`, LIST.replace('fuji', 'mainnet'), LIST.replace('=3', '=4')])
      await service.get(target);
    expect(arrivals()).toBe(4);
  });

  test('keeps no errors, and returns them to all waiting clients', async () => {
    service.standIn.behaviour = (_request, response) => sendJson(response, 404, { message: 'none' });
    const statuses = await Promise.all(Array.from({ length: 3 }, async () => (await service.get(BLOCK)).status));
    expect(statuses).toEqual([404, 404, 404]);
    // Other caches must not keep it either.
    expect((await service.get(LIST)).headers.get('cache-control')).toBe('no-store');
    service.standIn.behaviour = undefined;
    const { status, headers } = await service.get(BLOCK);
    expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=86400, immutable']);
  });

  test('is filled by HEAD, and serves it', async () => {
    const head = async () => {
      const { status, headers } = await fetch(`${service.url}${BLOCK}`, { method: 'HEAD' });
      return [status, headers.get('etag'), headers.get('content-length')];
    };
    const first = await head();
    const { headers } = await service.get(BLOCK);
    expect(first).toEqual([200, headers.get('etag'), headers.get('content-length')]);
    expect(await head()).toEqual(first);
    expect(arrivals()).toBe(1);
  });

  test('keeps no POST and nothing unknown', async () => {
    service.standIn.behaviour = (_request, response) => sendJson(response, 200, {});
    for (let count = 0; count < 2; count += 1) {
      await service.post('/ext/bc/P', { jsonrpc: '2.0', id: 1, method: 'platform.getHeight' });
      expect((await service.get('/v1/new')).headers.get('cache-control')).toBe('no-store');
    }
    expect(arrivals()).toBe(4);
  });

  test('streams what is too long to keep, to each on its own', async () => {
    const long = { text: 'x'.repeat(600_000) };
    service.standIn.behaviour = (_request, response) => sendJson(response, 200, long);
    for (const { body } of await Promise.all([service.get(LIST), service.get(LIST)])) expect(body).toEqual(long);
    const begun = arrivals();
    expect((await service.get(LIST)).headers.get('cache-control')).toBe('no-store');
    expect(arrivals()).toBe(begun + 1);
  });

  test('is bounded by bytes: the least used goes', async () => {
    service.standIn.behaviour = (_request, response) => sendJson(response, 200, { blockHash: 'x'.repeat(200_000) });
    const block = (number: number) => service.get(`/v1/chains/1/blocks/${number}`);
    for (let number = 0; number < 6; number += 1) await block(number);
    expect(arrivals()).toBe(6);
    await block(5);
    expect(arrivals()).toBe(6);
    await block(0);
    expect(arrivals()).toBe(7);
  });

  test('is counted', async () => {
    for (let count = 0; count < 3; count += 1) await service.get(BLOCK);
    service.standIn.behaviour = (_request, response) => sendJson(response, 404, {});
    await service.get(`${BLOCK}?x=1`);
    const metrics = await (await fetch(`${service.url}/metrics`)).text();
    expect(metrics).toContain('signature_aggregator_upstream_requests_total{upstream="evm",outcome="ok"} 1');
    expect(metrics).toContain('signature_aggregator_upstream_requests_total{upstream="evm",outcome="refused"} 1');
    expect(metrics).toContain('signature_aggregator_upstream_cache_hits_total{upstream="evm"} 2');
    expect(metrics).toContain('signature_aggregator_upstream_request_duration_seconds_count{upstream="evm"} 2');
  });

  test('can be turned off', async () => {
    await using bare = await startUpstreamService({ settings: { cacheBytes: 0 } });
    for (let count = 0; count < 2; count += 1) {
      const { headers } = await bare.get(BLOCK);
      expect([headers.get('cache-control'), headers.get('etag')]).toEqual(['no-store', null]);
    }
    expect(bare.standIn.arrivals).toHaveLength(2);
  });
});

describe('an upstream whose address changes while the service runs', () => {
  const NAMES = ['mainnet', 'fuji', 'evm', 'metrics', 'node'] as const;
  const everywhere = (endpoint: ApiEndpoint) => Object.fromEntries(NAMES.map((name) => [name, endpoint]));

  test('serves nothing that the old address answered, of whatever age', async () => {
    await using moved = await startStandIn();
    moved.behaviour = (_request, response) => sendJson(response, 200, { blockHash: 'of the new address' });
    const targets = [BLOCK, LIST, ...CHANGING_SLOWLY];
    for (const target of targets) await service.get(target);
    expect(arrivals()).toBe(targets.length);
    service.upstreams.update(everywhere({ baseUrl: moved.baseUrl }));
    for (const target of targets) {
      expect((await service.get(target)).body).toEqual({ blockHash: 'of the new address' });
      expect((await service.get(target)).headers.get('age')).toBe('0');
    }
    expect([arrivals(), moved.arrivals.length]).toEqual([targets.length, targets.length]);
  });

  test('shares no answer that the old address still owes, nor keeps it', async () => {
    await using moved = await startStandIn();
    moved.behaviour = (_request, response) => sendJson(response, 200, { blockHash: 'new' });
    const arrived = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    service.standIn.behaviour = (_request, response) => {
      arrived.resolve();
      void answer.promise.then(() => sendJson(response, 200, { blockHash: 'old' }));
    };
    const early = service.get(BLOCK);
    await arrived.promise;
    service.upstreams.update(everywhere({ baseUrl: moved.baseUrl }));
    expect((await service.get(BLOCK)).body).toEqual({ blockHash: 'new' });
    answer.resolve();
    expect((await early).body).toEqual({ blockHash: 'old' });
    expect((await service.get(BLOCK)).body).toEqual({ blockHash: 'new' });
    expect([arrivals(), moved.arrivals.length]).toEqual([1, 1]);
  });

  test('sends the new address nothing of the old one: no header, query or path', async () => {
    await using moved = await startStandIn();
    const old = {
      baseUrl: `${service.standIn.baseUrl}/old-path`,
      httpHeaders: { 'x-old-key': 'old-secret', 'x-shared': 'old-value' },
      queryParameters: { token: 'old-token' },
    };
    service.upstreams.update(everywhere(old));
    const call = { jsonrpc: '2.0', id: 1, method: 'platform.getHeight' };
    await service.get(LIST);
    await service.post('/ext/bc/P', call);
    expect(service.standIn.arrivals.map(({ headers }) => headers['x-old-key'])).toEqual(['old-secret', 'old-secret']);
    service.upstreams.update(everywhere({ baseUrl: moved.baseUrl, httpHeaders: { 'x-shared': 'new-value' } }));
    await service.get(LIST);
    await service.post('/ext/bc/P', call);
    expect(moved.arrivals.map(({ target, headers }) => [target, headers['x-shared']])).toEqual([
      [LIST, 'new-value'],
      ['/ext/bc/P', 'new-value'],
    ]);
    expect(JSON.stringify(moved.arrivals)).not.toContain('old');
    // With its headers alone, an address is another one.
    service.upstreams.update(everywhere({ baseUrl: moved.baseUrl }));
    await service.get(LIST);
    expect(moved.arrivals.map(({ headers }) => headers['x-shared'])).toEqual(['new-value', 'new-value', undefined]);
  });
});
