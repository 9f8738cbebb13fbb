import { expect, test } from 'vitest';
import { createInvalidSigners } from '../../../../src/aggregation/collection/invalid-signers.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

test('a signer caught is a suspect until its signature is good, and tried out again after some minutes', async () => {
  const clock = new FakeClock();
  const suspects = createInvalidSigners(clock);
  expect(suspects.has('aa')).toBe(false);
  suspects.add('aa');
  suspects.add('bb');
  expect([suspects.has('aa'), suspects.has('bb'), suspects.has('cc')]).toEqual([true, true, false]);
  suspects.clear('bb');
  expect(suspects.has('bb')).toBe(false);
  expect([suspects.isTrialDue('aa'), suspects.isTrialDue('cc')]).toEqual([false, false]);
  await clock.advance(10 * 60_000 - 1);
  expect(suspects.isTrialDue('aa')).toBe(false);
  await clock.advance(1);
  expect([suspects.has('aa'), suspects.isTrialDue('aa')]).toEqual([true, true]);
  // A trial that comes to nothing is repeated, and one that fails puts off the next.
  suspects.beginTrial('aa');
  suspects.beginTrial('cc');
  expect([suspects.isTrialDue('aa'), suspects.has('cc')]).toEqual([false, false]);
  await clock.advance(60_000);
  expect(suspects.isTrialDue('aa')).toBe(true);
  suspects.add('aa');
  await clock.advance(60_000);
  expect(suspects.isTrialDue('aa')).toBe(false);
});
