import { expect, test } from 'vitest';
import { RequestTurns } from '../../../src/api/request-turns.ts';

test('few begin at once; of many, sixteen a turn, one of each client after the other', () => {
  const due: (() => void)[] = [];
  const begun: string[] = [];
  const turns = new RequestTurns({
    now: () => 0,
    monotonicMs: () => 0,
    after: () => () => undefined,
    afterTurn: (callback) => void due.push(callback),
  });
  const nextTurn = (): string[] => {
    begun.length = 0;
    for (const callback of due.splice(0)) callback();
    return [...begun];
  };
  const run = (client: string): void => turns.run(client, () => void begun.push(client));
  for (let i = 0; i < 40; i += 1) run('flood');
  for (let i = 0; i < 3; i += 1) run('good');
  expect(begun).toHaveLength(16);
  expect(nextTurn()).toEqual(['flood', 'good', 'flood', 'good', 'flood', 'good', ...Array<string>(10).fill('flood')]);
  // Whoever comes now waits behind nobody of another client but one.
  run('late');
  expect(nextTurn()).toEqual(['flood', 'late', ...Array<string>(10).fill('flood')]);
  // Nobody waits any more, and this turn has room for four.
  for (let i = 0; i < 5; i += 1) run('last');
  expect(begun.filter((client) => client === 'last')).toHaveLength(4);
  expect(nextTurn()).toEqual(['last']);
  expect(nextTurn()).toEqual([]);
  expect(due).toEqual([]);

  // Few of them need not know of turns, and with them there are no more than sixteen in any.
  for (let i = 0; i < 6; i += 1) run('few');
  expect(due).toEqual([]);
  for (let i = 0; i < 16; i += 1) run('many');
  expect(begun.filter((client) => client === 'few' || client === 'many')).toHaveLength(15);
  expect(nextTurn()).toHaveLength(7);
});
