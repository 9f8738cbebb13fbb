import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { SingleFlight } from '../../../../src/lib/concurrency/single-flight.ts';
import { settle } from '../../../support/fake-clock.ts';

/** Work that the test settles. */
function createWork() {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const work = vi.fn((_signal: AbortSignal) => promise);
  const signal = (): AbortSignal => {
    const [call] = work.mock.calls;
    if (call === undefined) throw new Error('the work was not started');
    return call[0];
  };
  return { work, resolve, reject, promise, signal };
}

test('a call in the tick of a failure starts a new flight', async () => {
  const flights = new SingleFlight<string, string>();
  const [first, second] = [createWork(), createWork()];
  const waiting = flights.run('key', first.work);
  // Runs right after the failure, before its callers continue.
  const retried = first.promise.catch(() => flights.run('key', second.work));
  first.reject(new Error('no route'));
  second.resolve('second attempt');
  await expect(waiting).rejects.toThrow('no route');
  expect(await retried).toBe('second attempt');
  expect(flights.size).toBe(0);
});

test('an aborted caller starts nothing', async () => {
  const flights = new SingleFlight<string, string>();
  const { work } = createWork();
  await expect(flights.run('key', work, AbortSignal.abort('gone'))).rejects.toBe('gone');
  expect(work).not.toHaveBeenCalled();
});

test('no listener stays on a signal that outlives the call', async () => {
  const { signal } = new AbortController();
  await new SingleFlight<string, string>().run('key', async () => 'value', signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

interface ModelFlight {
  readonly key: string;
  readonly signal: AbortSignal;
  waiters: number;
  settled: boolean;
}

/** A single flight between callers and work, whose events the scheduler orders. */
interface Model {
  readonly events: fc.Scheduler;
  readonly singleFlight: SingleFlight<string, number>;
  readonly flights: ModelFlight[];
  /** Whether the flight of each number succeeds. */
  readonly succeeds: readonly boolean[];
}

function liveFlight({ flights }: Model, key: string): ModelFlight | undefined {
  return flights.find((flight) => flight.key === key && !flight.settled && flight.waiters > 0);
}

async function start({ events, flights, succeeds }: Model, key: string, signal: AbortSignal): Promise<number> {
  const number = flights.length;
  const flight: ModelFlight = { key, signal, waiters: 0, settled: false };
  flights.push(flight);
  await events.schedule(Promise.resolve(), `flight ${number} lands`);
  flight.settled = true;
  if (succeeds[number] !== true) throw new Error(`flight ${number}`);
  return number;
}

async function call(model: Model, key: string, leaves: boolean, caller: number): Promise<void> {
  const { events, flights, singleFlight, succeeds } = model;
  await events.schedule(Promise.resolve(), `call ${caller} of ${key}`);
  const expected = liveFlight(model, key) ?? flights.length;
  const controller = new AbortController();
  const result = singleFlight.run(key, (signal) => start(model, key, signal), controller.signal);
  // A new flight starts if and only if none was running.
  const flight = typeof expected === 'number' ? flights[expected] : expected;
  if (flight === undefined) throw new Error('no flight was started');
  expect(flights.length).toBe(typeof expected === 'number' ? expected + 1 : flights.length);
  flight.waiters += 1;

  const reason = new Error(`caller ${caller} left`);
  let leftWhileRunning = false;
  if (leaves) {
    void events.schedule(Promise.resolve(), `caller ${caller} leaves`).then(() => {
      leftWhileRunning = leave(flight);
      controller.abort(reason);
    });
  }
  const [outcome] = await Promise.allSettled([result]);
  const number = flights.indexOf(flight);
  if (leftWhileRunning) {
    expect(outcome).toEqual({ status: 'rejected', reason });
    expect(flight.signal.aborted).toBe(flight.waiters === 0);
  } else if (succeeds[number] === true) {
    expect(outcome).toEqual({ status: 'fulfilled', value: number });
  } else {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { message: `flight ${number}` } });
  }
  expect(singleFlight.size).toBe([liveFlight(model, 'a'), liveFlight(model, 'b')].filter(Boolean).length);
}

/** @returns whether the flight was running */
function leave(flight: ModelFlight): boolean {
  if (flight.settled) return false;
  flight.waiters -= 1;
  // Only the last caller aborts it.
  expect(flight.signal.aborted).toBe(false);
  return true;
}

test('in any order of calls, aborts and results, each caller gets the result of its flight', async () => {
  const calls = fc.array(fc.record({ key: fc.constantFrom('a', 'b'), leaves: fc.boolean() }), {
    minLength: 1,
    maxLength: 8,
  });
  // All ready promises settle before the next event; orders within a tick have their own tests above.
  const scheduler = fc.scheduler({ act: (event) => event().then(settle) });
  const success = fc.array(fc.boolean(), { minLength: 8, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(scheduler, calls, success, async (events, script, succeeds) => {
      const singleFlight = new SingleFlight<string, number>();
      const model: Model = { events, singleFlight, flights: [], succeeds };
      const outcomes = script.map(({ key, leaves }, caller) => call(model, key, leaves, caller));
      await events.waitIdle();
      await Promise.all(outcomes);
      expect(singleFlight.size).toBe(0);
    }),
    { numRuns: 300 },
  );
});
