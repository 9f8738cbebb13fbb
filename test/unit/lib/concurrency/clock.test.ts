import { getEventListeners } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { sleep, systemClock } from '../../../../src/lib/concurrency/clock.ts';
import { DeadlineExceeded, startDeadline } from '../../../../src/lib/concurrency/deadline.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

test('a sleep rejects with the reason on abort, before or during it', async () => {
  const clock = new FakeClock();
  const controller = new AbortController();
  const sleeping = sleep(clock, 100, controller.signal);
  controller.abort('stop');
  await expect(sleeping).rejects.toBe('stop');
  await expect(sleep(clock, 100, controller.signal)).rejects.toBe('stop');
  expect(clock.pendingTimers).toBe(0);
});

test('a sleep leaves no listener on a signal that outlives it', async () => {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const sleeping = sleep(clock, 5, signal);
  await clock.advance(5);
  await sleeping;
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a deadline aborts after its time with an error that names the work', async () => {
  const clock = new FakeClock();
  const { signal } = startDeadline(clock, 5000, 'the TLS handshake');
  await clock.advance(4999);
  expect(signal.aborted).toBe(false);
  await clock.advance(1);
  expect(signal.reason).toBeInstanceOf(DeadlineExceeded);
  expect(signal.reason).toMatchObject({ message: 'the TLS handshake took longer than 5000 ms' });
});

test('a deadline aborts with the reason of its parent, before or after the start', async () => {
  const clock = new FakeClock();
  const parent = new AbortController();
  const before = startDeadline(clock, 100, 'work', parent.signal);
  parent.abort('request closed');
  const after = startDeadline(clock, 100, 'work', parent.signal);
  await clock.advance(200);
  expect([before, after].map(({ signal }) => signal.reason)).toEqual(['request closed', 'request closed']);
});

test('a deadline does not abort after it is disposed of, and leaves no timer or listener', () => {
  const clock = new FakeClock();
  const parent = new AbortController();
  const deadline = startDeadline(clock, 100, 'work', parent.signal);
  deadline[Symbol.dispose]();
  expect([clock.pendingTimers, getEventListeners(parent.signal, 'abort')]).toEqual([0, []]);
  parent.abort();
  expect(deadline.signal.aborted).toBe(false);
});

test('the system clock limits a delay to the maximum of a timer, which would fire at once beyond it', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const callback = vi.fn();
  for (const delayMs of [2 ** 31, 1e15, Number.POSITIVE_INFINITY]) systemClock.after(delayMs, callback);
  vi.advanceTimersByTime(2 ** 31 - 2);
  expect(callback).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(callback).toHaveBeenCalledTimes(3);
});
