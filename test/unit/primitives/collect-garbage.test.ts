import { expect, test } from 'vitest';
import { collectGarbage } from '../../../src/primitives/collect-garbage.ts';

test('what nobody holds is gone', () => {
  let kept: unknown = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));
  const before = process.memoryUsage().heapUsed;
  kept = undefined;
  collectGarbage();
  expect(kept).toBeUndefined();
  expect(process.memoryUsage().heapUsed).toBeLessThan(before - 10e6);
});
