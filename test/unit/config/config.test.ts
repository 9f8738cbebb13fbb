import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ConfigError, embeddedConfig, loadConfig, type Overrides, parseConfig } from '../../../src/config/config.ts';
import { nodeIDFromBytes, PRIMARY_NETWORK_ID } from '../../../src/primitives/ids.ts';

const BASE = { network: 'fuji', pChainApi: [{ baseUrl: 'https://api.example' }] };
const NODE_ID = nodeIDFromBytes(new Uint8Array(20).fill(1));

function parse(more: object = {}, overrides: Overrides = {}, environment: Record<string, string> = {}) {
  return parseConfig({ ...BASE, ...more }, overrides, environment);
}

function problem(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('expected a ConfigError');
}

describe('where settings come from', () => {
  test('defaults', () => {
    expect(parse()).toMatchObject({
      network: 'fuji',
      infoApi: BASE.pChainApi,
      host: '127.0.0.1',
      port: 8080,
      logLevel: 'info',
      stakingIdentity: undefined,
      allowPrivateAddresses: false,
      trackedSubnetIDs: [],
      readyQuorumNum: 67n,
    });
    expect(parse({ network: 'local' }).allowPrivateAddresses).toBe(true);
    expect(parse({ network: 'local', allowPrivateAddresses: false }).allowPrivateAddresses).toBe(false);
  });

  test('the environment goes before the file, and the command line before both', () => {
    const file = { port: 1, host: 'file', logLevel: 'warn' };
    const environment = { SIGNATURE_AGGREGATOR_PORT: '2', SIGNATURE_AGGREGATOR_HOST: 'environment' };
    expect(parse(file, { port: 3 }, environment)).toMatchObject({ port: 3, host: 'environment', logLevel: 'warn' });
    expect(parse(file, {}, environment)).toMatchObject({ port: 2 });
    expect(parse(file, {}, { SIGNATURE_AGGREGATOR_PORT: '' })).toMatchObject({ port: 1 });
    expect(parse({}, {}, { SIGNATURE_AGGREGATOR_LOG_LEVEL: 'trace' })).toMatchObject({ logLevel: 'trace' });
  });

  test('${NAME} in any text is the environment variable, once', () => {
    const environment = { KEY: 'secret', HOST: 'p.example', TRICK: '${KEY}' };
    const endpoint = {
      baseUrl: 'https://${HOST}/${KEY}/x',
      httpHeaders: { 'x-key': 'Bearer ${KEY}' },
      queryParameters: { token: '${TRICK}' },
    };
    expect(parse({ pChainApi: [endpoint] }, {}, environment).pChainApi).toEqual([
      {
        baseUrl: 'https://p.example/secret/x',
        httpHeaders: { 'x-key': 'Bearer secret' },
        queryParameters: { token: '${KEY}' },
      },
    ]);
    expect(problem(() => parse({ host: '${NOT_SET}' }))).toBe(
      'the environment variable NOT_SET, which the configuration uses, is not set',
    );
    expect(parse({ host: '$HOST ${} $' }).host).toBe('$HOST ${} $');
  });

  test('IDs, addresses and the identity', () => {
    const config = parse({
      trackedSubnetIds: [PRIMARY_NETWORK_ID, `0x${'00'.repeat(32)}`],
      manuallyTrackedPeers: [
        { nodeId: NODE_ID, address: '10.0.0.1:9651' },
        { nodeId: NODE_ID, address: '[2001:db8::1]:65535' },
        { nodeId: NODE_ID, address: 'node.example:1' },
      ],
      stakingCertPath: 'a.crt',
      stakingKeyPath: 'a.key',
      readyQuorumPercentage: 80,
    });
    expect(config.trackedSubnetIDs).toEqual([PRIMARY_NETWORK_ID, PRIMARY_NETWORK_ID]);
    expect(config.manuallyTrackedPeers).toEqual([
      { nodeID: NODE_ID, host: '10.0.0.1', port: 9651 },
      { nodeID: NODE_ID, host: '2001:db8::1', port: 65_535 },
      { nodeID: NODE_ID, host: 'node.example', port: 1 },
    ]);
    expect(config.stakingIdentity).toEqual({ certificatePath: 'a.crt', privateKeyPath: 'a.key' });
    expect(config.readyQuorumNum).toBe(80n);
  });

  test('the embedded network has its own', () => {
    expect(embeddedConfig('http://127.0.0.1:1', { port: 0 }, {})).toMatchObject({
      network: 'local',
      pChainApi: [{ baseUrl: 'http://127.0.0.1:1' }],
      port: 0,
      logLevel: 'warn',
      allowPrivateAddresses: true,
    });
    expect(embeddedConfig('http://127.0.0.1:1', { logLevel: 'debug' }, {}).logLevel).toBe('debug');
  });

  test('what comes out is frozen, to the last endpoint', () => {
    const config = parse({ pChainApi: [{ baseUrl: 'https://a.example', httpHeaders: { a: 'b' } }] });
    const visit = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      expect(Object.isFrozen(value)).toBe(true);
      for (const item of Object.values(value)) visit(item);
    };
    visit(config);
  });

  test("the caller's object is left alone", () => {
    const file = { ...BASE, pChainApi: [{ baseUrl: 'https://a.example' }] };
    parseConfig(file, {}, {});
    expect(Object.isFrozen(file.pChainApi)).toBe(false);
  });
});

describe('what is wrong is said in a sentence that names the setting', () => {
  test.each<[string, unknown, string | RegExp]>([
    ['no object', [], 'the configuration must be a JSON object'],
    ['null', null, 'the configuration must be a JSON object'],
    ['nothing', {}, 'the configuration must have required properties network, pChainApi'],
    ['an unknown setting', { ...BASE, porrt: 1 }, /^unknown setting porrt; known are: network, pChainApi, /],
    ['a prototype', JSON.parse('{"__proto__":{"port":1}}'), /required properties|unknown setting __proto__/],
    ['an unknown network', { ...BASE, network: 'testnet' }, 'network must be one of mainnet, fuji, local'],
    ['an unknown level', { ...BASE, logLevel: 'loud' }, /^logLevel must be one of fatal, error, /],
    ['no API', { ...BASE, pChainApi: [] }, /^pChainApi must/],
    ['an API that is no list', { ...BASE, pChainApi: BASE.pChainApi[0] }, 'pChainApi must be array'],
    [
      'an unknown setting of an API',
      { ...BASE, infoApi: [{ baseUrl: 'https://a', headers: {} }] },
      'unknown setting headers in infoApi[0]',
    ],
    ['a URL that is none', { ...BASE, pChainApi: [{ baseUrl: 'https://' }] }, /^pChainApi\[0\]\.baseUrl must be a URL/],
    ['another scheme', { ...BASE, infoApi: [{ baseUrl: 'ftp://a.b' }] }, /^infoApi\[0\]\.baseUrl must be a URL/],
    [
      'a password in a URL',
      { ...BASE, pChainApi: [{ baseUrl: 'https://me:secret@a.b' }] },
      'pChainApi[0].baseUrl must not hold a user or a password: use httpHeaders',
    ],
    [
      'a header name that is none',
      { ...BASE, pChainApi: [{ baseUrl: 'https://a', httpHeaders: { 'a b': 'secret' } }] },
      /^pChainApi\[0\]\.httpHeaders: Header name/,
    ],
    [
      'a header value that is none',
      { ...BASE, pChainApi: [{ baseUrl: 'https://a', httpHeaders: { a: 'secret\n' } }] },
      /^pChainApi\[0\]\.httpHeaders: Invalid character/,
    ],
    [
      'a header of another type',
      { ...BASE, pChainApi: [{ baseUrl: 'https://a', httpHeaders: { a: 1 } }] },
      /httpHeaders\.a must be string$/,
    ],
    ['a port in quotes', { ...BASE, port: '80' }, 'port must be integer'],
    ['a port too high', { ...BASE, port: 65_536 }, 'port must be <= 65535'],
    ['a duration of 0', { ...BASE, requestTimeoutMs: 0 }, 'requestTimeoutMs must be >= 1'],
    ['a duration in parts', { ...BASE, hedgeAfterMs: 0.5 }, 'hedgeAfterMs must be integer'],
    ['more than nodes wait', { ...BASE, peerTimeoutMs: 10_001 }, 'peerTimeoutMs must be <= 10000'],
    ['a percentage above 100', { ...BASE, readyQuorumPercentage: 101 }, 'readyQuorumPercentage must be <= 100'],
    ['null', { ...BASE, host: null }, 'host must be string'],
    ['an empty host', { ...BASE, host: '' }, /^host must not have fewer than 1 characters$/],
    [
      'a subnet that is none',
      { ...BASE, trackedSubnetIds: [PRIMARY_NETWORK_ID, 'x'] },
      /^trackedSubnetIds\[1\]: subnet ID: must be a 32-byte ID/,
    ],
    [
      'a node that is none',
      { ...BASE, manuallyTrackedPeers: [{ nodeId: 'x', address: 'a:1' }] },
      /^manuallyTrackedPeers\[0\]\.nodeId: NodeID: must start with NodeID-/,
    ],
    [
      'half an identity',
      { ...BASE, stakingKeyPath: 'a' },
      /^stakingCertPath and stakingKeyPath must be given together/,
    ],
  ])('%s', (_, json, expected) => {
    const message = problem(() => parseConfig(json, {}, {}));
    if (typeof expected === 'string') expect(message).toBe(expected);
    else expect(message).toMatch(expected);
    expect(message).not.toContain('secret');
  });

  test.each(['node.example', ':1', 'a:0', 'a:65536', '2001:db8::1:9651', '[::1]', 'a b:1', 'a:1:2', ''])(
    'an address that is none: %j',
    (address) => {
      expect(problem(() => parse({ manuallyTrackedPeers: [{ nodeId: NODE_ID, address }] }))).toBe(
        `manuallyTrackedPeers[0].address must be host:port or [IPv6]:port, is ${JSON.stringify(address)}`,
      );
    },
  );

  test.each<[string, string]>([
    ['SIGNATURE_AGGREGATOR_PORT', 'eighty'],
    ['SIGNATURE_AGGREGATOR_PORT', '-1'],
    ['SIGNATURE_AGGREGATOR_PORT', '70000'],
    ['SIGNATURE_AGGREGATOR_LOG_LEVEL', 'loud'],
  ])('%s=%s', (name, value) => {
    expect(problem(() => parse({}, {}, { [name]: value }))).toMatch(/^(port|logLevel) must be /);
  });
});

describe('files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'config-test-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('that are missing, no JSON, or good', () => {
    const path = join(folder, 'config.json');
    expect(problem(() => loadConfig(path, {}, {}))).toMatch(
      /^cannot read the configuration file .*config\.json: ENOENT/,
    );
    writeFileSync(path, '{"network":');
    expect(problem(() => loadConfig(path, {}, {}))).toMatch(/^the configuration file .*config\.json is not JSON: /);
    writeFileSync(path, JSON.stringify(BASE));
    expect(loadConfig(path, { port: 9 }, {})).toMatchObject({ network: 'fuji', port: 9 });
  });

  test.each([
    ['mainnet', 'https://api.avax.network'],
    ['fuji', 'https://api.avax-test.network'],
    ['local', 'http://127.0.0.1:9650'],
  ])('config/%s.json is good as it is', (network, baseUrl) => {
    const config = loadConfig(new URL(`../../../config/${network}.json`, import.meta.url).pathname, {}, {});
    expect(config).toMatchObject({ network, pChainApi: [{ baseUrl }], infoApi: [{ baseUrl }] });
    expect(config.allowPrivateAddresses).toBe(network === 'local');
  });
});

describe('config/README.md', () => {
  const text = readFileSync(new URL('../../../config/README.md', import.meta.url), 'utf8');
  const rows = text.split('\n').flatMap((line) => {
    const [, setting, byDefault, allowed, meaning, variable] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    if (setting === undefined || !/^`\w+`$/.test(setting)) return [];
    return [{ setting: unquote(setting), byDefault, allowed, meaning, variable }];
  });

  function unquote(cell: string): string {
    return cell.replaceAll('`', '');
  }

  test('names every setting, and no other', () => {
    const known = problem(() => parse({ other: 1 })).replace(/^.*known are: /, '');
    expect(rows.map(({ setting }) => setting).toSorted()).toEqual(known.split(', ').toSorted());
    for (const { allowed, meaning } of rows) {
      expect(allowed).not.toBe('');
      expect(meaning).not.toBe('');
    }
  });

  test('gives the defaults that are', () => {
    const { stakingIdentity, ...config } = parse();
    const values: Record<string, string | number | bigint | boolean | object | undefined> = {
      ...config,
      trackedSubnetIds: config.trackedSubnetIDs,
      readyQuorumPercentage: config.readyQuorumNum,
      stakingCertPath: stakingIdentity?.certificatePath,
      stakingKeyPath: stakingIdentity?.privateKeyPath,
      sharedStoreKeyPrefix: parse({ sharedStoreUrl: 'redis://a' }).sharedStore?.keyPrefix,
    };
    for (const { setting, byDefault } of rows) {
      // Must be given, or depends on another setting.
      if (byDefault === '' || byDefault?.startsWith('as ') || byDefault?.includes('on `local`')) continue;
      const value = values[setting];
      const shown = value === undefined ? 'none' : typeof value === 'object' ? JSON.stringify(value) : String(value);
      expect([setting, unquote(byDefault ?? '')]).toEqual([setting, shown]);
    }
  });

  test('names the environment variables that there are', () => {
    const source = readFileSync(new URL('../../../src/config/config.ts', import.meta.url), 'utf8');
    const inSource = [...source.matchAll(/(SIGNATURE_AGGREGATOR_\w+): '(\w+)'/g)].map(
      ([, name = '', setting]) => [name, setting] as const,
    );
    const inTable = rows.flatMap(({ setting, variable }) => (variable ? [[unquote(variable), setting] as const] : []));
    expect(new Map(inTable)).toEqual(new Map(inSource));
    expect(inTable.length).toBeGreaterThan(0);
  });

  test('has an example that is good', () => {
    const example = /```json\n(.*?)```/s.exec(text)?.[1] ?? '';
    const environment = { P_CHAIN_API_KEY: 'key' };
    expect(parseConfig(JSON.parse(example), {}, environment).pChainApi).toHaveLength(2);
  });
});
