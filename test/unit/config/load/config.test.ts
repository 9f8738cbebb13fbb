import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { loadConfig, parseConfig } from '../../../../src/config/load/load-config.ts';
import { Problems } from '../../../../src/config/load/problems.ts';
import { readJson } from '../../../../src/config/load/read-json.ts';
import { parseHex, prefixedHex } from '../../../../src/lib/encoding/bytes.ts';
import { type BlockchainID, idBytes, nodeIDFromBytes, PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { PUBLIC_NETWORKS } from '../../../../src/warp/networks.ts';
import { BASE, configOf, FUJI, fileWith, MAINNET, problemsIn, problemsOf } from './config-fixture.ts';

const A = { baseUrl: 'https://a.test' };
const B = { baseUrl: 'https://b.test' };
const CHAIN = 'DZX9nN8C1qabAXiPWWLVx8WRR4eaCYdbbmF91FE7btyPnrgui';
const NODE_ID = nodeIDFromBytes(new Uint8Array(20).fill(1));
const hash = (digit: string) => digit.repeat(64);

describe('defaults', () => {
  test('a public network', () => {
    const config = configOf(BASE);
    expect(config).toMatchObject({
      server: {
        host: '127.0.0.1',
        port: 8080,
        corsOrigins: ['*'],
        trustedProxies: [],
        drainDelayMs: 0,
        shutdownTimeoutMs: 15_000,
        console: true,
        ownApi: true,
      },
      log: { level: 'info' },
      metrics: { host: '127.0.0.1', port: undefined },
      access: { unitsPerMinute: 3_000, apiKeys: [], operateWithoutKey: false },
      identity: undefined,
      bls: { backend: 'noble' },
      aggregation: { requestTimeoutMs: 10_000, signatureCacheSize: 200_000 },
      store: { path: undefined, shared: undefined },
      devnet: undefined,
      upstream: { endpoints: {}, passUnknown: true, timeoutMs: 10_000, cacheBytes: 33_554_432 },
    });
    expect(config.networks).toMatchObject([
      {
        name: 'fuji',
        aliases: ['testnet'],
        pChainApi: FUJI.pChainApi,
        infoApi: FUJI.pChainApi,
        dataApi: undefined,
        chainRpc: new Map(),
        feed: { chains: [], retentionHours: 168, maxMessages: 100_000 },
        goApi: {},
        trackedSubnetIDs: [],
        allowedSubnetIDs: undefined,
        manuallyTrackedPeers: [],
        allowPrivateAddresses: false,
        validatorRefreshMs: 60_000,
        readyQuorumNum: 67n,
      },
    ]);
    expect(config.bls.workers).toBeGreaterThan(0);
    expect(config.upstream.rpcMethods).toContain('avm.getUTXOs');
    expect(config.upstream.rpcMethods).toContain('platform.getValidatorsAt');
  });

  test('a private network, and mainnet beside it', () => {
    const own = configOf({ networks: { 'my-net': FUJI } });
    expect(own).toMatchObject({ access: { unitsPerMinute: undefined }, log: { level: 'info' } });
    expect(own.networks[0]).toMatchObject({
      name: 'my-net',
      aliases: [],
      allowPrivateAddresses: true,
    });
    const both = configOf({ networks: { 'my-net': FUJI, mainnet: MAINNET } });
    expect(both.access.unitsPerMinute).toBe(3_000);
    expect(both.networks.map(({ allowPrivateAddresses }) => allowPrivateAddresses)).toEqual([true, false]);
    expect(configOf(fileWith({ network: { allowPrivateAddresses: true } })).networks[0]).toMatchObject({
      allowPrivateAddresses: true,
    });
  });

  test('without a file, one devnet has the names of all networks', () => {
    const config = configOf(undefined);
    expect(config).toMatchObject({
      log: { level: 'warn' },
      access: { unitsPerMinute: undefined, operateWithoutKey: true },
    });
    expect(config.devnet).toEqual({ network: 'local', validators: 20, executionLagMs: 0, blockIntervalMs: 10_000 });
    expect(config.networks).toMatchObject([
      {
        name: 'local',
        aliases: ['mainnet', 'fuji', 'testnet'],
        pChainApi: [],
        infoApi: [],
        allowPrivateAddresses: true,
        feed: { chains: [{ blockchainId: 'C' }, { blockchainId: expect.any(String) }] },
      },
    ]);
    expect(config.upstream.endpoints).toEqual({});
    const beside = configOf({ networks: { trial: { embedded: {} }, fuji: FUJI } }, { validators: '7' });
    expect(beside.log.level).toBe('info');
    expect(beside.devnet).toMatchObject({ network: 'trial', validators: 7 });
    expect(beside.networks[0]).toMatchObject({ name: 'trial', aliases: [] });
  });

  test('the machine of the service operates without a key on a devnet without keys, and elsewhere where it is set', () => {
    const devnet = { networks: { local: { embedded: {} } } };
    const apiKeys = [{ name: 'a', sha256: 'a'.repeat(64) }];
    const isAllowed = (file: object) => configOf(file).access.operateWithoutKey;
    expect([isAllowed(devnet), isAllowed({ ...devnet, access: { apiKeys } })]).toEqual([true, false]);
    expect(isAllowed({ networks: { local: { embedded: {} }, fuji: FUJI } })).toBe(false);
    expect(isAllowed(fileWith({ access: { operateWithoutKey: true } }))).toBe(true);
    expect(problemsOf(fileWith({ access: { operateWithoutKey: true, apiKeys } }))).toEqual([
      'access: operateWithoutKey is for a service without apiKeys: give a key the right operate in its place',
    ]);
  });

  test('requests without a network go to the data API of mainnet, else of fuji', () => {
    const endpoints = (dataApi: object) => configOf(fileWith({ upstream: { dataApi } })).upstream.endpoints;
    expect(endpoints({ mainnet: A, fuji: B })).toEqual({ mainnet: A, fuji: B, evm: A });
    expect(endpoints({ fuji: B })).toEqual({ fuji: B, evm: B });
    expect(endpoints({ fuji: B, evm: A })).toEqual({ fuji: B, evm: A });
    const upstream = { metrics: A, nodeRpc: B };
    expect(configOf(fileWith({ upstream })).upstream.endpoints).toEqual({ metrics: A, node: B });
  });
});

describe('settings of a file', () => {
  test('identity.directory has both files under the names of avalanchego', () => {
    expect(configOf(fileWith({ identity: { directory: '/var/id' } })).identity).toEqual({
      directory: '/var/id',
      certificatePath: '/var/id/staker.crt',
      privateKeyPath: '/var/id/staker.key',
    });
  });

  test('metrics listen on the host of the server by default', () => {
    const server = { host: '10.0.0.1' };
    expect(configOf(fileWith({ server, metrics: { port: 9_090 } })).metrics).toEqual({ host: '10.0.0.1', port: 9_090 });
    expect(configOf(fileWith({ server, metrics: { port: 9_090, host: '::1' } })).metrics.host).toBe('::1');
  });

  test('IDs, addresses and the identity are parsed', () => {
    const config = configOf(
      fileWith({
        network: {
          trackedSubnetIds: [PRIMARY_NETWORK_ID, `0x${'00'.repeat(32)}`],
          manuallyTrackedPeers: [
            { nodeId: NODE_ID, address: '10.0.0.1:9651' },
            { nodeId: NODE_ID, address: '[2001:db8::1]:65535' },
            { nodeId: NODE_ID, address: 'node.example:1' },
          ],
          allowedSubnetIds: [`0x${'00'.repeat(32)}`],
          readyQuorumPercentage: 80,
          defaultDestination: 'teleporter',
          goApi: { apiPort: 8081, metricsPort: 0 },
        },
        identity: { certificatePath: 'a.crt', privateKeyPath: 'a.key' },
        access: { apiKeys: [{ name: 'a', sha256: hash('A') }] },
      }),
    );
    const [network] = config.networks;
    expect(network?.trackedSubnetIDs).toEqual([PRIMARY_NETWORK_ID, PRIMARY_NETWORK_ID]);
    expect(network?.allowedSubnetIDs).toEqual([PRIMARY_NETWORK_ID]);
    expect(network?.goApi).toEqual({ apiPort: 8081, metricsPort: 0, pChainMessages: 'proposed' });
    expect(configOf(fileWith({ network: { allowedSubnetIds: [] } })).networks[0]?.allowedSubnetIDs).toEqual([]);
    expect(network?.manuallyTrackedPeers).toEqual([
      { nodeID: NODE_ID, host: '10.0.0.1', port: 9651 },
      { nodeID: NODE_ID, host: '2001:db8::1', port: 65_535 },
      { nodeID: NODE_ID, host: 'node.example', port: 1 },
    ]);
    expect(network).toMatchObject({ readyQuorumNum: 80n, defaultDestination: 'teleporter' });
    expect(config.identity).toEqual({ directory: undefined, certificatePath: 'a.crt', privateKeyPath: 'a.key' });
    expect(config.access.apiKeys).toEqual([
      {
        name: 'a',
        sha256: parseHex(hash('a'), 'hash'),
        unitsPerMinute: 30_000,
        routes: ['aggregation', 'data', 'rpc'],
      },
    ]);
  });

  test('the shared store may be a single server, a cluster or behind sentinels', () => {
    const sharedOf = (store: object) => configOf(fileWith({ store })).store.shared;
    const one = { sharedUrl: 'redis://me:word@a.test:7000/1' };
    const given = { ...one, sharedNodes: ['b.test:7001', '[::1]:7002'] };
    const address = { host: 'a.test', port: 7000, isTls: false, username: 'me', password: 'word', database: 1 };
    const nodes = [
      { host: 'a.test', port: 7000 },
      { host: 'b.test', port: 7001 },
      { host: '::1', port: 7002 },
    ];
    const secret = 'sixteen letters!';
    expect(sharedOf({ ...one, sharedSecret: secret })).toEqual({
      servers: { ...address, kind: 'single' },
      keyPrefix: 'warp-signature-aggregator:',
      secret,
    });
    expect(sharedOf({ ...one, sharedKeyPrefix: 'mine:' })?.keyPrefix).toBe('mine:');
    expect(configOf(fileWith({ store: { path: '/var/lib/a', sharedKeyPrefix: 'mine:' } })).store).toEqual({
      path: '/var/lib/a',
      recordValidators: true,
      shared: undefined,
    });
    expect(sharedOf(given)?.servers).toEqual({ ...address, kind: 'cluster', nodes });
    const watched = { ...given, sharedMaster: 'ours', sharedSentinelPassword: 'other' };
    expect(sharedOf(watched)?.servers).toEqual({
      ...address,
      kind: 'sentinel',
      sentinels: nodes,
      master: 'ours',
      sentinelPassword: 'other',
    });
  });

  test('${NAME} in a text is replaced by the environment variable, once', () => {
    const environment = { KEY: 'secret', HOST: 'p.example', TRICK: '${KEY}' };
    const endpoint = {
      baseUrl: 'https://${HOST}/${KEY}/x',
      httpHeaders: { 'x-key': 'Bearer ${KEY}' },
      queryParameters: { token: '${TRICK}' },
    };
    expect(configOf(fileWith({ network: { pChainApi: [endpoint] } }), {}, environment).networks[0]?.pChainApi).toEqual([
      {
        baseUrl: 'https://p.example/secret/x',
        httpHeaders: { 'x-key': 'Bearer secret' },
        queryParameters: { token: '${KEY}' },
      },
    ]);
    expect(problemsOf(fileWith({ server: { host: '${NOT_SET}' }, store: { path: '${NOR_THIS}' } }))).toEqual([
      'server.host: the environment variable NOT_SET, which the text names, is not set',
      'store.path: the environment variable NOR_THIS, which the text names, is not set',
    ]);
    expect(configOf(fileWith({ store: { path: '$HOST ${} $' } })).store.path).toBe('$HOST ${} $');
  });
});

test('the RPC of a chain is one endpoint or a list', () => {
  const chainRpc = { C: A, [CHAIN]: [A, { baseUrl: 'https://b.test/rpc' }] };
  const [network] = configOf(fileWith({ network: { chainRpc } })).networks;
  expect(network?.chainRpc).toEqual(new Map(Object.entries(chainRpc).map(([chain, given]) => [chain, [given].flat()])));
  const variable = { SIGNATURE_AGGREGATOR_NETWORKS__FUJI__CHAIN_RPC: JSON.stringify({ C: [A, A] }) };
  expect(configOf(fileWith(), {}, variable).networks[0]?.chainRpc).toEqual(new Map([['C', [A, A]]]));
});

test('a chain with two names in chainRpc is refused, and both are named', () => {
  for (const { cChainID } of PUBLIC_NETWORKS) {
    expect(problemsOf(fileWith({ network: { chainRpc: { C: A, [cChainID]: A } } }))).toEqual([
      `networks.fuji.chainRpc.${cChainID}: must be another blockchain: C is the same one`,
    ]);
  }
  const hex = prefixedHex(idBytes(CHAIN as BlockchainID));
  expect(problemsOf(fileWith({ network: { chainRpc: { [hex]: A, [CHAIN]: A } } }))).toEqual([
    `networks.fuji.chainRpc.${CHAIN}: must be another blockchain: ${hex} is the same one`,
  ]);
});

describe('problems', () => {
  const network = (settings: object) => fileWith({ network: settings });
  const keys = (...apiKeys: unknown[]) => fileWith({ access: { apiKeys } });

  test.each<[path: string, file: unknown]>([
    ['the configuration must be a JSON object', []],
    ['the configuration must be a JSON object', null],
    ['networks', { networks: {} }],
    ['__proto__', { ...BASE, ...JSON.parse('{"__proto__":{"port":1}}') }],
    ['networks.Fuji', { networks: { Fuji: FUJI } }],
    ['networks.a--b', { networks: { 'a--b': FUJI } }],
    [`networks.a${'b'.repeat(32)}`, { networks: { [`a${'b'.repeat(32)}`]: FUJI } }],
    ['networks.testnet', { networks: { testnet: FUJI } }],
    ['networks.fuji', { networks: { fuji: {} } }],
    ['networks.own', { networks: { own: { ...FUJI, embedded: {} } } }],
    ['networks.fuji.embedded', { networks: { fuji: { embedded: {} } } }],
    ['networks.b.embedded', { networks: { a: { embedded: {} }, b: { embedded: {} } } }],
    ['networks.own.aliases[0]', { networks: { fuji: FUJI, own: { ...MAINNET, aliases: ['testnet'] } } }],
    ['networks.own.aliases[1]', { networks: { own: { ...FUJI, aliases: ['x', 'own'] } } }],
    ['networks.fuji.infoApi[0].headers', network({ infoApi: [{ ...A, headers: {} }] })],
    [
      'networks.fuji.pChainApi[0].httpHeaders.a b',
      network({ pChainApi: [{ ...A, httpHeaders: { 'a b': 'secret' } }] }),
    ],
    ...['Connection', 'expect', 'transfer-encoding'].map((name): [string, unknown] => [
      `networks.fuji.pChainApi[0].httpHeaders.${name}`,
      network({ pChainApi: [{ ...A, httpHeaders: { [name]: 'close' } }] }),
    ]),
    [
      'upstream.metrics.httpHeaders.x-key',
      fileWith({ upstream: { metrics: { ...A, httpHeaders: { 'X-Key': 'a', 'x-key': 'b' } } } }),
    ],
    ['networks.fuji.chainRpc.C[1].baseUrl', network({ chainRpc: { C: [A, { baseUrl: 'secret' }] } })],
    ['networks.fuji.chainRpc.C[0].key', network({ chainRpc: { C: [{ ...A, key: 'secret' }] } })],
    ['networks.fuji.chainRpc.C.key', network({ chainRpc: { C: { ...A, key: 'secret' } } })],
    ['networks.fuji.chainRpc.C', network({ chainRpc: { C: [] } })],
    ['networks.fuji.chainRpc.C', network({ chainRpc: { C: 'secret' } })],
    ['networks.fuji.trackedSubnetIds[1]', network({ trackedSubnetIds: [PRIMARY_NETWORK_ID, 'x'] })],
    [
      'networks.fuji.manuallyTrackedPeers[0].nodeId',
      network({ manuallyTrackedPeers: [{ nodeId: 'x', address: 'a:1' }] }),
    ],
    ['identity', fileWith({ identity: { directory: 'd', privateKeyPath: 'a' } })],
    ['identity', fileWith({ identity: { privateKeyPath: 'a' } })],
    ['store.sharedNodes[0]', fileWith({ store: { sharedUrl: 'redis://a.test', sharedNodes: ['redis.test'] } })],
    ['store', fileWith({ store: { sharedUrl: 'redis://a.test', sharedSentinelPassword: 'secret' } })],
    ['access.apiKeys[1]', keys({ name: 'a', sha256: hash('a') }, { name: 'a', sha256: hash('b') })],
    ['access.apiKeys[1]', keys({ name: 'a', sha256: hash('a') }, { name: 'b', sha256: hash('A') })],
    ['access.apiKeys[0].routes[0]', keys({ name: 'a', sha256: hash('a'), routes: ['all'] })],
    ['server.trustedProxies[0]', fileWith({ server: { trustedProxies: ['proxy.test'] } })],
    ['server.trustedProxies[1]', fileWith({ server: { trustedProxies: ['10.0.0.0/8', '10.0.0.0/33'] } })],
    ['server.trustedProxies[0]', fileWith({ server: { trustedProxies: ['10.0.0.0/8/8'] } })],
  ])('%s is named, without secrets: %j', (path, file) => {
    const problems = problemsOf(file);
    expect(problems.map((problem) => problem.split(': ')[0])).toEqual([path]);
    expect(problems.join()).not.toContain('secret');
  });

  test('settings of Redis without its address are named, without secrets', () => {
    const store = { sharedNodes: ['a:1'], sharedMaster: 'mine', sharedSecret: 'sixteen letters!' };
    expect(problemsOf(fileWith({ store }))).toEqual([
      expect.stringMatching(/^store\.sharedNodes: must have sharedUrl beside it: .*nothing is shared$/),
      expect.stringMatching(/^store\.sharedMaster: must have sharedUrl beside it: .*, is "mine"$/),
      expect.stringMatching(/^store\.sharedSecret: must have sharedUrl beside it: .*nothing is shared$/),
    ]);
    expect(problemsOf(fileWith({ store: { ...store, sharedUrl: 'redis://a.test' } }))).toEqual([]);
    expect(problemsOf(fileWith({ store: { sharedNodes: [] } }))).toEqual([]);
  });

  test('a host of the metrics without their port is named', () => {
    expect(problemsOf(fileWith({ metrics: { host: '::1' } }))).toEqual([
      expect.stringMatching(/^metrics\.host: must have metrics\.port beside it/),
    ]);
    expect(problemsOf(fileWith({ server: { host: '::1' }, metrics: { host: '::1' } }))).toEqual([]);
  });

  test.each([
    ['http://localhost', 'localhost'],
    ['localhost:8080', 'localhost'],
    ['https://me.example:1/x', 'me.example'],
    ['[::1]:80', '::1'],
    ['[::1]', '::1'],
    ['*', undefined],
    ['10.0.0.0/8', '10.0.0.0'],
    ['8080', undefined],
    ['a b', undefined],
  ])('a listener cannot have the address %s', (host, meant) => {
    for (const file of [{ server: { host } }, { metrics: { host, port: 1 } }]) {
      const [problem = '', ...others] = problemsOf(fileWith(file));
      expect(others).toEqual([]);
      expect(problem).toMatch(
        /^(server|metrics)\.host: must be an IP address or a host name, without a scheme and a port/,
      );
      expect(/perhaps (\S+) is meant/.exec(problem)?.[1]).toBe(meant);
    }
  });

  test.each(['0.0.0.0', '::', '::1', 'fe80::1%eth0', 'localhost', 'my_host', 'a-1.example.', '3com.example'])(
    'a listener may have the address %s',
    (host) => expect(problemsOf(fileWith({ server: { host } }))).toEqual([]),
  );

  test('the hash of an empty text is no hash of a key', () => {
    const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
    for (const empty of [sha256(''), sha256('\n'), sha256('').toUpperCase()]) {
      expect(problemsOf(keys({ name: 'a', sha256: empty }))).toEqual([
        'access.apiKeys[0].sha256: must be the hash of a key, is that of an empty text: was the variable with the key set?',
      ]);
    }
  });

  test('a limit of a key that has no effect is a warning', () => {
    const key = { name: 'a', sha256: hash('a') };
    const warningsOf = (access: object) => parseConfig(fileWith({ access }), {}, {}).warnings;
    const limited = [key, { name: 'b', sha256: hash('b'), unitsPerMinute: 5 }];
    expect(warningsOf({ unitsPerMinute: 0, apiKeys: limited })).toEqual([
      'access.apiKeys[1].unitsPerMinute: has no effect, because access.unitsPerMinute is 0, which disables all limits',
    ]);
    expect(warningsOf({ apiKeys: limited })).toEqual([]);
    expect(warningsOf({ unitsPerMinute: 0, apiKeys: [key] })).toEqual([]);
  });

  test('what a restart loses of a feed without store.path is a warning', () => {
    const warningsOf = (more: object) =>
      parseConfig({ networks: { fuji: { ...FUJI, feed: { chains: [{ blockchainId: 'C' }] } } }, ...more }, {}, {})
        .warnings;
    expect(warningsOf({})).toEqual([
      expect.stringMatching(/^store\.path: is not set, so a restart loses the stored messages of fuji/),
    ]);
    expect(warningsOf({ store: { path: '/var/lib/aggregator' } })).toEqual([]);
    expect(parseConfig({ networks: { fuji: FUJI } }, {}, {}).warnings).toEqual([]);
    const devnet = { embedded: { validators: 5 }, feed: { chains: [{ blockchainId: 'C' }] } };
    expect(parseConfig({ networks: { local: devnet } }, {}, {}).warnings).toEqual([]);
  });

  test('a proxy that is every address is a warning', () => {
    const warningsOf = (trustedProxies: readonly string[]) =>
      parseConfig(fileWith({ server: { trustedProxies } }), {}, {}).warnings;
    for (const block of ['0.0.0.0/0', '::/0']) {
      expect(warningsOf(['10.0.0.0/8', block])).toEqual([
        `server.trustedProxies[1]: ${block} is every address: each client then chooses its own by X-Forwarded-For, and with it its limits; name the proxies alone`,
      ]);
    }
    expect(warningsOf(['10.0.0.0/8', '::1'])).toEqual([]);
  });

  test('two names for one network are named, however its API is written', () => {
    const twin = (endpoint: object) => problemsOf({ networks: { fuji: FUJI, own: { pChainApi: [A, endpoint] } } });
    for (const baseUrl of ['https://api.example', 'https://API.example:443/']) {
      expect(twin({ baseUrl })).toEqual([
        'networks.own.pChainApi[1]: must be another API than that of fuji: further names of one network are its aliases',
      ]);
    }
    expect(twin({ baseUrl: 'https://api.example/own' })).toEqual([]);
    expect(twin({ baseUrl: 'https://api.example', queryParameters: { network: 'own' } })).toEqual([]);
    expect(problemsOf({ networks: { fuji: { pChainApi: [A, A] } } })).toEqual([]);
  });

  test('a duration in another unit is explained', () => {
    const ofTimeout = (requestTimeoutMs: unknown) => fileWith({ aggregation: { requestTimeoutMs } });
    const warningsOf = (milliseconds: number) => parseConfig(ofTimeout(milliseconds), {}, {}).warnings;
    expect(warningsOf(10)).toEqual(['aggregation.requestTimeoutMs: is 10 milliseconds; write 10000 for 10 seconds']);
    expect(warningsOf(100)).toEqual([]);
    expect(parseConfig(fileWith({ server: { drainDelayMs: 0 } }), {}, {}).warnings).toEqual([]);
    for (const [text, meant] of Object.entries({ '10s': 10_000, '2 min': 120_000, '1h': 3_600_000, '500ms': 500 })) {
      expect(problemsOf(ofTimeout(text))).toEqual([expect.stringContaining(`is "${text}"; perhaps ${meant} is meant`)]);
    }
  });

  test('a base URL beyond /ext is refused with the one to write', () => {
    for (const [baseUrl, meant] of [
      ['https://api.test/ext/bc/P', 'https://api.test'],
      ['https://api.test/ext/', 'https://api.test'],
      ['https://api.test/key/ext/info?a=b', 'https://api.test/***'],
    ]) {
      expect(problemsOf(network({ pChainApi: [{ baseUrl }] }))).toEqual([
        expect.stringMatching(`write ${RegExp.escape(`${meant}`)}$`),
      ]);
    }
    expect(problemsOf(network({ pChainApi: [{ baseUrl: 'https://api.test/extra' }] }))).toEqual([]);
  });

  test('the allowed values, the wrong value and the nearest name are in the message', () => {
    const file = {
      ...fileWith({ server: { prot: 1, port: '80' }, log: { colour: true, level: 'loud' } }),
      upstreams: {},
    };
    expect(problemsOf(file)).toEqual([
      'upstreams: there is no such setting; did you mean upstream?',
      'server.prot: there is no such setting; did you mean port?',
      'server.port: must be a whole number from 0 to 65535, is "80"',
      'log.colour: there is no such setting; known are: level',
      expect.stringMatching(/^log\.level: must be one of fatal, .*, is "loud"$/),
    ]);
    expect(problemsOf(fileWith({ upstream: { metrics: {} } }))).toEqual([
      'upstream.metrics.baseUrl: must be given: a URL of http or https, such as "https://api.avax.network"',
    ]);
  });

  test('a file of the Go aggregator is answered with the commands to run or convert it', () => {
    const file = { 'Log-Level': 'info', 'p-chain-api': { 'base-url': 'https://secret.test' } };
    expect(problemsOf(file)).toEqual([
      expect.stringContaining('signature-aggregator --config-file'),
      expect.stringContaining('warp-signature-aggregator convert'),
    ]);
  });

  test('a peer address must be a host and a port', () => {
    for (const address of ['node.example', ':1', 'a:0', 'a:65536', '2001:db8::1:9651', '[::1]', 'a b:1', 'a:1:2', '']) {
      expect(problemsOf(network({ manuallyTrackedPeers: [{ nodeId: NODE_ID, address }] }))).toEqual([
        expect.stringContaining('networks.fuji.manuallyTrackedPeers[0].address: must be host:port'),
      ]);
    }
  });

  test('all problems are reported at once, one for each path, without values of variables', () => {
    const file = {
      networks: { fuji: { pChainApi: [{ baseUrl: 'x' }], readyQuorumPercentage: 101 }, own: { aliases: ['a b'] } },
      server: { port: -1, corsOrigins: ['${KEY}', '*'] },
      log: { level: '${KEY}' },
      aggregation: { requestTimeoutMs: 0.5, signatureCacheSize: 0 },
      other: 1,
    };
    const lines = problemsOf(file, {}, { KEY: 'secret', SIGNATURE_AGGREGATOR_BLS__WORKERS: '0' });
    expect(lines.map((line) => line.replace(/( \(.*?\))?: .*/, ''))).toEqual([
      'other',
      'networks.fuji.pChainApi[0].baseUrl',
      'networks.fuji.readyQuorumPercentage',
      'networks.own.aliases[0]',
      'networks.own',
      'server.port',
      'server.corsOrigins[0]',
      'server.corsOrigins[1]',
      'log.level',
      'bls.workers',
      'aggregation.requestTimeoutMs',
      'aggregation.signatureCacheSize',
    ]);
    expect(lines.join()).not.toContain('secret');
  });
});

test('of two problems at one path the first is reported, from which the other follows', () => {
  const problems = new Problems({ sourceOf: () => undefined, isHidden: () => false });
  problems.add(['server', 'port'], 'is the first');
  problems.add(['server', 'port'], 'is the second');
  problems.addLine('a line');
  expect([problems.lines, problems.count]).toEqual([['server.port: is the first', 'a line'], 2]);
  const unset = problemsOf(fileWith({ network: { pChainApi: [{ baseUrl: '${UNSET}' }] } }));
  expect(unset).toEqual([expect.stringContaining('the environment variable UNSET, which the text names, is not set')]);
});

describe('files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'config-test-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('are named by an option or a variable; missing and invalid ones are reported', () => {
    const config = join(folder, 'config.json');
    const variable = { SIGNATURE_AGGREGATOR_CONFIG: config };
    expect(problemsIn(() => loadConfig({ config }, {}))).toEqual([
      expect.stringMatching(/^cannot read the configuration file .*config\.json: there is no such file$/),
    ]);
    expect(problemsIn(() => loadConfig({ config: folder }, {}))).toEqual([
      `cannot read the configuration file ${folder}: it is a folder`,
    ]);
    writeFileSync(config, '{"network": "secret", }');
    const [problem = ''] = problemsIn(() => loadConfig({}, variable));
    expect(problem).toMatch(/^the configuration file .*config\.json is not JSON \(line 1 column 23\)$/);
    writeFileSync(config, JSON.stringify(BASE));
    expect(loadConfig({ config, port: '9' }, {}).config).toMatchObject({ server: { port: 9 } });
    expect(loadConfig({}, variable).config.networks[0]?.name).toBe('fuji');
    expect(loadConfig({}, { SIGNATURE_AGGREGATOR_CONFIG: '' }).config.networks[0]?.name).toBe('local');
  });

  const written = (content: string | Uint8Array): string => {
    const config = join(folder, 'written.json');
    writeFileSync(config, content);
    return config;
  };
  const problemsOfFile = (content: string | Uint8Array): readonly string[] =>
    problemsIn(() => loadConfig({ config: written(content) }, {}));

  test('are read with a byte order mark, Windows line ends, and equal keys in different objects', () => {
    for (const content of [
      `\ufeff${JSON.stringify(BASE)}`,
      JSON.stringify(BASE, undefined, 2).replaceAll('\n', '\r\n'),
      JSON.stringify({ ...BASE, server: { host: 'a' }, log: {}, metrics: { host: 'b', port: 1 } }),
    ]) {
      expect(problemsOfFile(content)).toEqual([]);
    }
  });

  test('with a syntax error are reported with its position, and without their content', () => {
    for (const [content, place] of [
      ['// a comment\n{"networks": "secret"}', '(line 1 column 1)'],
      ['{\r\n  "networks": "secret", // a comment\r\n}', '(line 2 column 25)'],
      ['{"networks": [\n"secret",\n]}', '(line 3 column 1)'],
      ['{"store": {"path": "C:\\data"}}', '(line 1 column 20)'],
      ['{"server": {"port": 08080}}', '(line 1 column 22)'],
      ['{"networks": "secret"', '(line 1 column 22)'],
      ['{"networks": "secret\n"}', '(line 1 column 14)'],
      ['{} {"networks": "secret"}', '(line 1 column 4)'],
    ] as const) {
      const [problem = '', ...others] = problemsOfFile(content);
      expect(others).toEqual([]);
      expect(problem).toMatch(/^the configuration file .* is not JSON /);
      expect(problem).toContain(place);
      expect(problem).not.toContain('secret');
    }
  });

  test('with a key twice in one object are rejected', () => {
    const content =
      '{\n  "access": {"apiKeys": []},\n  "networks": {},\n  "access": {"b": [{"c": 1, "c": "secret"}]}\n}';
    const config = join(folder, 'written.json');
    expect(problemsOfFile(content)).toEqual([
      `the configuration file ${config} has "access" twice in one object (line 4 column 3)`,
      `the configuration file ${config} has "c" twice in one object (line 4 column 29)`,
    ]);
  });

  test('with a key twice are rejected, however it is written', () => {
    const config = join(folder, 'written.json');
    const content = '{"networks": {},\n "server": {"port": 1, "\\u0070ort": 2}}';
    expect(problemsOfFile(content)).toEqual([
      `the configuration file ${config} has "port" twice in one object (line 2 column 24)`,
    ]);
  });

  test('that are nested too deeply, or have too many values, are rejected', () => {
    const config = join(folder, 'written.json');
    for (const [open, close, column] of [
      ['[', ']', 65],
      ['{"a":', '}', 321],
    ] as const) {
      expect(problemsOfFile(`${open.repeat(200_000)}1${close.repeat(200_000)}`)).toEqual([
        `the configuration file ${config} has more than 64 levels of lists and objects (line 1 column ${column})`,
      ]);
    }
    const unknown = Object.fromEntries(Array.from({ length: 600_000 }, (_, index) => [`k${index}`, 1]));
    expect(problemsOfFile(JSON.stringify(unknown))).toEqual([
      `the configuration file ${config} has more than 200000 values`,
    ]);
  });

  test('with many mistakes are rejected with the first hundred', () => {
    const unknown = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`k${index}`, 1]));
    const problems = problemsOfFile(JSON.stringify({ ...BASE, ...unknown }));
    expect(problems).toHaveLength(101);
    expect(problems[99]).toMatch(/^k99: there is no such setting; /);
    expect(problems[100]).toBe('and 900 more');
    const wrong = problemsOf(fileWith({ network: { trackedSubnetIds: Array(1_000).fill('x') } }));
    expect(wrong[0]).toMatch(/^networks\.fuji\.trackedSubnetIds\[0\]: /);
    const twice = problemsOfFile(`{${Array(1_000).fill('"a":1').join()}}`);
    expect([twice.length, twice[100]]).toEqual([101, 'and 899 more']);
  });

  test('that are empty or not UTF-8 are rejected', () => {
    const config = join(folder, 'written.json');
    expect(problemsOfFile(' \n')).toEqual([`the configuration file ${config} is empty`]);
    expect(problemsOfFile(Buffer.from(`\ufeff${JSON.stringify(BASE)}`, 'utf16le'))).toEqual([
      `the configuration file ${config} is not UTF-8`,
    ]);
  });

  test('all JSON values are read unchanged', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(4), (text, indent) => {
        const value: unknown = JSON.parse(text);
        expect(readJson(written(JSON.stringify(value, undefined, indent)))).toEqual(value);
      }),
    );
  });
});
