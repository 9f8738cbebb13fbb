import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  chooseGossipSources,
  type DialCandidate,
  nextRedialPauseMs,
  planDials,
  planDisconnects,
  searchIntervalMs,
} from '../../../../src/p2p/discovery/peer-decisions.ts';
import type { NodeID } from '../../../../src/warp/ids.ts';

const node = (index: number): NodeID => `NodeID-${index}` as NodeID;
const times = fc.integer({ min: 0, max: 100 });
const candidates: fc.Arbitrary<DialCandidate[]> = fc
  .array(
    fc.record({ wanted: fc.boolean(), preferred: fc.boolean(), failures: fc.nat({ max: 3 }), nextDialAtMs: times }),
    { maxLength: 30 },
  )
  .map((list) => list.map((candidate, index) => ({ ...candidate, nodeID: node(index) })));
const randoms = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('planDials', () => {
  it('chooses due nodes within the budgets, and no node before a better one', () => {
    fc.assert(
      fc.property(
        candidates,
        fc.integer({ min: -3, max: 12 }),
        fc.integer({ min: -3, max: 12 }),
        fc.integer({ min: -3, max: 5 }),
        times,
        (all, total, others, unwanted, nowMs) => {
          const plan = planDials(all, { total, others, unwanted }, nowMs);
          const chosen = plan.map((nodeID) => all.find((candidate) => candidate.nodeID === nodeID) as DialCandidate);
          const due = all.filter((candidate) => candidate.nextDialAtMs <= nowMs);
          const left = due.filter((candidate) => !plan.includes(candidate.nodeID));
          const isOther = ({ wanted, preferred }: DialCandidate) => wanted && preferred !== true;
          const isPreferred = ({ wanted, preferred }: DialCandidate) => wanted && preferred === true;

          expect(new Set(plan).size).toBe(plan.length);
          expect(chosen.every((candidate) => due.includes(candidate))).toBe(true);
          expect(plan.length).toBeLessThanOrEqual(Math.max(0, total));
          expect(chosen.filter((candidate) => !candidate.wanted).length).toBeLessThanOrEqual(Math.max(0, unwanted));
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
            expect(chosen.every(({ wanted }) => wanted)).toBe(true);
          }
        },
      ),
    );
  });
});

describe('planDisconnects', () => {
  const unwanted = fc
    .array(times, { maxLength: 20 })
    .map((list) => list.map((unwantedSinceMs, index) => ({ nodeID: node(index), unwantedSinceMs })));

  it('closes the longest unwanted after their grace, and keeps the sources', () => {
    fc.assert(
      fc.property(unwanted, fc.nat({ max: 8 }), fc.nat({ max: 60 }), (all, keep, graceMs) => {
        const plan = planDisconnects(all, { keep, graceMs }, 100);
        expect(all.length - plan.length).toBeGreaterThanOrEqual(Math.min(keep, all.length));
        const closed = all.filter(({ nodeID }) => plan.includes(nodeID));
        const kept = all.filter(({ nodeID }) => !plan.includes(nodeID));
        expect(closed.every(({ unwantedSinceMs }) => 100 - unwantedSinceMs >= graceMs)).toBe(true);
        const overdue = kept.filter(({ unwantedSinceMs }) => 100 - unwantedSinceMs >= graceMs);
        if (kept.length > keep) expect(overdue).toEqual([]);
        for (const { unwantedSinceMs } of overdue) {
          for (const other of closed) expect(other.unwantedSinceMs).toBeLessThanOrEqual(unwantedSinceMs);
        }
      }),
    );
  });
});

describe('nextRedialPauseMs', () => {
  const limits = { initialBackoffMs: 1_000, maxBackoffMs: 60_000 };

  it('starts at 1 to 2 s, grows at most twofold, and ends between 45 and 60 s', () => {
    fc.assert(
      fc.property(fc.array(randoms, { minLength: 60, maxLength: 60 }), (draws) => {
        let previous = 0;
        for (const draw of draws) {
          const next = nextRedialPauseMs(previous, limits, () => draw);
          expect(next).toBeLessThanOrEqual(limits.maxBackoffMs);
          expect(next).toBeGreaterThanOrEqual(Math.min(previous === 0 ? limits.initialBackoffMs : previous, 45_000));
          expect(next).toBeLessThanOrEqual(Math.max(previous, limits.initialBackoffMs) * 2);
          previous = next;
        }
      }),
    );
    let settled = 0;
    for (let round = 0; round < 100; round += 1) settled = nextRedialPauseMs(settled, limits, () => 0.5);
    expect(settled).toBe(52_500);
  });
});

describe('searchIntervalMs', () => {
  it('is a tenth of the quiet time within its limits', () => {
    const limits = { minMs: 500, maxMs: 30_000 };
    expect([0, 4_000, 60_000, 1_000_000].map((quietMs) => searchIntervalMs(quietMs, limits))).toEqual([
      500, 500, 6_000, 30_000,
    ]);
  });
});

describe('chooseGossipSources', () => {
  /** @param news new addresses in each peer's last response */
  const choose = (news: readonly (number | undefined)[], count: number, random: () => number): NodeID[] =>
    chooseGossipSources(
      news.map((_, index) => node(index)),
      (nodeID) => news[Number(nodeID.slice('NodeID-'.length))],
      ...[count, random],
    );
  const lists = fc.array(fc.option(fc.nat({ max: 15 }), { nil: undefined }), { maxLength: 40 });

  it('chooses the requested number of distinct peers', () => {
    fc.assert(
      fc.property(lists, fc.nat({ max: 6 }), fc.infiniteStream(randoms), (news, count, draws) => {
        const chosen = choose(news, count, () => draws.next().value as number);
        expect(chosen).toHaveLength(Math.min(count, news.length));
        expect(new Set(chosen).size).toBe(chosen.length);
        expect(chosen.every((nodeID) => news.some((_, index) => nodeID === node(index)))).toBe(true);
      }),
    );
  });

  it('prefers peers never asked, then those with the most new addresses', () => {
    expect(choose([0, 7, undefined, 15, 0], 3, () => 0)).toEqual([node(2), node(3), node(1)]);
  });

  it('chooses each peer at times, also without new addresses', () => {
    const news = Array.from({ length: 30 }, (_, index) => (index < 3 ? 15 : 0));
    const seen = new Set<NodeID>();
    let state = 1;
    const random = (): number => {
      state = (state * 48_271) % 2_147_483_647;
      return state / 2_147_483_647;
    };
    for (let round = 0; round < 400; round += 1) for (const nodeID of choose(news, 1, random)) seen.add(nodeID);
    expect(seen.size).toBe(30);
  });
});
