import { describe, expect, test } from 'vitest';
import { FUJI, fileWith, nested, problemsOf } from './load/config-fixture.ts';

// Written out once more on purpose, so that a slip in the schema is seen.

const HOUR_MS = 3_600_000;
const COUNT = 10_000_000;

const NUMBERS: readonly (readonly [setting: string, least: number, most: number])[] = [
  ['server.port', 0, 65_535],
  ['server.maxConnections', 1, 1_000_000],
  ['server.drainDelayMs', 0, HOUR_MS],
  ['server.shutdownTimeoutMs', 1, HOUR_MS],
  ['metrics.port', 0, 65_535],
  ['access.unitsPerMinute', 0, COUNT],
  ['bls.workers', 1, 1_024],
  ['aggregation.requestTimeoutMs', 1, HOUR_MS],
  ['aggregation.signatureCacheSize', 1, COUNT],
  ['upstream.timeoutMs', 1, HOUR_MS],
  ['upstream.cacheBytes', 0, 2 ** 34],
  ['network.validatorRefreshMs', 1, HOUR_MS],
  ['network.readyQuorumPercentage', 0, 100],
  ['network.goApi.apiPort', 0, 65_535],
  ['network.goApi.metricsPort', 0, 65_535],
];

const repeat =
  <T>(item: (index: number) => T) =>
  (length: number): T[] =>
    Array.from({ length }, (_, index) => item(index));
const endpoint = { baseUrl: 'https://a.test' };
const key = (index: number) => ({ name: `${index}`, sha256: index.toString(16).padStart(64, '0') });
const peer = { nodeId: 'NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg', address: 'a:1' };
const subnetId = '11111111111111111111111111111111LpoYY';

const LENGTHS: readonly (readonly [setting: string, least: number, most: number, of: (length: number) => unknown])[] = [
  ['server.corsOrigins', 0, 100, repeat((index) => `https://${index}.test`)],
  ['server.trustedProxies', 0, 1_000, repeat(() => '::1')],
  ['access.apiKeys', 0, 10_000, repeat(key)],
  ['upstream.rpcMethods', 0, 200, repeat((index) => `platform.m${index}`)],
  ['network.pChainApi', 1, 16, repeat(() => endpoint)],
  ['network.infoApi', 1, 16, repeat(() => endpoint)],
  ['network.aliases', 0, 16, repeat((index) => `a${index}`)],
  ['network.trackedSubnetIds', 0, 1_000, repeat(() => subnetId)],
  ['network.allowedSubnetIds', 0, 1_000, repeat(() => subnetId)],
  ['network.manuallyTrackedPeers', 0, 1_000, repeat(() => peer)],
  ['server.host', 1, 1_000, (length) => 'h'.repeat(length)],
  ['metrics.host', 1, 1_000, (length) => 'h'.repeat(length)],
  ['identity.directory', 1, 1_000, (length) => 'd'.repeat(length)],
  ['store.path', 1, 1_000, (length) => 'p'.repeat(length)],
  ['store.sharedKeyPrefix', 1, 100, (length) => 'k'.repeat(length)],
  ['store.sharedNodes', 0, 100, repeat((index) => `redis-${index}:6379`)],
  ['store.sharedMaster', 1, 100, (length) => 'm'.repeat(length)],
  ['store.sharedSentinelPassword', 1, 1_000, (length) => 'p'.repeat(length)],
  ['store.sharedSecret', 16, 1_000, (length) => 's'.repeat(length)],
];
/** Of these texts only the least length is limited. */
const ENDLESS = ['server.host', 'metrics.host', 'identity.directory', 'store.path'];

function fileOf(setting: string, value: unknown) {
  // Only sentinels have this password.
  if (setting === 'store.sharedSentinelPassword') {
    return fileWith({ store: { sharedMaster: 'm', sharedSentinelPassword: value } });
  }
  return fileWith(nested(setting.split('.'), value) as Record<string, object>);
}

const inFile = (setting: string) => setting.replace('network', 'networks.fuji');

describe.each(NUMBERS)('%s is a whole number from %i to %i', (setting, least, most) => {
  test.each([least, most])('%i is taken', (value) => {
    expect(problemsOf(fileOf(setting, value))).toEqual([]);
  });

  test.each([least - 1, most + 1, least + 0.5, `${least}`, null, true, [least]])('%j is not', (value) => {
    expect(problemsOf(fileOf(setting, value))).toEqual([
      expect.stringContaining(`${inFile(setting)}: must be a whole number from ${least} to ${most}, is `),
    ]);
  });
});

describe.each(LENGTHS)('%s has %i to %i', (setting, least, most, of) => {
  test.each([least, most])('%i are taken', (length) => {
    expect(problemsOf(fileOf(setting, of(length)))).toEqual([]);
  });

  test('more or fewer are not', () => {
    const wrong = [...(least > 0 ? [least - 1] : []), ...(ENDLESS.includes(setting) ? [] : [most + 1])];
    for (const length of wrong) {
      expect(problemsOf(fileOf(setting, of(length)))).toEqual([
        expect.stringContaining(`${inFile(setting)}: must be `),
      ]);
    }
  });
});

describe('validators of an embedded network', () => {
  const fileWithValidators = (validators: number) => ({ networks: { own: { embedded: { validators } } } });

  test('5 to 2000 are taken, others are not', () => {
    for (const validators of [5, 2_000]) expect(problemsOf(fileWithValidators(validators))).toEqual([]);
    for (const validators of [4, 2_001]) {
      expect(problemsOf(fileWithValidators(validators))).toEqual([
        `networks.own.embedded.validators: must be a whole number from 5 to 2000, is ${validators}`,
      ]);
    }
  });

  test('may be told on the command line only where there is such a network', () => {
    expect(problemsOf(undefined, { validators: '4' })).toEqual([
      'networks.local.embedded.validators (command line, --validators): must be a whole number from 5 to 2000, is 4',
    ]);
    expect(problemsOf(fileWith(), { validators: '20' })).toEqual([
      '--validators: is the size of the embedded network, and the configuration has none',
    ]);
  });
});

describe('ports of the Go aggregator', () => {
  const networks = (fuji: object, mainnet: object) => ({
    networks: { fuji: { ...FUJI, goApi: fuji }, mainnet: { ...FUJI, goApi: mainnet } },
  });

  test('each is another one', () => {
    expect(problemsOf(networks({ apiPort: 1, metricsPort: 2 }, { apiPort: 3, metricsPort: 4 }))).toEqual([]);
    expect(problemsOf(networks({ apiPort: 0, metricsPort: 0 }, { apiPort: 0, metricsPort: 0 }))).toEqual([]);
    expect(problemsOf(networks({ apiPort: 1, metricsPort: 1 }, { apiPort: 3, metricsPort: 1 }))).toEqual([
      'networks.fuji.goApi.metricsPort: must be another port than networks.fuji.goApi.apiPort, is 1',
      'networks.mainnet.goApi.metricsPort: must be another port than networks.fuji.goApi.apiPort, is 1',
    ]);
  });

  test('which is none of the service itself', () => {
    const ours = { server: { port: 1 }, metrics: { port: 2 } };
    expect(problemsOf({ ...ours, ...networks({ apiPort: 1, metricsPort: 2 }, { apiPort: 3 }) })).toEqual([
      'networks.fuji.goApi.apiPort: must be another port than server.port, is 1',
      'networks.fuji.goApi.metricsPort: must be another port than metrics.port, is 2',
    ]);
    // As it is by default.
    expect(problemsOf(networks({ apiPort: 8080 }, {}))).toEqual([
      'networks.fuji.goApi.apiPort: must be another port than server.port, is 8080',
    ]);
    expect(problemsOf({ ...networks({}, {}), server: { port: 1 }, metrics: { port: 1 } })).toEqual([
      'metrics.port: must be another port than server.port, is 1',
    ]);
    const elsewhere = { server: { port: 1, host: '127.0.0.1' }, metrics: { port: 1, host: '127.0.0.2' } };
    expect(problemsOf({ ...networks({}, {}), ...elsewhere })).toEqual([]);
  });

  test('which may be the only ones, and then are all there is', () => {
    const server = { ownApi: false };
    expect(problemsOf({ ...networks({ apiPort: 8080 }, {}), server })).toEqual([]);
    expect(problemsOf({ ...networks({}, {}), server })).toEqual([
      'server.ownApi: must be true where no network has ports of goApi, as nothing would listen, is false',
    ]);
  });
});
