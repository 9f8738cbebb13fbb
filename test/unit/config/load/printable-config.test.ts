import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseConfig } from '../../../../src/config/load/load-config.ts';
import { printableConfig } from '../../../../src/config/load/printable-config.ts';
import { BASE, fileWith, problemsOf } from './config-fixture.ts';

const print = (file: unknown, environment: Record<string, string> = {}) =>
  printableConfig(parseConfig(file, {}, environment, 'a.json'));
const CHAIN = 'DZX9nN8C1qabAXiPWWLVx8WRR4eaCYdbbmF91FE7btyPnrgui';
/** A text that the output cannot contain by chance. */
const secret = fc.stringMatching(/^[a-z0-9]{12}$/).map((text) => `s3cr3t${text}`);

test('the printed configuration is a file with the same meaning', () => {
  const file = fileWith({ server: { port: 1 }, upstream: { metrics: { baseUrl: 'https://a.test' } } });
  const { settings } = print(file);
  expect(parseConfig(settings, {}, {}).config).toEqual(parseConfig(file, {}, {}).config);
});

test('each value has its source', () => {
  const { settings, sources } = print(fileWith({ server: { port: 1 } }), { SIGNATURE_AGGREGATOR_LOG__LEVEL: 'debug' });
  expect(settings).toMatchObject({ server: { port: 1, host: '127.0.0.1' }, log: { level: 'debug' } });
  expect(sources).toMatchObject({
    'server.port': 'a.json',
    'server.host': 'default',
    'log.level': 'environment variable SIGNATURE_AGGREGATOR_LOG__LEVEL',
    'networks.fuji.pChainApi': 'a.json',
    'networks.fuji.infoApi': 'default',
    'networks.fuji.readyQuorumPercentage': 'default',
    'networks.fuji.defaultDestination': 'default',
  });
  expect(Object.keys(sources)).not.toContain('store.path');
});

test('variable names are shown, secrets masked', () => {
  const endpoint = {
    baseUrl: 'https://${HOST}/v1?token=plain',
    httpHeaders: { a: '${KEY}', b: 'Bearer ${KEY}' },
    queryParameters: { c: 'plain' },
  };
  const file = fileWith({ network: { pChainApi: [endpoint] }, store: { sharedUrl: 'redis://me:${KEY}@a.test/1' } });
  const { settings } = print(file, { KEY: 's3cr3t', HOST: 'p.test' });
  const shown = {
    baseUrl: 'https://${HOST}/***',
    httpHeaders: { a: '${KEY}', b: '***' },
    queryParameters: { c: '***' },
  };
  expect(settings).toMatchObject({
    networks: { fuji: { pChainApi: [shown], infoApi: [shown] } },
    store: { sharedUrl: 'redis://***@a.test/1' },
  });
});

test('the RPC of a chain is masked as one endpoint and as a list', () => {
  const endpoint = { baseUrl: 'https://a.test/v3/key', httpHeaders: { a: 'plain' } };
  const shown = { baseUrl: 'https://a.test/***', httpHeaders: { a: '***' } };
  const { settings } = print(fileWith({ network: { chainRpc: { C: endpoint, [CHAIN]: [endpoint, endpoint] } } }));
  expect(settings).toMatchObject({ networks: { fuji: { chainRpc: { C: shown, [CHAIN]: [shown, shown] } } } });
});

test('no secret is printed', () => {
  const texts = fc.record({ header: secret, query: secret, password: secret, variable: secret, url: secret });
  // Forms of providers, and other spellings of URLs.
  const baseUrls = fc.constantFrom<(key: string) => string>(
    (key) => `https://a.test/\${VARIABLE}/?key=${key}`,
    (key) => `https://a.test/v3/${key}`,
    (key) => `https://a.test/${key}/\${VARIABLE}`,
    (key) => `HTTPS:\\\\a.test\\v3\\${key}`,
    (key) => ` https://a.test/v3/${key}`,
    (key) => `https:a.test/${key}`,
    (key) => `https://me:${key}@a.test`,
    (key) => `https://${key}:x@a.test/x`,
  );
  fc.assert(
    fc.property(texts, baseUrls, ({ header, query, password, variable, url }, baseUrl) => {
      const endpoint = {
        baseUrl: baseUrl(url),
        httpHeaders: { 'x-key': header, authorization: 'Bearer ${VARIABLE}' },
        queryParameters: { token: query, other: '${VARIABLE}' },
      };
      const file = fileWith({
        network: { pChainApi: [endpoint], dataApi: endpoint },
        upstream: { dataApi: { mainnet: endpoint }, nodeRpc: endpoint },
        store: { sharedUrl: `redis://user:${password}@a.test`, path: '/${VARIABLE}' },
        server: { host: '${VARIABLE}' },
      });
      const environment = {
        VARIABLE: variable,
        SIGNATURE_AGGREGATOR_UPSTREAM__METRICS: JSON.stringify({ ...endpoint, baseUrl: `https://b.test?${url}` }),
        SIGNATURE_AGGREGATOR_UPSTREAM__DATA_API__FUJI__BASE_URL: 'https://c.test',
        SIGNATURE_AGGREGATOR_UPSTREAM__DATA_API__FUJI__HTTP_HEADERS: JSON.stringify({ k: header }),
      };
      expect(JSON.stringify(print(file, environment))).not.toContain('s3cr3t');
    }),
  );
});

test('no secret is in the problems of a wrong configuration', () => {
  const places: ((text: string) => Record<string, object>)[] = [
    (text) => ({ network: { pChainApi: text } }),
    (text) => ({ network: { pChainApi: [text] } }),
    (text) => ({ network: { pChainApi: [{ baseUrl: `ftp://${text}` }] } }),
    (text) => ({ network: { pChainApi: [{ baseUrl: `https://me:${text}/x@a.test` }] } }),
    (text) => ({ network: { pChainApi: [{ baseUrl: 'https://a.test', httpHeaders: text }] } }),
    (text) => ({ network: { pChainApi: [{ baseUrl: 'https://a.test', httpHeaders: { a: [text] } }] } }),
    (text) => ({ network: { pChainApi: [{ baseUrl: 'https://a.test', httpHeaders: { a: `${text}\n` } }] } }),
    (text) => ({ network: { dataApi: { baseUrl: 'https://a.test', queryParameters: [text] } } }),
    (text) => ({ upstream: { metrics: text } }),
    (text) => ({ store: { sharedUrl: `https://:${text}@a.test` } }),
    (text) => ({ store: { sharedUrl: [text] } }),
    (text) => ({ access: { apiKeys: text } }),
    (text) => ({ access: { apiKeys: [text] } }),
    (text) => ({ access: { apiKeys: [{ name: 'a', sha256: text }] } }),
    (text) => ({ access: { apiKeys: [{ name: 'a', key: text }] } }),
    () => ({ log: { level: '${VARIABLE}' } }),
    () => ({ server: { corsOrigins: ['https://${VARIABLE}.test/'] } }),
    () => ({ network: { trackedSubnetIds: ['${VARIABLE}'] } }),
  ];
  fc.assert(
    fc.property(secret, fc.constantFrom(...places), (text, place) => {
      const lines = problemsOf(fileWith(place(text)), {}, { VARIABLE: text });
      expect(lines.length).toBeGreaterThan(0);
      expect(lines.join()).not.toContain('s3cr3t');
    }),
  );
  expect(problemsOf(BASE)).toEqual([]);
});
