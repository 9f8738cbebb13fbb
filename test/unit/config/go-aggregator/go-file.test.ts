import { expect, test } from 'vitest';
import {
  convertGoFile,
  goFilePath,
  inGoTerms,
  isGoFile,
  parseGoFile,
} from '../../../../src/config/go-aggregator/go-file.ts';
import { parseConfig } from '../../../../src/config/load/load-config.ts';
import { problemsIn } from '../load/config-fixture.ts';

const SUBNET = '2W9boARgCWL25z6pMFNtkCfNA5v28VGg9PmBgUJfuKndEdhrvw';
const NODE = 'NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg';
const API = { 'base-url': 'https://api.test' };
const APIS = { 'p-chain-api': API, 'info-api': API };
const FULL = {
  'log-level': 'Verbo',
  'p-chain-api': {
    'base-url': 'https://p.test/x',
    'query-parameters': { Token: 'a' },
    'http-headers': { 'X-Key': 'b' },
  },
  'info-api': { 'base-url': 'https://info.test', 'query-parameters': null, 'http-headers': null },
  'api-port': 9_090,
  'metrics-port': 9_091,
  'signature-cache-size': 1_000,
  'allow-private-ips': true,
  'tracked-subnet-ids': [SUBNET, '11111111111111111111111111111111LpoYY'],
  'manually-tracked-peers': [{ id: NODE, ip: '1.2.3.4:9651' }],
  'tls-cert-path': '/keys/$NAME/staker.crt',
  'tls-key-path': '/keys/${NAME}/staker.key',
  'max-p-chain-lookback': 1_000,
  'validator-refresh-period-seconds': 30,
};

const problemsOf = (json: unknown) => problemsIn(() => parseGoFile(json, {}));
const settingsOf = (json: unknown, networkID = 1, environment = {}) =>
  convertGoFile(parseGoFile(json, environment), networkID).settings;

test('every key is converted to its setting', () => {
  const { settings, networkName } = convertGoFile(parseGoFile(FULL, {}), 5);
  expect(networkName).toBe('fuji');
  expect(settings).toEqual({
    networks: {
      fuji: {
        pChainApi: [{ baseUrl: 'https://p.test/x', queryParameters: { Token: 'a' }, httpHeaders: { 'X-Key': 'b' } }],
        infoApi: [{ baseUrl: 'https://info.test' }],
        allowPrivateAddresses: true,
        trackedSubnetIds: [SUBNET],
        manuallyTrackedPeers: [{ nodeId: NODE, address: '1.2.3.4:9651' }],
        validatorRefreshMs: 30_000,
        goApi: { apiPort: 9_090, metricsPort: 9_091 },
      },
    },
    server: { host: expect.stringMatching(/^(::|0\.0\.0\.0)$/), ownApi: false },
    log: { level: 'trace' },
    access: { unitsPerMinute: 0 },
    identity: { certificatePath: '/keys/${NAME}/staker.crt', privateKeyPath: '/keys/${NAME}/staker.key' },
    aggregation: { signatureCacheSize: 100_000 },
  });
  const { config } = parseConfig(settings, {}, { NAME: 'mine' });
  expect(config.identity).toMatchObject({ privateKeyPath: '/keys/mine/staker.key' });
});

test('missing and null keys have the default of the Go service', () => {
  const nulls = Object.fromEntries(Object.keys(FULL).map((key) => [key, null]));
  for (const file of [APIS, { ...nulls, ...APIS }]) {
    expect(settingsOf(file)).toEqual({
      networks: {
        mainnet: {
          pChainApi: [{ baseUrl: 'https://api.test' }],
          infoApi: [{ baseUrl: 'https://api.test' }],
          allowPrivateAddresses: false,
          trackedSubnetIds: [],
          manuallyTrackedPeers: [],
          goApi: { apiPort: 8_080, metricsPort: 8_081 },
        },
      },
      server: { host: expect.any(String), ownApi: false },
      access: { unitsPerMinute: 0 },
    });
  }
});

test('the network is named like in avalanchego', () => {
  const names = [1, 5, 12_345, 1_337].map((id) => convertGoFile(parseGoFile(APIS, {}), id).networkName);
  expect(names).toEqual(['mainnet', 'fuji', 'local', 'network-1337']);
});

test('log levels in any case are converted', () => {
  const levels = { Verbo: 'trace', DEBUG: 'debug', Trace: 'debug', Warn: 'warn', Off: 'silent' };
  for (const [given, level] of Object.entries(levels)) {
    expect(settingsOf({ ...APIS, 'log-level': given })).toMatchObject({ log: { level } });
  }
});

test('keys in any case, and numbers, booleans and lists as texts, are read like viper does', () => {
  const file = {
    'P-Chain-API': { 'Base-URL': 'https://api.test' },
    'info-api': API,
    'API-Port': '9090',
    'allow-private-ips': 'true',
    'tracked-subnet-ids': SUBNET,
    'signature-cache-size': 0,
  };
  expect(settingsOf(file)).toMatchObject({
    networks: { mainnet: { allowPrivateAddresses: true, trackedSubnetIds: [SUBNET], goApi: { apiPort: 9_090 } } },
    aggregation: { signatureCacheSize: 100 },
  });
});

test('values of other types are converted like viper does', () => {
  const valueOf = (key: string, value: unknown) => parseGoFile({ ...APIS, [key]: value }, {})[key];
  for (const [key, values, expected] of [
    ['allow-private-ips', [true, 1, -0.5, '1', 't', 'T', 'TRUE', 'True', 'true'], true],
    ['allow-private-ips', [false, 0, '0', 'f', 'F', 'FALSE', 'False', 'false', ''], false],
    [
      'api-port',
      [24_050, 24_050.0, '24050', '0x5DF2', '0X5df2', '0b101110111110010', '0o56762', '056762', '24_050'],
      24_050,
    ],
    ['api-port', ['', false, 0, '0', '-0'], 0],
    ['api-port', [true, '1', '+1', '0_1'], 1],
    ['tracked-subnet-ids', ['', [], {}], []],
    ['tracked-subnet-ids', ['7,1', [7, true], ['7', '1']], ['7', '1']],
    ['tracked-subnet-ids', [7, '7', [7]], ['7']],
    ['manually-tracked-peers', ['', [], {}], []],
    ['manually-tracked-peers', [{ id: NODE, ip: 'a:1' }, [{ id: NODE, ip: 'a:1' }]], [{ id: NODE, ip: 'a:1' }]],
    ['log-level', ['info'], 'info'],
  ] as const) {
    for (const value of values) {
      expect({ key, value, is: valueOf(key, value) }).toEqual({ key, value, is: expected });
    }
  }
  const headers = { A: 7, B: 0.5, C: true, D: 'x', E: null };
  const api = { ...API, 'http-headers': headers, 'query-parameters': [] };
  expect(settingsOf({ ...APIS, 'p-chain-api': api })).toMatchObject({
    networks: {
      mainnet: { pChainApi: [{ httpHeaders: { A: '7', B: '0.5', C: '1', D: 'x' }, queryParameters: {} }] },
    },
  });
});

test.each([
  ['api-port', ['a', '08', '0x', '1_', '1__0', '1.5', '0e1', 1.5, [], {}, ['1'], '9007199254740993']],
  ['allow-private-ips', ['yes', 'tRUE', [], {}]],
  ['tracked-subnet-ids', [[[]], [null], { a: 1 }]],
  ['manually-tracked-peers', ['a', 7, [7]]],
])('%s is refused with a value that viper refuses or cuts off', (key, values) => {
  for (const value of values)
    expect(problemsOf({ ...APIS, [key]: value })).toEqual([expect.stringContaining(`${key}: must be `)]);
});

test('the cache has room for the signatures of as many messages, within a bound', () => {
  const sizeOf = (size: number) => settingsOf({ ...APIS, 'signature-cache-size': size });
  for (const [messages, signatures] of [
    [0, 100],
    [1, 100],
    [1_024, 102_400],
    [1_048_576, 1_000_000],
  ] as const) {
    expect(sizeOf(messages)).toMatchObject({ aggregation: { signatureCacheSize: signatures } });
  }
});

test('environment variables override keys, empty ones do not', () => {
  const environment = {
    LOG_LEVEL: 'Off',
    API_PORT: '1',
    METRICS_PORT: '2',
    SIGNATURE_CACHE_SIZE: '3',
    ALLOW_PRIVATE_IPS: 'true',
    TRACKED_SUBNET_IDS: SUBNET,
    TLS_CERT_PATH: 'c',
    TLS_KEY_PATH: 'k',
    MAX_P_CHAIN_LOOKBACK: '',
    VALIDATOR_REFRESH_PERIOD_SECONDS: '4',
    'P_CHAIN_API.BASE_URL': 'https://p',
    'INFO_API.BASE_URL': 'https://i',
  };
  expect(settingsOf({}, 1, environment)).toMatchObject({
    networks: {
      mainnet: {
        pChainApi: [{ baseUrl: 'https://p' }],
        infoApi: [{ baseUrl: 'https://i' }],
        validatorRefreshMs: 4_000,
        allowPrivateAddresses: true,
        trackedSubnetIds: [SUBNET],
        goApi: { apiPort: 1, metricsPort: 2 },
      },
    },
    log: { level: 'silent' },
    identity: { certificatePath: 'c', privateKeyPath: 'k' },
    aggregation: { signatureCacheSize: 300 },
  });
  expect(settingsOf(FULL, 5, { 'P_CHAIN_API.BASE_URL': 'https://p' })).toMatchObject({
    networks: { fuji: { pChainApi: [{ baseUrl: 'https://p', httpHeaders: { 'X-Key': 'b' } }] } },
  });
  expect(goFilePath('flag', {})).toBe('flag');
  expect(goFilePath('flag', { CONFIG_FILE: 'variable' })).toBe('variable');
  expect(goFilePath('flag', { CONFIG_FILE: '' })).toBe('flag');
  expect(goFilePath(undefined, {})).toBeUndefined();
});

test('problems name the key, without values that may be secrets', () => {
  expect(problemsOf({ ...APIS, foo: 1, constructor: 2 })).toEqual([
    expect.stringMatching(/^'' has invalid keys: foo, constructor; known are: log-level, /),
  ]);
  expect(problemsOf({ ...APIS, 'info-api': { ...API, 'base-uri': 'secret' } })).toEqual([
    expect.stringMatching(/^'info-api' has invalid keys: base-uri; /),
  ]);
  expect(problemsOf({})).toEqual([
    expect.stringMatching(/^p-chain-api: must be given/),
    expect.stringMatching(/^info-api: must be given/),
  ]);
  const wrong = {
    'log-level': 'loud',
    'p-chain-api': { ...API, 'http-headers': { key: ['secret'] } },
    'info-api': API,
    'api-port': 1.5,
    'allow-private-ips': '?',
    'tracked-subnet-ids': [['secret']],
    'manually-tracked-peers': [7],
    'tls-key-path': 'a',
  };
  expect(problemsOf(wrong)).toEqual([
    'p-chain-api.http-headers: must be an object of texts',
    'api-port: must be a whole number',
    'allow-private-ips: must be true or false',
    'tracked-subnet-ids: must be a list of texts',
    'manually-tracked-peers: must be a list of objects {id, ip}',
    expect.stringMatching(/^log-level: must be one of verbo, .* is "loud"$/),
    'tls-cert-path, tls-key-path: must be given together, as they are one identity',
  ]);
  expect(problemsOf([])).toEqual(['the configuration must be a JSON object']);
});

test('problems of converted settings name the keys of the Go file', () => {
  const file = {
    'p-chain-api': { 'base-url': 'ftp://a' },
    'info-api': API,
    'api-port': 70_000,
    'metrics-port': -1,
    'tracked-subnet-ids': ['x'],
    'manually-tracked-peers': [{ id: 'x', ip: 'y' }],
  };
  const { settings, networkName } = convertGoFile(parseGoFile(file, {}), 5);
  const lines = problemsIn(() => parseConfig(settings, {}, {})).map(
    (line) => inGoTerms(line, networkName).split(': ')[0],
  );
  expect(lines).toEqual(
    expect.arrayContaining([
      'p-chain-api.base-url',
      'api-port',
      'metrics-port',
      'tracked-subnet-ids[0]',
      'manually-tracked-peers[0].id',
      'manually-tracked-peers[0].ip',
    ]),
  );
  expect(lines).toHaveLength(6);
});

test('keys without a counterpart or with another meaning have remarks', () => {
  const about = (json: object) => convertGoFile(parseGoFile(json, {}), 5).remarks.map((line) => line.split(':')[0]);
  expect(about(APIS)).toEqual(['networks.fuji', 'server.ownApi', 'access.unitsPerMinute']);
  expect(about(FULL).slice(3)).toEqual(['max-p-chain-lookback', 'signature-cache-size']);
});

test('a Go file is recognised by its keys', () => {
  expect([{ 'Api-Port': 1 }, { port: 1 }, {}, null].map(isGoFile)).toEqual([true, false, false, false]);
});
