import { defineConfig } from 'oxlint';

const TURN_MESSAGE = 'The event loop is yielded to through Clock.afterTurn.';
const ENV_PROPERTY = { object: 'process', property: 'env', message: 'Only src/config reads the environment.' };
const TURN_PROPERTY = { object: 'globalThis', property: 'setImmediate', message: TURN_MESSAGE };

const PARSE_PROPERTY = {
  object: 'JSON',
  property: 'parse',
  message: 'What another party sent is parsed by src/lib/encoding/parse-json.ts, which bounds its size.',
};

/** setImmediate reaches the event loop past the clock, which tests replace. */
const TIMER_IMPORTS = ['timers', 'node:timers', 'timers/promises', 'node:timers/promises'].map((name) => ({
  name,
  importNames: ['setImmediate', 'default'],
  message: TURN_MESSAGE,
}));
const ENVIRONMENT_IMPORTS = ['process', 'node:process'].map((name) => ({
  name,
  importNames: ['env', 'default'],
  message: 'Only src/config reads the environment.',
}));
const METRICS_MESSAGE = 'Metrics are declared through src/telemetry/metrics.ts.';
const METRIC_IMPORTS = [{ name: 'prom-client', message: METRICS_MESSAGE }];
/** /metrics and the console read the registry. */
const REGISTRY_IMPORTS = [{ name: 'prom-client', allowImportNames: ['Registry'], message: METRICS_MESSAGE }];
const ABOVE_SRC = { regex: '^(\\.\\./)+(test|bench|scripts)/', message: 'src imports only from src.' };

/** Restricts what the files may import from elsewhere than src; scripts/layers.ts has the rules within src. */
function restrictImports(files: string[], paths: object[]) {
  return {
    files,
    rules: { 'no-restricted-imports': ['error', { paths, patterns: [ABOVE_SRC] }] as ['error', object] },
  };
}

export default defineConfig({
  plugins: ['eslint', 'typescript', 'unicorn', 'oxc', 'import', 'node', 'promise', 'vitest'],
  categories: { correctness: 'error' },
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  ignorePatterns: ['src/*/gen/**'],
  rules: {
    eqeqeq: 'error',
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'no-console': 'error',
    'no-restricted-properties': ['error', ENV_PROPERTY, TURN_PROPERTY],
    'node/no-process-env': 'error',
    'typescript/consistent-type-imports': ['error', { disallowTypeAnnotations: true }],
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/no-non-null-assertion': 'error',
    'typescript/only-throw-error': 'error',
    // A signal's reason is passed on as it came.
    'typescript/prefer-promise-reject-errors': ['error', { allowThrowingAny: true, allowThrowingUnknown: true }],
    'typescript/return-await': ['error', 'error-handling-correctness-only'],
    'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: false }],
    'promise/no-callback-in-promise': 'off',
    'unicorn/no-new-array': 'off',
    'vitest/no-disabled-tests': 'error',
    // The second argument is what a failure says.
    'vitest/valid-expect': ['error', { maxArgs: 2 }],
    'vitest/no-focused-tests': 'error',
  },
  overrides: [
    restrictImports(['src/**'], [...TIMER_IMPORTS, ...ENVIRONMENT_IMPORTS, ...METRIC_IMPORTS]),
    restrictImports(
      ['src/{api,console,http}/**', 'src/app/app.ts'],
      [...TIMER_IMPORTS, ...ENVIRONMENT_IMPORTS, ...REGISTRY_IMPORTS],
    ),
    restrictImports(['src/config/**'], [...TIMER_IMPORTS, ...METRIC_IMPORTS]),
    restrictImports(['src/telemetry/metrics.ts'], [...TIMER_IMPORTS, ...ENVIRONMENT_IMPORTS]),
    {
      files: ['src/**'],
      rules: { 'no-restricted-globals': ['error', { name: 'setImmediate', message: TURN_MESSAGE }] },
    },
    { files: ['src/lib/concurrency/clock.ts'], rules: { 'no-restricted-globals': 'off' } },
    {
      files: ['src/config/**'],
      rules: { 'node/no-process-env': 'off', 'no-restricted-properties': ['error', TURN_PROPERTY] },
    },
    {
      files: ['src/{network,p2p,pchain,proxy}/**', 'src/store/redis/**', 'src/lib/net/**', 'src/feed/head-socket.ts'],
      rules: {
        'no-restricted-properties': ['error', ENV_PROPERTY, TURN_PROPERTY, PARSE_PROPERTY],
      },
    },
    {
      // Programs that write to their standard output.
      files: [
        'src/main.ts',
        'src/cli/**',
        'src/devnet/banner.ts',
        'bench/**',
        'examples/**',
        'scripts/**',
        'test/api/**',
        'test/mutations/**',
        'test/network/**',
        // Runs in the programs of its users, which have no other place for a warning.
        'src/client/http-call.ts',
      ],
      rules: { 'no-console': 'off' },
    },
    {
      files: ['bench/**', 'examples/**', 'scripts/**', 'test/**', '*.config.ts'],
      rules: {
        'node/no-process-env': 'off',
        'no-restricted-properties': 'off',
        // What a test says is there and is not is a failed test.
        'typescript/no-non-null-assertion': 'off',
        'typescript/no-misused-spread': 'off',
        'typescript/unbound-method': 'off',
        // A property's expectation depends on which way the generated input goes.
        'vitest/no-conditional-expect': 'off',
        'vitest/expect-expect': ['error', { assertFunctionNames: ['expect', 'expect*', 'assert*'] }],
        'vitest/require-mock-type-parameters': 'off',
        'vitest/require-to-throw-message': 'off',
      },
    },
  ],
});
