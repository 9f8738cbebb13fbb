import { describe, expect, test } from 'vitest';
import { untested, untestedRefusals } from '../../../scripts/docs/untested.ts';

const NOTHING = { errorCodes: [], settings: [], routes: [], operations: [], endpoints: [] };
const tests = (text: string) => new Map([['test/a.test.ts', text]]);

describe('what no test names', () => {
  test('an error code, by its whole name', () => {
    const codes = { ...NOTHING, errorCodes: ['not_found'] };
    expect(untested(codes, tests("expect(body.code).toBe('not_found');"))).toEqual([]);
    expect(untested(codes, tests("expect(body.code).toBe('justification_not_found');"))).toEqual([
      'No test names the error code `not_found`: test what raises it.',
    ]);
  });

  test.each([
    "'/v1/networks/fuji/validators'",
    '`/v1/networks/$' + '{name}/validators?x=1`',
    '"/v1/networks/{}/validators"',
  ])('a route, which %s asks for', (target) => {
    const routes = { ...NOTHING, routes: ['GET /v1/networks/{network}/validators'] };
    expect(untested(routes, tests(`get(${target})`))).toEqual([]);
    expect(untested(routes, tests(`get(${target.replace('validators', 'validators/1')})`))).toEqual([
      'No test asks for the route `GET /v1/networks/{network}/validators`: test it in test/unit/api.',
    ]);
  });

  test('a setting, in the tests of the configuration', () => {
    const settings = { ...NOTHING, settings: ['networks.name.apiTimeoutMs'] };
    const text = 'expect(network).toMatchObject({ apiTimeoutMs: 5_000 });';
    expect(untested(settings, new Map([['test/unit/config/load/config.test.ts', text]]))).toEqual([]);
    expect(untested(settings, new Map([['test/unit/network/network.test.ts', text]]))).toEqual([
      'No test in test/unit/config/ names the setting `networks.name.apiTimeoutMs`: test its limits and its default.',
    ]);
  });

  test('an operation, in the test of the OpenAPI document', () => {
    const file = 'test/integration/proxy/openapi.test.ts';
    const operations = { ...NOTHING, operations: ['live'] };
    expect(untested(operations, new Map([[file, "['live']"]]))).toEqual([]);
    expect(untested(operations, new Map([[file, "['liveliness']"]]))).toEqual([
      `${file} does not name \`live\`, an operation of the OpenAPI document.`,
    ]);
  });

  test('an endpoint, in each of the files that have something for all of them', () => {
    const folder = 'test/integration/proxy';
    const files = ['stand-in-records.ts', 'stand-in.ts', 'endpoints.test.ts', 'openapi.test.ts'];
    const all = new Map(files.map((file) => [`${folder}/${file}`, 'listValidators: {}']));
    const endpoints = { ...NOTHING, endpoints: ['listValidators'] };
    expect(untested(endpoints, all)).toEqual([]);
    for (const file of files) {
      expect(untested(endpoints, new Map([...all, [`${folder}/${file}`, '']]))).toEqual([
        `${folder}/${file} has nothing for \`listValidators\`, an endpoint of src/proxy/catalogue/upstream-endpoints.ts.`,
      ]);
    }
  });
});

describe('refusal codes of the P-Chain', () => {
  const PLAN = 'src/aggregation/collection/refusal-verdict.ts';
  const RULES = 'src/devnet/node/signing-rules.ts';
  const TESTS = ['test/unit/aggregation/collection/query-plan.test.ts', 'test/unit/devnet/node/signing-rules.test.ts'];
  const files = (changed: Readonly<Record<string, string>> = {}) =>
    new Map(
      Object.entries({
        [PLAN]: 'const NO_HANDLER = -2; const FINAL_P_CHAIN_CODES: ReadonlySet<number> = new Set([1]);',
        [RULES]: 'const PLATFORM_CODE = { parse: 1, wrongNonce: 16 } as const; const MAX = 99;',
        [TESTS[0]!]: 'const FINAL = [1]; const PASSING = [16];',
        [TESTS[1]!]: "test('1: no payload'); expect(code).toBe(16);",
        ...changed,
      }),
    );

  test('are fine where plan, embedded network and tests have them', () => {
    expect(untestedRefusals(files())).toEqual([]);
  });

  test('are named where the embedded network cannot refuse with them', () => {
    const plan = 'const FINAL_P_CHAIN_CODES: ReadonlySet<number> = new Set([1, 18]);';
    expect(untestedRefusals(files({ [PLAN]: plan }))).toEqual([
      `${PLAN} has the P-Chain's code 18, with which no validator of ${RULES} can refuse.`,
    ]);
  });

  test.each(TESTS)('are named where %s has none of them', (file) => {
    expect(untestedRefusals(files({ [file]: 'test(116); test(1);' }))).toEqual([
      `${file} does not name the refusal code 16 of ${RULES}.`,
    ]);
  });

  test('are missed where their lists have other names', () => {
    expect(untestedRefusals(files({ [PLAN]: '', [RULES]: '' }))).toEqual([
      `${PLAN} has no list FINAL_P_CHAIN_CODES.`,
      `${RULES} has no table PLATFORM_CODE.`,
    ]);
  });
});
