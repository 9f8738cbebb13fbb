import { expect, test } from 'vitest';
import { variableName } from '../../../../src/config/schema/variables.ts';
import { FUJI, fileWith, nested, problemsOf } from '../load/config-fixture.ts';

test.each(['aggregation.peerTimeoutMs', 'networks.fuji.apiTimeoutMs', 'networks.fuji.l1Index', 'store.sharedKind'])(
  'the removed setting %s is rejected with advice, in a file and as a variable',
  (setting) => {
    const path = setting.split('.');
    const [section = '', , name = ''] = path;
    const file =
      section === 'networks'
        ? { networks: { fuji: { ...FUJI, [name]: 1 } } }
        : fileWith(nested(path, 1) as Record<string, object>);
    expect(problemsOf(file)).toEqual([
      expect.stringMatching(`^${RegExp.escape(setting)}: there is no such setting any more; leave it out: `),
    ]);
    const variable = variableName(path);
    expect(problemsOf(fileWith(), {}, { [variable]: '1' })).toEqual([
      expect.stringContaining(`${variable}: no setting has this variable; it is gone: leave it out: `),
    ]);
  },
);

test('a part of a removed section is rejected with the same advice', () => {
  const variable = 'SIGNATURE_AGGREGATOR_NETWORKS__FUJI__L1_INDEX__LOOKBACK';
  expect(problemsOf(fileWith(), {}, { [variable]: '1' })).toEqual([
    expect.stringContaining('it is gone: leave it out'),
  ]);
});
