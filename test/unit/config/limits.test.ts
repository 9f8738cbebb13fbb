import { expect, test } from 'vitest';
import { SETTINGS } from '../../../src/config/schema/schema.ts';
import { settingsOf } from '../../../src/config/schema/variables.ts';
import { FUJI, fileWith, MAINNET, nested, problemsOf } from './load/config-fixture.ts';

const LEAVES = settingsOf(SETTINGS, ['fuji']).filter(({ path }) => !path.includes('embedded'));
const NUMBERS = LEAVES.flatMap(({ path, schema: { minimum, maximum } }) =>
  minimum === undefined || maximum === undefined ? [] : [[path.join('.'), minimum, maximum] as const],
);
const RANGE = /: must be a whole number(?: of milliseconds)? from (\d+) to (\d+), is /;
/** Settings with a length; of texts without a longest one, only the least is limited. */
const LENGTHS = LEAVES.flatMap(({ path, schema: { type, items, minItems, maxItems, minLength, maxLength } }) => {
  const setting = path.join('.');
  const item = items?.examples?.[0] ?? {};
  if (type === 'array')
    return [{ setting, least: minItems, most: maxItems, of: (length: number): unknown => Array(length).fill(item) }];
  return minLength === undefined
    ? []
    : [{ setting, least: minLength, most: maxLength, of: (length: number): unknown => 'x'.repeat(length) }];
});

function fileOf(setting: string, value: unknown) {
  const [section, , ...rest] = setting.split('.');
  if (section === 'networks') return fileWith({ network: nested(rest, value) as object });
  // Only sentinels have this password.
  const sentinel = setting === 'store.sharedSentinelPassword' ? { sharedMaster: 'm' } : {};
  const { [section ?? '']: settings, ...others } = nested(setting.split('.'), value) as Record<string, object>;
  return fileWith({ ...others, [section ?? '']: { ...settings, ...sentinel } });
}

test.each(NUMBERS)('%s is a whole number from %i to %i', (setting, least, most) => {
  for (const value of [least, most]) expect(problemsOf(fileOf(setting, value))).toEqual([]);
  for (const value of [least - 1, most + 1, least + 0.5, `${least}`, null, true, [least]]) {
    const [problem = '', ...others] = problemsOf(fileOf(setting, value));
    expect(others).toEqual([]);
    expect(problem.split(':')[0]).toBe(setting);
    expect(RANGE.exec(problem)?.slice(1)).toEqual([`${least}`, `${most}`]);
  }
});

test.each(LENGTHS)('$setting has $least to $most items or characters', ({ setting, least, most, of }) => {
  for (const length of [(least ?? 0) - 1, (most ?? -2) + 1].filter((length) => length >= 0)) {
    expect(problemsOf(fileOf(setting, of(length)))).toContainEqual(expect.stringContaining(`${setting}: must be `));
  }
});

const fileWithDevnet = (embedded: object) => ({ networks: { own: { embedded } } });
const fileWithValidators = (validators: number) => fileWithDevnet({ validators });

test('the execution lag of a devnet must be 0 to 60000 milliseconds', () => {
  for (const executionLagMs of [0, 60_000]) expect(problemsOf(fileWithDevnet({ executionLagMs }))).toEqual([]);
  for (const executionLagMs of [-1, 60_001]) expect(problemsOf(fileWithDevnet({ executionLagMs }))).toHaveLength(1);
});

test('P-Chain blocks of a devnet must be 1000 to 60000 milliseconds apart', () => {
  for (const blockIntervalMs of [1_000, 60_000]) expect(problemsOf(fileWithDevnet({ blockIntervalMs }))).toEqual([]);
  for (const blockIntervalMs of [999, 60_001]) expect(problemsOf(fileWithDevnet({ blockIntervalMs }))).toHaveLength(1);
});

test('validators of a devnet must be 5 to 2000', () => {
  for (const validators of [5, 2_000]) expect(problemsOf(fileWithValidators(validators))).toEqual([]);
  for (const validators of [4, 2_001]) expect(problemsOf(fileWithValidators(validators))).toHaveLength(1);
});

test('validators of a devnet can be set on the command line only if there is a devnet', () => {
  expect(problemsOf(undefined, { validators: '4' })).toEqual([
    'networks.local.embedded.validators (command line, --validators): must be a whole number from 5 to 2000, is 4',
  ]);
  expect(problemsOf(fileWith(), { validators: '20' })).toEqual([
    '--validators: is the size of the devnet, and the configuration has none',
  ]);
});

const networks = (fuji: object, mainnet: object) => ({
  networks: { fuji: { ...FUJI, goApi: fuji }, mainnet: { ...MAINNET, goApi: mainnet } },
});

test('ports of the Go aggregator must differ from each other and from those of the service', () => {
  const ours = { server: { port: 1 }, metrics: { port: 2 } };
  for (const [file, wrong] of [
    [networks({ apiPort: 1, metricsPort: 2 }, { apiPort: 3, metricsPort: 4 }), []],
    [networks({ apiPort: 0, metricsPort: 0 }, { apiPort: 0, metricsPort: 0 }), []],
    [
      networks({ apiPort: 1, metricsPort: 1 }, { apiPort: 3, metricsPort: 1 }),
      ['networks.fuji.goApi.metricsPort', 'networks.mainnet.goApi.metricsPort'],
    ],
    [
      { ...ours, ...networks({ apiPort: 1, metricsPort: 2 }, { apiPort: 3 }) },
      ['networks.fuji.goApi.apiPort', 'networks.fuji.goApi.metricsPort'],
    ],
    [networks({ apiPort: 8080 }, {}), ['networks.fuji.goApi.apiPort']],
    [{ ...networks({}, {}), server: { port: 1 }, metrics: { port: 1 } }, ['metrics.port']],
    [{ ...networks({}, {}), server: { port: 1, host: '127.0.0.1' }, metrics: { port: 1, host: '127.0.0.2' } }, []],
  ] as const) {
    expect(problemsOf(file).map((problem) => problem.split(': must be another port than ')[0])).toEqual(wrong);
  }
});

test('ports of the Go aggregator are required without the own API', () => {
  const server = { ownApi: false };
  expect(problemsOf({ ...networks({ apiPort: 8080 }, {}), server })).toEqual([]);
  expect(problemsOf({ ...networks({}, {}), server })).toEqual([expect.stringMatching(/^server\.ownApi: must be true/)]);
});
