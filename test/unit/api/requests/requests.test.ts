import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import { summarizeTally } from '../../../../src/aggregation/collection/tally.ts';
import type { Aggregator } from '../../../../src/aggregation/stages/aggregator.ts';
import type { AccessOptions, AccessRules } from '../../../../src/http/access/access.ts';
import type { ApiKey } from '../../../../src/http/request/client-identity.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { P_CHAIN_ID, PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { parseUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { readCase } from '../../../vectors/vectors.ts';
import { createPlainTally, happen, setOf } from '../../aggregation/collection/tally-fixture.ts';
import { createTestServer, expectError, limitedTo, PATH } from '../api-fixture.ts';

const MESSAGE = bytesToHex(readCase('c_warp_0').unsignedMessage);
const REMOTE = '203.0.113.7';
const LOCAL = '127.0.0.1';

const key = (name: string, routes: ApiKey['routes']): ApiKey => ({
  name,
  routes,
  unitsPerMinute: 1_000,
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

async function start(rules: Partial<AccessRules>, trustedProxies: readonly string[] = []) {
  const access: AccessOptions = { ...limitedTo(1_000, undefined, rules), trustedProxies };
  const server = await createTestServer({ access, corsOrigins: ['*'] });
  const common = ({ key: name, remoteAddress = LOCAL, headers }: Sent, id = '') => ({
    remoteAddress,
    headers: {
      ...(name !== undefined && { 'x-service-api-key': `secret of ${name}` }),
      ...(id !== '' && { 'x-request-id': id }),
      ...headers,
    },
  });
  const get = (path: string, sent: Sent = {}) => server.inject({ ...common(sent), method: 'GET', url: path });
  return {
    sign: (id: string, sent: Sent = {}) =>
      server.inject({ ...common(sent, id), method: 'POST', url: PATH, payload: { message: MESSAGE } }),
    get,
    async ids(sent: Sent): Promise<string[]> {
      const response = await get('/v1/requests', sent);
      expect(response.statusCode).toBe(200);
      expect(response.body).not.toContain('secret of');
      expect(response.body).not.toContain(MESSAGE.slice(-40));
      const { requests } = response.json<{ requests: { id: string }[] }>();
      return requests.map(({ id }) => id).toSorted();
    },
  };
}

test('where no keys are set, this machine has no requests unless the configuration allows it', async () => {
  const { sign, get } = await start({});
  await sign('near');
  for (const path of ['/v1/requests', '/v1/requests/near']) {
    const response = await get(path);
    expect([response.statusCode, response.json().code]).toEqual([403, 'forbidden']);
    expect(response.json().message).toBe(
      'requests are shown for API keys only, and this service has none; configure access.apiKeys with a key for routes of operate, ' +
        'or set access.operateWithoutKey for the machine of the service',
    );
  }
});

describe('where no keys are set, and none is needed for routes of operate', async () => {
  const { sign, get, ids } = await start({ operateWithoutKey: true });
  await sign('near');
  await sign('far', { remoteAddress: REMOTE });

  test.each([LOCAL, '127.1.2.3', '::1', '::ffff:127.0.0.1'])('a client at %s has all requests', async (address) => {
    expect(await ids({ remoteAddress: address })).toEqual(['far', 'near']);
    expect((await get('/v1/requests/far', { remoteAddress: address })).json()).toMatchObject({
      id: 'far',
      client: `address:${REMOTE}`,
      outcome: 'signed',
    });
  });

  test.each<[string, Sent]>([
    ['at another address', { remoteAddress: REMOTE }],
    ['whose request a proxy of this machine passed on', { headers: { 'x-forwarded-for': REMOTE } }],
    ['whose request a proxy passed on without its address', { headers: { via: '1.1 proxy' } }],
    ['that is a page of another site', { headers: { origin: 'https://elsewhere.example' } }],
    ['that is a page of a name for a loopback address', { headers: { host: 'rebound.example' } }],
    ['with a key, which is ignored', { key: 'operator', remoteAddress: REMOTE }],
  ])('a client %s has none', async (_, sent) => {
    for (const path of ['/v1/requests', '/v1/requests/near', '/v1/requests/none']) {
      const response = await get(path, sent);
      expect([response.statusCode, response.json().code]).toEqual([403, 'forbidden']);
      expect(response.json().message).toMatch(/configure access\.apiKeys/);
    }
  });

  test('a client behind a trusted proxy of this machine has none', async () => {
    const proxied = await start({ operateWithoutKey: true }, [LOCAL]);
    const response = await proxied.get('/v1/requests', { headers: { 'x-forwarded-for': LOCAL } });
    expect(response.statusCode).toBe(403);
  });

  test('a page of the service itself has all requests', async () => {
    const headers = { host: 'localhost:8080', origin: 'http://localhost:8080' };
    expect(await ids({ headers })).toEqual(['far', 'near']);
  });
});

describe('where keys are set', async () => {
  const { sign, get, ids } = await start({ apiKeys: KEYS, operateWithoutKey: true });
  for (const name of ['one', 'other', 'both']) await sign(`of-${name}`, { key: name });
  await sign('of-nobody', { remoteAddress: REMOTE });

  test.each(['operator', 'both'])('the key %s with the right operate has all requests', async (name) => {
    expect(await ids({ key: name, remoteAddress: REMOTE })).toEqual(['of-both', 'of-nobody', 'of-one', 'of-other']);
    expect((await get('/v1/requests/of-one', { key: name })).json()).toMatchObject({ client: 'key:one' });
  });

  test('a key without it has its own requests, and no sign of others', async () => {
    expect(await ids({ key: 'one' })).toEqual(['of-one']);
    expect((await get('/v1/requests/of-one', { key: 'one' })).statusCode).toBe(200);
    for (const id of ['of-other', 'x']) {
      const response = await get(`/v1/requests/${id}`, { key: 'one' });
      expectError(response, 404, `no recent request has the ID ${id}`, 'unknown_request');
    }
  });

  test('the requests of a client are found by the name of its key, by a key with the right operate and by its own', async () => {
    const found = async (name: string, client: string) => {
      const { requests } = (await get(`/v1/requests?client=${client}`, { key: name })).json();
      return requests.map(({ id }: { id: string }) => id);
    };
    expect(await found('operator', 'key:one')).toEqual(['of-one']);
    expect(await found('operator', `address:${REMOTE}`)).toEqual(['of-nobody']);
    expect(await found('one', 'key:one')).toEqual(['of-one']);
    expect(await found('one', 'key:other')).toEqual([]);
  });

  test('a client without a known key has none, even on the machine of the service', async () => {
    for (const path of ['/v1/requests', '/v1/requests/of-nobody']) {
      for (const response of [await get(path), await get(path, { key: 'nobody' })]) {
        expect([response.statusCode, response.json().code]).toEqual([401, 'unauthorized']);
      }
    }
  });

  test('a key for operate only gets no signature', async () => {
    expect((await sign('refused', { key: 'operator' })).statusCode).toBe(403);
    // What limits refuse is kept, too.
    expect((await get('/v1/requests/refused', { key: 'operator' })).json()).toMatchObject({ outcome: 'forbidden' });
  });
});

test('a record sums up a stage that occurred twice, and bounds the texts of clients and of validators', async () => {
  const tally = createPlainTally(setOf([1n]), { quorumNum: 67n, quorumBuffer: 0n });
  happen(tally, 0, { kind: 'failed', failure: { kind: 'refused', code: 1, text: 'y'.repeat(1_000) }, nowMs: 0 });
  const ids = { messageID: 'message', sourceChainID: P_CHAIN_ID, signingSubnetID: PRIMARY_NETWORK_ID };
  const report = { ...ids, pChainHeight: 1n, tally: summarizeTally(tally, () => undefined) };
  const aggregator: Aggregator = {
    async aggregate(_request, options) {
      for (const durationMs of [5, 7]) options.onPhase?.('collect', durationMs);
      throw new AggregatorError('insufficient_weight', 'too little', { report });
    },
  };
  const access = { ...limitedTo(1_000, undefined, { apiKeys: KEYS }), trustedProxies: [LOCAL] };
  const server = await createTestServer({ access, aggregator });
  const from = { 'x-forwarded-for': 'x'.repeat(1_000), 'x-request-id': 'long' };
  await server.inject({ method: 'POST', url: PATH, payload: { message: MESSAGE }, headers: from });
  const headers = { 'x-service-api-key': 'secret of operator' };
  expect((await server.inject({ url: '/v1/requests/long', headers })).json()).toMatchObject({
    client: `address:${'x'.repeat(120)}`,
    stages: { collect: 12 },
    messageId: parseUnsignedMessage(readCase('c_warp_0').unsignedMessage).id,
    errorMessage: 'too little',
    details: {
      missing: [{ outcome: 'refused', text: 'y'.repeat(200) }],
      outcomes: { refused: { reasons: [{ code: 1, text: 'y'.repeat(200) }] } },
    },
  });
});

test('a record of a transaction that sent several messages lists the first of them', async () => {
  const message = parseUnsignedMessage(readCase('c_warp_0').unsignedMessage);
  const sentMessages = Array.from({ length: 25 }, (_, logIndex) => ({ logIndex, message }));
  const aggregator: Aggregator = {
    aggregate: () => Promise.reject(new AggregatorError('several_messages', 'choose one', { sentMessages })),
  };
  const server = await createTestServer({
    access: limitedTo(1_000, undefined, { operateWithoutKey: true }),
    aggregator,
  });
  const headers = { 'x-request-id': 'several' };
  const answer = await server.inject({ method: 'POST', url: PATH, payload: { message: MESSAGE }, headers });
  const { messages } = answer.json().details;
  expect([messages.length, messages[0].messageId]).toEqual([25, message.id]);
  const record = (await server.inject({ url: '/v1/requests/several', remoteAddress: LOCAL })).json();
  expect(record.details).toEqual({ messages: messages.slice(0, 20), messagesOmitted: 5 });
});
