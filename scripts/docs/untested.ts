import { type Node, parseSyntax } from './syntax.ts';

/** What tests have to name, each in the way it is listed in docs. */
export interface Testable {
  readonly errorCodes: readonly string[];
  /** Such as `server.port`. */
  readonly settings: readonly string[];
  /** Such as `GET /v1/networks/{network}`. */
  readonly routes: readonly string[];
  /** The `operationId` of each route that is in the OpenAPI document everywhere. */
  readonly operations: readonly string[];
  /** The `operationId` of each endpoint of an upstream. */
  readonly endpoints: readonly string[];
}

/** Has the list of all operations. */
const TEST_OF_DOCUMENT = 'test/integration/proxy/openapi.test.ts';
const TESTS_OF_SETTINGS = 'test/unit/config/';
/** Each of them has something for every endpoint of an upstream: a record, a route of the stand-in, cases, ranges. */
const FILES_OF_ENDPOINTS = ['stand-in-records.ts', 'stand-in.ts', 'endpoints.test.ts', 'openapi.test.ts'].map(
  (file) => `test/integration/proxy/${file}`,
);

/**
 * A sentence for each of them that no test names. Whether a test that names it says anything worth saying is not seen here.
 *
 * @param tests the files of test, by path, without those about `npm run check` itself
 */
export function untested(
  { errorCodes, settings, routes, operations, endpoints }: Testable,
  tests: ReadonlyMap<string, string>,
): string[] {
  const all = [...tests.values()].join('\n');
  const ofSettings = [...tests]
    .flatMap(([file, text]) => (file.startsWith(TESTS_OF_SETTINGS) ? [text] : []))
    .join('\n');
  return [
    ...errorCodes
      .filter((code) => !hasWord(all, code))
      .map((code) => `No test names the error code \`${code}\`: test what raises it.`),
    ...settings
      .filter((setting) => !hasWord(ofSettings, setting.split('.').at(-1) ?? ''))
      .map(
        (setting) =>
          `No test in ${TESTS_OF_SETTINGS} names the setting \`${setting}\`: test its limits and its default.`,
      ),
    ...routes
      .filter((route) => !patternOf(route).test(all))
      .map((route) => `No test asks for the route \`${route}\`: test it in test/unit/api.`),
    ...operations
      .filter((operation) => !endpoints.includes(operation) && !hasWord(tests.get(TEST_OF_DOCUMENT) ?? '', operation))
      .map((operation) => `${TEST_OF_DOCUMENT} does not name \`${operation}\`, an operation of the OpenAPI document.`),
    ...endpoints.flatMap((endpoint) =>
      FILES_OF_ENDPOINTS.filter((file) => !hasWord(tests.get(file) ?? '', endpoint)).map(
        (file) => `${file} has nothing for \`${endpoint}\`, an endpoint of src/proxy/catalogue/upstream-endpoints.ts.`,
      ),
    ),
  ];
}

const VERDICT_FILE = 'src/aggregation/collection/refusal-verdict.ts';
const RULES_FILE = 'src/devnet/node/signing-rules.ts';
const TESTS_OF_REFUSALS = [
  'test/unit/aggregation/collection/query-plan.test.ts',
  'test/unit/devnet/node/signing-rules.test.ts',
];

/**
 * A sentence for each code with which the P-Chain refuses that is final without the embedded network's knowing it, or that one of
 * the tests of both does not name.
 *
 * @param files of src and test, by path
 */
export function untestedRefusals(files: ReadonlyMap<string, string>): string[] {
  const finalCodes = numbersOf(VERDICT_FILE, 'FINAL_P_CHAIN_CODES', files);
  const codes = numbersOf(RULES_FILE, 'PLATFORM_CODE', files);
  const missing = [
    ...(finalCodes.length === 0 ? [`${VERDICT_FILE} has no list FINAL_P_CHAIN_CODES.`] : []),
    ...(codes.length === 0 ? [`${RULES_FILE} has no table PLATFORM_CODE.`] : []),
  ];
  return [
    ...missing,
    ...finalCodes
      .filter((code) => !codes.includes(code))
      .map(
        (code) =>
          `${VERDICT_FILE} has the P-Chain's code ${code}, with which no validator of ${RULES_FILE} can refuse.`,
      ),
    ...codes.flatMap((code) =>
      TESTS_OF_REFUSALS.filter((file) => !hasWord(files.get(file) ?? '', String(code))).map(
        (file) => `${file} does not name the refusal code ${code} of ${RULES_FILE}.`,
      ),
    ),
  ];
}

/** The numbers that the variable's value is written with: items of a list, values of an object. */
function numbersOf(file: string, variable: string, files: ReadonlyMap<string, string>): number[] {
  const { nodes, parentOf } = parseSyntax(file, files.get(file) ?? '');
  const isInside = (node: Node | undefined): boolean => {
    if (node === undefined) return false;
    if (node.type === 'VariableDeclarator') return node.id.type === 'Identifier' && node.id.name === variable;
    return isInside(parentOf(node));
  };
  return nodes.flatMap((node) =>
    node.type === 'Literal' && typeof node.value === 'number' && isInside(node) ? [node.value] : [],
  );
}

function hasWord(text: string, word: string): boolean {
  return new RegExp(`(?<![\\w-])${word}(?!\\w)`).test(text);
}

/** A parameter may stand for any value, and the path must be the end of a text or be followed by a query. */
function patternOf(route: string): RegExp {
  const [, path = ''] = route.split(' ');
  const literal = path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&');
  return new RegExp(`${literal.replaceAll(/\{\w+\}/g, '[^/\\s]+').replaceAll('\\*', '.+')}['"\`?$]`);
}
