import { expect, test } from 'vitest';
import { createThrottledWarnings, LogThrottle } from '../../../src/telemetry/log-throttle.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';

test('a burst is written, then one line per interval with the number of omitted ones', async () => {
  const clock = new FakeClock();
  const throttle = new LogThrottle(clock, { burst: 20, intervalMs: 5 });
  const take = (count: number) => Array.from({ length: count }, () => throttle.take('a'));
  expect(take(20)).toEqual(Array(20).fill(0));
  expect(take(7)).toEqual(Array(7).fill(undefined));
  expect(throttle.take('b')).toBe(0);
  await clock.advance(4);
  expect(take(1)).toEqual([undefined]);
  await clock.advance(1);
  expect(take(2)).toEqual([8, undefined]);
  await clock.advance(10);
  expect(take(3)).toEqual([1, 0, undefined]);
  await clock.advance(3_600_000);
  expect(take(21)).toEqual([1, ...Array(19).fill(0), undefined]);
});

test('one warning per minute of each kind is written', async () => {
  const clock = new FakeClock();
  const { logger, lines } = createLogLines();
  const warn = createThrottledWarnings(logger, clock);
  for (const kind of ['a', 'a', 'b', 'a']) warn(kind, { kind }, 'failed');
  await clock.advance(59_999);
  warn('a', { kind: 'a' }, 'failed');
  await clock.advance(1);
  warn('a', { kind: 'a' }, 'failed');
  warn('b', { kind: 'b' }, 'failed');
  const parsed = lines.map((line) => JSON.parse(line) as { readonly kind: string; readonly omitted?: number });
  expect(parsed.map(({ kind, omitted }) => [kind, omitted])).toEqual([
    ['a', undefined],
    ['b', undefined],
    ['a', 3],
    ['b', undefined],
  ]);
});
