import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../../../src/config/load/load-config.ts';
import { SETTINGS } from '../../../../src/config/schema/schema.ts';
import { partAt } from '../../../../src/config/schema/setting.ts';
import { settingsOf, variableName } from '../../../../src/config/schema/variables.ts';
import { BASE, configOf, FUJI, fileWith, problemsOf } from '../load/config-fixture.ts';

const NETWORK = 'my-net';
const FILE = { networks: { [NETWORK]: FUJI } };
const LEAVES = settingsOf(SETTINGS, [NETWORK]);
const REDIS = { SIGNATURE_AGGREGATOR_STORE__SHARED_URL: 'redis://a.test' };
/** Settings that need another one. */
const TOGETHER: Readonly<Record<string, Record<string, string>>> = {
  'server.ownApi': { SIGNATURE_AGGREGATOR_NETWORKS__MY_NET__GO_API__API_PORT: '1' },
  'metrics.host': { SIGNATURE_AGGREGATOR_METRICS__PORT: '1' },
  'store.sharedNodes': REDIS,
  'store.sharedMaster': REDIS,
  'store.sharedSecret': REDIS,
  'store.sharedSentinelPassword': { ...REDIS, SIGNATURE_AGGREGATOR_STORE__SHARED_MASTER: 'mymaster' },
  'access.requireKey': {
    SIGNATURE_AGGREGATOR_ACCESS__API_KEYS: JSON.stringify([{ name: 'bridge', sha256: '12'.repeat(32) }]),
  },
  'identity.certificatePath': { SIGNATURE_AGGREGATOR_IDENTITY__PRIVATE_KEY_PATH: 'k' },
  'identity.privateKeyPath': { SIGNATURE_AGGREGATOR_IDENTITY__CERTIFICATE_PATH: 'c' },
};

describe('every setting has a variable', () => {
  test.each(LEAVES.map(({ path, schema }) => [variableName(path), path, schema] as const))(
    '%s',
    (name, path, schema) => {
      const example = schema.examples?.[0];
      expect(example).toBeDefined();
      const text = typeof example === 'string' ? example : JSON.stringify(example);
      const isEmbedded = path.includes('embedded');
      const endpoint = path.slice(0, -1);
      const needsUrl = ['queryParameters', 'httpHeaders'].includes(path.at(-1) ?? '');
      const environment = {
        ...TOGETHER[path.join('.')],
        ...(needsUrl && { [variableName([...endpoint, 'baseUrl'])]: 'https://a.test' }),
        [name]: text,
      };
      const file = isEmbedded ? { networks: { [NETWORK]: { embedded: {} } } } : FILE;
      const { given, sourceOf } = parseConfig(file, {}, environment);
      const value = partAt(given, path);
      // API keys have defaults inside.
      if (path.includes('apiKeys')) expect(value).toMatchObject(example as object[]);
      else expect(value).toEqual(example);
      expect(sourceOf(path)).toBe(`environment variable ${name}`);
    },
  );

  test('variables are unique and valid in shells', () => {
    const names = LEAVES.map(({ path }) => variableName(path));
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^SIGNATURE_AGGREGATOR(_[A-Z0-9]+)+(__[A-Z0-9]+(_[A-Z0-9]+)*)+$/);
    expect(names).toContain('SIGNATURE_AGGREGATOR_NETWORKS__MY_NET__TRACKED_SUBNET_IDS');
    expect(names).toContain('SIGNATURE_AGGREGATOR_NETWORKS__MY_NET__GO_API__METRICS_PORT');
    expect(names).toContain('SIGNATURE_AGGREGATOR_STORE__SHARED_URL');
  });

  test('every allowed network name works in variables', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9]{0,4}(-[a-z0-9]{1,4}){0,3}$/);
    fc.assert(
      fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 3 }), (names) => {
        fc.pre(!names.includes('testnet'));
        const environment = Object.fromEntries(
          names.map((each) => [
            variableName(['networks', each, 'pChainApi']),
            JSON.stringify([{ baseUrl: `https://${each}.test` }]),
          ]),
        );
        expect(configOf(undefined, {}, environment).networks.map((network) => network.name)).toEqual(names);
      }),
    );
  });
});

describe('precedence', () => {
  test('command line over environment over file over default', () => {
    const file = fileWith({ server: { port: 1, host: 'file' }, log: { level: 'warn' } });
    const environment = { SIGNATURE_AGGREGATOR_SERVER__PORT: '2', SIGNATURE_AGGREGATOR_SERVER__HOST: 'environment' };
    const { config, sourceOf } = parseConfig(file, { port: '3' }, environment, 'config.json');
    expect(config).toMatchObject({ server: { port: 3, host: 'environment' }, log: { level: 'warn' } });
    expect(sourceOf(['server', 'port'])).toBe('command line, --port');
    expect(sourceOf(['server', 'host'])).toBe('environment variable SIGNATURE_AGGREGATOR_SERVER__HOST');
    expect(sourceOf(['log', 'level'])).toBe('config.json');
    expect(sourceOf(['server', 'shutdownTimeoutMs'])).toBe('default');
    expect(configOf(file, {}, environment).server.port).toBe(2);
    // An empty variable sets nothing.
    expect(configOf(file, {}, { SIGNATURE_AGGREGATOR_SERVER__PORT: '' }).server.port).toBe(1);
    expect(configOf(file, { host: 'x', logLevel: 'trace' })).toMatchObject({
      server: { host: 'x' },
      log: { level: 'trace' },
    });
  });

  test('a variable for a part of an endpoint overrides one for the whole', () => {
    const environment = {
      SIGNATURE_AGGREGATOR_UPSTREAM__METRICS__BASE_URL: 'https://part.test',
      SIGNATURE_AGGREGATOR_UPSTREAM__METRICS: '{"baseUrl":"https://whole.test","httpHeaders":{"a":"b"}}',
    };
    expect(configOf(BASE, {}, environment).upstream.endpoints.metrics).toEqual({
      baseUrl: 'https://part.test',
      httpHeaders: { a: 'b' },
    });
  });

  test('a variable sets the size of the devnet; one with an API replaces the devnet', () => {
    const size = { SIGNATURE_AGGREGATOR_NETWORKS__LOCAL__EMBEDDED__VALIDATORS: '50' };
    expect(configOf(undefined, {}, size).devnet).toMatchObject({ validators: 50 });
    const api = { SIGNATURE_AGGREGATOR_NETWORKS__FUJI__P_CHAIN_API: '[{"baseUrl":"https://a.test"}]' };
    expect(configOf(undefined, {}, api).networks).toMatchObject([
      { name: 'fuji', pChainApi: [{ baseUrl: 'https://a.test' }] },
    ]);
  });

  test('the source of a wrong value is named', () => {
    expect(problemsOf(BASE, { logLevel: 'loud' }, { SIGNATURE_AGGREGATOR_SERVER__PORT: 'eighty' })).toEqual([
      expect.stringMatching(
        /^server\.port \(environment variable SIGNATURE_AGGREGATOR_SERVER__PORT\): .* is "eighty"$/,
      ),
      expect.stringMatching(/^log\.level \(command line, --log-level\): must be one of fatal, .* is "loud"$/),
    ]);
    expect(problemsOf(BASE, {}, { SIGNATURE_AGGREGATOR_NETWORKS__FUIJ__ALIASES: '[]' })).toEqual([
      expect.stringMatching(
        /^networks\.fuij \(environment variable SIGNATURE_AGGREGATOR_NETWORKS__FUIJ__ALIASES\): must have pChainApi/,
      ),
    ]);
  });
});

describe('a variable with our prefix that belongs to no setting', () => {
  test('is reported, with the one that is meant', () => {
    for (const [name, meant] of [
      ['SIGNATURE_AGGREGATOR_SERVER__PROT', 'SIGNATURE_AGGREGATOR_SERVER__PORT'],
      ['SIGNATURE_AGGREGATOR_SERVER_PORT', 'SIGNATURE_AGGREGATOR_SERVER__PORT'],
      ['SIGNATURE_AGGREGATOR_server__port', 'SIGNATURE_AGGREGATOR_SERVER__PORT'],
      ['SIGNATURE_AGGREGATOR_CONFIGG', 'SIGNATURE_AGGREGATOR_CONFIG'],
      [
        'SIGNATURE_AGGREGATOR_NETWORKS__FUJI__TRACKED_SUBNETS',
        'SIGNATURE_AGGREGATOR_NETWORKS__FUJI__TRACKED_SUBNET_IDS',
      ],
      [
        'SIGNATURE_AGGREGATOR_NETWORKS__MY_OTHER__VALIDATOR_REFRESH',
        'SIGNATURE_AGGREGATOR_NETWORKS__MY_OTHER__VALIDATOR_REFRESH_MS',
      ],
      // Prefixes that are misspelt.
      ['SIGNATURE_AGREGATOR_SERVER__PORT', 'SIGNATURE_AGGREGATOR_SERVER__PORT'],
      ['SIGNATURE_AGGREGATOR__SERVER__PORT', 'SIGNATURE_AGGREGATOR_SERVER__PORT'],
      ['SIGNATUREAGGREGATOR_SERVER__PORT', 'SIGNATURE_AGGREGATOR_SERVER__PORT'],
      ['signature_aggregator_SERVER__PORT', 'SIGNATURE_AGGREGATOR_SERVER__PORT'],
    ] as const) {
      expect(problemsOf(BASE, {}, { [name]: 'secret' })).toEqual([
        `${name}: no setting has this variable; did you mean ${meant}?`,
      ]);
    }
    for (const name of ['SERVER', '']) {
      expect(problemsOf(BASE, {}, { [`SIGNATURE_AGGREGATOR_${name}`]: 'secret' })).toEqual([
        expect.stringContaining('no setting has this variable; config/README.md'),
      ]);
    }
    expect(problemsOf(BASE, {}, { SIGNATURE_AGREGATOR_NOVEL: '1', SIGNATURE_OF_X: '1' })).toEqual([]);
  });

  test('is accepted if a text of the file names it', () => {
    const environment = { SIGNATURE_AGGREGATOR_MY_HOST: 'a.test' };
    expect(
      configOf(fileWith({ server: { host: '${SIGNATURE_AGGREGATOR_MY_HOST}' } }), {}, environment).server.host,
    ).toBe('a.test');
    expect(problemsOf(BASE, {}, { SIGNATURE_AGGREGATOR_MY_HOST: '' })).toHaveLength(1);
    expect(problemsOf(BASE, {}, { PATH: '/bin', SIGNATURE: 'x' })).toEqual([]);
  });

  test('is accepted if Kubernetes sets it for a service whose name has our prefix', () => {
    for (const more of ['', '_SERVICE', '_PORT', '_METRICS']) {
      const ofKubernetes = Object.fromEntries(
        'SERVICE_HOST SERVICE_PORT SERVICE_PORT_HTTP PORT PORT_8080_TCP PORT_8080_TCP_PROTO PORT_8080_TCP_PORT PORT_8080_TCP_ADDR'
          .split(' ')
          .map((name) => [`SIGNATURE_AGGREGATOR${more}_${name}`, '8080']),
      );
      expect(problemsOf(BASE, {}, ofKubernetes)).toEqual([]);
      expect(problemsOf(BASE, {}, { ...ofKubernetes, SIGNATURE_AGGREGATOR_SERVER_PORT: '1' })).toHaveLength(1);
    }
  });

  test('of a network is compared with the settings of a network only', () => {
    const name = 'SIGNATURE_AGGREGATOR_NETWORKS__FUJI__API_TIMEOUT_MS';
    expect(problemsOf(BASE, {}, { [name]: '1' })).toEqual([expect.stringContaining('; config/README.md says')]);
  });

  test('JSON that is nested too deeply is rejected', () => {
    const deep = `${'['.repeat(60_000)}${']'.repeat(60_000)}`;
    const environment = { SIGNATURE_AGGREGATOR_NETWORKS__FUJI__TRACKED_SUBNET_IDS: deep };
    expect(problemsOf(BASE, {}, environment)).toEqual([expect.stringContaining(': must be a list of 0 to 1000')]);
  });

  test('JSON with a key twice in one object is rejected, without values', () => {
    const variable = 'SIGNATURE_AGGREGATOR_UPSTREAM__METRICS';
    const text = '{"baseUrl":"https://a.test","httpHeaders":{"k":"secret","\\u006b":"other"}}';
    expect(problemsOf(BASE, {}, { [variable]: text })).toEqual([
      `${variable}: has "k" twice in one object (line 1 column 57)`,
    ]);
  });

  test('invalid JSON is not shown', () => {
    const environment = { SIGNATURE_AGGREGATOR_UPSTREAM__METRICS: '{"httpHeaders":{"k":"secret"}' };
    const [problem = ''] = problemsOf(BASE, {}, environment);
    expect(problem).toMatch(/^upstream\.metrics \(environment variable .*\): must be an endpoint/);
    expect(problem).not.toContain('secret');
  });
});
