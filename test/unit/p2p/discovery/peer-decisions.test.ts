import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  chooseGossipSources,
  type DialCandidate,
  nextRedialPauseMs,
  planDials,
} from '../../../../src/p2p/discovery/peer-decisions.ts';
import type { NodeID } from '../../../../src/warp/ids.ts';
import { Draws } from '../../../simulation/draws.ts';

const node = (index: number): NodeID => `NodeID-${index}` as NodeID;
const times = fc.integer({ min: 0, max: 100 });
const candidates: fc.Arbitrary<DialCandidate[]> = fc
  .array(
    fc.record({
      rank: fc.constantFrom('preferred', 'wanted', 'unwanted'),
      failures: fc.nat({ max: 3 }),
      nextDialAtMs: times,
    }),
    { maxLength: 30 },
  )
  .map((list) => list.map((candidate, index) => ({ ...candidate, nodeID: node(index) })));
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

it('a dial plan chooses nodes within the budgets, and no node before a better one', () => {
  fc.assert(
    fc.property(
      candidates,
      fc.integer({ min: -3, max: 12 }),
      fc.integer({ min: -3, max: 12 }),
      fc.integer({ min: -3, max: 5 }),
      (all, total, others, unwanted) => {
        const plan = planDials(all, { total, others, unwanted });
        const chosen = plan.map((nodeID) => all.find((candidate) => candidate.nodeID === nodeID) as DialCandidate);
        const left = all.filter((candidate) => !plan.includes(candidate.nodeID));
        const isOther = ({ rank }: DialCandidate) => rank === 'wanted';
        const isPreferred = ({ rank }: DialCandidate) => rank === 'preferred';

        expect(new Set(plan).size).toBe(plan.length);
        expect(plan.length).toBeLessThanOrEqual(Math.max(0, total));
        expect(chosen.filter(({ rank }) => rank === 'unwanted').length).toBeLessThanOrEqual(Math.max(0, unwanted));
        expect(chosen.filter(isOther).length).toBeLessThanOrEqual(Math.max(0, others));
        if (plan.length < total) {
          expect(left.some(isPreferred)).toBe(false);
          if (chosen.filter(isOther).length < others) expect(left.some(isOther)).toBe(false);
        }
        if (left.some(isPreferred)) expect(chosen.every(isPreferred)).toBe(true);
        for (const isOne of [isPreferred, isOther]) {
          for (const { failures } of left.filter(isOne)) {
            for (const better of chosen.filter(isOne)) expect(better.failures).toBeLessThanOrEqual(failures);
          }
        }
        // Wanted nodes come before sources of addresses.
        if (left.some(isOther) && chosen.filter(isOther).length < others) {
          expect(chosen.every(({ rank }) => rank !== 'unwanted')).toBe(true);
        }
      },
    ),
  );
});

it('the pause before a redial starts at 1 to 2 s, grows at most twofold, and ends between 45 and 60 s', () => {
  fc.assert(
    fc.property(fc.array(randoms, { minLength: 60, maxLength: 60 }), (draws) => {
      let previous = 0;
      for (const draw of draws) {
        const next = nextRedialPauseMs(previous, () => draw);
        expect(next).toBeLessThanOrEqual(60_000);
        expect(next).toBeGreaterThanOrEqual(Math.min(previous === 0 ? 1_000 : previous, 45_000));
        expect(next).toBeLessThanOrEqual(Math.max(previous, 1_000) * 2);
        previous = next;
      }
    }),
  );
  let settled = 0;
  for (let round = 0; round < 100; round += 1) settled = nextRedialPauseMs(settled, () => 0.5);
  expect(settled).toBe(52_500);
});

/** @param news new addresses in each peer's last response */
const choose = (news: readonly (number | undefined)[], count: number, random: () => number): NodeID[] =>
  chooseGossipSources(
    news.map((_, index) => node(index)),
    (nodeID) => news[Number(nodeID.slice('NodeID-'.length))],
    count,
    random,
  );

it('gossip prefers peers never asked, then those with the most new addresses', () => {
  expect(choose([0, 7, undefined, 15, 0], 3, () => 0)).toEqual([node(2), node(3), node(1)]);
});

it('gossip chooses the requested number of distinct peers, and each at times', () => {
  const news = Array.from({ length: 30 }, (_, index) => (index < 3 ? 15 : 0));
  const draws = new Draws('gossip');
  const seen = new Set<NodeID>();
  for (let round = 0; round < 400; round += 1) {
    const chosen = choose(news, 2, () => draws.next());
    expect(new Set(chosen).size).toBe(2);
    for (const nodeID of chosen) seen.add(nodeID);
  }
  expect(seen.size).toBe(30);
  expect(choose([0, 0], 6, () => 0.9)).toHaveLength(2);
});
