import fc from 'fast-check';
import { expect, it, test } from 'vitest';
import type { CloseCause } from '../../../../src/p2p/connection/peer.ts';
import {
  type ConnectionEnd,
  DEFAULT_DIAL_LIMITS,
  type DialLimits,
  DialSchedule,
} from '../../../../src/p2p/discovery/dial-schedule.ts';
import { MAX_DIALS_PER_STEP } from '../../../../src/p2p/discovery/peer-decisions.ts';
import { isIdentityContested, TURNED_AWAY_MS } from '../../../../src/p2p/identity/identity-conflict.ts';
import type { NodeID } from '../../../../src/warp/ids.ts';

const node = (index: number): NodeID => `NodeID-${index}` as NodeID;
const nodes = (count: number): NodeID[] => Array.from({ length: count }, (_, index) => node(index));
const FAILED: ConnectionEnd = { cause: 'unreachable', reason: 'connection refused', readyForMs: undefined };
const LOST: ConnectionEnd = { cause: 'lost', reason: 'connection lost', readyForMs: 60_000 };

function createSchedule(
  change: { limits?: Partial<DialLimits>; known?: NodeID[]; without?: Set<NodeID>; preferred?: Set<NodeID> } = {},
) {
  return new DialSchedule({
    limits: { ...DEFAULT_DIAL_LIMITS, gossipSources: 0, ...change.limits },
    random: () => 0.5,
    nowMs: 0,
    hasAddress: (nodeID) => change.without?.has(nodeID) !== true,
    knownNodes: () => change.known ?? [],
    preferredNodes: () => change.preferred ?? new Set(),
  });
}

it('preferred nodes are dialled first and have reserved connections', () => {
  const preferred = new Set([node(90), node(91), node(92)]);
  const schedule = createSchedule({ limits: { maxConnections: 24, dialsPerSecond: 1_000 }, preferred });
  for (const nodeID of nodes(60)) schedule.want(nodeID, 0);
  // One connection is reserved, and one for each missing node.
  expect(schedule.takeDue(0)).toEqual(nodes(20));
  expect(schedule.takeDue(1_000)).toEqual([]);
  for (const nodeID of preferred) schedule.want(nodeID, 1_000);
  expect(schedule.takeDue(1_000)).toEqual([...preferred]);
  for (const nodeID of [...preferred, ...nodes(20)]) schedule.onReady(nodeID);
  expect(schedule.takeDue(2_000)).toEqual([]);
  // Its connection stays reserved.
  schedule.onClosed(node(91), LOST, 2_000);
  expect(schedule.takeDue(2_100)).toEqual([]);
  expect(schedule.takeDue(3_000)).toEqual([node(91)]);
});

it('preferred nodes are dialled while the dials of other nodes hang', () => {
  const preferred = new Set([node(500)]);
  const schedule = createSchedule({ limits: { dialsPerSecond: 1_000, maxConnecting: 40 }, preferred });
  for (const nodeID of nodes(300)) schedule.want(nodeID, 0);
  expect([0, 0, 5_000].map((nowMs) => schedule.takeDue(nowMs).length)).toEqual([30, 0, 0]);
  schedule.want(node(500), 5_000);
  expect(schedule.takeDue(5_000)).toEqual([node(500)]);
});

/** Returns the next dial times of a node whose dials fail. */
function dueTimes(schedule: DialSchedule, fromMs: number, count: number, end = FAILED): number[] {
  const times: number[] = [];
  for (let nowMs = fromMs; times.length < count; nowMs += 250) {
    for (const nodeID of schedule.takeDue(nowMs)) {
      times.push(nowMs);
      schedule.onClosed(nodeID, end, nowMs);
    }
  }
  return times;
}

it('limits of all dials leave room for a failed node although others sign new addresses all the time', () => {
  const schedule = createSchedule();
  const [honest, ...restless] = nodes(101) as [NodeID, ...NodeID[]];
  schedule.want(honest, 0);
  expect(schedule.takeDue(0)).toEqual([honest]);
  schedule.onClosed(honest, FAILED, 0);
  for (const nodeID of restless) schedule.want(nodeID, 0);
  const dials: number[] = [];
  for (let nowMs = 1_000; nowMs <= 60_000; nowMs += 500) {
    const due = schedule.takeDue(nowMs);
    if (due.includes(honest)) dials.push(nowMs);
    for (const nodeID of due) schedule.onClosed(nodeID, FAILED, nowMs);
    for (const nodeID of restless) schedule.onNewAddress(nodeID, nowMs);
  }
  expect(dials.length).toBeGreaterThanOrEqual(3);
});

it('dials are limited to a burst of one second, then the rate', () => {
  const schedule = createSchedule({ limits: { dialsPerSecond: 4 } });
  for (const nodeID of nodes(20)) schedule.want(nodeID, 0);
  expect(schedule.takeDue(0)).toEqual(nodes(4));
  expect([250, 500, 501, 1_250].map((nowMs) => schedule.takeDue(nowMs).length)).toEqual([1, 1, 0, 3]);
  expect(schedule.takeDue(60_000)).toHaveLength(4);
});

it('a step and the dials that are not ready are bounded', () => {
  const schedule = createSchedule({ limits: { dialsPerSecond: 1_000, maxConnecting: 50 } });
  for (const nodeID of nodes(200)) schedule.want(nodeID, 0);
  expect([0, 0, 0].map((nowMs) => schedule.takeDue(nowMs).length)).toEqual([MAX_DIALS_PER_STEP, 18, 0]);
  expect(schedule.connectingCount).toBe(50);
  schedule.onReady(node(0));
  schedule.onClosed(node(1), FAILED, 0);
  expect(schedule.connectingCount).toBe(48);
  expect(schedule.takeDue(0)).toHaveLength(2);
});

it('limits of all dials are released after any sequence of events', () => {
  const step = fc.record({
    do: fc.constantFrom('want', 'unwant', 'take', 'ready', 'close', 'address', 'disconnect'),
    which: fc.nat({ max: 7 }),
    waitMs: fc.oneof(fc.nat({ max: 5_000 }), fc.constant(300_000)),
    end: fc.constantFrom<ConnectionEnd>(FAILED, LOST, { ...FAILED, cause: 'superseded' }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (script) => {
      const limits = { maxConnections: 4, maxConnecting: 3, dialsPerSecond: 5, gossipSources: 2 };
      const schedule = createSchedule({ limits, known: nodes(8), without: new Set([node(7)]) });
      const open = new Map<NodeID, 'connecting' | 'ready'>();
      const wanted = new Set<NodeID>();
      let nowMs = 0;
      for (const { do: action, which, waitMs, end } of script) {
        nowMs += waitMs;
        const nodeID = node(which);
        switch (action) {
          case 'want':
            schedule.want(nodeID, nowMs);
            wanted.add(nodeID);
            break;
          case 'unwant':
            schedule.unwant(nodeID, nowMs);
            wanted.delete(nodeID);
            break;
          case 'take':
            for (const due of schedule.takeDue(nowMs)) {
              expect(open.has(due) || due === node(7)).toBe(false);
              open.set(due, 'connecting');
            }
            break;
          case 'ready':
            if (!open.has(nodeID)) break;
            schedule.onReady(nodeID);
            open.set(nodeID, 'ready');
            break;
          case 'close':
            if (open.delete(nodeID)) schedule.onClosed(nodeID, end, nowMs);
            break;
          case 'address':
            schedule.onNewAddress(nodeID, nowMs);
            break;
          case 'disconnect':
            for (const unwanted of schedule.dueDisconnects(nowMs)) {
              expect([wanted.has(unwanted), open.delete(unwanted)]).toEqual([false, true]);
              schedule.onClosed(unwanted, { ...FAILED, cause: 'unwanted' }, nowMs);
            }
        }
        expect(open.size).toBeLessThanOrEqual(limits.maxConnections);
        expect(schedule.connectingCount).toBe([...open.values()].filter((state) => state === 'connecting').length);
        expect(schedule.isFull).toBe(open.size >= limits.maxConnections);
      }
    }),
  );
});

it('the pauses of one node grow with each failure', () => {
  const schedule = createSchedule();
  schedule.want(node(1), 0);
  // 1 s × 1.5 each time, seen every 250 ms.
  expect(dueTimes(schedule, 0, 5)).toEqual([0, 1_500, 3_750, 7_250, 12_500]);
  expect(schedule.failures(node(1))).toBe(5);
  expect(schedule.lastEnd(node(1))).toEqual({ cause: 'unreachable', reason: 'connection refused' });
});

it('the pauses of one node start again after a stable connection, with a short jitter', () => {
  const schedule = createSchedule();
  schedule.want(node(1), 0);
  dueTimes(schedule, 0, 4);
  expect(schedule.takeDue(20_000)).toEqual([node(1)]);
  schedule.onReady(node(1));
  expect(schedule.lastEnd(node(1))).toBeUndefined();
  schedule.onClosed(node(1), LOST, 80_000);
  expect(schedule.failures(node(1))).toBe(0);
  expect(dueTimes(schedule, 80_000, 2)).toEqual([80_250, 81_750]);
  const broken = createSchedule();
  broken.want(node(1), 0);
  expect(dueTimes(broken, 0, 3, { ...LOST, readyForMs: 9_999 })).toEqual([0, 1_500, 3_750]);
});

it('the pauses of one node end with a new address, at most once a second', () => {
  const schedule = createSchedule();
  schedule.want(node(1), 0);
  dueTimes(schedule, 0, 5);
  expect(schedule.onNewAddress(node(1), 12_700)).toBe(true);
  expect(schedule.failures(node(1))).toBe(0);
  expect(schedule.takeDue(13_499)).toEqual([]);
  expect(schedule.takeDue(13_500)).toEqual([node(1)]);
  expect(schedule.onNewAddress(node(2), 12_700)).toBe(false);
});

it('the pauses of one node do not count a dial that was superseded', () => {
  const schedule = createSchedule();
  schedule.want(node(1), 0);
  schedule.takeDue(0);
  schedule.onNewAddress(node(1), 500);
  schedule.onClosed(node(1), { ...FAILED, cause: 'superseded' }, 500);
  expect(schedule.failures(node(1))).toBe(0);
  expect(schedule.takeDue(1_000)).toEqual([node(1)]);
});

it('unwanted nodes are dialled while there are too few sources of addresses', () => {
  const known = nodes(9);
  const schedule = createSchedule({ limits: { gossipSources: 3 }, known, without: new Set([node(0)]) });
  schedule.want(node(1), 0);
  expect(schedule.takeDue(0)).toEqual([node(1), node(2), node(3), node(4)]);
  expect(schedule.takeDue(1_000)).toEqual([]);
});

it('unwanted nodes are closed after their grace, the longest unwanted first, except the sources', () => {
  const schedule = createSchedule({ limits: { gossipSources: 2 } });
  for (const nodeID of nodes(4)) schedule.want(nodeID, 0);
  for (const nodeID of schedule.takeDue(0)) schedule.onReady(nodeID);
  nodes(4).forEach((nodeID, index) => schedule.unwant(nodeID, 1_000 + index));
  expect(schedule.dueDisconnects(300_999)).toEqual([]);
  expect(schedule.dueDisconnects(301_001)).toEqual([node(0), node(1)]);
  schedule.want(node(0), 301_001);
  expect(schedule.dueDisconnects(301_003)).toEqual([node(1)]);
});

it('unwanted nodes keep their record for a while after a failure, so that others are tried', () => {
  const known = nodes(2);
  const schedule = createSchedule({ limits: { gossipSources: 1 }, known });
  const [first] = schedule.takeDue(0);
  expect(first).toBe(node(0));
  schedule.onClosed(node(0), FAILED, 0);
  expect(schedule.takeDue(250)).toEqual([node(1)]);
  expect(schedule.failures(node(0))).toBe(1);
  schedule.dueDisconnects(61_500);
  expect(schedule.failures(node(0))).toBe(1);
  schedule.dueDisconnects(61_501);
  expect(schedule.failures(node(0))).toBe(0);
});

/** Dials node 1 with the same failure until the time, and returns how many nodes count then. */
function turnedAway(cause: CloseCause, untilMs: number, countMs = untilMs): number {
  const schedule = createSchedule();
  schedule.want(node(1), 0);
  for (let nowMs = 0; nowMs < untilMs; nowMs += 250) {
    for (const nodeID of schedule.takeDue(nowMs)) schedule.onClosed(nodeID, { ...FAILED, cause }, nowMs);
  }
  return schedule.turnedAwayCount(countMs);
}

it('nodes that turn us away count after they have closed connections for longer than they keep a broken one', () => {
  expect(turnedAway('not_admitted', TURNED_AWAY_MS, TURNED_AWAY_MS - 1)).toBe(0);
  expect(turnedAway('not_admitted', TURNED_AWAY_MS)).toBe(1);
  expect(turnedAway('unreachable', 300_000)).toBe(0);
  // At 0 and 1.5 s.
  expect(turnedAway('not_admitted', 2_000, 300_000)).toBe(0);
});

it('nodes that turn us away do not count once they have accepted us', () => {
  const schedule = createSchedule();
  schedule.want(node(1), 0);
  for (const nowMs of [0, 60_000, 120_000]) {
    schedule.takeDue(nowMs);
    schedule.onClosed(node(1), { ...FAILED, cause: 'not_admitted' }, nowMs);
  }
  expect(schedule.turnedAwayCount(120_000)).toBe(1);
  schedule.takeDue(180_000);
  schedule.onReady(node(1));
  expect(schedule.turnedAwayCount(180_000)).toBe(0);
});

test.each([
  ['no node connected yet', 0, 0, false],
  ['all nodes accept us', 1_000, 0, false],
  ['a few nodes that accept only listed nodes', 1_000, 20, false],
  ['just below a quarter', 301, 100, false],
  ['a quarter', 300, 100, true],
  ['a process that started later', 0, 5, true],
  ['too few nodes', 0, 2, false],
])('the identity is contested with %s: %i connected, %i turn us away: %s', (_, connected, turnedAway, expected) => {
  expect(isIdentityContested({ connected, turnedAway })).toBe(expected);
});
