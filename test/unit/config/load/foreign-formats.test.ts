import { expect, test } from 'vitest';
import { settingsOf } from '../../../../src/config/load/variables.ts';
import { SETTINGS } from '../../../../src/config/schema/schema.ts';
import { BASE, problemsOf } from './config-fixture.ts';

const GO_FILE = { 'Log-Level': 'info', 'p-chain-api': { 'base-url': 'https://secret.test' } };
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

test("a file of the Go aggregator's is answered with what to do with it", () => {
  expect(problemsOf(GO_FILE)).toEqual([
    expect.stringContaining('signature-aggregator --config-file'),
    expect.stringContaining('warp-signature-aggregator convert'),
  ]);
});

test('every key of a file without sections is answered with its name now', () => {
  const lines = problemsOf(FLAT_FILE);
  expect(lines.map((line) => line.split(':')[0])).toEqual(Object.keys(FLAT_FILE));
  expect(lines[0]).toBe('network: is a key of networks now: {"networks": {"fuji": {…}}}');
  expect(lines).toContain('pChainApi: is networks.fuji.pChainApi now');
  expect(lines).toContain('rateLimitPerMinute: is access.unitsPerMinute now');
  expect(lines).toContain('upstream: is as it was');
  expect(lines).toContainEqual(expect.stringMatching(/^l1IndexLookback: is gone: leave it out: with store\.path all /));
  expect(lines).toContainEqual(expect.stringMatching(/^hedgeAfterMs: is gone: leave it out: /));
  expect(lines.join()).not.toContain('secret');
  expectKnownSettings(lines);
});

test('the heading says which file it is', async () => {
  const { parseConfig } = await import('../../../../src/config/load/load-config.ts');
  expect(() => parseConfig(GO_FILE, {}, {})).toThrow(
    /^this is a file of the Go signature aggregator:\n {2}to run it as it is: /,
  );
  expect(() => parseConfig({ port: 1 }, {}, {})).toThrow(
    /^this file is of an older form; .*:\n {2}port: is server\.port now$/,
  );
});

test('a file of ours with one wrong key is not taken for another', () => {
  expect(problemsOf({ ...BASE, port: 1 })).toEqual([expect.stringMatching(/^port: there is no such setting; /)]);
});
