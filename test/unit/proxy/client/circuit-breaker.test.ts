import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CircuitBreaker, MAX_FAILURES, OPEN_MS } from '../../../../src/proxy/client/circuit-breaker.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

function start() {
  const clock = new FakeClock();
  const changes: boolean[] = [];
  /** Probes that have not ended. */
  const probes: ((isUp: boolean) => void)[] = [];
  const breaker = new CircuitBreaker({
    clock,
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

test('one that tries and gets no answer does not decide: the host is asked', async () => {
  for (const isUp of [true, false]) {
    const { breaker, clock, probes, endProbe } = open();
    await clock.advance(OPEN_MS);
    breaker.admit();
    breaker.unanswered();
    expect(breaker.admit()).toBe(OPEN_MS);
    await endProbe(isUp);
    expect([breaker.isOpen, breaker.admit()]).toEqual(isUp ? [false, 0] : [true, OPEN_MS]);
    if (!isUp) continue;
    repeat(MAX_FAILURES, () => breaker.unanswered());
    expect(probes).toHaveLength(1);
  }
});

test('one that tries and shows nothing leaves the turn to another', async () => {
  const { breaker, clock } = open();
  await clock.advance(OPEN_MS);
  breaker.admit();
  breaker.abandoned();
  expect([breaker.isOpen, breaker.admit(), breaker.admit()]).toEqual([true, 0, OPEN_MS]);
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
