import { defineConfig } from 'oxlint';
import { layerOverrides } from './scripts/layers.ts';

const TURN_MESSAGE = 'Turns of the event loop are taken through Clock.afterTurn.';
const TURN_PROPERTY = { object: 'globalThis', property: 'setImmediate', message: TURN_MESSAGE };

export default defineConfig({
  plugins: ['eslint', 'typescript', 'unicorn', 'oxc', 'import', 'node', 'promise', 'vitest'],
  categories: { correctness: 'error' },
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  ignorePatterns: ['src/*/gen/**'],
  rules: {
    eqeqeq: 'error',
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'no-console': 'error',
    'no-restricted-properties': [
      'error',
      { object: 'process', property: 'env', message: 'Only src/config reads the environment.' },
      TURN_PROPERTY,
    ],
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
    // A copy is taken where the loop changes what it goes over.
    'unicorn/no-useless-spread': 'off',
    'vitest/no-disabled-tests': 'error',
    // The second argument is what a failure says.
    'vitest/valid-expect': ['error', { maxArgs: 2 }],
    'vitest/no-focused-tests': 'error',
  },
  overrides: [
    ...layerOverrides(),
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
      // Programs that talk to whoever started them.
      files: [
        'src/main.ts',
        'src/cli/**',
        'src/devnet/banner.ts',
        'bench/**',
        'scripts/**',
        'test/api/**',
        'test/network/**',
      ],
      rules: { 'no-console': 'off' },
    },
    {
      files: ['bench/**', 'scripts/**', 'test/**', '*.config.ts'],
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
