import { connect } from 'node:net';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { badRequest } from '../../../src/http/errors/http-error.ts';
import { checkParameters } from '../../../src/http/parameters/check-parameters.ts';
import { findTargetProblem, splitTarget } from '../../../src/http/request/canonical-target.ts';
import { UPSTREAM_ENDPOINTS } from '../../../src/proxy/catalogue/upstream-endpoints.ts';
import { sendJson } from './stand-in.ts';
import { ANSWERS, SUBNET_ID, TX_ID } from './stand-in-records.ts';
import { startUpstreamService, type UpstreamService } from './upstream-service.ts';

const REINDEX = `/v1/chains/43114/nfts/collections/0x${'ab'.repeat(20)}/tokens/145:reindex`;

let service: UpstreamService;
beforeAll(async () => {
  service = await startUpstreamService();
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
});
afterEach(() => {
  service.standIn.behaviour = undefined;
  service.standIn.arrivals.length = 0;
});

/** A request target exactly as given: clients mend dot segments and more before they send. */
async function sendRaw(target: string, method = 'GET'): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  // Half-closing it would mean to leave.
  socket.write(`${method} ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
  let text = '';
  for await (const chunk of socket) text += chunk;
  return { status: Number(text.slice(9, 12)), body: text };
}

const targets = () => service.standIn.arrivals.map(({ target }) => target);

describe('what reaches the upstream is what was checked', () => {
  test.each([
    '/v1/networks/fuji/addresses%253AlistChainIds',
    '/v1/chains/1%2F..%2F2/blocks/3',
    '/v1/chains/1/blocks/..%2f..%2fadmin',
    '/v1/networks/fuji/../../admin',
    '/v1/networks/./fuji/validators',
    '/v1/networks/fuji/%2e%2e/validators',
    '/v1/networks/fuji/%2E/validators',
    '/v1/networks/fuji/..;/validators',
    '/v1/networks/fuji/..%5cvalidators',
    '/v1/networks/fuji\\validators',
    '/v1//networks/fuji/validators',
    '/v1/networks/fuji//validators',
    '/v1/networks/fuji/validators#x',
    '/v1/networks/fuji/validators?pageSize=1#x',
    '/v1/networks/fuj%69/validators',
    '/v1/networks/fuji/validators%00',
    '/v1/networks/fuji/validators%0d%0ax:y',
    '/v1/networks/fuji/validators%253f',
    '/v1/networks/fuji/validators%3FpageSize=9',
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
    '/v1/networks/fuji/validators/?pageSize=100000',
    '/v1/networks/fuji/blockchains/X-Chain/vertices:listbyheight',
    '/v1/signatureAggregator/elsewhere/aggregateSignatures/x/y',
    '/v1/signatureaggregator/fuji',
    REINDEX,
    REINDEX.replace('reindex', 'REINDEX'),
    `${REINDEX}/`,
  ])('%s is no way around the checks of a documented route', async (target) => {
    expect([400, 404]).toContain((await service.get(target)).status);
    expect(targets()).toEqual([]);
  });

  test.each([
    '/v1/webhooks',
    '/v1/webhooks:getSharedSecret',
    '/v1/webhooks%3AgetSharedSecret',
    '/v1/WebHooks/1/addresses?x=1',
    '/v1/operations/1',
    '/v1/apiUsageMetrics',
    '/v1/subnetRpcUsageMetrics?x=1',
    '/v1/apiLogs',
  ])('%s tells nobody what belongs to the account of our key', async (target) => {
    expect((await service.get(target)).status).toBe(404);
    expect(targets()).toEqual([]);
  });

  test.each([
    ...['x=1;pageSize=1000', 'x=%3', 'x=%zz', 'x=%', 'pageSize%ff=1000', 'x=%C3', '[pageSize]=1000', '+pageSize=1000'],
    ...[
      '%5BpageSize%5D=1000',
      'pageSize.x=1000',
      'pageSize%00=1000',
      '%e2%80%8bpageSize=1000',
      '%ef%bb%bfPAGESIZE=1000',
    ],
  ])('the query %s is no way around the checks of pageSize', async (query) => {
    for (const path of ['/v1/networks/fuji/validators', '/v1/chains/1/blocks/2/transactions']) {
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

  test('other names pass, though a known one is part of them', async () => {
    for (const query of [
      'maxPageSize=1000',
      'pageSizes=1000',
      'page=1000',
      'page[Size]=1000',
      'x.pageSize=1000',
      'page-size=9',
    ]) {
      expect((await sendRaw(`/v1/networks/fuji/validators?${query}`)).status).toBe(200);
    }
    expect(targets()).toHaveLength(6);
  });

  test('any path that passes is sent unchanged, byte for byte', async () => {
    service.standIn.behaviour = (_request, response) => sendJson(response, 200, {});
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
        service.standIn.arrivals.length = 0;
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
    service.standIn.behaviour = (_request, response) => sendJson(response, 200, { new: true });
    expect((await service.get(target)).body).toEqual({ new: true });
    expect(targets()).toEqual([target]);
    for (const method of ['PUT', 'DELETE', 'POST', 'PATCH']) {
      const response = await fetch(`${service.url}${target}`, { method });
      expect(response.status).toBe(404);
    }
    expect(targets()).toEqual([target]);
    const head = await fetch(`${service.url}${target}`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect(service.standIn.arrivals.map(({ method }) => method)).toEqual(['GET', 'GET']);
  });

  describe('an answer of some 100 KB', () => {
    const target = '/v1/chains/1/blocks/2';
    const text = JSON.stringify({ text: 'é'.repeat(60_000) });
    /** Sent without its length, so many bytes at a time, and one at its end. */
    const answerBy = (bytes: number, body = `${text}\n`): void => {
      service.standIn.behaviour = (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const all = Buffer.from(body);
        const write = (at: number): void => {
          if (at >= all.length - 1) return void response.end(all.subarray(-1));
          response.write(all.subarray(at, Math.min(at + bytes, all.length - 1)));
          setImmediate(write, at + bytes);
        };
        write(0);
      };
    };

    test.each([70_000, 40_001, 1_000])('comes as it was sent, by %i bytes, with its length', async (bytes) => {
      answerBy(bytes);
      const got = await fetch(`${service.url}${target}`);
      expect([got.status, got.headers.get('content-length')]).toEqual([200, String(Buffer.byteLength(text) + 1)]);
      expect(got.headers.get('transfer-encoding')).toBeNull();
      expect(await got.text()).toBe(`${text}\n`);
      expect(got.headers.get('x-content-type-options')).toBe('nosniff');
      const head = await fetch(`${service.url}${target}`, { method: 'HEAD' });
      expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
        200,
        String(Buffer.byteLength(text) + 1),
        '',
      ]);
    });

    test.each([70_000, 1_000])('that is no JSON does not come, by %i bytes', async (bytes) => {
      for (const body of [text.slice(0, -1), `<${text}`]) {
        answerBy(bytes, body);
        expect((await service.get(target)).status).toBe(502);
      }
    });
  });

  test('HEAD of a long answer has its length, and leaves the rest of it', async () => {
    const left = Promise.withResolvers<void>();
    service.standIn.behaviour = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '900000' });
      response.write(`"${'x'.repeat(300_000)}`);
      response.on('close', () => left.resolve());
    };
    const head = await fetch(`${service.url}/v1/chains/1/blocks/2`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '900000']);
    await left.promise;
  });

  test.each<[string, string]>([
    ['/v1/networks/fuji/blockchains/x-chain/vertices%3AlistByHeight?vertexHeight=7', 'listVerticesByHeight'],
    [`/v1/networks/fuji/addresses%3alistChainIds?addresses=0x${'ab'.repeat(20)}`, 'listChainIdsOfAddresses'],
    [`/v1/chains/1/addresses/0x${'ab'.repeat(20)}/transactions%3AlistErc20?pageToken=%3A`, 'listErc20Transfers'],
  ])('%s is the path with a colon, and goes out as that', async (target, operation) => {
    const { status, body } = await service.get(target);
    const { nextPageToken: _, ...expected } = ANSWERS[operation as keyof typeof ANSWERS] as Record<string, unknown>;
    expect(status).toBe(200);
    expect(body).toMatchObject(expected);
    const [path, query] = target.split('?');
    expect(targets()).toEqual([`${path?.replace(/%3a/i, ':')}?${query}`]);
    // The rules are those of the route.
    expect((await service.get(`${path}?pageSize=0&${query}`)).status).toBe(
      operation === 'listChainIdsOfAddresses' ? 200 : 400,
    );
  });

  test('unknown GETs do not pass where they are turned off', async () => {
    await using closed = await startUpstreamService({ settings: { passUnknown: false } });
    expect((await closed.get('/v1/chains')).status).toBe(404);
    expect(closed.standIn.arrivals).toEqual([]);
  });
});

test('each network and service has its own upstream and its own key there; the client’s key goes nowhere', async () => {
  await using other = await startUpstreamService();
  const keyed = (name: string, baseUrl = service.standIn.baseUrl) => ({
    baseUrl: `${baseUrl}/below/${name}/`,
    httpHeaders: { 'X-Service-Api-Key': `key of ${name}` },
    queryParameters: { token: `of ${name}` },
  });
  await using many = await startUpstreamService({
    settings: {
      dataApi: { mainnet: keyed('mainnet'), fuji: keyed('fuji', other.standIn.baseUrl), evm: keyed('evm') },
      metrics: keyed('metrics'),
      nodeRpc: keyed('node'),
    },
  });
  for (const { standIn } of [service, other]) standIn.behaviour = (_request, response) => sendJson(response, 200, {});
  const headers = {
    'x-service-api-key': 'secret',
    'x-glacier-api-key': 'secret',
    authorization: 'secret',
    cookie: 'secret',
    'x-forwarded-for': 'secret',
    'proxy-authorization': 'secret',
    referer: 'https://secret.test',
    te: 'trailers',
    ...{ 'x-forwarded-host': 'secret.test', forwarded: 'host=secret.test', origin: 'http://secret.test' },
  };
  await many.get('/v1/networks/mainnet/blockchains?pageSize=2', headers);
  await many.get('/v1/networks/testnet/blockchains', headers);
  await many.get('/v1/chains/1/blocks/2', headers);
  await many.get('/v1/avg_tps/1', headers);
  await many.get('/v1/networks/mainnet/new', headers);
  await many.get('/v1/new', headers);
  await many.post('/ext/bc/P', { jsonrpc: '2.0', id: 1, method: 'platform.getHeight' }, headers);
  const seen = [...service.standIn.arrivals, ...other.standIn.arrivals];
  expect(seen.map(({ target }) => target)).toEqual([
    '/below/mainnet/v1/networks/mainnet/blockchains?pageSize=2&token=of+mainnet',
    '/below/evm/v1/chains/1/blocks/2?token=of+evm',
    '/below/metrics/v1/avg_tps/1?token=of+metrics',
    '/below/mainnet/v1/networks/mainnet/new?token=of+mainnet',
    '/below/evm/v1/new?token=of+evm',
    '/below/node/ext/bc/P?token=of+node',
    '/below/fuji/v1/networks/testnet/blockchains?token=of+fuji',
  ]);
  for (const { target, headers: arrived } of seen) {
    expect(JSON.stringify(arrived)).not.toContain('secret');
    expect(arrived['x-service-api-key']).toBe(`key of ${/below\/(\w+)/.exec(target)?.[1]}`);
    expect(Object.keys(arrived).toSorted()).toEqual(
      [
        ...(target.includes('/ext/') ? ['content-length', 'content-type'] : []),
        'accept',
        'accept-encoding',
        'connection',
        'host',
        'x-service-api-key',
      ].toSorted(),
    );
  }
});

test('path and query do not mix: the network, the chain and the rules are those of the path', async () => {
  const upstream = (name: string) => ({ baseUrl: `${service.standIn.baseUrl}/${name}` });
  await using many = await startUpstreamService({
    settings: {
      dataApi: { mainnet: upstream('mainnet'), fuji: upstream('fuji'), evm: upstream('evm') },
      metrics: upstream('metrics'),
      nodeRpc: upstream('node'),
    },
  });
  service.standIn.behaviour = (_request, response) => sendJson(response, 200, {});
  const passed: readonly (readonly [upstream: string, target: string])[] = [
    ['evm', '/v1/chains/43114/blocks/7?network=fuji'],
    ['evm', '/v1/chains/43114/blocks/8?network=mainnet&network=fuji'],
    ['evm', '/v1/chains/43114/blocks/7?chainId=x&blockId=x&Network=fuji'],
    ['metrics', '/v1/avg_tps/1?network=fuji&chainId=0'],
    ['mainnet', `/v1/networks/mainnet/validators?sortBy=delegationFee&subnetId=${SUBNET_ID}&network=fuji`],
    [
      'fuji',
      `/v1/networks/fuji/blockchains/p-chain/transactions?l1ValidationId=${TX_ID}&blockchainId=x-chain&network=x`,
    ],
    ['evm', '/v1/new?network=fuji'],
  ];
  for (const [, target] of passed) expect((await many.get(target)).status).toBe(200);
  const refused: readonly (readonly [name: string, target: string])[] = [
    ['sortBy', `/v1/networks/fuji/validators?sortBy=delegationFee&subnetId=${SUBNET_ID}&network=mainnet`],
    [
      'l1ValidationId',
      `/v1/networks/fuji/blockchains/x-chain/transactions?l1ValidationId=${TX_ID}&blockchainId=p-chain`,
    ],
  ];
  for (const [name, target] of refused) {
    const { status, body } = await many.get(target);
    expect([status, String(body['message']).split(' ', 1)]).toEqual([400, [name]]);
  }
  expect((await many.post(`${REINDEX}?network=fuji&chainId=1`)).status).toBe(201);
  expect((await many.post(`${REINDEX}?chainId=2`)).status).toBe(429);
  expect(targets()).toEqual([
    ...passed.map(([upstream, target]) => `/${upstream}${target}`),
    `/evm${REINDEX}?network=fuji&chainId=1`,
  ]);
});

describe('the node RPC', () => {
  const call = (method: unknown, params?: unknown, id: unknown = 1) => ({
    jsonrpc: '2.0',
    id,
    method,
    ...(params === undefined ? {} : { params }),
  });
  const bodies = () => service.standIn.arrivals.map(({ body }) => body);

  test.each(['/ext/bc/X', '/ext/bc/P', '/ext/bc/2oYMBNV4eNHyqk2fjjV5nVQLDbtmNJzq5s3qs3Lo6ftnC6FByM'])(
    'passes %s on, with all digits of its numbers',
    async (path) => {
      const text =
        '{"jsonrpc":"2.0","id":7,"method":"avm.getUTXOs","params":{"limit":18446744073709551615,"addresses":["X-a"]}}';
      const { status, body } = await service.post(path, text);
      expect([status, body]).toEqual([200, { jsonrpc: '2.0', id: 7, result: { height: '7' } }]);
      expect(targets()).toEqual([path]);
      expect(bodies()).toEqual([text]);
    },
  );

  test('answers a wrong call in JSON-RPC, with its ID, and passes on nothing of a batch with one', async () => {
    const alone = await service.post('/ext/bc/P', '{"jsonrpc":"2.0","id":18446744073709551616,"method":"admin.x"}');
    expect([alone.status, alone.headers.get('content-type')]).toEqual([400, 'application/json']);
    expect(alone.text).toMatch(/^\{"jsonrpc":"2\.0","id":18446744073709551616,"error":\{"code":-32601,/);
    const good = Array.from({ length: 20 }, (_, index) => call('platform.getHeight', undefined, index));
    const wrong = await service.post('/ext/bc/P', [...good.slice(1), call('admin.x', undefined, 'second')]);
    expect(wrong.body).toMatchObject({ id: 'second', error: { code: -32_601, data: { code: 'invalid_request' } } });
    expect(bodies()).toEqual([]);
    expect((await service.post('/ext/bc/P', good)).body).toHaveLength(20);
    expect(bodies()).toEqual([JSON.stringify(good)]);
  });

  test('refuses other chains, other types and no body', async () => {
    const good = call('platform.getHeight');
    for (const chain of ['C', 'x', 'fuji', 'index']) {
      const answer = await service.post(`/ext/bc/${chain}`, good);
      expect(answer.status).toBe(400);
      expect(answer.body['message']).toBe('chain must be X, P or the ID of a blockchain in cb58');
    }
    expect((await service.post('/ext/bc/C/rpc', good)).status).toBe(404);
    expect((await service.post('/ext/bc/P', good, { 'content-type': 'text/plain' })).body['code']).toBe(
      'unsupported_media_type',
    );
    const empty = await service.post('/ext/bc/P');
    expect([empty.status, empty.body]).toMatchObject([400, { id: null, error: { code: -32_700 } }]);
    const tooLong = await service.post('/ext/bc/P', `{"jsonrpc":"${'x'.repeat(102_400)}"}`);
    expect([tooLong.status, tooLong.body['message']]).toEqual([
      413,
      'body is larger than the 102400 bytes allowed here',
    ]);
    expect(targets()).toEqual([]);
  });

  test('lets through what the configuration names', async () => {
    await using own = await startUpstreamService({
      settings: { rpcMethods: ['health.health'] },
      internals: { maxRpcBatch: 1 },
    });
    expect((await own.post('/ext/bc/P', [call('health.health')])).status).toBe(200);
    expect((await own.post('/ext/bc/P', call('platform.getHeight'))).status).toBe(400);
  });
});

test('answers keep every field, and nothing of the upstream’s connection', async () => {
  service.standIn.behaviour = (_request, response) => {
    response.writeHead(200, {
      'content-type': 'application/json',
      'set-cookie': 'session=1',
      'x-powered-by': 'x',
      server: 'x',
      location: 'http://elsewhere.test',
      'x-ratelimit-limit': '1',
      'content-encoding': 'identity',
      'keep-alive': 'timeout=1',
    });
    response.end(JSON.stringify(ANSWERS.getEvmBlock));
  };
  const { body, headers } = await service.get('/v1/chains/1/blocks/2');
  expect(body).toEqual(ANSWERS.getEvmBlock);
  const names = [...headers.keys()].filter(
    (name) => !['connection', 'keep-alive', 'date', 'content-length'].includes(name),
  );
  expect(names.toSorted()).toEqual(['cache-control', 'content-type', 'x-content-type-options', 'x-request-id']);
});
