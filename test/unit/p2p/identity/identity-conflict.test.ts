import { expect, test } from 'vitest';
import type { CloseCause } from '../../../../src/p2p/connection/peer.ts';
import { DEFAULT_DIAL_LIMITS, DialSchedule } from '../../../../src/p2p/discovery/dial-schedule.ts';
import { isIdentityContested, TURNED_AWAY_MS } from '../../../../src/p2p/identity/identity-conflict.ts';
import type { NodeID } from '../../../../src/warp/ids.ts';

test.each([
  ['no node connected yet', 0, 0, false],
  ['all nodes accept us', 1_000, 0, false],
  ['a few nodes that accept only listed nodes', 1_000, 20, false],
  ['just below a quarter', 301, 100, false],
  ['a quarter', 300, 100, true],
  ['two processes that started together', 500, 500, true],
  ['a process that started later', 0, 5, true],
  ['too few nodes', 0, 2, false],
])('%s: %i connected, %i turn us away: %s', (_, connected, turnedAway, expected) => {
  expect(isIdentityContested({ connected, turnedAway })).toBe(expected);
});

const NODE = 'NodeID-1' as NodeID;

function createSchedule() {
  const schedule = new DialSchedule({
    limits: { ...DEFAULT_DIAL_LIMITS, gossipSources: 0 },
    random: () => 0.5,
    nowMs: 0,
    hasAddress: () => true,
    knownNodes: () => [],
  });
  schedule.want(NODE, 0);
  /** Dials with the same failure until the time. */
  const failUntil = (fromMs: number, toMs: number, cause: CloseCause): void => {
    for (let nowMs = fromMs; nowMs < toMs; nowMs += 250) {
      for (const nodeID of schedule.takeDue(nowMs)) {
        schedule.onClosed(nodeID, { cause, reason: cause, readyForMs: undefined }, nowMs);
      }
    }
  };
  return { schedule, failUntil };
}

test('a node counts after it has closed connections for longer than it keeps a broken one', () => {
  const { schedule, failUntil } = createSchedule();
  failUntil(0, TURNED_AWAY_MS, 'not_admitted');
  expect(schedule.turnedAwayCount(TURNED_AWAY_MS - 1)).toBe(0);
  expect(schedule.turnedAwayCount(TURNED_AWAY_MS)).toBe(1);
});

test('a node that accepts us once does not count', () => {
  const { schedule, failUntil } = createSchedule();
  failUntil(0, 120_000, 'not_admitted');
  expect(schedule.turnedAwayCount(120_000)).toBe(1);
  let nowMs = 120_000;
  while (schedule.takeDue(nowMs).length === 0) nowMs += 250;
  schedule.onReady(NODE);
  expect(schedule.turnedAwayCount(nowMs)).toBe(0);
});

test('other failures do not count, nor two closes', () => {
  const { schedule, failUntil } = createSchedule();
  failUntil(0, 300_000, 'unreachable');
  expect(schedule.turnedAwayCount(300_000)).toBe(0);
  const twice = createSchedule();
  // At 0 and 1.5 s.
  twice.failUntil(0, 2_000, 'not_admitted');
  expect(twice.schedule.turnedAwayCount(300_000)).toBe(0);
});
