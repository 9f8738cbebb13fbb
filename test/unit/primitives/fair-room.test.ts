import { expect, test } from 'vitest';
import { FairRoom } from '../../../src/primitives/fair-room.ts';

test('one client has half of the room, and somebody new finds some while there is any', () => {
  const room = new FairRoom(100);
  const ofA = Array.from({ length: 6 }, () => room.take('a', 10));
  expect(ofA.map((taken) => taken !== undefined)).toEqual([true, true, true, true, true, false]);
  const ofB = Array.from({ length: 3 }, () => room.take('b', 10));
  expect(ofB.map((taken) => taken !== undefined)).toEqual([true, true, false]);
  expect(room.take('c', 30)).toBeDefined();
  expect(room.take('d', 1)).toBeUndefined();
});

test('room is given back once, and whoever is alone may take all of it at once', () => {
  const room = new FairRoom(100);
  const giveBack = room.take('a', 100);
  expect(giveBack).toBeDefined();
  expect(room.take('b', 1)).toBeUndefined();
  giveBack?.();
  giveBack?.();
  expect(room.take('b', 100)).toBeDefined();
  expect(room.take('c', 1)).toBeUndefined();
});
