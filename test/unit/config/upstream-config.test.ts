import { expect, test } from 'vitest';
import { ConfigError, parseConfig } from '../../../src/config/config.ts';

const FILE = { network: 'mainnet', pChainApi: [{ baseUrl: 'https://node.test' }] };
const A = { baseUrl: 'https://a.test' };
const B = { baseUrl: 'https://b.test' };
const parse = (settings: object, network = 'mainnet') => parseConfig({ ...FILE, ...settings, network }, {}, {});
const hash = (digit: string) => digit.repeat(64);

test('nothing is passed on, and strangers are limited, where nothing is said', () => {
  const { upstream, apiKeys, rateLimitPerMinute, trustedProxies } = parse({});
  expect(upstream.endpoints).toEqual({});
  expect([upstream.passUnknown, upstream.maxRpcBatch, upstream.timeoutMs]).toEqual([true, 20, 10_000]);
  expect(upstream.rpcMethods).toContain('avm.getUTXOs');
  expect(upstream.rpcMethods).toContain('platform.getValidatorsAt');
  expect([apiKeys, rateLimitPerMinute, trustedProxies]).toEqual([[], 3_000, []]);
  expect(parse({}, 'local').rateLimitPerMinute).toBe(0);
});

test('what is of no network goes to the data API of mainnet, else of fuji', () => {
  const endpoints = (dataApi: object) => parse({ upstream: { dataApi } }).upstream.endpoints;
  expect(endpoints({ mainnet: A, fuji: B })).toEqual({ mainnet: A, fuji: B, evm: A });
  expect(endpoints({ fuji: B })).toEqual({ fuji: B, evm: B });
  expect(endpoints({ fuji: B, evm: A })).toEqual({ fuji: B, evm: A });
  expect(parse({ upstream: { metrics: A, nodeRpc: B } }).upstream.endpoints).toEqual({ metrics: A, node: B });
});

test('keys have defaults', () => {
  expect(parse({ apiKeys: [{ name: 'a', sha256: hash('A') }] }).apiKeys).toEqual([
    { name: 'a', sha256: hash('a'), unitsPerMinute: 30_000, routes: ['aggregation', 'data', 'rpc'] },
  ]);
});

test.each<[string, object]>([
  ['upstream.dataApi.fuji.baseUrl', { upstream: { dataApi: { fuji: { baseUrl: 'x' } } } }],
  ['upstream.nodeRpc.baseUrl', { upstream: { nodeRpc: { baseUrl: 'https://user:word@a.test' } } }],
  ['unknown setting data in upstream', { upstream: { data: A } }],
  ['upstream.maxRpcBatch', { upstream: { maxRpcBatch: 0 } }],
  ['upstream.cacheBytes', { upstream: { cacheBytes: -1 } }],
  ['apiKeys[0].sha256', { apiKeys: [{ name: 'a', sha256: 'secret' }] }],
  [
    'apiKeys[1]',
    {
      apiKeys: [
        { name: 'a', sha256: hash('a') },
        { name: 'a', sha256: hash('b') },
      ],
    },
  ],
  [
    'apiKeys[1]',
    {
      apiKeys: [
        { name: 'a', sha256: hash('a') },
        { name: 'b', sha256: hash('A') },
      ],
    },
  ],
  ['apiKeys[0].routes', { apiKeys: [{ name: 'a', sha256: hash('a'), routes: ['all'] }] }],
  ['trustedProxies[0]', { trustedProxies: ['proxy.test'] }],
  ['trustedProxies[1]', { trustedProxies: ['10.0.0.0/8', '10.0.0.0/33'] }],
  ['trustedProxies[0]', { trustedProxies: ['10.0.0.0/8/8'] }],
  ['rateLimitPerMinute', { rateLimitPerMinute: -1 }],
])('%s is refused by its name', (name, settings) => {
  expect(() => parse(settings)).toThrow(ConfigError);
  expect(() => parse(settings)).toThrow(name);
});

test('blocks of both kinds of addresses are trusted', () => {
  const trustedProxies = ['10.0.0.0/8', '::1', 'fd00::/8', '192.168.0.1'];
  expect(parse({ trustedProxies }).trustedProxies).toEqual(trustedProxies);
});
