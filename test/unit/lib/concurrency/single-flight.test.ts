import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { SingleFlight } from '../../../../src/lib/concurrency/single-flight.ts';
import { settle } from '../../../support/fake-clock.ts';

/** A flight that the test lands itself. */
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

test('who asks while it flies gets the same result, from one flight', async () => {
  const flights = new SingleFlight<string, string>();
  const { work, resolve } = createWork();
  const other = createWork();
  const results = [flights.run('key', work), flights.run('key', other.work), flights.run('key', other.work)];
  resolve('value');
  expect(await Promise.all(results)).toEqual(['value', 'value', 'value']);
  expect(work).toHaveBeenCalledOnce();
  expect(other.work).not.toHaveBeenCalled();
  expect(flights.size).toBe(0);
});

test('different keys fly apart', async () => {
  const flights = new SingleFlight<string, string>();
  const [a, b] = [createWork(), createWork()];
  const results = [flights.run('a', a.work), flights.run('b', b.work)];
  expect(flights.size).toBe(2);
  b.resolve('of b');
  a.resolve('of a');
  expect(await Promise.all(results)).toEqual(['of a', 'of b']);
});

test('after it has landed, the next one flies anew, be it after a value or a failure', async () => {
  const flights = new SingleFlight<string, string>();
  const [first, second, third] = [createWork(), createWork(), createWork()];
  const failure = new Error('no route');
  const failed = flights.run('key', first.work);
  first.reject(failure);
  await expect(failed).rejects.toBe(failure);
  const landed = flights.run('key', second.work);
  second.resolve('second');
  expect(await landed).toBe('second');
  const again = flights.run('key', third.work);
  third.resolve('third');
  expect(await again).toBe('third');
});

test('who asks in the very tick of a failure gets a new attempt, not the old failure', async () => {
  const flights = new SingleFlight<string, string>();
  const [first, second] = [createWork(), createWork()];
  const waiting = flights.run('key', first.work);
  // Runs right after the failure, before those who waited have heard of it.
  const retried = first.promise.catch(() => flights.run('key', second.work));
  first.reject(new Error('no route'));
  second.resolve('second attempt');
  await expect(waiting).rejects.toThrow('no route');
  expect(await retried).toBe('second attempt');
  expect(flights.size).toBe(0);
});

test('one who leaves does not fail the others', async () => {
  const flights = new SingleFlight<string, string>();
  const { work, resolve, signal } = createWork();
  const leaver = new AbortController();
  const reason = new Error('client went away');
  // The first caller, whose call started the flight, is no more than the others.
  const left = flights.run('key', work, leaver.signal);
  const stayed = flights.run('key', work, new AbortController().signal);
  leaver.abort(reason);
  await expect(left).rejects.toBe(reason);
  expect(signal().aborted).toBe(false);
  resolve('value');
  expect(await stayed).toBe('value');
});

test('the last who leaves aborts it, and the next one flies anew while the old one winds down', async () => {
  const flights = new SingleFlight<string, string>();
  const [first, second] = [createWork(), createWork()];
  const [a, b] = [new AbortController(), new AbortController()];
  const results = [flights.run('key', first.work, a.signal), flights.run('key', first.work, b.signal)];
  const heard = Promise.allSettled(results);
  a.abort(new Error('a'));
  await settle();
  expect(first.signal().aborted).toBe(false);
  b.abort(new Error('b'));
  await settle();
  expect(first.signal().aborted).toBe(true);
  expect(flights.size).toBe(0);
  expect(await heard).toMatchObject([{ reason: { message: 'a' } }, { reason: { message: 'b' } }]);

  const next = flights.run('key', second.work);
  // The old flight fails, as aborted work does. It must neither reach the new waiter nor take its entry away.
  first.reject(new Error('aborted'));
  await settle();
  expect(flights.size).toBe(1);
  second.resolve('second');
  expect(await next).toBe('second');
});

test('a caller who has left already starts nothing', async () => {
  const flights = new SingleFlight<string, string>();
  const { work } = createWork();
  const reason = new Error('gone');
  await expect(flights.run('key', work, AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(work).not.toHaveBeenCalled();
  expect(flights.size).toBe(0);
});

test('work that throws instead of rejecting leaves nothing behind', async () => {
  const flights = new SingleFlight<string, string>();
  const failure = new Error('bug');
  const thrown = flights.run('key', () => {
    throw failure;
  });
  await expect(thrown).rejects.toBe(failure);
  expect(flights.size).toBe(0);
});

test('no listener stays on a signal that outlives the call', async () => {
  const flights = new SingleFlight<string, string>();
  const { work, resolve } = createWork();
  const { signal } = new AbortController();
  const added = vi.spyOn(signal, 'addEventListener');
  const removed = vi.spyOn(signal, 'removeEventListener');
  const result = flights.run('key', work, signal);
  resolve('value');
  await result;
  expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(added.mock.calls.map(([, listener]) => listener));
});

interface ModelFlight {
  readonly key: string;
  readonly signal: AbortSignal;
  waiters: number;
  settled: boolean;
}

test('in any order of calls, aborts and landings each caller gets what its own flight gives', async () => {
  const call = fc.record({ key: fc.constantFrom('a', 'b'), leaves: fc.boolean() });
  // Whatever promises have made ready is done before the next event: orders within a tick have their own tests above.
  const scheduler = fc.scheduler({ act: (event) => event().then(settle) });
  await fc.assert(
    fc.asyncProperty(
      scheduler,
      fc.array(call, { minLength: 1, maxLength: 8 }),
      fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
      async (events, calls, succeeds) => {
        const singleFlight = new SingleFlight<string, number>();
        const flights: ModelFlight[] = [];
        const live = (key: string): ModelFlight | undefined =>
          flights.find((flight) => flight.key === key && !flight.settled && flight.waiters > 0);

        const start = (key: string, signal: AbortSignal): Promise<number> => {
          const number = flights.length;
          const flight: ModelFlight = { key, signal, waiters: 0, settled: false };
          flights.push(flight);
          return events.schedule(Promise.resolve(), `flight ${number} lands`).then(() => {
            flight.settled = true;
            if (succeeds[number] !== true) throw new Error(`flight ${number}`);
            return number;
          });
        };

        const outcomes = calls.map(async ({ key, leaves }, caller) => {
          await events.schedule(Promise.resolve(), `call ${caller} of ${key}`);
          const expected = live(key) ?? flights.length;
          const controller = new AbortController();
          const result = singleFlight.run(key, (signal) => start(key, signal), controller.signal);
          // A new flight if and only if none was in the air.
          const flight = typeof expected === 'number' ? flights[expected] : expected;
          if (flight === undefined) throw new Error('no flight was started');
          expect(flights.length).toBe(typeof expected === 'number' ? expected + 1 : flights.length);
          flight.waiters += 1;

          const reason = new Error(`caller ${caller} left`);
          let leftInTheAir = false;
          if (leaves) {
            void events.schedule(Promise.resolve(), `caller ${caller} leaves`).then(() => {
              leftInTheAir = !flight.settled;
              if (leftInTheAir) {
                flight.waiters -= 1;
                // The last one out, and nobody else, aborts it.
                expect(flight.signal.aborted).toBe(false);
              }
              controller.abort(reason);
            });
          }
          const [outcome] = await Promise.allSettled([result]);
          const number = flights.indexOf(flight);
          if (leftInTheAir) {
            expect(outcome).toEqual({ status: 'rejected', reason });
            expect(flight.signal.aborted).toBe(flight.waiters === 0);
          } else if (succeeds[number] === true) {
            expect(outcome).toEqual({ status: 'fulfilled', value: number });
          } else {
            expect(outcome).toMatchObject({ status: 'rejected', reason: { message: `flight ${number}` } });
          }
          expect(singleFlight.size).toBe([live('a'), live('b')].filter(Boolean).length);
        });
        await events.waitIdle();
        await Promise.all(outcomes);
        expect(singleFlight.size).toBe(0);
      },
    ),
    { numRuns: 300 },
  );
});
