import { expect, test } from 'vitest';
import { countOutcomes, type SchemathesisReport } from '../../api/outcomes.ts';

const GOOD: SchemathesisReport = {
  complete: true,
  operations: { total: 3, tested: 3, errored: 0 },
  phases: {
    examples: { status: 'success' },
    coverage: { status: 'success' },
    fuzzing: { status: 'success' },
    stateful: { status: 'success' },
  },
  test_cases: { generated: 100 },
  failures: [],
};
const OTHERS = 7;

test('a good run: each operation, each phase, the number of requests, that all were tested, and the end', () => {
  expect(countOutcomes(GOOD, 100)).toEqual({ passed: 3 + OTHERS, failed: 0, examples: 100, problems: [] });
});

test.each<[string, Partial<SchemathesisReport>]>([
  ['only 99 requests were made, of at least 100', { test_cases: { generated: 99 } }],
  ['schemathesis did not come to its end', { complete: false }],
  ['the phase stateful was not run: skip', { phases: { ...GOOD.phases, stateful: { status: 'skip' } } }],
  ['of 3 operations 3 were tested, 1 with errors', { operations: { total: 3, tested: 3, errored: 1 } }],
  ['of 3 operations 2 were tested, 0 with errors', { operations: { total: 3, tested: 2, errored: 0 } }],
])('fails where %s', (problem, change) => {
  const outcomes = countOutcomes({ ...GOOD, ...change }, 100);
  expect(outcomes).toMatchObject({ failed: 1, problems: [problem] });
});
