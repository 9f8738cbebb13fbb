import { expect, test } from 'vitest';
import { SETTINGS } from '../../../src/config/schema.ts';
import { settingsOf } from '../../../src/config/variables.ts';
import { BASE, problemsOf } from './config-fixture.ts';

const SECRET = {
  'base-url': 'https://secret.test',
  'query-parameters': { t: 'secret' },
  'http-headers': { k: 'secret' },
};
const GO_FILE = {
  'log-level': 'info',
  'p-chain-api': SECRET,
  'info-api': { 'base-url': 'https://secret.test' },
  'api-port': 8080,
  'metrics-port': 8081,
  'signature-cache-size': 1_000,
  'allow-private-ips': true,
  'tracked-subnet-ids': [],
  'manually-tracked-peers': [{ id: 'NodeID-secret', ip: '1.2.3.4:9651' }],
  'tls-cert-path': 'a',
  'tls-key-path': 'b',
  'max-p-chain-lookback': 1_000,
  'validator-refresh-period-seconds': 60,
};
/** As they were before there were sections. */
const FLAT_FILE = {
  network: 'fuji',
  ...{ pChainApi: [{ baseUrl: 'https://secret.test' }], infoApi: [], host: '', port: 1, logLevel: 'info' },
  ...{ stakingCertPath: 'a', stakingKeyPath: 'b', allowPrivateAddresses: true, trackedSubnetIds: [] },
  ...{ manuallyTrackedPeers: [], readyQuorumPercentage: 67, validatorRefreshMs: 1, requestTimeoutMs: 1 },
  ...{ peerTimeoutMs: 1, hedgeAfterMs: 1, connectTimeoutMs: 1, dialsPerSecond: 1, apiTimeoutMs: 1 },
  ...{ maxAggregationsInFlight: 1, maxQueriesInFlight: 1, maxConcurrentQueries: 1, signatureCacheSize: 1 },
  ...{ signatureCachePerSigner: 1, resultCacheBytes: 1, storePath: 'a', sharedStoreUrl: 'redis://:secret@a' },
  ...{ sharedStoreKeyPrefix: 'a', l1IndexLookback: 1, l1IndexBlocksPerSecond: 1, dataApi: {}, apiKeys: [] },
  ...{ rateLimitPerMinute: 1, trustedProxies: [], corsOrigins: [], shutdownTimeoutMs: 1, bls: {}, upstream: {} },
};

const known = new Set(settingsOf(SETTINGS, ['NAME', 'fuji']).map(({ path }) => path.join('.')));

function expectKnownSettings(lines: readonly string[]): void {
  for (const line of lines) {
    for (const [path] of line.matchAll(/\b(networks|server|log|identity|aggregation|store|access)\.[\w.]+/g)) {
      expect(known, line).toContain(path);
    }
  }
}

test("every key of the Go aggregator's file is answered with its name here", () => {
  const lines = problemsOf(GO_FILE);
  const answered = lines.map((line) => line.split(':')[0]);
  expect(answered).toEqual(expect.arrayContaining(Object.keys(GO_FILE)));
  expect(answered).toEqual(
    expect.arrayContaining(
      ['base-url', 'query-parameters', 'http-headers']
        .map((key) => `p-chain-api.${key}`)
        .concat('manually-tracked-peers.id'),
    ),
  );
  expect(lines).toContain(
    'api-port: is networks.NAME.goApi.apiPort here; server.port has the same path beside all others',
  );
  expect(lines).toContain('tracked-subnet-ids: is networks.NAME.trackedSubnetIds here');
  expect(lines).toContain('p-chain-api.base-url: is baseUrl here');
  expect(lines.join()).not.toMatch(/secret|is nothing here/);
  expectKnownSettings(lines);
});

test('one such key is enough, and one that nobody knows is said to be so', () => {
  expect(problemsOf({ 'api-port': 1, colour: 2, constructor: 3 })).toEqual([
    'api-port: is networks.NAME.goApi.apiPort here; server.port has the same path beside all others',
    'colour: is nothing here',
    'constructor: is nothing here',
  ]);
});

test('every key of a file without sections is answered with its name now', () => {
  const lines = problemsOf(FLAT_FILE);
  expect(lines.map((line) => line.split(':')[0])).toEqual(Object.keys(FLAT_FILE));
  expect(lines[0]).toBe('network: is a key of networks now: {"networks": {"fuji": {…}}}');
  expect(lines).toContain('pChainApi: is networks.fuji.pChainApi now');
  expect(lines).toContain('rateLimitPerMinute: is access.unitsPerMinute now');
  expect(lines).toContain('upstream: is as it was');
  expect(lines.join()).not.toContain('secret');
  expectKnownSettings(lines);
});

test('the heading says which file it is', async () => {
  const { parseConfig } = await import('../../../src/config/load-config.ts');
  expect(() => parseConfig(GO_FILE, {}, {})).toThrow(
    /^this is a file of the Go signature aggregator; .*:\n {2}log-level: is log\.level here\n/,
  );
  expect(() => parseConfig({ port: 1 }, {}, {})).toThrow(
    /^this file is of an older form; .*:\n {2}port: is server\.port now$/,
  );
});

test('a file of ours with one wrong key is not taken for another', () => {
  expect(problemsOf({ ...BASE, port: 1 })).toEqual([expect.stringMatching(/^port: there is no such setting; /)]);
});
