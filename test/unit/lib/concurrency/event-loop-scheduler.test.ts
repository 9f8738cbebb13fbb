import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EventLoopScheduler } from '../../../../src/lib/concurrency/event-loop-scheduler.ts';

function create(maxPerTurn: number) {
  const due: (() => void)[] = [];
  const scheduler = new EventLoopScheduler({ afterTurn: (callback) => void due.push(callback) }, maxPerTurn);
  const started: string[] = [];
  const run = (key: string): void => scheduler.run(key, () => void started.push(key));
  /** Returns the keys of the tasks that it started. */
  const nextTurn = (): string[] => {
    started.length = 0;
    for (const callback of due.splice(0)) callback();
    return [...started];
  };
  return { scheduler, started, run, nextTurn, due };
}

test('a task that schedules itself again runs behind the others', () => {
  const { scheduler, nextTurn } = create(2);
  const order: string[] = [];
  let left = 3;
  const again = (): void => {
    order.push('again');
    left -= 1;
    if (left > 0) scheduler.runLater('a', again);
  };
  scheduler.runLater('a', again);
  scheduler.runLater('b', () => order.push('other'));
  nextTurn();
  nextTurn();
  expect(order).toEqual(['again', 'other', 'again', 'again']);
});

test('a new task does not overtake waiting ones', () => {
  const { scheduler, started, run, nextTurn } = create(2);
  for (const key of ['a', 'b']) scheduler.runLater(key, () => void started.push(key));
  run('c');
  expect(started).toEqual([]);
  expect(nextTurn()).toEqual(['a', 'b']);
  expect(nextTurn()).toEqual(['c']);
});

test('every task runs once, no more than the bound in a turn, and each of n keys within n tasks of its turn', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 80 }),
      fc.integer({ min: 1, max: 7 }),
      (keys, max) => {
        const { run, started, nextTurn, due } = create(max);
        for (const key of keys) run(key);
        const all = [...started];
        expect(all.length).toBeLessThanOrEqual(max);
        const later: string[] = [];
        while (due.length > 0) {
          const turn = nextTurn();
          expect(turn.length).toBeLessThanOrEqual(max);
          later.push(...turn);
        }
        expect([...all, ...later].toSorted()).toEqual(keys.toSorted());
        // While a key has tasks, no other key runs twice before it.
        for (const key of new Set(later)) {
          const places = later.flatMap((each, at) => (each === key ? [at] : []));
          for (const [index, at] of places.entries()) expect(at - (places[index - 1] ?? -1)).toBeLessThanOrEqual(4);
        }
      },
    ),
    { numRuns: 100 },
  );
});
