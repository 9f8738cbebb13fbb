import { expect, test } from 'vitest';
import { createCircuitBreaker, MAX_FAILURES, OPEN_MS } from '../../../../src/proxy/client/circuit-breaker.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

function create() {
  const clock = new FakeClock();
  const changes: boolean[] = [];
  const breaker = createCircuitBreaker(clock, (isOpen) => changes.push(isOpen));
  const fail = (times: number): void => {
    for (let count = 0; count < times; count += 1) breaker.notConnected();
  };
  return { clock, breaker, changes, fail };
}

test('opens after consecutive failed connections, and rejects for a while', async () => {
  const { clock, breaker, changes, fail } = create();
  fail(MAX_FAILURES - 1);
  expect([breaker.admit(), breaker.isOpen()]).toEqual([0, false]);
  fail(1);
  expect([breaker.admit(), breaker.isOpen(), changes]).toEqual([OPEN_MS, true, [true]]);
  await clock.advance(OPEN_MS - 1);
  expect(breaker.admit()).toBe(1);
});

test('a connection between failures starts the count again', () => {
  const { breaker, changes, fail } = create();
  fail(MAX_FAILURES - 1);
  breaker.connected();
  fail(MAX_FAILURES - 1);
  expect([breaker.isOpen(), changes]).toEqual([false, []]);
});

test('admits one trial at a time: a connection closes it, a failure keeps it open', async () => {
  const { clock, breaker, changes, fail } = create();
  fail(MAX_FAILURES);
  await clock.advance(OPEN_MS);
  expect([breaker.admit(), breaker.admit()]).toEqual([0, OPEN_MS]);
  fail(1);
  expect(breaker.admit()).toBe(OPEN_MS);
  await clock.advance(OPEN_MS);
  expect(breaker.admit()).toBe(0);
  breaker.connected();
  expect([breaker.admit(), breaker.isOpen(), changes]).toEqual([0, false, [true, false]]);
});

test('a trial without a result makes room for another one', async () => {
  const { clock, breaker, fail } = create();
  fail(MAX_FAILURES);
  await clock.advance(OPEN_MS);
  expect(breaker.admit()).toBe(0);
  await clock.advance(OPEN_MS);
  expect(breaker.admit()).toBe(0);
});
