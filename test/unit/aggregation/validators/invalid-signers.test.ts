import { expect, test } from 'vitest';
import { createInvalidSigners } from '../../../../src/aggregation/validators/invalid-signers.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

test('an invalid signer stays one until a valid signature, and is due for a trial after some minutes', async () => {
  const clock = new FakeClock();
  const invalidSigners = createInvalidSigners(clock);
  expect(invalidSigners.has('aa')).toBe(false);
  invalidSigners.add('aa');
  invalidSigners.add('bb');
  expect([invalidSigners.has('aa'), invalidSigners.has('bb'), invalidSigners.has('cc')]).toEqual([true, true, false]);
  invalidSigners.clear('bb');
  expect(invalidSigners.has('bb')).toBe(false);
  expect([invalidSigners.isTrialDue('aa'), invalidSigners.isTrialDue('cc')]).toEqual([false, false]);
  await clock.advance(10 * 60_000 - 1);
  expect(invalidSigners.isTrialDue('aa')).toBe(false);
  await clock.advance(1);
  expect([invalidSigners.has('aa'), invalidSigners.isTrialDue('aa')]).toEqual([true, true]);
  // A trial that comes to nothing is repeated, and one that fails puts off the next.
  invalidSigners.beginTrial('aa');
  invalidSigners.beginTrial('cc');
  expect([invalidSigners.isTrialDue('aa'), invalidSigners.has('cc')]).toEqual([false, false]);
  await clock.advance(60_000);
  expect(invalidSigners.isTrialDue('aa')).toBe(true);
  invalidSigners.add('aa');
  await clock.advance(60_000);
  expect(invalidSigners.isTrialDue('aa')).toBe(false);
});
