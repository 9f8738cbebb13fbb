import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { createWakeUp } from '../../../../src/lib/concurrency/wake-up.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

test('waits until its time has come', async () => {
  const clock = new FakeClock();
  await clock.advance(50);
  using wakeUp = createWakeUp(clock);
  const woken = vi.fn();
  void wakeUp.next(150).then(woken);
  await clock.advance(99);
  expect(woken).not.toHaveBeenCalled();
  await clock.advance(1);
  expect(woken).toHaveBeenCalledOnce();
});

test('a change ends the wait and leaves no timer', async () => {
  const clock = new FakeClock();
  using wakeUp = createWakeUp(clock);
  const waiting = wakeUp.next(1000);
  wakeUp.wake();
  await waiting;
  expect(clock.pendingTimers).toBe(0);
  expect(clock.monotonicMs()).toBe(0);
});

test('a failure rejects the current or the next wait', async () => {
  const bug = new Error('bug');
  for (const waitsFirst of [true, false]) {
    using wakeUp = createWakeUp(new FakeClock());
    const early = waitsFirst ? wakeUp.next(1000) : undefined;
    wakeUp.fail(bug);
    wakeUp.fail(new Error('a later one'));
    await expect(early ?? wakeUp.next(1000)).rejects.toBe(bug);
  }
});

test('disposing of it ends the wait and the timer', async () => {
  const clock = new FakeClock();
  let waiting: Promise<void>;
  {
    using wakeUp = createWakeUp(clock);
    waiting = wakeUp.next(1000);
  }
  await waiting;
  expect(clock.pendingTimers).toBe(0);
});

test('a loop that reads the state after each wake-up sees every change', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(30), { maxLength: 12 }), fc.nat(5), async (changesAtMs, busyMs) => {
      const clock = new FakeClock();
      using wakeUp = createWakeUp(clock);
      let changed = 0;
      let seen = 0;
      for (const atMs of changesAtMs) {
        clock.after(atMs, () => {
          changed += 1;
          wakeUp.wake();
        });
      }
      const loop = async (): Promise<void> => {
        while (seen < changesAtMs.length) {
          await wakeUp.next(Number.POSITIVE_INFINITY);
          seen = changed;
          await new Promise<void>((resolve) => clock.after(busyMs, resolve));
        }
      };
      const done = vi.fn();
      void loop().then(done);
      await clock.advance(100);
      expect(seen).toBe(changesAtMs.length);
      expect(done).toHaveBeenCalledOnce();
    }),
  );
});

test('all changes of one turn of the event loop end one wait, and one of a later turn the next', async () => {
  const clock = new FakeClock();
  using wakeUp = createWakeUp(clock);
  const first = wakeUp.nextTurn(1000);
  wakeUp.wake();
  for (let later = 0; later < 10; later += 1) await Promise.resolve();
  wakeUp.wake();
  await first;
  const woken = vi.fn();
  const second = wakeUp.nextTurn(1000).then(woken);
  await clock.advance(999);
  expect(woken).not.toHaveBeenCalled();
  wakeUp.wake();
  await second;
  expect(clock.pendingTimers).toBe(0);
});
