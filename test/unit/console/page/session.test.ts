import { expect, test } from 'vitest';
import type { ReadinessBody } from '../../../../src/api/health/health.ts';
import { problemOf } from '../../../../src/console/page/session.ts';

const readiness = (status: string, reason?: string) => {
  const networks = [{ name: 'local', status, reason, subnets: [] }];
  return { value: { status, networks } as unknown as ReadinessBody, error: undefined, failingSince: 0 };
};

test.each(['up', 'degraded'])('a network that is %s has no problem', (status) => {
  expect(problemOf(readiness(status, 'an L1 is weak'), 'local')).toBeUndefined();
});

test('a network that is down or starting can sign nothing, and why', () => {
  expect(problemOf(readiness('down', 'the P-Chain API does not answer'), 'local')).toBe(
    'Network local is down, so nothing can be signed for it now: the P-Chain API does not answer.',
  );
  expect(problemOf(readiness('starting'), 'local')).toBe(
    'Network local is starting, so nothing can be signed for it now.',
  );
});

test('a service that cannot be reached has a problem whatever it was before, and one that has not answered yet has none', () => {
  const failing = { ...readiness('up'), error: new Error('fetch failed'), failingSince: 1_000 };
  expect(problemOf(failing, 'local')).toMatch(/^The service cannot be reached since \d\d:\d\d:\d\d\.$/);
  expect(problemOf({ value: undefined, error: undefined, failingSince: 0 }, 'local')).toBeUndefined();
  expect(problemOf(readiness('down'), 'other')).toBeUndefined();
});
