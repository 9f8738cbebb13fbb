import { expect, test } from 'vitest';
import { dependenciesOfLock } from '../../../scripts/docs/dependencies.ts';

const GOOD = { version: '1.2.3', license: 'MIT', integrity: 'sha512-x' };

test('lists what runs with the service, each version once', () => {
  const packages = {
    '': {},
    'node_modules/b': GOOD,
    'node_modules/a/node_modules/b': GOOD,
    'node_modules/a': { ...GOOD, version: '2.0.0', license: 'ISC', optional: true },
    'node_modules/of-development': { ...GOOD, license: 'MPL-2.0', dev: true, hasInstallScript: true },
  };
  expect(dependenciesOfLock({ dependencies: { b: '1.2.3' } }, { packages })).toEqual({
    dependencies: [
      { name: 'a 2.0.0', licence: 'ISC', use: 'optional' },
      { name: 'b 1.2.3', licence: 'MIT', use: 'always' },
    ],
    problems: [],
  });
});

test.each<[string, object, object, string]>([
  ['a range', { devDependencies: { a: '^1.2.3' } }, GOOD, 'package.json asks for a in the range ^1.2.3'],
  ['a licence that asks for more', {}, { ...GOOD, license: 'GPL-3.0' }, 'a 1.2.3 has the licence GPL-3.0'],
  ['no licence', {}, { ...GOOD, license: undefined }, 'a 1.2.3 has the licence none'],
  ['an install script', {}, { ...GOOD, hasInstallScript: true }, 'a 1.2.3 runs a script when it is installed'],
  ['no hash', {}, { ...GOOD, integrity: undefined }, 'package-lock.json has no hash of a 1.2.3'],
  ['no hash', {}, { ...GOOD, integrity: undefined, dev: true, optional: true }, 'has no hash of a 1.2.3'],
])('finds %s', (_, manifest, locked, problem) => {
  const { problems } = dependenciesOfLock({ ...manifest }, { packages: { 'node_modules/a': locked } });
  expect(problems).toEqual([expect.stringContaining(problem)]);
});
