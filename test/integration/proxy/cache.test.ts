import { afterEach, describe, expect, test } from 'vitest';
import type { ApiEndpoint } from '../../../src/lib/net/api-endpoint.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { shareUpstreamService } from './shared-service.ts';
import { reply, sendJson, startStandIn } from './stand-in.ts';
import { TX_ID } from './stand-in-records.ts';
import { startUpstreamService } from './upstream-service.ts';

const HASH = `0x${'0f'.repeat(32)}`;
const CALL = { jsonrpc: '2.0', id: 1, method: 'platform.getHeight' };
const TIMEOUT_MS = 10_000;

let blocks = 0;
/** Returns the target of a block by its hash which no test has asked for. */
function nextBlock(): string {
  blocks += 1;
  return `/v1/chains/43114/blocks/0x${String(blocks).padStart(64, '0')}`;
}

const clock = new FakeClock();
const service = await shareUpstreamService({ clock, settings: { cacheBytes: 1_000_000, timeoutMs: TIMEOUT_MS } });
const { standIn } = service;
const arrivals = () => standIn.arrivals.length;

describe('the cache', () => {
  test.each([
    // A block of a number changes in a reorganization; transactions have outputs that are consumed, rewards and prices.
    [3, '/v1/networks/fuji/validators?pageSize=3'],
    [3, '/v1/chains/43114/blocks/339'],
    [3, `/v1/chains/43114/blocks/${HASH}/transactions`],
    [3, `/v1/chains/43114/transactions/${HASH}`],
    [3, `/v1/networks/fuji/blockchains/p-chain/transactions/${TX_ID}`],
    [30, '/v1/networks/fuji/blockchains'],
    [30, '/v1/avg_tps/43114'],
    [86_400, `/v1/chains/43114/blocks/${HASH}`],
  ])('keeps for %d seconds %s, and says how old it is', async (seconds, target) => {
    const first = await service.get(target);
    const isImmutable = seconds === 86_400;
    expect(first.headers.get('cache-control')).toBe(`public, max-age=${seconds}${isImmutable ? ', immutable' : ''}`);
    await clock.advance(seconds * 1_000 - 1);
    const again = await service.get(target);
    expect([again.body, again.headers.get('etag')]).toEqual([first.body, first.headers.get('etag')]);
    expect([first, again].map(({ headers }) => headers.get('age'))).toEqual(['0', String(seconds - 1)]);
    expect(again.headers.get('content-type')).toBe('application/json');
    expect(arrivals()).toBe(1);
    await clock.advance(1);
    expect((await service.get(target)).headers.get('age')).toBe('0');
    expect(arrivals()).toBe(2);
  });

  test('keeps what has no block yet for seconds only', async () => {
    const target = nextBlock();
    standIn.behaviour = reply(200, { blockHash: '' });
    expect((await service.get(target)).headers.get('cache-control')).toBe('public, max-age=3');
    await clock.advance(3_000);
    standIn.behaviour = undefined;
    expect((await service.get(target)).headers.get('cache-control')).toContain('immutable');
  });

  test('answers 304 to a client that has the answer', async () => {
    const target = nextBlock();
    const etag = String((await service.get(target)).headers.get('etag'));
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const { status, text, headers } = await service.get(target, { 'if-none-match': tag });
      expect([status, text, headers.get('etag')]).toEqual([304, '', etag]);
    }
    expect((await service.get(target, { 'if-none-match': '"x"' })).status).toBe(200);
    expect(arrivals()).toBe(1);
  });

  test('sends one request for equal concurrent ones, which continues while one client waits', async () => {
    const target = nextBlock();
    const before = service.received();
    const held = standIn.hold();
    const leaving = service.begin(target);
    const response = await held;
    const staying = Array.from({ length: 5 }, () => service.get(target));
    await expect.poll(() => service.received() - before).toBe(6);
    leaving.abort();
    await service.get('/health/live');
    sendJson(response, 200, { blockHash: '0x1' });
    for (const { status } of await Promise.all(staying)) expect(status).toBe(200);
    expect(arrivals()).toBe(1);
  });

  test('keeps apart what differs in target or upstream', async () => {
    const list = '/v1/networks/fuji/validators?pageSize=5';
    for (const target of [list, `${list}&pageToken=1`, list.replace('fuji', 'mainnet'), list.replace('=5', '=4')])
      await service.get(target);
    expect(arrivals()).toBe(4);
  });

  test.each([201, 204, 404])('keeps no %i, and returns it to all waiting clients', async (code) => {
    const target = nextBlock();
    standIn.behaviour = reply(code, code === 204 ? '' : {});
    const answers = await Promise.all(Array.from({ length: 3 }, () => service.get(target)));
    // Other caches must not keep it either.
    const seen = answers.map(({ status, headers }) => [status, headers.get('cache-control')]);
    expect(seen).toEqual(Array(3).fill([code, 'no-store']));
    standIn.behaviour = undefined;
    expect((await service.get(target)).status).toBe(200);
  });

  test('is filled by HEAD, and serves it', async () => {
    const target = nextBlock();
    const ask = async (method: string) => {
      const { status, headers } = await fetch(`${service.url}${target}`, { method });
      return [status, headers.get('etag'), headers.get('content-length')];
    };
    const [first, get, head] = [await ask('HEAD'), await ask('GET'), await ask('HEAD')];
    expect([first, head]).toEqual([get, get]);
    expect(arrivals()).toBe(1);
  });

  test('keeps no POST and nothing unknown', async () => {
    for (let count = 0; count < 2; count += 1) {
      standIn.behaviour = reply(200);
      await service.post('/ext/bc/P', CALL);
      expect((await service.get('/v1/new')).headers.get('cache-control')).toBe('no-store');
    }
    expect(arrivals()).toBe(4);
  });

  test('streams what is too long to keep, to each on its own', async () => {
    const target = nextBlock();
    const long = { text: 'x'.repeat(600_000) };
    standIn.behaviour = reply(200, long);
    for (const { body } of await Promise.all([service.get(target), service.get(target)])) expect(body).toEqual(long);
    const begun = arrivals();
    expect((await service.get(target)).headers.get('cache-control')).toBe('no-store');
    expect(arrivals()).toBe(begun + 1);
  });

  test('is bounded by bytes: the least used goes', async () => {
    standIn.behaviour = reply(200, { blockHash: 'x'.repeat(200_000) });
    const targets = Array.from({ length: 6 }, nextBlock);
    for (const target of targets) await service.get(target);
    await service.get(String(targets[5]));
    expect(arrivals()).toBe(6);
    await service.get(String(targets[0]));
    expect(arrivals()).toBe(7);
  });

  test('is counted', async () => {
    await using counted = await startUpstreamService({ settings: { cacheBytes: 1_000_000 } });
    const target = nextBlock();
    for (let count = 0; count < 3; count += 1) await counted.get(target);
    counted.standIn.behaviour = reply(404);
    await counted.get(nextBlock());
    for (const [sample, value] of [
      ['requests_total{upstream="evm",outcome="ok"}', 1],
      ['requests_total{upstream="evm",outcome="refused"}', 1],
      ['cache_hits_total{upstream="evm"}', 2],
      ['request_duration_seconds_count{upstream="evm"}', 2],
    ] as const) {
      expect([sample, await counted.metric(`upstream_${sample}`)]).toEqual([sample, value]);
    }
  });

  test('can be turned off', async () => {
    await using bare = await startUpstreamService({ settings: { cacheBytes: 0 } });
    for (let count = 0; count < 2; count += 1) {
      const { headers } = await bare.get(`/v1/chains/43114/blocks/${HASH}`);
      expect([headers.get('cache-control'), headers.get('etag')]).toEqual(['no-store', null]);
    }
    expect(bare.standIn.arrivals).toHaveLength(2);
  });
});

describe('an upstream has the configured time', () => {
  // What follows distinguishes requests.
  const changing = ['networks/fuji/delegators?pageToken=', 'chains/1/blocks/', 'avg_tps/1?pageToken=', 'unknown?x='];
  test.each([
    ...changing.map((target) => [1, `/v1/${target}`] as const),
    [3, '/v1/networks/fuji/blockchains?pageToken='] as const,
  ])('%d times for %s, and no more', async (times, target) => {
    for (const [waitMs, status] of [
      [times * TIMEOUT_MS - 1, 200],
      [times * TIMEOUT_MS, 503],
    ] as const) {
      const held = standIn.hold();
      const answer = service.get(`${target}${waitMs}`);
      const response = await held;
      await clock.advance(waitMs);
      sendJson(response, 200, {});
      expect((await answer).status).toBe(status);
    }
  });
});

describe('an upstream whose address changes while the service runs', () => {
  const NAMES = ['mainnet', 'fuji', 'evm', 'metrics', 'node'] as const;
  const LIST = '/v1/networks/fuji/validators';
  const update = (endpoint: ApiEndpoint) =>
    service.upstreams.update(Object.fromEntries(NAMES.map((name) => [name, endpoint])));
  afterEach(() => update({ baseUrl: standIn.baseUrl }));

  test('serves nothing that the old address answered, of whatever age', async () => {
    await using moved = await startStandIn();
    moved.behaviour = reply(200, { blockHash: 'of the new address' });
    const targets = [nextBlock(), '/v1/networks/fuji/validators?pageToken=1', '/v1/avg_tps/7'];
    for (const target of targets) await service.get(target);
    update({ baseUrl: moved.baseUrl });
    for (const target of [...targets, ...targets]) {
      expect((await service.get(target)).body).toEqual({ blockHash: 'of the new address' });
    }
    expect([arrivals(), moved.arrivals.length]).toEqual([targets.length, targets.length]);
  });

  test('shares no answer that the old address still owes, nor keeps it', async () => {
    await using moved = await startStandIn();
    moved.behaviour = reply(200, { blockHash: 'new' });
    const target = nextBlock();
    const held = standIn.hold();
    const early = service.get(target);
    const response = await held;
    update({ baseUrl: moved.baseUrl });
    expect((await service.get(target)).body).toEqual({ blockHash: 'new' });
    sendJson(response, 200, { blockHash: 'old' });
    expect((await early).body).toEqual({ blockHash: 'old' });
    expect((await service.get(target)).body).toEqual({ blockHash: 'new' });
    expect([arrivals(), moved.arrivals.length]).toEqual([1, 1]);
  });

  test('sends the new address nothing of the old one: no header, query or path', async () => {
    await using moved = await startStandIn();
    const ask = async () => {
      await service.get(LIST);
      await service.post('/ext/bc/P', CALL);
    };
    update({
      baseUrl: `${standIn.baseUrl}/old-path`,
      httpHeaders: { 'x-old-key': 'old-secret', 'x-shared': 'old-value' },
      queryParameters: { token: 'old-token' },
    });
    await ask();
    expect(standIn.arrivals.map(({ headers }) => headers['x-old-key'])).toEqual(['old-secret', 'old-secret']);
    update({ baseUrl: moved.baseUrl, httpHeaders: { 'x-shared': 'new-value' } });
    await ask();
    // With other headers alone, an address is another one.
    update({ baseUrl: moved.baseUrl });
    await ask();
    expect(moved.arrivals.map(({ target, headers }) => [target, headers['x-shared']])).toEqual([
      [LIST, 'new-value'],
      ['/ext/bc/P', 'new-value'],
      [LIST, undefined],
      ['/ext/bc/P', undefined],
    ]);
    expect(JSON.stringify(moved.arrivals)).not.toContain('old');
  });
});
