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
/** Settings that need another one. */
const TOGETHER: Readonly<Record<string, Record<string, string>>> = {
  'server.ownApi': { SIGNATURE_AGGREGATOR_NETWORKS__MY_NET__GO_API__API_PORT: '1' },
  'store.sharedSentinelPassword': { SIGNATURE_AGGREGATOR_STORE__SHARED_MASTER: 'mymaster' },
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
      const { written, sourceOf } = parseConfig(file, {}, environment);
      const value = partAt(written, path);
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
          names.map((each) => [variableName(['networks', each, 'pChainApi']), JSON.stringify(FUJI.pChainApi)]),
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
    expect(configOf(file, { host: 'x', logLevel: 'trace' })).toMatchObject({
      server: { host: 'x' },
      log: { level: 'trace' },
    });
  });

  test('an empty variable sets nothing', () => {
    expect(configOf(BASE, {}, { SIGNATURE_AGGREGATOR_SERVER__PORT: '' }).server.port).toBe(8080);
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
    expect(configOf(undefined, {}, size).networks).toMatchObject([{ embedded: { validators: 50 } }]);
    const api = { SIGNATURE_AGGREGATOR_NETWORKS__FUJI__P_CHAIN_API: '[{"baseUrl":"https://a.test"}]' };
    expect(configOf(undefined, {}, api).networks).toMatchObject([
      { name: 'fuji', pChainApi: [{ baseUrl: 'https://a.test' }] },
    ]);
  });

  test('the source of a wrong value is named', () => {
    expect(problemsOf(BASE, { logLevel: 'loud' }, { SIGNATURE_AGGREGATOR_SERVER__PORT: 'eighty' })).toEqual([
      'server.port (environment variable SIGNATURE_AGGREGATOR_SERVER__PORT): must be a whole number from 0 to 65535, is "eighty"',
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
  test.each([
    ['SERVER__PROT', 'did you mean SIGNATURE_AGGREGATOR_SERVER__PORT?'],
    ['SERVER_PORT', 'did you mean SIGNATURE_AGGREGATOR_SERVER__PORT?'],
    ['CONFIGG', 'did you mean SIGNATURE_AGGREGATOR_CONFIG?'],
    ['NETWORKS__FUJI__TRACKED_SUBNETS', 'did you mean SIGNATURE_AGGREGATOR_NETWORKS__FUJI__TRACKED_SUBNET_IDS?'],
    [
      'NETWORKS__MY_OTHER__VALIDATOR_REFRESH',
      'did you mean SIGNATURE_AGGREGATOR_NETWORKS__MY_OTHER__VALIDATOR_REFRESH_MS?',
    ],
    ['SERVER', 'config/README.md says how they are named'],
    ['server__port', 'did you mean SIGNATURE_AGGREGATOR_SERVER__PORT?'],
    ['', 'config/README.md says how they are named'],
  ])('%s', (name, answer) => {
    const environment = { [`SIGNATURE_AGGREGATOR_${name}`]: 'secret' };
    expect(problemsOf(BASE, {}, environment)).toEqual([
      `SIGNATURE_AGGREGATOR_${name}: no setting has this variable; ${answer}`,
    ]);
  });

  test.each(['SIGNATURE_AGREGATOR_', 'SIGNATURE_AGGREGATOR__', 'SIGNATUREAGGREGATOR_', 'signature_aggregator_'])(
    'is reported with the name that differs by its misspelt prefix %s only',
    (prefix) => {
      expect(problemsOf(BASE, {}, { [`${prefix}SERVER__PORT`]: '1' })).toEqual([
        expect.stringMatching(/did you mean SIGNATURE_AGGREGATOR_SERVER__PORT\?$/),
      ]);
      expect(problemsOf(BASE, {}, { SIGNATURE_AGREGATOR_NOVEL: '1', SIGNATURE_OF_X: '1' })).toEqual([]);
    },
  );

  test('is accepted if a text of the file names it', () => {
    const environment = { SIGNATURE_AGGREGATOR_MY_HOST: 'a.test' };
    expect(
      configOf(fileWith({ server: { host: '${SIGNATURE_AGGREGATOR_MY_HOST}' } }), {}, environment).server.host,
    ).toBe('a.test');
    expect(problemsOf(BASE, {}, { SIGNATURE_AGGREGATOR_MY_HOST: '' })).toHaveLength(1);
    expect(problemsOf(BASE, {}, { PATH: '/bin', SIGNATURE: 'x' })).toEqual([]);
  });

  test.each(['', '_SERVICE', '_PORT', '_METRICS'])(
    'is accepted if Kubernetes sets it for a service whose name has our prefix and %j',
    (more) => {
      const service = `SIGNATURE_AGGREGATOR${more}`;
      const ofKubernetes = {
        [`${service}_SERVICE_HOST`]: '10.0.0.7',
        [`${service}_SERVICE_PORT`]: '8080',
        [`${service}_SERVICE_PORT_HTTP`]: '8080',
        [`${service}_PORT`]: 'tcp://10.0.0.7:8080',
        [`${service}_PORT_8080_TCP`]: 'tcp://10.0.0.7:8080',
        [`${service}_PORT_8080_TCP_PROTO`]: 'tcp',
        [`${service}_PORT_8080_TCP_PORT`]: '8080',
        [`${service}_PORT_8080_TCP_ADDR`]: '10.0.0.7',
      };
      expect(problemsOf(BASE, {}, ofKubernetes)).toEqual([]);
      const withTypo = { ...ofKubernetes, SIGNATURE_AGGREGATOR_SERVER_PORT: '1' };
      expect(problemsOf(BASE, {}, withTypo)).toEqual([
        'SIGNATURE_AGGREGATOR_SERVER_PORT: no setting has this variable; did you mean SIGNATURE_AGGREGATOR_SERVER__PORT?',
      ]);
    },
  );

  test('invalid JSON is not shown', () => {
    const environment = { SIGNATURE_AGGREGATOR_UPSTREAM__METRICS: '{"httpHeaders":{"k":"secret"}' };
    const [problem = ''] = problemsOf(BASE, {}, environment);
    expect(problem).toMatch(/^upstream\.metrics \(environment variable .*\): must be an endpoint/);
    expect(problem).not.toContain('secret');
  });
});
