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

  test('lets promises settle between timers, so that a chain of sleeps passes in one advance', async () => {
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

  test('lets the turns of the event loop come before time moves on, however long their chain', async () => {
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

  test('a cancelled timer never runs, and cancelling one that ran does nothing', async () => {
    const clock = new FakeClock();
    const callback = vi.fn();
    const cancelFirst = clock.after(1, callback);
    const cancelSecond = clock.after(2, () => cancelThird());
    const cancelThird = clock.after(2, callback);
    cancelFirst();
    await clock.advance(5);
    cancelSecond();
    expect(callback).not.toHaveBeenCalled();
    expect(clock.pendingTimers).toBe(0);
  });

  test('what a callback throws comes out, and an endless loop is told', async () => {
    const clock = new FakeClock();
    clock.after(1, () => {
      throw new Error('bug');
    });
    await expect(clock.advance(1)).rejects.toThrow('bug');
    expect(clock.pendingTimers).toBe(0);
    expect(() => clock.after(Number.NaN, () => undefined)).toThrowError(RangeError);
    const again = (): void => void clock.after(0, again);
    again();
    await expect(clock.advance(1)).rejects.toThrow('an endless loop?');
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

  test('rejects with the reason at once on abort, and leaves no timer', async () => {
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

  test('leaves no listener on a signal that lives on', async () => {
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
  test('aborts after its time with an error that says what took too long', async () => {
    const clock = new FakeClock();
    const deadline = startDeadline(clock, 5000, 'the TLS handshake');
    await clock.advance(4999);
    expect(deadline.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(deadline.signal.aborted).toBe(true);
    expect(deadline.signal.reason).toBeInstanceOf(DeadlineExceeded);
    expect(deadline.signal.reason).toMatchObject({ message: 'the TLS handshake took longer than 5000 ms' });
  });

  test('aborts with its parent and with the parent’s reason, be it before or after', async () => {
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

  test('once disposed, neither time nor the parent aborts it, and nothing stays behind', async () => {
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

  test('nested deadlines: the first one due decides', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 50 }), async (outerMs, innerMs) => {
        const clock = new FakeClock();
        using outer = startDeadline(clock, outerMs, 'outer');
        using inner = startDeadline(clock, innerMs, 'inner', outer.signal);
        await clock.advance(100);
        const first = outerMs <= innerMs ? 'outer' : 'inner';
        expect(inner.signal.reason).toMatchObject({ message: expect.stringContaining(first) });
      }),
    );
  });
});

describe('system clock', () => {
  test('calls back later, never at once, and not when cancelled', async () => {
    const order: string[] = [];
    const cancel = systemClock.after(0, () => order.push('cancelled'));
    const ran = new Promise<void>((resolve) => systemClock.after(0, resolve)).then(() => order.push('ran'));
    cancel();
    order.push('after() returned');
    await ran;
    expect(order).toEqual(['after() returned', 'ran']);
  });

  test('a wait longer than a timer can hold is long, not 1 ms', async () => {
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

  test('the monotonic clock never steps back', () => {
    let last = systemClock.monotonicMs();
    for (let turn = 0; turn < 1000; turn += 1) {
      const next = systemClock.monotonicMs();
      expect(next).toBeGreaterThanOrEqual(last);
      last = next;
    }
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000);
  });
});
