import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../../../src/config/load/load-config.ts';
import { readJson } from '../../../../src/config/load/read-json.ts';
import { nodeIDFromBytes, PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { BASE, configOf, FUJI, fileWith, problemsIn, problemsOf } from './config-fixture.ts';

const A = { baseUrl: 'https://a.test' };
const B = { baseUrl: 'https://b.test' };
const NODE_ID = nodeIDFromBytes(new Uint8Array(20).fill(1));
const hash = (digit: string) => digit.repeat(64);

describe('defaults', () => {
  test('of a public network', () => {
    const config = configOf(BASE);
    expect(config).toMatchObject({
      server: {
        ...{ host: '127.0.0.1', port: 8080, corsOrigins: ['*'], trustedProxies: [] },
        ...{ maxConnections: 4_096, drainDelayMs: 0, shutdownTimeoutMs: 15_000, console: true, ownApi: true },
      },
      log: { level: 'info' },
      metrics: { host: '127.0.0.1', port: undefined },
      access: { unitsPerMinute: 3_000, apiKeys: [] },
      identity: undefined,
      bls: { backend: 'noble', auditPercentage: 1 },
      aggregation: { requestTimeoutMs: 10_000, peerTimeoutMs: 3_000, hedgeAfterMs: 500, maxQueriesInFlight: 8_192 },
      store: { path: undefined, shared: undefined },
      upstream: { endpoints: {}, passUnknown: true, maxRpcBatch: 20, timeoutMs: 10_000, cacheBytes: 33_554_432 },
    });
    expect(config.networks).toEqual([
      {
        name: 'fuji',
        aliases: ['testnet'],
        embedded: undefined,
        pChainApi: FUJI.pChainApi,
        infoApi: FUJI.pChainApi,
        dataApi: undefined,
        apiTimeoutMs: 5_000,
        trackedSubnetIDs: [],
        allowedSubnetIDs: undefined,
        manuallyTrackedPeers: [],
        allowPrivateAddresses: false,
        dialsPerSecond: 100,
        validatorRefreshMs: 60_000,
        readyQuorumNum: 67n,
        goApi: {},
        l1Index: { lookback: 10_000n, blocksPerSecond: 50 },
      },
    ]);
    expect(config.bls.workers).toBeGreaterThan(0);
    expect(config.upstream.rpcMethods).toContain('avm.getUTXOs');
    expect(config.upstream.rpcMethods).toContain('platform.getValidatorsAt');
  });

  test("of a network of one's own, and of mainnet beside it", () => {
    const own = configOf({ networks: { 'my-net': FUJI } });
    expect(own).toMatchObject({ access: { unitsPerMinute: 0 }, log: { level: 'info' } });
    expect(own.networks[0]).toMatchObject({
      name: 'my-net',
      aliases: [],
      allowPrivateAddresses: true,
      dialsPerSecond: 1_000,
      l1Index: { blocksPerSecond: 1_000 },
    });
    const both = configOf({ networks: { 'my-net': FUJI, mainnet: FUJI } });
    expect(both.access.unitsPerMinute).toBe(3_000);
    expect(both.networks.map(({ allowPrivateAddresses }) => allowPrivateAddresses)).toEqual([true, false]);
    expect(configOf(fileWith({ network: { allowPrivateAddresses: true } })).networks[0]).toMatchObject({
      allowPrivateAddresses: true,
    });
  });

  test('caches of one size follow it', () => {
    const sizesOf = (signatureCacheSize: number) =>
      configOf(fileWith({ aggregation: { signatureCacheSize } })).aggregation;
    expect(sizesOf(200_000)).toMatchObject({ signatureCachePerSigner: 10_000, resultCacheBytes: 16_000_000 });
    expect(sizesOf(1)).toMatchObject({ signatureCachePerSigner: 1, resultCacheBytes: 1_048_576 });
  });

  test.each([
    ['https://api.avax.network', 50],
    ['https://10.example', 50],
    ['http://172.32.0.1:9650', 50],
    ['http://[2001:db8::1]:9650', 50],
    ['http://localhost:9650', 1_000],
    ['http://avalanchego:9650/base', 1_000],
    ['http://10.0.0.1:9650', 1_000],
    ['http://172.31.0.1', 1_000],
    ['http://192.168.1.1', 1_000],
    ['http://[::1]:9650', 1_000],
    ['http://[fd00::1]:9650', 1_000],
  ])('blocks of a public network are read from %s at %i a second', (baseUrl, blocksPerSecond) => {
    const pChainApi = [{ baseUrl: 'http://127.0.0.1' }, { baseUrl }];
    expect(configOf(fileWith({ network: { pChainApi } })).networks[0]?.l1Index).toEqual({
      ...{ lookback: 10_000n, blocksPerSecond },
    });
  });

  test('without a file, one embedded network answers to all names', () => {
    const config = configOf(undefined);
    expect(config).toMatchObject({ log: { level: 'warn' }, access: { unitsPerMinute: 0 } });
    expect(config.networks).toMatchObject([
      {
        name: 'local',
        aliases: ['mainnet', 'fuji', 'testnet'],
        embedded: { validators: 20 },
        pChainApi: [],
        infoApi: [],
        allowPrivateAddresses: true,
        dialsPerSecond: 1_000,
      },
    ]);
    expect(config.upstream.endpoints).toEqual({});
    expect(configOf(undefined, { validators: '30' }).networks[0]).toMatchObject({ embedded: { validators: 30 } });
  });

  test('an embedded network beside another', () => {
    const config = configOf({ networks: { trial: { embedded: {} }, fuji: FUJI } }, { validators: '7' });
    expect(config.log.level).toBe('info');
    expect(config.networks[0]).toMatchObject({ name: 'trial', aliases: [], embedded: { validators: 7 } });
  });

  test('what is of no network goes to the data API of mainnet, else of fuji', () => {
    const endpoints = (dataApi: object) => configOf(fileWith({ upstream: { dataApi } })).upstream.endpoints;
    expect(endpoints({ mainnet: A, fuji: B })).toEqual({ mainnet: A, fuji: B, evm: A });
    expect(endpoints({ fuji: B })).toEqual({ fuji: B, evm: B });
    expect(endpoints({ fuji: B, evm: A })).toEqual({ fuji: B, evm: A });
    const upstream = { metrics: A, nodeRpc: B };
    expect(configOf(fileWith({ upstream })).upstream.endpoints).toEqual({ metrics: A, node: B });
  });
});

describe('what a file says', () => {
  test('the folder of an identity has both files, under the names that nodes give theirs', () => {
    expect(configOf(fileWith({ identity: { directory: '/var/id' } })).identity).toEqual({
      directory: '/var/id',
      certificatePath: '/var/id/staker.crt',
      privateKeyPath: '/var/id/staker.key',
    });
  });

  test('metrics listen where the server does, unless said otherwise', () => {
    const server = { host: '10.0.0.1' };
    expect(configOf(fileWith({ server, metrics: { port: 9_090 } })).metrics).toEqual({ host: '10.0.0.1', port: 9_090 });
    expect(configOf(fileWith({ server, metrics: { host: '::1' } })).metrics.host).toBe('::1');
  });

  test('IDs, addresses, the identity and the store are parsed', () => {
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
          goApi: { apiPort: 8081, metricsPort: 0 },
        },
        identity: { certificatePath: 'a.crt', privateKeyPath: 'a.key' },
        store: { path: '/var/lib/a', sharedUrl: 'rediss://:word@redis.test/2', sharedKeyPrefix: 'mine:' },
        access: { apiKeys: [{ name: 'a', sha256: hash('A') }] },
      }),
    );
    const [network] = config.networks;
    expect(network?.trackedSubnetIDs).toEqual([PRIMARY_NETWORK_ID, PRIMARY_NETWORK_ID]);
    expect(network?.allowedSubnetIDs).toEqual([PRIMARY_NETWORK_ID]);
    expect(network?.goApi).toEqual({ apiPort: 8081, metricsPort: 0 });
    expect(configOf(fileWith({ network: { allowedSubnetIds: [] } })).networks[0]?.allowedSubnetIDs).toEqual([]);
    expect(network?.manuallyTrackedPeers).toEqual([
      { nodeID: NODE_ID, host: '10.0.0.1', port: 9651 },
      { nodeID: NODE_ID, host: '2001:db8::1', port: 65_535 },
      { nodeID: NODE_ID, host: 'node.example', port: 1 },
    ]);
    expect(network).toMatchObject({ readyQuorumNum: 80n });
    expect(config.identity).toEqual({ directory: undefined, certificatePath: 'a.crt', privateKeyPath: 'a.key' });
    expect(config.store).toEqual({
      path: '/var/lib/a',
      shared: {
        servers: {
          ...{ kind: 'single', host: 'redis.test', port: 6379, isTls: true },
          ...{ username: undefined, password: 'word', database: 2 },
        },
        keyPrefix: 'mine:',
        secret: undefined,
      },
    });
    expect(config.access.apiKeys).toEqual([
      { name: 'a', sha256: hash('a'), unitsPerMinute: 30_000, routes: ['aggregation', 'data', 'rpc'] },
    ]);
    expect(configOf(fileWith({ store: { sharedKeyPrefix: 'mine:' } })).store.shared).toBeUndefined();
  });

  test('the shared store may be a cluster, or be named by sentinels', () => {
    const sharedOf = (store: object) => configOf(fileWith({ store })).store.shared;
    const one = { sharedUrl: 'redis://me:word@a.test:7000/1' };
    const given = { ...one, sharedNodes: ['b.test:7001', '[::1]:7002'] };
    const address = {
      ...{ host: 'a.test', port: 7000, isTls: false, username: 'me', password: 'word', database: 1 },
    };
    const nodes = [
      { host: 'a.test', port: 7000 },
      { host: 'b.test', port: 7001 },
      { host: '::1', port: 7002 },
    ];
    const secret = 'sixteen letters!';
    const keyPrefix = 'warp-signature-aggregator:';
    expect(sharedOf({ ...one, sharedSecret: secret })).toEqual({
      ...{ servers: { ...address, kind: 'single' }, keyPrefix, secret },
    });
    expect(sharedOf(given)?.servers).toEqual({ ...address, kind: 'cluster', nodes });
    const watched = { ...given, sharedMaster: 'ours', sharedSentinelPassword: 'other' };
    expect(sharedOf(watched)?.servers).toEqual({
      ...address,
      ...{ kind: 'sentinel', sentinels: nodes, master: 'ours', sentinelPassword: 'other' },
    });
  });

  test('${NAME} in any text is the environment variable, once', () => {
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
    expect(configOf(fileWith({ server: { host: '$HOST ${} $' } })).server.host).toBe('$HOST ${} $');
  });

  test('what comes out is frozen, and what came in is left alone', () => {
    const file = fileWith({ network: { pChainApi: [{ ...A, httpHeaders: { a: 'b' } }] } });
    const visit = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      expect(Object.isFrozen(value)).toBe(true);
      for (const item of Object.values(value)) visit(item);
    };
    visit(configOf(file));
    expect(file).toEqual(fileWith({ network: { pChainApi: [{ ...A, httpHeaders: { a: 'b' } }] } }));
    expect(Object.isFrozen(file.networks.fuji.pChainApi)).toBe(false);
  });
});

describe('what is wrong is said in a sentence that names the setting', () => {
  const network = (settings: object) => fileWith({ network: settings });

  test.each<[string, unknown, string | RegExp]>([
    ['no object', [], 'the configuration must be a JSON object'],
    ['null', null, 'the configuration must be a JSON object'],
    ['nothing', {}, /^networks: must be given: an object of networks by their names, such as \{"fuji":/],
    ['no network', { networks: {} }, /^networks: must have at least one network, such as /],
    ['an unknown section', { ...BASE, upstreams: {} }, 'upstreams: there is no such setting; did you mean upstream?'],
    [
      'an unknown setting',
      fileWith({ server: { prot: 1 } }),
      'server.prot: there is no such setting; did you mean port?',
    ],
    [
      'a setting like no other',
      fileWith({ log: { colour: true } }),
      'log.colour: there is no such setting; known are: level',
    ],
    [
      'a prototype',
      JSON.parse('{"networks":{},"__proto__":{"port":1}}'),
      /^networks: must have|^__proto__: there is no/,
    ],
    ['a section that is none', fileWith({ server: 80 }), 'server: must be an object, is 80'],
    [
      'a name with a capital',
      { networks: { Fuji: FUJI } },
      /^networks\.Fuji: the name must be a name of at most 32 lower-case letters, digits and single hyphens/,
    ],
    ['two hyphens', { networks: { 'a--b': FUJI } }, /^networks\.a--b: the name must be/],
    ['a long name', { networks: { [`a${'b'.repeat(32)}`]: FUJI } }, /^networks\.ab+: the name must be/],
    ['the old name', { networks: { testnet: FUJI } }, /^networks\.testnet: is an old name of fuji: write fuji/],
    [
      'a network without an API',
      { networks: { fuji: {} } },
      'networks.fuji: must have pChainApi, such as [{"baseUrl":"https://api.avax.network"}], or embedded, such as {"validators":20}',
    ],
    [
      'a network with both',
      { networks: { own: { ...FUJI, embedded: {} } } },
      'networks.own: must have either pChainApi or embedded, not both',
    ],
    [
      'an embedded public network',
      { networks: { fuji: { embedded: {} } } },
      'networks.fuji.embedded: must be left out: fuji is a public network',
    ],
    [
      'two embedded ones',
      { networks: { a: { embedded: {} }, b: { embedded: {} } } },
      'networks.b.embedded: must be left out: only one network can be embedded, and a is',
    ],
    [
      'one name for two networks',
      { networks: { fuji: FUJI, own: { ...FUJI, aliases: ['testnet'] } } },
      'networks.own.aliases[0]: must be a new name: the network fuji has it, is "testnet"',
    ],
    [
      'one name twice',
      { networks: { own: { ...FUJI, aliases: ['x', 'own'] } } },
      'networks.own.aliases[1]: must be a new name: the network own has it, is "own"',
    ],
    ['an unknown level', fileWith({ log: { level: 'loud' } }), /^log\.level: must be one of fatal, .*, is "loud"$/],
    ['no API', network({ pChainApi: [] }), /^networks\.fuji\.pChainApi: must be 1 to 16 endpoints .*, such as \[\{/],
    [
      'an API that is no list',
      network({ pChainApi: { ...A, httpHeaders: { k: 'secret' } } }),
      /pChainApi: must be 1 to 16/,
    ],
    [
      'an unknown setting of an API',
      network({ infoApi: [{ ...A, headers: {} }] }),
      'networks.fuji.infoApi[0].headers: there is no such setting; known are: baseUrl, queryParameters, httpHeaders',
    ],
    [
      'an API without a URL',
      fileWith({ upstream: { metrics: {} } }),
      'upstream.metrics.baseUrl: must be given: a URL of http or https, such as "https://api.avax.network"',
    ],
    [
      'a URL that is none',
      network({ pChainApi: [{ baseUrl: 'secret://' }] }),
      /pChainApi\[0\]\.baseUrl: must be a URL of/,
    ],
    [
      'another scheme',
      network({ dataApi: { baseUrl: 'ftp://a.b' } }),
      /^networks\.fuji\.dataApi\.baseUrl: must be a URL of/,
    ],
    [
      'a password in a URL',
      fileWith({ upstream: { nodeRpc: { baseUrl: 'https://me:secret@a.b' } } }),
      'upstream.nodeRpc.baseUrl: must not hold a user or a password: use httpHeaders',
    ],
    [
      'a header name that is none',
      network({ pChainApi: [{ ...A, httpHeaders: { 'a b': 'secret' } }] }),
      /^networks\.fuji\.pChainApi\[0\]\.httpHeaders\.a b: Header name/,
    ],
    [
      'a header value that is none',
      network({ pChainApi: [{ ...A, httpHeaders: { a: 'secret\n' } }] }),
      /^networks\.fuji\.pChainApi\[0\]\.httpHeaders\.a: Invalid character/,
    ],
    [
      'a header of another type',
      network({ pChainApi: [{ ...A, httpHeaders: { a: ['secret'] } }] }),
      'networks.fuji.pChainApi[0].httpHeaders.a: must be a text',
    ],
    [
      'a port in quotes',
      fileWith({ server: { port: '80' } }),
      'server.port: must be a whole number from 0 to 65535, is "80"',
    ],
    ['null', fileWith({ server: { host: null } }), 'server.host: must be a text that is not empty, is null'],
    [
      'a subnet that is none',
      network({ trackedSubnetIds: [PRIMARY_NETWORK_ID, 'x'] }),
      /^networks\.fuji\.trackedSubnetIds\[1\]: must be a 32-byte ID.*, is "x"$/,
    ],
    [
      'a node that is none',
      network({ manuallyTrackedPeers: [{ nodeId: 'x', address: 'a:1' }] }),
      /^networks\.fuji\.manuallyTrackedPeers\[0\]\.nodeId: must start with NodeID-, is "x"$/,
    ],
    [
      'an identity in two places',
      fileWith({ identity: { directory: 'd', privateKeyPath: 'a' } }),
      'identity: must have either directory or the two paths, not both',
    ],
    [
      'half an identity',
      fileWith({ identity: { privateKeyPath: 'a' } }),
      'identity: certificatePath and privateKeyPath must be given together: they are one identity',
    ],
    [
      'a Redis that is none',
      fileWith({ store: { sharedUrl: 'https://:secret@redis.test' } }),
      /^store\.sharedUrl: must be such as redis:/,
    ],
    [
      'an address in place of a section',
      fileWith({ store: 'redis://:secret@redis.test' }),
      'store: must be an object, is a text',
    ],
    [
      'an address in place of a network',
      { networks: { fuji: 'https://a.b?token=secret' } },
      /^networks\.fuji: .*is a text$/,
    ],
    [
      'a node of a Redis without its port',
      fileWith({ store: { sharedNodes: ['redis.test'] } }),
      /^store\.sharedNodes\[0\]: must be a host and a port/,
    ],
    [
      'a password of sentinels where there are none',
      fileWith({ store: { sharedUrl: 'redis://a.test', sharedSentinelPassword: 'secret' } }),
      'store: must have sharedMaster beside sharedSentinelPassword: it makes the addresses those of sentinels',
    ],
    [
      'a key for its hash',
      fileWith({ access: { apiKeys: [{ name: 'a', sha256: 'secret' }] } }),
      /^access\.apiKeys\[0\]\.sha256: must be a SHA-256/,
    ],
    [
      'a key for its object',
      fileWith({ access: { apiKeys: ['secret'] } }),
      /^access\.apiKeys\[0\]: must be an object$/,
    ],
    [
      'a name of two keys',
      fileWith({ access: { apiKeys: ['a', 'b'].map((digit) => ({ name: 'a', sha256: hash(digit) })) } }),
      'access.apiKeys[1]: has the name of another key',
    ],
    [
      'a hash of two keys',
      fileWith({ access: { apiKeys: ['a', 'A'].map((digit) => ({ name: digit, sha256: hash(digit) })) } }),
      'access.apiKeys[1]: has the hash of another key',
    ],
    [
      'a group of routes that is none',
      fileWith({ access: { apiKeys: [{ name: 'a', sha256: hash('a'), routes: ['all'] }] } }),
      'access.apiKeys[0].routes[0]: must be one of aggregation, data, rpc, is "all"',
    ],
    [
      'a proxy by its name',
      fileWith({ server: { trustedProxies: ['proxy.test'] } }),
      /^server\.trustedProxies\[0\]: must be an IP/,
    ],
    [
      '33 bits',
      fileWith({ server: { trustedProxies: ['10.0.0.0/8', '10.0.0.0/33'] } }),
      /^server\.trustedProxies\[1\]/,
    ],
    ['two slashes', fileWith({ server: { trustedProxies: ['10.0.0.0/8/8'] } }), /^server\.trustedProxies\[0\]/],
  ])('%s', (_, json, expected) => {
    const [problem, ...more] = problemsOf(json);
    expect(more).toEqual(_ === 'a prototype' ? [expect.stringMatching(/^__proto__: there is no such setting/)] : []);
    if (typeof expected === 'string') expect(problem).toBe(expected);
    else expect(problem).toMatch(expected);
    expect(problem).not.toContain('secret');
  });

  test.each(['node.example', ':1', 'a:0', 'a:65536', '2001:db8::1:9651', '[::1]', 'a b:1', 'a:1:2', ''])(
    'an address that is none: %j',
    (address) => {
      expect(problemsOf(network({ manuallyTrackedPeers: [{ nodeId: NODE_ID, address }] }))).toEqual([
        `networks.fuji.manuallyTrackedPeers[0].address: must be host:port or [IPv6]:port, is ${JSON.stringify(address)}`,
      ]);
    },
  );

  test('all of it at once, each place once, and nothing of what a variable gave', () => {
    const file = {
      networks: { fuji: { pChainApi: [{ baseUrl: 'x' }], readyQuorumPercentage: 101 }, own: { aliases: ['a b'] } },
      server: { port: -1, corsOrigins: ['${KEY}', '*'] },
      log: { level: '${KEY}' },
      aggregation: { requestTimeoutMs: 0.5, signatureCacheSize: 0 },
      other: 1,
    };
    const lines = problemsOf(file, {}, { KEY: 'secret', SIGNATURE_AGGREGATOR_BLS__WORKERS: '0' });
    expect(lines.map((line) => line.replace(/( \(.*?\))?: .*/, ''))).toEqual([
      'networks.fuji.pChainApi[0].baseUrl',
      'networks.fuji.readyQuorumPercentage',
      'networks.own.aliases[0]',
      'networks.own',
      'server.port',
      'server.corsOrigins[0]',
      'server.corsOrigins[1]',
      'log.level',
      'aggregation.requestTimeoutMs',
      'aggregation.signatureCacheSize',
      'other',
      'bls.workers',
    ]);
    expect(lines.join()).not.toContain('secret');
  });

  test('a long text is cut', () => {
    const [problem = ''] = problemsOf(fileWith({ log: { level: 'x'.repeat(10_000) } }));
    expect(problem.length).toBeLessThan(300);
  });
});

describe('files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'config-test-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('that are missing, no JSON, or good; named by an option or a variable', () => {
    const config = join(folder, 'config.json');
    const variable = { SIGNATURE_AGGREGATOR_CONFIG: config };
    expect(problemsIn(() => loadConfig({ config }, {}))).toEqual([
      expect.stringMatching(/^cannot read the configuration file .*config\.json: ENOENT/),
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

  test.each([
    ['a mark before it', `\ufeff${JSON.stringify(BASE)}`],
    ['lines as Windows ends them', JSON.stringify(BASE, undefined, 2).replaceAll('\n', '\r\n')],
    [
      'keys that are equal in different objects',
      JSON.stringify({ ...BASE, server: { host: 'a' }, metrics: { host: 'b' } }),
    ],
  ])('are read with %s', (_, content) => {
    expect(problemsOfFile(content)).toEqual([]);
  });

  test.each([
    ['// a comment\n{"networks": "secret"}', '(line 1 column 1)'],
    ['{\r\n  "networks": "secret", // a comment\r\n}', '(line 2 column 25)'],
    ["{'networks': 'secret'}", '(line 1 column 2)'],
    ['{"networks": secret}', '(line 1 column 14)'],
    ['{"networks": [\n"secret",\n]}', '(line 3 column 1)'],
    ['{"networks":\n}', '(line 2 column 1)'],
    ['{"store": {"path": "C:\\data"}}', '(line 1 column 20)'],
    ['{"server": {"port": 08080}}', '(line 1 column 21)'],
    ['{"networks": "secret"', '(line 1 column 22)'],
    ['{"networks": "secret\n"}', '(line 1 column 14)'],
    ['{} {"networks": "secret"}', '(line 1 column 4)'],
  ])('that are no JSON are told where: %j', (content, place) => {
    expect(problemsOfFile(content)).toEqual([expect.stringMatching(/^the configuration file .* is not JSON /)]);
    expect(problemsOfFile(content).join()).toContain(place);
    expect(problemsOfFile(content).join()).not.toContain('secret');
  });

  test('in which a section stands twice are refused: the first would not count, and nobody would say so', () => {
    const content =
      '{\n  "access": {"apiKeys": []},\n  "networks": {},\n  "access": {"b": [{"c": 1, "c": "secret"}]}\n}';
    const config = join(folder, 'written.json');
    expect(problemsOfFile(content)).toEqual([
      `the configuration file ${config} has "access" twice in one object (line 4 column 3)`,
      `the configuration file ${config} has "c" twice in one object (line 4 column 29)`,
    ]);
  });

  test('that have no text, or one that is not UTF-8', () => {
    const config = join(folder, 'written.json');
    expect(problemsOfFile(' \n')).toEqual([`the configuration file ${config} is empty`]);
    expect(problemsOfFile(Buffer.from(`\ufeff${JSON.stringify(BASE)}`, 'utf16le'))).toEqual([
      `the configuration file ${config} is not UTF-8`,
    ]);
  });

  test('every JSON is read, as it is', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(4), (text, indent) => {
        const value: unknown = JSON.parse(text);
        expect(readJson(written(JSON.stringify(value, undefined, indent)))).toEqual(value);
      }),
    );
  });
});
