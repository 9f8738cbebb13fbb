import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CircuitBreaker } from '../../../../src/proxy/client/circuit-breaker.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const MAX_FAILURES = 4;
const OPEN_MS = 1_000;

function start() {
  const clock = new FakeClock();
  const changes: boolean[] = [];
  /** Of probes that have not ended. */
  const probes: ((isUp: boolean) => void)[] = [];
  const breaker = new CircuitBreaker({
    clock,
    maxFailures: MAX_FAILURES,
    openMs: OPEN_MS,
    probe: () => new Promise((resolve) => probes.push(resolve)),
    onChange: (isOpen) => changes.push(isOpen),
  });
  return {
    breaker,
    clock,
    changes,
    probes,
    async endProbe(isUp: boolean) {
      probes.shift()?.(isUp);
      await Promise.resolve();
    },
  };
}

function repeat(times: number, action: () => void): void {
  for (let count = 0; count < times; count += 1) action();
}

function open() {
  const started = start();
  repeat(MAX_FAILURES, () => started.breaker.notConnected());
  expect(started.breaker.isOpen).toBe(true);
  return started;
}

test('is closed at first, and after fewer failures in a row than it takes', () => {
  const { breaker, probes, changes } = start();
  expect([breaker.isOpen, breaker.admit()]).toEqual([false, 0]);
  repeat(3, () => {
    repeat(MAX_FAILURES - 2, () => breaker.notConnected());
    breaker.unanswered();
    expect([breaker.isOpen, breaker.admit()]).toEqual([false, 0]);
    breaker.answered();
  });
  expect([probes, changes]).toEqual([[], []]);
});

test('opens where no connection can be made, without asking', () => {
  const { breaker, probes, changes } = open();
  expect([breaker.admit(), probes, changes]).toEqual([OPEN_MS, [], [true]]);
});

test('asks the host itself where requests get no answer, and stays closed where it answers', async () => {
  const { breaker, probes, changes, endProbe } = start();
  for (let round = 0; round < 3; round += 1) {
    repeat(10 * MAX_FAILURES, () => breaker.unanswered());
    // One question at a time, and meanwhile requests go.
    expect([probes.length, breaker.admit()]).toEqual([1, 0]);
    await endProbe(true);
    expect([breaker.isOpen, breaker.admit()]).toEqual([false, 0]);
    repeat(MAX_FAILURES - 1, () => breaker.unanswered());
    expect(probes).toHaveLength(0);
    breaker.answered();
  }
  expect(changes).toEqual([]);
});

test('opens where the host does not answer what it is asked itself', async () => {
  const { breaker, changes, endProbe } = start();
  repeat(MAX_FAILURES, () => breaker.unanswered());
  expect(breaker.isOpen).toBe(false);
  await endProbe(false);
  expect([breaker.isOpen, breaker.admit(), changes]).toEqual([true, OPEN_MS, [true]]);
});

test('says how long it stays open, then lets one try and no other', async () => {
  const { breaker, clock } = open();
  await clock.advance(400);
  expect(breaker.admit()).toBe(600);
  await clock.advance(600);
  expect(breaker.admit()).toBe(0);
  expect(breaker.admit()).toBe(OPEN_MS);
  expect(breaker.isOpen).toBe(true);
});

test('one that tries and is answered closes it, and failures are counted anew', async () => {
  const { breaker, clock, changes } = open();
  await clock.advance(OPEN_MS);
  breaker.admit();
  breaker.answered();
  expect([breaker.isOpen, breaker.admit(), changes]).toEqual([false, 0, [true, false]]);
  repeat(MAX_FAILURES - 1, () => breaker.notConnected());
  expect(breaker.isOpen).toBe(false);
});

test('one that tries and cannot connect keeps it open as long again', async () => {
  const { breaker, clock, changes } = open();
  await clock.advance(OPEN_MS);
  breaker.admit();
  breaker.notConnected();
  await clock.advance(OPEN_MS - 1);
  expect([breaker.admit(), changes]).toEqual([1, [true]]);
});

test('one that tries and gets no answer does not decide: the host is asked', async () => {
  for (const isUp of [true, false]) {
    const { breaker, clock, endProbe } = open();
    await clock.advance(OPEN_MS);
    breaker.admit();
    breaker.unanswered();
    expect(breaker.admit()).toBe(OPEN_MS);
    await endProbe(isUp);
    expect([breaker.isOpen, breaker.admit()]).toEqual(isUp ? [false, 0] : [true, OPEN_MS]);
  }
});

test('one that tries and shows nothing leaves the turn to another', async () => {
  const { breaker, clock } = open();
  await clock.advance(OPEN_MS);
  breaker.admit();
  breaker.abandoned();
  expect([breaker.isOpen, breaker.admit(), breaker.admit()]).toEqual([true, 0, OPEN_MS]);
});

test('whatever is asked for, a host that answers us stays reachable', async () => {
  const step = fc.constantFrom('unanswered', 'abandoned', 'answered', 'probe', 'wait');
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { breaker, clock, endProbe } = start();
      for (const each of steps) {
        if (each === 'probe') await endProbe(true);
        else if (each === 'wait') await clock.advance(OPEN_MS / 2);
        else breaker[each]();
        expect(breaker.admit()).toBe(0);
      }
    }),
  );
});

test('outcomes of requests admitted before it opened do not let more than one try', async () => {
  const step = fc.constantFrom('notConnected', 'abandoned', 'wait');
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 50 }), async (steps) => {
      const { breaker, clock } = open();
      let trying = 0;
      for (const each of steps) {
        if (each === 'wait') {
          await clock.advance(OPEN_MS / 2);
        } else if (trying > 0) {
          trying -= 1;
          breaker[each]();
        }
        if (breaker.admit() === 0) trying += 1;
        expect(trying).toBeLessThanOrEqual(1);
      }
    }),
  );
});
