import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { AccessOptions } from '../../../../src/http/access/access.ts';
import type { ApiKey } from '../../../../src/http/access/api-keys.ts';
import { createMemoryLimitCounters } from '../../../../src/store/local/limit-counters.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createTestServer, expectError, PATH } from '../api-fixture.ts';

const MESSAGE =
  '000000003039ee488204088eaba3d3c0c5e26d7a2892677f8d6181ef31848708b4e55ead766700000030000000000001000000148db97c7cece249c2b98bdc0226cc4c2a57bf52fc0000000e68656c6c6f2066726f6d20432030';
const REMOTE = '203.0.113.7';
const LOCAL = '127.0.0.1';

const key = (name: string, routes: ApiKey['routes']): ApiKey => ({
  ...{ name, routes, unitsPerMinute: 1_000 },
  sha256: createHash('sha256').update(`secret of ${name}`).digest(),
});
const KEYS = [
  key('one', ['aggregation']),
  key('other', ['aggregation', 'data', 'rpc']),
  key('operator', ['operate']),
  key('both', ['aggregation', 'operate']),
];

interface Sent {
  readonly key?: string;
  readonly remoteAddress?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @param trustedProxies of the service */
async function start(apiKeys: readonly ApiKey[], trustedProxies: readonly string[] = []) {
  const access: AccessOptions = {
    ...{ apiKeys, trustedProxies, unitsPerMinute: undefined },
    limits: createMemoryLimitCounters(new FakeClock()),
  };
  const server = await createTestServer({ access, corsOrigins: ['*'] });
  const common = ({ key: name, remoteAddress = LOCAL, headers }: Sent) => ({
    remoteAddress,
    headers: { ...(name !== undefined && { 'x-service-api-key': `secret of ${name}` }), ...headers },
  });
  return {
    sign: (id: string, sent: Sent = {}) => {
      const { headers, ...more } = common(sent);
      const payload = { message: MESSAGE };
      return server.inject({
        ...more,
        method: 'POST',
        url: PATH,
        headers: { ...headers, 'x-request-id': id },
        payload,
      });
    },
    get: (path: string, sent: Sent = {}) => server.inject({ ...common(sent), method: 'GET', url: path }),
    async ids(sent: Sent): Promise<string[]> {
      const response = await server.inject({ ...common(sent), method: 'GET', url: '/v1/requests' });
      expect(response.statusCode).toBe(200);
      expect(response.body).not.toContain('secret of');
      expect(response.body).not.toContain(MESSAGE.slice(-40));
      return response
        .json<{ requests: { id: string }[] }>()
        .requests.map(({ id }) => id)
        .toSorted();
    },
  };
}

describe('where no keys are set', () => {
  test.each([LOCAL, '127.1.2.3', '::1', '::ffff:127.0.0.1'])(
    'a client at %s has all requests',
    async (remoteAddress) => {
      const { sign, get, ids } = await start([]);
      await sign('near');
      await sign('far', { remoteAddress: REMOTE });
      expect(await ids({ remoteAddress })).toEqual(['far', 'near']);
      expect((await get('/v1/requests/far', { remoteAddress })).json()).toMatchObject({
        ...{ id: 'far', client: `address:${REMOTE}`, outcome: 'signed' },
      });
    },
  );

  test.each<[string, Sent]>([
    ['at another address', { remoteAddress: REMOTE }],
    ['whose request a proxy of this machine passed on', { headers: { 'x-forwarded-for': REMOTE } }],
    ['whose request a proxy passed on without its address', { headers: { via: '1.1 proxy' } }],
    ['that is a page of another site', { headers: { origin: 'https://elsewhere.example' } }],
    ['that is a page of a name for a loopback address', { headers: { host: 'rebound.example' } }],
    ['with a key, which is ignored', { key: 'operator', remoteAddress: REMOTE }],
  ])('a client %s has none', async (_, sent) => {
    const { sign, get } = await start([]);
    await sign('mine', sent);
    for (const path of ['/v1/requests', '/v1/requests/mine', '/v1/requests/none']) {
      const response = await get(path, sent);
      expect([response.statusCode, response.json().code]).toEqual([403, 'forbidden']);
      expect(response.json().message).toMatch(/configure access\.apiKeys/);
    }
  });

  test('a client behind a trusted proxy of this machine has none', async () => {
    const { get } = await start([], [LOCAL]);
    const response = await get('/v1/requests', { headers: { 'x-forwarded-for': LOCAL } });
    expect(response.statusCode).toBe(403);
  });

  test('a page of the service itself has all requests', async () => {
    const { sign, ids } = await start([]);
    await sign('near');
    expect(await ids({ headers: { host: 'localhost:8080', origin: 'http://localhost:8080' } })).toEqual(['near']);
  });
});

describe('where keys are set', () => {
  async function startWithRequests() {
    const started = await start(KEYS);
    await started.sign('of-one', { key: 'one' });
    await started.sign('of-other', { key: 'other' });
    await started.sign('of-both', { key: 'both' });
    await started.sign('of-nobody', { remoteAddress: REMOTE });
    return started;
  }

  test.each(['operator', 'both'])('the key %s with the right operate has all requests', async (name) => {
    const { get, ids } = await startWithRequests();
    expect(await ids({ key: name, remoteAddress: REMOTE })).toEqual(['of-both', 'of-nobody', 'of-one', 'of-other']);
    expect((await get('/v1/requests/of-one', { key: name })).json()).toMatchObject({ client: 'key:one' });
  });

  test('a key without it has its own requests, and no sign of others', async () => {
    const { get, ids } = await startWithRequests();
    expect(await ids({ key: 'one' })).toEqual(['of-one']);
    expect((await get('/v1/requests/of-one', { key: 'one' })).statusCode).toBe(200);
    const [others, unknown] = [
      await get('/v1/requests/of-other', { key: 'one' }),
      await get('/v1/requests/x', { key: 'one' }),
    ];
    expectError(others, 404, 'no recent request has the ID of-other', 'unknown_request');
    expectError(unknown, 404, 'no recent request has the ID x', 'unknown_request');
  });

  test.each<[string, Sent]>([
    ['without a key', {}],
    ['with an unknown key', { key: 'nobody' }],
  ])('a client %s has none, even on the machine of the service', async (_, sent) => {
    const { get } = await startWithRequests();
    for (const path of ['/v1/requests', '/v1/requests/of-nobody']) {
      const response = await get(path, sent);
      expect([response.statusCode, response.json().code]).toEqual([401, 'unauthorized']);
    }
  });

  test('a key for operate only gets no signature', async () => {
    const { sign, get } = await startWithRequests();
    expect((await sign('refused', { key: 'operator' })).statusCode).toBe(403);
    // What limits refuse is kept, too.
    expect((await get('/v1/requests/refused', { key: 'operator' })).json()).toMatchObject({ outcome: 'forbidden' });
  });
});
