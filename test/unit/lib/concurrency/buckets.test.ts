import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PenaltyBucket } from '../../../../src/lib/concurrency/penalty-bucket.ts';
import { TokenBucket } from '../../../../src/lib/concurrency/token-bucket.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

test('a token bucket starts full and refills evenly up to its capacity, after a debt too', () => {
  const bucket = new TokenBucket({ capacity: 10, perSecond: 4 }, 0);
  bucket.spend(12);
  expect([bucket.left(0), bucket.left(1_000), bucket.left(60_000)]).toEqual([-2, 2, 10]);
});

test('a penalty bucket leaks evenly, for each key separately', async () => {
  const step = fc.record({
    key: fc.constantFrom('a', 'b'),
    points: fc.integer({ min: 0, max: 20 }),
    waitMs: fc.nat(2_000),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const clock = new FakeClock();
      const bucket = new PenaltyBucket({ clock, capacity: 10, perSecond: 5, maxKeys: 100 });
      const model = new Map<string, number>();
      for (const { key, points, waitMs } of steps) {
        bucket.charge(key, points);
        model.set(key, Math.min(20, (model.get(key) ?? 0) + points));
        await clock.advance(waitMs);
        for (const [each, level] of model) {
          model.set(each, Math.max(0, level - (5 * waitMs) / 1_000));
          expect(bucket.level(each)).toBeCloseTo((model.get(each) ?? 0) / 10, 6);
        }
      }
    }),
    { numRuns: 50 },
  );
});

test('a penalty bucket drops the least recently used key beyond its bound', () => {
  const bucket = new PenaltyBucket({ clock: new FakeClock(), capacity: 10, perSecond: 5, maxKeys: 2 });
  for (const key of ['a', 'b', 'c']) bucket.charge(key, 10);
  expect(['a', 'b', 'c'].map((key) => bucket.level(key))).toEqual([0, 1, 1]);
});
