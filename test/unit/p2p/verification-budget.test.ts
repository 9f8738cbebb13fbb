import { expect, test } from 'vitest';
import { VerificationBudget } from '../../../src/p2p/verification-budget.ts';
import type { NodeID } from '../../../src/primitives/ids.ts';

const peer = (number: number): NodeID => `NodeID-${number}` as NodeID;

function countTaken(budget: VerificationBudget, peers: readonly NodeID[], nowMs: number, isWanted = false): number {
  let taken = 0;
  for (const each of peers) while (budget.take(each, isWanted, nowMs)) taken += 1;
  return taken;
}

test('one peer has some at once, and then a few a second', () => {
  const budget = new VerificationBudget(50, 0);
  expect(countTaken(budget, [peer(1)], 0)).toBe(128);
  expect(countTaken(budget, [peer(1)], 1_000)).toBe(8);
  expect(countTaken(budget, [peer(1)], 60 * 60_000)).toBe(128);
});

test('all of them have as many as dials are earned, eight for each', () => {
  const peers = Array.from({ length: 1_000 }, (_, number) => peer(number));
  const budget = new VerificationBudget(50, 0);
  expect(countTaken(budget, peers, 0)).toBe(400);
  expect(countTaken(budget, peers, 500)).toBe(200);
  expect(countTaken(budget, peers, 60 * 60_000)).toBe(400);
});

test('addresses of nodes that nobody wants leave those of wanted ones their share', () => {
  const peers = Array.from({ length: 100 }, (_, number) => peer(number));
  const budget = new VerificationBudget(50, 0);
  expect(countTaken(budget, peers, 0)).toBe(400);
  expect(countTaken(budget, [peer(100), peer(101)], 0, true)).toBe(256);
});

test('what proves wrong costs its peer eight', () => {
  const budget = new VerificationBudget(50, 0);
  let taken = 0;
  for (; budget.take(peer(1), true, 0); taken += 1) budget.wasWrong(peer(1));
  expect(taken).toBe(128 / 8);
  expect(countTaken(budget, [peer(2)], 0, true)).toBe(128);
});
