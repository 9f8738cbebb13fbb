import { describe, expect, test } from 'vitest';
import { settingsOf, variableName } from '../../../../src/config/load/variables.ts';
import { SETTINGS } from '../../../../src/config/schema/schema.ts';
import { FUJI, fileWith, nested, problemsOf } from '../load/config-fixture.ts';

/** Everything that once was a setting, and what is said of it. */
const REMOVED: readonly (readonly [setting: string, advice: string])[] = [
  ['aggregation.peerTimeoutMs', 'aggregation.requestTimeoutMs bounds the whole'],
  ['aggregation.hedgeAfterMs', 'is learnt for each validator'],
  ['aggregation.connectTimeoutMs', 'aggregation.requestTimeoutMs bounds the whole'],
  ['aggregation.maxAggregationsInFlight', 'access.unitsPerMinute bounds one client'],
  ['aggregation.maxQueriesInFlight', '8192'],
  ['aggregation.maxConcurrentQueries', '2048'],
  ['aggregation.signatureCachePerSigner', 'a twentieth of aggregation.signatureCacheSize'],
  ['aggregation.resultCacheBytes', 'follows aggregation.signatureCacheSize'],
  ['bls.auditPercentage', 'bls.backend "native" needs no audit'],
  ['upstream.maxRpcBatch', '20 calls'],
  ['upstream.maxResponseBytes', '64 MiB'],
  ['networks.fuji.apiTimeoutMs', 'pChainApi'],
  ['networks.fuji.dialsPerSecond', '100 on a public network'],
  ['networks.fuji.l1Index', 'store.path'],
  ['store.sharedKind', 'sharedMaster'],
];
const known = new Set(settingsOf(SETTINGS, ['fuji']).map(({ path }) => path.join('.')));

describe.each(REMOVED)('%s is gone', (setting, advice) => {
  const path = setting.split('.');

  test('a file that has it is refused with what to do', () => {
    const [section = ''] = path;
    const value = setting.endsWith('l1Index') ? { lookback: 1 } : 1;
    const file =
      section === 'networks'
        ? { networks: { fuji: { ...FUJI, [path[2] ?? '']: value } } }
        : fileWith(nested(path, value) as Record<string, object>);
    expect(problemsOf(file)).toEqual([
      expect.stringMatching(
        new RegExp(`^${RegExp.escape(setting)}: there is no such setting any more; leave it out: `),
      ),
    ]);
    expect(problemsOf(file)[0]).toContain(advice);
    expect(known).not.toContain(setting);
  });

  test('so is its variable', () => {
    const variable = variableName(setting.endsWith('l1Index') ? [...path, 'lookback'] : path);
    expect(problemsOf(fileWith(), {}, { [variable]: '1' })).toEqual([
      expect.stringContaining(`${variable}: no setting has this variable; it is gone: leave it out: `),
    ]);
  });
});

test('so is a variable of before there were sections', () => {
  expect(problemsOf(fileWith(), {}, { SIGNATURE_AGGREGATOR_HEDGE_AFTER_MS: '1' })).toEqual([
    expect.stringMatching(/no setting has this variable; it is gone: leave it out: the time is learnt/),
  ]);
});
