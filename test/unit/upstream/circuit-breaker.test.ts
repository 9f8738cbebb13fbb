import fc from 'fast-check';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/primitives/clock.ts';
import { CircuitBreaker } from '../../../src/upstream/circuit-breaker.ts';

const LIMITS = { maxFailures: 4, minTargets: 2, openMs: 1_000 };

function start() {
  let nowMs = 0;
  const breaker = new CircuitBreaker({ ...systemClock, monotonicMs: () => nowMs }, LIMITS);
  return {
    breaker,
    move: (ms: number) => {
      nowMs += ms;
    },
  };
}

function open() {
  const started = start();
  for (let count = 0; count < LIMITS.maxFailures; count += 1) started.breaker.failed(undefined);
  expect(started.breaker.isOpen).toBe(true);
  return started;
}

test('is closed at first, and after fewer failures in a row than it takes', () => {
  const { breaker } = start();
  expect([breaker.isOpen, breaker.admit()]).toEqual([false, 0]);
  for (let round = 0; round < 3; round += 1) {
    for (let count = 1; count < LIMITS.maxFailures; count += 1) breaker.failed(undefined);
    expect([breaker.isOpen, breaker.admit()]).toEqual([false, 0]);
    breaker.succeeded();
  }
});

test('does not open for one target, however often it fails, but as soon as another one does, too', () => {
  const { breaker } = start();
  for (let count = 0; count < 100; count += 1) breaker.failed('/a');
  expect(breaker.isOpen).toBe(false);
  breaker.failed('/b');
  expect(breaker.isOpen).toBe(true);
});

test('says how long it stays open, then lets one try and no other', () => {
  const { breaker, move } = open();
  expect(breaker.admit()).toBe(1_000);
  move(400);
  expect(breaker.admit()).toBe(600);
  move(600);
  expect(breaker.admit()).toBe(0);
  expect(breaker.admit()).toBe(1_000);
  expect(breaker.isOpen).toBe(true);
});

test('one that tries and succeeds closes it, and failures are counted anew', () => {
  const { breaker, move } = open();
  move(1_000);
  breaker.admit();
  breaker.succeeded();
  expect([breaker.isOpen, breaker.admit()]).toEqual([false, 0]);
  for (let count = 1; count < LIMITS.maxFailures; count += 1) breaker.failed(undefined);
  expect(breaker.isOpen).toBe(false);
});

test('one that tries and fails keeps it open as long again', () => {
  const { breaker, move } = open();
  move(1_000);
  breaker.admit();
  breaker.failed('/a');
  expect(breaker.admit()).toBe(1_000);
  move(999);
  expect(breaker.admit()).toBe(1);
});

test('one that tries and shows nothing leaves the turn to another', () => {
  const { breaker, move } = open();
  move(1_000);
  breaker.admit();
  breaker.abandoned();
  expect([breaker.isOpen, breaker.admit(), breaker.admit()]).toEqual([true, 0, 1_000]);
});

test('outcomes of requests admitted before it opened do not let more than one try', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('failed', 'abandoned', 'move'), { maxLength: 50 }), (steps) => {
      const { breaker, move } = open();
      let trying = 0;
      for (const step of steps) {
        if (step === 'move') move(500);
        else if (trying > 0) {
          trying -= 1;
          breaker[step](undefined);
        }
        if (breaker.admit() === 0) trying += 1;
        expect(trying).toBeLessThanOrEqual(1);
      }
    }),
  );
});
