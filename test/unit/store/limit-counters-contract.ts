import { expect, test } from 'vitest';
import type { Claim, GrantedClaim, LimitCounters } from '../../../src/store/limit-counters.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** What every way of counting has to do. The counters that it is given may be in use elsewhere, but not by these keys. */
export function testLimitCounters(counters: () => LimitCounters): void {
  test('adds up what each key uses, and says how long the window lasts', async () => {
    const first = await counters().add('a', 10, MINUTE_MS);
    expect(first.used).toBe(10);
    expectWithin(first.leftMs, MINUTE_MS);
    const second = await counters().add('a', 2, MINUTE_MS);
    expect(second.used).toBe(12);
    expectWithin(second.leftMs, first.leftMs);
    expect((await counters().add('b', 1, MINUTE_MS)).used).toBe(1);
  });

  test('the window is that of the first, whoever adds to it later', async () => {
    await counters().add('window', 1, MINUTE_MS);
    expectWithin((await counters().add('window', 1, HOUR_MS)).leftMs, MINUTE_MS);
  });

  test('counts each of many at the same time', async () => {
    const all = await Promise.all(Array.from({ length: 100 }, async () => counters().add('many', 3, MINUTE_MS)));
    const used = all.map((usage) => usage.used).toSorted((a, b) => a - b);
    expect(used).toEqual(Array.from({ length: 100 }, (_, index) => 3 * (index + 1)));
  });

  test('grants one claim, and tells the others how long it holds', async () => {
    expect((await counters().claim('token', HOUR_MS)).isGranted).toBe(true);
    expectRefused(await counters().claim('token', HOUR_MS), HOUR_MS);
    expectRefused(await counters().claim('token', MINUTE_MS), HOUR_MS);
    expect((await counters().claim('token 2', HOUR_MS)).isGranted).toBe(true);
  });

  test('grants one of many claims at the same time', async () => {
    const claims = await Promise.all(Array.from({ length: 50 }, () => counters().claim('race', HOUR_MS)));
    expect(claims.filter(({ isGranted }) => isGranted)).toHaveLength(1);
  });

  test('a claim that was given back can be made again; giving back is for one’s own', async () => {
    const first = expectGranted(await counters().claim('back', HOUR_MS));
    await first.giveBack();
    const second = expectGranted(await counters().claim('back', HOUR_MS));
    await first.giveBack();
    expectRefused(await counters().claim('back', HOUR_MS), HOUR_MS);
    await second.giveBack();
    expectGranted(await counters().claim('back', HOUR_MS));
  });
}

export function expectGranted(claim: Claim): GrantedClaim {
  expect(claim.isGranted).toBe(true);
  return claim as GrantedClaim;
}

export function expectRefused(claim: Claim, ttlMs: number): void {
  expect(claim.isGranted).toBe(false);
  expectWithin((claim as Extract<Claim, { isGranted: false }>).leftMs, ttlMs);
}

/** A minute is more than any test takes. */
function expectWithin(leftMs: number, atMostMs: number): void {
  expect(leftMs).toBeLessThanOrEqual(atMostMs);
  expect(leftMs).toBeGreaterThan(Math.max(0, atMostMs - MINUTE_MS));
}
