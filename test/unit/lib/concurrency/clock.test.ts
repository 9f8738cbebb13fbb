import { describe, expect, test, vi } from 'vitest';
import { sleep, systemClock } from '../../../../src/lib/concurrency/clock.ts';
import { DeadlineExceeded, startDeadline } from '../../../../src/lib/concurrency/deadline.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

describe('sleep', () => {
  test('rejects with the reason on abort, and leaves no timer', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const reason = new Error('stop');
    const sleeping = sleep(clock, 100, controller.signal);
    controller.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
    expect(clock.pendingTimers).toBe(0);
    await expect(sleep(clock, 100, controller.signal)).rejects.toBe(reason);
    expect(clock.pendingTimers).toBe(0);
  });

  test('leaves no listener on a signal that outlives it', async () => {
    const clock = new FakeClock();
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    const sleeping = sleep(clock, 5, signal);
    await clock.advance(5);
    await sleeping;
    expect(added).toHaveBeenCalledOnce();
    expect(removed).toHaveBeenCalledWith('abort', added.mock.calls[0]?.[1]);
  });
});

describe('deadline', () => {
  test('aborts after its time with an error that names the work', async () => {
    const clock = new FakeClock();
    const deadline = startDeadline(clock, 5000, 'the TLS handshake');
    await clock.advance(4999);
    expect(deadline.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(deadline.signal.aborted).toBe(true);
    expect(deadline.signal.reason).toBeInstanceOf(DeadlineExceeded);
    expect(deadline.signal.reason).toMatchObject({ message: 'the TLS handshake took longer than 5000 ms' });
  });

  test('aborts with the reason of its parent, before or after the start', async () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    const reason = new Error('request closed');
    const before = startDeadline(clock, 100, 'work', parent.signal);
    parent.abort(reason);
    const after = startDeadline(clock, 100, 'work', parent.signal);
    await clock.advance(200);
    expect(before.signal.reason).toBe(reason);
    expect(after.signal.reason).toBe(reason);
  });

  test('does not abort after it is disposed of, and leaves no timer or listener', async () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    const removed = vi.spyOn(parent.signal, 'removeEventListener');
    let signal: AbortSignal;
    {
      using deadline = startDeadline(clock, 100, 'work', parent.signal);
      signal = deadline.signal;
    }
    expect(clock.pendingTimers).toBe(0);
    expect(removed).toHaveBeenCalledOnce();
    await clock.advance(200);
    parent.abort();
    expect(signal.aborted).toBe(false);
  });
});

describe('system clock', () => {
  test('limits a delay to the maximum of a timer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const callback = vi.fn();
      const spy = vi.spyOn(globalThis, 'setTimeout');
      for (const delayMs of [2 ** 31, 1e15, Number.POSITIVE_INFINITY]) systemClock.after(delayMs, callback);
      systemClock.after(5, callback);
      expect(spy.mock.calls.map(([, delayMs]) => delayMs)).toEqual([2 ** 31 - 1, 2 ** 31 - 1, 2 ** 31 - 1, 5]);
    } finally {
      vi.useRealTimers();
    }
    await settle();
  });
});
