import { expect, test } from 'vitest';
import { createSuspects } from '../../../src/aggregator/suspects.ts';
import { FakeClock } from '../../fake-clock.ts';

test('a signer caught is a suspect for some minutes, or until its signature is good', async () => {
  const clock = new FakeClock();
  const suspects = createSuspects(clock);
  expect(suspects.has('aa')).toBe(false);
  suspects.add('aa');
  suspects.add('bb');
  expect([suspects.has('aa'), suspects.has('bb'), suspects.has('cc')]).toEqual([true, true, false]);
  suspects.clear('bb');
  expect(suspects.has('bb')).toBe(false);
  await clock.advance(10 * 60_000 - 1);
  expect(suspects.has('aa')).toBe(true);
  await clock.advance(1);
  expect(suspects.has('aa')).toBe(false);
});
