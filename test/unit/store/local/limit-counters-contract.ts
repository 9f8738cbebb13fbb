import { expect, test } from 'vitest';
import type { Backlog, GrantedClaim, LimitClaim, LimitCounters } from '../../../../src/store/local/limit-counters.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_NS = 86_400e9;

/** The contract of all counters. The given counters may be in use elsewhere, with other keys. */
export function testLimitCounters(counters: () => LimitCounters): void {
  test('sums the costs of each key', async () => {
    expectBacklog(await counters().take('a', 100e9, DAY_NS), 100e9);
    expectBacklog(await counters().take('a', 20e9 + 1, DAY_NS), 120e9 + 1);
    expectBacklog(await counters().take('b', 60e9, DAY_NS), 60e9);
  });

  test('rejects a cost above the maximum, without adding it', async () => {
    expectBacklog(await counters().take('full', 900e9, 1_000e9), 900e9);
    const refused = await counters().take('full', 200e9, 1_000e9);
    expect(refused.isTaken).toBe(false);
    expectWithin(refused.ns / 1e6, 900_000);
    expectBacklog(await counters().take('full', 100e9, 1_000e9), 1_000e9);
    expectBacklog(await counters().take('full', 200e9, DAY_NS), 1_200e9);
  });

  test('a negative cost reduces the backlog, down to 0', async () => {
    await counters().take('given back', 900e9, DAY_NS);
    expectBacklog(await counters().take('given back', -300e9, DAY_NS), 600e9);
    expectBacklog(await counters().take('given back', -700e9, DAY_NS), 0);
    expectBacklog(await counters().take('given back', 100e9, DAY_NS), 100e9);
  });

  test('adds concurrent costs up to the maximum', async () => {
    const cost = { ns: 600e9, max: 100 * 600e9 };
    const all = await Promise.all(Array.from({ length: 110 }, async () => counters().take('many', cost.ns, cost.max)));
    const taken = all.filter(({ isTaken }) => isTaken).map(({ ns }) => Math.ceil(ns / cost.ns));
    expect(taken.toSorted((a, b) => a - b).slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
    // The backlog that drains during the test has no room for one more.
    expect(taken).toHaveLength(100);
  });

  test('grants one claim, and returns the remaining time to others', async () => {
    expect((await counters().claim('token', HOUR_MS)).isGranted).toBe(true);
    expectRefused(await counters().claim('token', HOUR_MS), HOUR_MS);
    expectRefused(await counters().claim('token', MINUTE_MS), HOUR_MS);
    expect((await counters().claim('token 2', HOUR_MS)).isGranted).toBe(true);
  });

  test('grants one of many concurrent claims', async () => {
    const claims = await Promise.all(Array.from({ length: 50 }, () => counters().claim('race', HOUR_MS)));
    expect(claims.filter(({ isGranted }) => isGranted)).toHaveLength(1);
  });

  test('a released claim can be made again; a release does not affect later claims', async () => {
    const first = expectGranted(await counters().claim('back', HOUR_MS));
    await first.giveBack();
    const second = expectGranted(await counters().claim('back', HOUR_MS));
    await first.giveBack();
    expectRefused(await counters().claim('back', HOUR_MS), HOUR_MS);
    await second.giveBack();
    expectGranted(await counters().claim('back', HOUR_MS));
  });
}

export function expectGranted(claim: LimitClaim): GrantedClaim {
  expect(claim.isGranted).toBe(true);
  return claim as GrantedClaim;
}

export function expectRefused(claim: LimitClaim, ttlMs: number): void {
  expect(claim.isGranted).toBe(false);
  expectWithin((claim as Extract<LimitClaim, { isGranted: false }>).leftMs, ttlMs);
}

/** Part of the backlog may have drained since. */
function expectBacklog({ isTaken, ns }: Backlog, atMostNs: number): void {
  expect(isTaken).toBe(true);
  if (atMostNs === 0) expect(ns).toBe(0);
  else expectWithin(ns / 1e6, atMostNs / 1e6);
}

/** Allows a minute, more than any test takes. */
function expectWithin(leftMs: number, atMostMs: number): void {
  expect(leftMs).toBeLessThanOrEqual(atMostMs);
  expect(leftMs).toBeGreaterThan(Math.max(0, atMostMs - MINUTE_MS));
}
