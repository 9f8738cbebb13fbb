import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { sleep, systemClock } from '../../../../src/lib/concurrency/clock.ts';
import { DeadlineExceeded, startDeadline } from '../../../../src/lib/concurrency/deadline.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

describe('fake clock', () => {
  test('runs timers at their time, earliest first, equal ones in the order of creation', async () => {
    const delays = fc.array(fc.nat(20), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(delays, fc.array(fc.nat(15), { maxLength: 5 }), async (delaysMs, stepsMs) => {
        const clock = new FakeClock(1_000_000);
        const ran: { at: number; index: number }[] = [];
        for (const [index, delayMs] of delaysMs.entries()) {
          clock.after(delayMs, () => ran.push({ at: clock.monotonicMs(), index }));
        }
        for (const stepMs of stepsMs) await clock.advance(stepMs);
        const elapsedMs = stepsMs.reduce((sum, stepMs) => sum + stepMs, 0);
        expect(clock.monotonicMs()).toBe(elapsedMs);
        expect(clock.now()).toBe(1_000_000 + elapsedMs);
        const due = delaysMs
          .map((delayMs, index) => ({ at: delayMs, index }))
          .filter(({ at }) => stepsMs.length > 0 && at <= elapsedMs)
          .toSorted((a, b) => a.at - b.at || a.index - b.index);
        expect(ran).toEqual(due);
        expect(clock.pendingTimers).toBe(delaysMs.length - due.length);
      }),
    );
  });

  test('lets promises settle between timers', async () => {
    const clock = new FakeClock();
    const log: string[] = [];
    const loop = async (name: string, delayMs: number): Promise<void> => {
      for (let turn = 0; turn < 3; turn += 1) {
        await sleep(clock, delayMs);
        log.push(`${name}@${clock.monotonicMs()}`);
      }
    };
    void loop('a', 10);
    void loop('b', 15);
    await clock.advance(44);
    expect(log).toEqual(['a@10', 'b@15', 'a@20', 'b@30', 'a@30']);
    await clock.advance(1);
    expect(log.at(-1)).toBe('b@45');
  });

  test('runs event-loop callbacks before time advances, and reports an endless chain', async () => {
    const clock = new FakeClock();
    const log: string[] = [];
    const turn = (left: number): void => {
      log.push(`${left}@${clock.monotonicMs()}`);
      if (left > 0) clock.afterTurn(() => turn(left - 1));
    };
    clock.after(5, () => turn(3));
    clock.after(6, () => log.push('timer'));
    await clock.advance(10);
    expect(log).toEqual(['3@5', '2@5', '1@5', '0@5', 'timer']);
    let isOver = false;
    const endless = (): void => {
      if (!isOver) clock.afterTurn(endless);
    };
    endless();
    await expect(clock.advance(1)).rejects.toThrow('an endless loop?');
    isOver = true;
  });
});

describe('sleep', () => {
  test('resolves when its time has passed and not before', async () => {
    const clock = new FakeClock();
    const done = vi.fn();
    void sleep(clock, 100).then(done);
    await clock.advance(99);
    expect(done).not.toHaveBeenCalled();
    await clock.advance(1);
    expect(done).toHaveBeenCalledOnce();
  });

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
  test('calls back asynchronously, and not after it was cancelled', async () => {
    const order: string[] = [];
    const cancel = systemClock.after(0, () => order.push('cancelled'));
    const ran = new Promise<void>((resolve) => systemClock.after(0, resolve)).then(() => order.push('ran'));
    cancel();
    order.push('after() returned');
    await ran;
    expect(order).toEqual(['after() returned', 'ran']);
  });

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
