import { expect, test } from 'vitest';
import { LongPasses } from '../../../src/aggregator/long-passes.ts';
import { settle } from '../../fake-clock.ts';

test('each pass over a large set has a turn of the event loop for itself, in the order of asking', async () => {
  const turns: (() => void)[] = [];
  const passes = new LongPasses({ afterTurn: (callback) => void turns.push(callback) });
  const done: string[] = [];
  const pass = async (name: string, validators: number): Promise<void> => {
    await passes.turn(validators);
    done.push(name);
  };
  for (const name of ['a', 'b', 'c']) void pass(name, 2_000);
  void pass('small', 20);
  await settle();
  expect(done).toEqual(['small']);
  for (const name of ['a', 'b', 'c']) {
    expect(turns).toHaveLength(1);
    turns.shift()?.();
    await settle();
    expect(done.at(-1)).toBe(name);
  }
  expect(turns).toEqual([]);
  void pass('later', 2_000);
  turns.shift()?.();
  await settle();
  expect(done).toEqual(['small', 'a', 'b', 'c', 'later']);
});
