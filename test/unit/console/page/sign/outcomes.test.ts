import { expect, test } from 'vitest';
import type { ValidatorStatus } from '../../../../../src/api/aggregation/signing-progress.ts';
import { isAwaitingExecution } from '../../../../../src/console/page/sign/outcomes.ts';

test.each<[boolean, ...ValidatorStatus[]]>([
  [false],
  [false, 'asked', 'not_asked'],
  [true, 'refused', 'refused', 'not_asked'],
  [true, 'refused', 'asked'],
  [false, 'refused', 'signed'],
])('whether the execution of a block is awaited: %s for %s %s %s', (expected, ...statuses) => {
  const validators = statuses.map((status, index) => ({ index, nodeIds: [], weight: 1n, status, sinceMs: 0 }));
  expect(isAwaitingExecution({ validators, totalWeight: 3n })).toBe(expected);
});
