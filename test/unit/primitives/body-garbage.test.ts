import { expect, test } from 'vitest';
import { BodyGarbage } from '../../../src/primitives/body-garbage.ts';

const MIB = 1024 * 1024;

function setUp(usedBytes: number) {
  const growth: number[] = [];
  const watching = new Set<() => void>();
  const time = { ms: 0 };
  const garbage = new BodyGarbage(
    { monotonicMs: () => time.ms },
    {
      usedBytes: () => usedBytes,
      setGrowth: (percent) => growth.push(percent),
      onCollected(callback) {
        watching.add(callback);
        return () => watching.delete(callback);
      },
    },
  );
  const collect = (): void => {
    for (const callback of [...watching]) callback();
  };
  return { garbage, growth, watching, time, collect };
}

test('while many bytes come, the heap has 64 MiB to grow, whatever lives in it', () => {
  const small = setUp(32 * MIB);
  small.garbage.count(16 * MIB);
  expect(small.growth).toEqual([]);
  small.garbage.count(16 * MIB - 1);
  expect(small.growth).toEqual([]);
  small.garbage.count(1);
  expect(small.growth).toEqual([200]);

  const large = setUp(2_048 * MIB);
  for (let count = 0; count < 2; count += 1) large.garbage.count(16 * MIB);
  expect(large.growth).toEqual([10]);
});

test('bodies that come now and then leave it as it is', () => {
  const { garbage, growth, watching, time } = setUp(32 * MIB);
  for (let count = 0; count < 10; count += 1) {
    garbage.count(16 * MIB);
    time.ms += 5_000;
  }
  expect([growth, watching.size]).toEqual([[], 0]);
});

test('when they have come no more for a while, V8 decides again, until they come again', () => {
  const { garbage, growth, watching, time, collect } = setUp(32 * MIB);
  for (let count = 0; count < 3; count += 1) garbage.count(16 * MIB);
  expect(watching.size).toBe(1);
  time.ms += 4_999;
  collect();
  expect(growth).toEqual([200, 200]);
  time.ms += 1;
  collect();
  expect([growth.at(-1), watching.size]).toEqual([0, 0]);
  for (let count = 0; count < 2; count += 1) garbage.count(16 * MIB);
  expect([growth.at(-1), watching.size]).toEqual([200, 1]);
});
