import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { badRequest } from '../../../src/http/errors/http-error.ts';
import { checkParameters } from '../../../src/http/parameters/check-parameters.ts';
import { findTargetProblem, splitTarget } from '../../../src/http/request/canonical-target.ts';
import { UPSTREAM_ENDPOINTS } from '../../../src/proxy/catalogue/upstream-endpoints.ts';
import { shareUpstreamService } from './shared-service.ts';
import { reply } from './stand-in.ts';
import { ANSWERS, SUBNET_ID, TX_ID } from './stand-in-records.ts';
import { startUpstreamService } from './upstream-service.ts';

const REINDEX = `/v1/chains/43114/nfts/collections/0x${'ab'.repeat(20)}/tokens/145:reindex`;
const VALIDATORS = '/v1/networks/fuji/validators';
const BLOCK = '/v1/chains/1/blocks/2';
const CHAINS = '/v1/networks/fuji/blockchains';

const service = await shareUpstreamService();
const { standIn } = service;
let count = 0;
const targets = () => standIn.arrivals.map(({ target }) => target);

/** Sends a target as it is: clients correct dot segments and more before they send. */
async function sendRaw(target: string, method = 'GET'): Promise<{ status: number; body: string }> {
  const body = await text(service.send(`${method} ${target}`));
  return { status: Number(body.slice(9, 12)), body };
}

describe('what reaches the upstream is what was checked', () => {
  test.each([
    '/v1/networks/fuji/addresses%253AlistChainIds',
    '/v1/chains/1%2F..%2F2/blocks/3',
    '/v1/networks/fuji/../../admin',
    '/v1/networks/./fuji/validators',
    '/v1/networks/fuji/%2e%2e/validators',
    '/v1/networks/fuji/..;/validators',
    '/v1/networks/fuji/..%5cvalidators',
    '/v1/networks/fuji\\validators',
    '/v1//networks/fuji/validators',
    `${VALIDATORS}#x`,
    `${VALIDATORS}?pageSize=1#x`,
    '/v1/networks/fuj%69/validators',
    `${VALIDATORS}%00`,
    `${VALIDATORS}%0d%0ax:y`,
    `${VALIDATORS}%3FpageSize=9`,
    '/v1/anything/%ff',
    '/v1/anything/%zz',
    '/v1/anything/%',
    '/v1/anything;a=b',
    '/ext/bc/../admin',
    'http://elsewhere.test/v1/networks/fuji/validators',
  ])('%s is refused', async (target) => {
    for (const method of ['GET', 'POST']) {
      const { status, body } = await sendRaw(target, method);
      expect([400, 404]).toContain(status);
      expect(body).toContain(`"statusCode":${status}`);
    }
    expect(targets()).toEqual([]);
  });

  test.each([
    '/v1/networks/fuji/VALIDATORS?pageSize=100000',
    '/v1/Networks/fuji/validators?pageSize=100000',
    `${VALIDATORS}/?pageSize=100000`,
    '/v1/networks/fuji/blockchains/X-Chain/vertices:listbyheight',
    '/v1/signatureAggregator/elsewhere/aggregateSignatures/x/y',
    '/v1/signatureaggregator/fuji',
    REINDEX,
    REINDEX.replace('reindex', 'REINDEX'),
    `${REINDEX}/`,
    // Belongs to the account of our key.
    '/v1/webhooks',
    '/v1/webhooks%3AgetSharedSecret',
    '/v1/WebHooks/1/addresses?x=1',
    '/v1/operations/1',
    '/v1/apiUsageMetrics',
    '/v1/subnetRpcUsageMetrics?x=1',
    '/v1/apiLogs',
  ])('%s does not pass as an unknown path', async (target) => {
    expect([400, 404]).toContain((await service.get(target)).status);
    expect(targets()).toEqual([]);
  });

  test.each([
    'x=1;pageSize=1000',
    'x=%3',
    'x=%zz',
    'x=%',
    'pageSize%ff=1000',
    'x=%C3',
    '[pageSize]=1000',
    '+pageSize=1000',
    '%5BpageSize%5D=1000',
    'pageSize.x=1000',
    'pageSize%00=1000',
    '%e2%80%8bpageSize=1000',
    '%ef%bb%bfPAGESIZE=1',
  ])('the query %s is no way around the checks of pageSize', async (query) => {
    for (const path of [VALIDATORS, `${BLOCK}/transactions`]) {
      expect((await sendRaw(`${path}?${query}`)).status).toBe(400);
    }
    expect(targets()).toEqual([]);
  });

  test('whatever a known name is decorated with, it is refused by that name', async () => {
    const known = fc.constantFrom(
      ...UPSTREAM_ENDPOINTS.flatMap(({ query }) =>
        Object.keys(query.properties as object).map((name) => [query, name] as const),
      ),
    );
    const before = fc.array(fc.constantFrom(...'[]. +\t\n\r\0\x7f\u200b\u00ad\ufeff'.split('')), { maxLength: 3 });
    const after = fc.array(fc.constantFrom('[', ']', '[]', '[0]', '[x][y]', '.', '.x', ' ', '\0', '\u200e', '\u00a0'), {
      maxLength: 3,
    });
    const isUpper = fc.boolean();
    fc.assert(
      fc.property(known, before, after, isUpper, ([query, name], left, right, upper) => {
        const decorated = `${left.join('')}${upper ? name.toUpperCase() : name}${right.join('')}`;
        fc.pre(decorated !== name);
        const good = { vertexHeight: '7', addresses: `0x${'ab'.repeat(20)}` };
        const needed = Object.fromEntries(Object.entries(good).filter(([each]) => query.required?.includes(each)));
        expect(() => checkParameters(query, { ...needed, [decorated]: '1' })).toThrow(
          badRequest(`${name} must be written exactly so, not ${JSON.stringify(decorated)}`),
        );
      }),
    );
  });

  test('other names pass unchanged, though a known one is part of them', async () => {
    standIn.behaviour = reply(200);
    const names = ['maxPageSize', 'pageSizes', 'page', 'page[Size]', 'x.pageSize', 'page-size'];
    for (const name of names) {
      expect((await sendRaw(`${VALIDATORS}?${name}=1000`)).status).toBe(200);
    }
    expect(targets()).toEqual(names.map((name) => `${VALIDATORS}?${name}=1000`));
  });

  test('any query without names that are known, of the path or added here passes unchanged', async () => {
    standIn.behaviour = reply(200);
    const character = fc.constantFrom(
      ...'abzAZ09-_.~!$*,:@/?|<>{}[]"%'.split('').filter((each) => each !== '%'),
      '%20',
      '%c3%a9',
      '+',
    );
    const word = fc.array(character, { maxLength: 8 }).map((parts) => parts.join(''));
    // No name of the route is longer than 30 characters.
    const name = word.map((text) => `${'unknown'.repeat(5)}${text}`);
    const query = fc.array(fc.tuple(name, word), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(query, async (pairs) => {
        standIn.arrivals.length = 0;
        const target = `${VALIDATORS}?pageSize=7&${pairs.map(([key, value]) => `${key}=${value}`).join('&')}&n=${String((count += 1))}`;
        expect((await sendRaw(target)).status).toBe(200);
        expect(targets()).toEqual([target]);
      }),
      { numRuns: 50 },
    );
  });

  test('any path that passes is sent unchanged, byte for byte', async () => {
    standIn.behaviour = reply(200);
    const character = fc.constantFrom(
      ...'abzAZ09-._~:@!$&\'()*+,=%/;\\?#"<>|{}^` \u00e9'.split(''),
      '%20',
      '%2f',
      '%2e',
      '%C3%A9',
    );
    const path = fc.array(character, { maxLength: 12 }).map((parts) => `/v1/${parts.join('')}`);
    await fc.assert(
      fc.asyncProperty(path, async (target) => {
        standIn.arrivals.length = 0;
        const isSendable = !/[\s\u0080-\uffff]/.test(target);
        fc.pre(isSendable);
        const { status } = await sendRaw(target);
        const problem = findTargetProblem(splitTarget(target));
        expect(targets()).toEqual(status === 200 ? [target] : []);
        if (problem !== undefined) expect([400, 404]).toContain(status);
        else if (!/^\/v1\/signatureaggregator\//i.test(target)) expect(status).toBe(200);
      }),
      { numRuns: 300 },
    );
  });

  test('unknown GETs pass to the upstream of their network, other methods do not', async () => {
    const target = '/v1/networks/mainnet/staking:new?x=%2F&y[]=%20&y[]=2';
    standIn.behaviour = reply(200, { new: true });
    expect((await service.get(target)).body).toEqual({ new: true });
    expect(targets()).toEqual([target]);
    for (const method of ['PUT', 'DELETE', 'POST', 'PATCH']) {
      const response = await fetch(`${service.url}${target}`, { method });
      expect(response.status).toBe(404);
    }
    expect(targets()).toEqual([target]);
  });

  test('HEAD of a long answer has its length, and leaves the rest of it', async () => {
    const left = Promise.withResolvers<void>();
    standIn.behaviour = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '900000' });
      response.write(`"${'x'.repeat(300_000)}`);
      response.on('close', () => left.resolve());
    };
    const head = await fetch(`${service.url}/v1/chains/1/blocks/2`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '900000']);
    await left.promise;
  });

  test.each([
    ['/v1/networks/fuji/blockchains/x-chain/vertices%3AlistByHeight?vertexHeight=7', ANSWERS.listVerticesByHeight],
    [`/v1/chains/1/addresses/0x${'ab'.repeat(20)}/transactions%3alistErc20?startBlock=1`, ANSWERS.listErc20Transfers],
  ])('%s is the path with a colon, and goes out as that', async (target, expected) => {
    const { status, body } = await service.get(target);
    expect([status, body]).toEqual([200, expected]);
    expect(targets()).toEqual([target.replace(/%3a/i, ':')]);
    expect((await service.get(`${target}&pageSize=0`)).status).toBe(400);
  });
});

describe('with an address for each upstream', async () => {
  const keyed = (name: string) => ({
    baseUrl: `${standIn.baseUrl}/below/${name}/`,
    httpHeaders: { 'X-Service-Api-Key': `key of ${name}` },
    queryParameters: { token: `of ${name}` },
  });
  const many = await shareUpstreamService({
    settings: {
      dataApi: { mainnet: keyed('mainnet'), fuji: keyed('fuji'), evm: keyed('evm') },
      metrics: keyed('metrics'),
      nodeRpc: keyed('node'),
    },
  });
  const sent = (name: string, target: string) =>
    `/below/${name}${target}${target.includes('?') ? '&' : '?'}token=of+${name}`;

  test('requests have our key for their upstream, and nothing of the client’s headers', async () => {
    standIn.behaviour = reply(200);
    const names =
      'x-service-api-key x-glacier-api-key authorization cookie x-forwarded-for proxy-authorization referer te ' +
      'x-forwarded-host forwarded origin';
    const headers = Object.fromEntries(names.split(' ').map((name) => [name, 'secret']));
    const asked = [
      ['mainnet', '/v1/networks/mainnet/blockchains?pageSize=2'],
      ['fuji', '/v1/networks/testnet/blockchains'],
      ['evm', BLOCK],
      ['metrics', '/v1/avg_tps/1'],
      ['mainnet', '/v1/networks/mainnet/new'],
      ['evm', '/v1/new'],
    ] as const;
    for (const [, target] of asked) expect((await many.get(target, headers)).status).toBe(200);
    await many.post('/ext/bc/P', { jsonrpc: '2.0', id: 1, method: 'platform.getHeight' }, headers);
    expect(targets()).toEqual([...asked, ['node', '/ext/bc/P']].map(([name = '', target = '']) => sent(name, target)));
    const ours = ['accept', 'accept-encoding', 'connection', 'host', 'x-service-api-key'];
    for (const { target, headers: arrived } of standIn.arrivals) {
      expect(JSON.stringify(arrived)).not.toContain('secret');
      expect(arrived['x-service-api-key']).toBe(`key of ${/below\/(\w+)/.exec(target)?.[1]}`);
      const ofBody = target.includes('/ext/') ? ['content-length', 'content-type'] : [];
      expect(Object.keys(arrived).toSorted()).toEqual([...ours, ...ofBody].toSorted());
    }
  });

  test('path and query do not mix: the network, the chain and the rules are those of the path', async () => {
    const refused = [
      ['chainId', `${BLOCK}?chainId=x&blockId=x&network=mainnet&network=fuji`],
      ['chainId', '/v1/avg_tps/1?network=fuji&chainId=0'],
      ['network', `/v1/networks/mainnet/validators?sortBy=delegationFee&subnetId=${SUBNET_ID}&network=fuji`],
      ['blockchainId', `${CHAINS}/p-chain/transactions?l1ValidationId=${TX_ID}&blockchainId=x-chain`],
      ['network', `${VALIDATORS}?sortBy=delegationFee&subnetId=${SUBNET_ID}&network=mainnet`],
    ] as const;
    for (const [name, target] of refused) {
      const { status, body } = await many.get(target);
      expect([status, String(body['message'])]).toEqual([400, expect.stringContaining(`${name} must be `)]);
    }
    expect((await many.post(`${REINDEX}?chainId=1`)).status).toBe(400);
    // Requests to the upstreams get the parameter token.
    for (const name of ['token', 'Token', 'token[]', '%74oken', 'token.x']) {
      for (const target of [`${BLOCK}?${name}=1`, `/v1/new?${name}=1`])
        expect((await many.get(target)).status).toBe(400);
    }
    expect(targets()).toEqual([]);
    standIn.behaviour = reply(200);
    expect((await many.get('/v1/new?network=fuji')).status).toBe(200);
    expect(targets()).toEqual([sent('evm', '/v1/new?network=fuji')]);
  });

  test('paths that begin like that of avg_tps are of the metrics service, also without a chain', async () => {
    standIn.behaviour = reply(200);
    const ofMetrics = ['avg_tps', 'avg_tps?pageToken=1', 'avg_tps/1/new', 'avg_tps_new', 'avg_gas_price/1'];
    const paths = [...ofMetrics, 'avgtps', 'new/avg_tps'].map((path) => `/v1/${path}`);
    for (const path of paths) expect((await many.get(path)).status).toBe(200);
    expect(targets()).toEqual(paths.map((path, index) => sent(index < ofMetrics.length ? 'metrics' : 'evm', path)));
  });
});

describe('the node RPC', () => {
  const call = (method: string, id: unknown = 1) => ({ jsonrpc: '2.0', id, method });
  const bodies = () => standIn.arrivals.map(({ body }) => body);

  test('passes calls on, with all digits of their numbers', async () => {
    const paths = ['/ext/bc/X', '/ext/bc/P', '/ext/bc/2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM'];
    const text =
      '{"jsonrpc":"2.0","id":7,"method":"avm.getUTXOs","params":{"limit":18446744073709551615,"addresses":["X-a"]}}';
    for (const path of paths) {
      const { status, body } = await service.post(path, text);
      expect([status, body]).toEqual([200, { jsonrpc: '2.0', id: 7, result: { height: '7' } }]);
    }
    expect(standIn.arrivals.map(({ target, body }) => [target, body])).toEqual(paths.map((path) => [path, text]));
  });

  test('answers a wrong call in JSON-RPC, with its ID, and passes on nothing of a batch with one', async () => {
    const alone = await service.post('/ext/bc/P', '{"jsonrpc":"2.0","id":18446744073709551616,"method":"admin.x"}');
    expect([alone.status, alone.headers.get('content-type')]).toEqual([400, 'application/json']);
    expect(alone.text).toMatch(/^\{"jsonrpc":"2\.0","id":18446744073709551616,"error":\{"code":-32601,/);
    const good = Array.from({ length: 20 }, (_, index) => call('platform.getHeight', index));
    const wrong = await service.post('/ext/bc/P', [...good.slice(1), call('admin.x', 'second')]);
    expect(wrong.body).toMatchObject({ id: 'second', error: { code: -32_601, data: { code: 'invalid_request' } } });
    expect(bodies()).toEqual([]);
    expect((await service.post('/ext/bc/P', good)).body).toHaveLength(20);
    expect(bodies()).toEqual([JSON.stringify(good)]);
  });

  test('refuses other chains and no body', async () => {
    const good = call('platform.getHeight');
    for (const chain of ['C', 'x', 'fuji', 'index']) {
      const { status, body } = await service.post(`/ext/bc/${chain}`, good);
      expect([status, body['message']]).toEqual([400, expect.stringMatching(/^chain must be /)]);
    }
    expect((await service.post('/ext/bc/C/rpc', good)).status).toBe(404);
    const empty = await service.post('/ext/bc/P');
    expect([empty.status, empty.body]).toMatchObject([400, { id: null, error: { code: -32_700 } }]);
    expect(targets()).toEqual([]);
  });
});

test('the configuration names the methods of the node, and may turn unknown GETs off', async () => {
  await using own = await startUpstreamService({
    settings: { rpcMethods: ['health.health'], passUnknown: false },
  });
  const call = { jsonrpc: '2.0', id: 1, method: 'health.health' };
  expect((await own.post('/ext/bc/P', [call])).status).toBe(200);
  expect((await own.post('/ext/bc/P', Array(21).fill(call))).status).toBe(400);
  expect((await own.post('/ext/bc/P', { ...call, method: 'platform.getHeight' })).status).toBe(400);
  expect((await own.get('/v1/chains')).status).toBe(404);
  expect(own.standIn.arrivals).toHaveLength(1);
});

test('answers keep every field, and nothing of the upstream’s connection', async () => {
  const names = 'set-cookie x-powered-by server location x-ratelimit-limit keep-alive'.split(' ');
  const sent = { ...Object.fromEntries(names.map((name) => [name, '1'])), 'content-encoding': 'identity' };
  standIn.behaviour = reply(200, ANSWERS.getEvmBlock, sent);
  const { body, headers } = await service.get(BLOCK);
  expect(body).toEqual(ANSWERS.getEvmBlock);
  const ofConnection = ['connection', 'keep-alive', 'date', 'content-length'];
  expect([...headers.keys()].filter((name) => !ofConnection.includes(name)).toSorted()).toEqual([
    'cache-control',
    'content-type',
    'x-content-type-options',
    'x-request-id',
  ]);
  expect(headers.get('keep-alive')).not.toBe('1');
});
