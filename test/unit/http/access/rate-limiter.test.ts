import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CLIENTS_PER_SITE, takeUnits } from '../../../../src/http/access/rate-limiter.ts';
import { clientIdOf } from '../../../../src/http/request/client-identity.ts';
import { createMemoryLimitCounters } from '../../../../src/store/local/limit-counters.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const MINUTE_MS = 60_000;

function start() {
  const clock = new FakeClock();
  const counters = createMemoryLimitCounters(clock);
  const take = async (client: string, units: number, unitsPerMinute: number) =>
    takeUnits(counters, client, { units, unitsPerMinute, total: units });
  return { clock, counters, take };
}

function address(ip: string): string {
  return clientIdOf(undefined, ip);
}

/** Returns the maximum of units taken between any two times, minus the refill in that time. */
function burst(taken: readonly { readonly atMs: number; readonly units: number }[], unitsPerMinute: number): number {
  let most = 0;
  for (const [from, { atMs }] of taken.entries()) {
    let units = 0;
    for (const one of taken.slice(from)) {
      units += one.units;
      most = Math.max(most, units - (unitsPerMinute * (one.atMs - atMs)) / MINUTE_MS);
    }
  }
  return most;
}

/** Costs are rounded down to a nanosecond. */
const ROUNDING = 1e-3;

test.each([
  ['a client gets its units per minute', 1, 1],
  ['the clients of a /48 together get eight times that', 30, CLIENTS_PER_SITE],
])('in any time, %s as a burst, and as many in each minute', async (_, networks, share) => {
  const requests = fc.array(
    fc.record({
      waitMs: fc.oneof(fc.nat(100), fc.nat(90_000)),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
      network: fc.nat(networks - 1),
    }),
    { maxLength: 100 },
  );
  await fc.assert(
    fc.asyncProperty(requests, fc.integer({ min: 1, max: 10_000 }), async (each, unitsPerMinute) => {
      const { clock, take } = start();
      const taken: { atMs: number; units: number }[] = [];
      for (const { waitMs, part, network } of each) {
        await clock.advance(waitMs);
        const units = Math.max(1, Math.round(part * unitsPerMinute));
        const { refusal } = await take(address(`2001:db8:1:${network}::1`), units, unitsPerMinute);
        if (refusal === undefined) taken.push({ atMs: clock.monotonicMs(), units });
      }
      const limit = share * unitsPerMinute;
      expect(burst(taken, limit)).toBeLessThanOrEqual(limit + ROUNDING);
    }),
  );
});

test('the remaining units can be used, and a refused request is accepted after its retry time', async () => {
  const client = fc.constantFrom('1.2.3.4', '2001:db8:1::1', '2001:db8:1:1::1');
  // Limits with whole milliseconds per unit.
  const limit = fc.constantFrom(1, 3, 20, 100, 3_000, 30_000);
  const steps = fc.array(
    fc.record({
      waitMs: fc.nat(20_000),
      ip: client,
      part: fc.double({ min: 0, max: 1, noNaN: true }),
      isAfter: fc.boolean(),
    }),
    { minLength: 1, maxLength: 30 },
  );
  await fc.assert(
    fc.asyncProperty(steps, limit, async (each, unitsPerMinute) => {
      const { clock, counters, take } = start();
      for (const { waitMs, ip, part, isAfter } of each) {
        await clock.advance(waitMs);
        const units = Math.max(1, Math.round(part * unitsPerMinute));
        const charge = { units, unitsPerMinute, total: units };
        if (isAfter) await takeUnits(counters, address(ip), charge, 'afterwards');
        else await take(address(ip), units, unitsPerMinute);
      }
      const client = address(each[0]!.ip);
      const probe = await take(client, unitsPerMinute, unitsPerMinute);
      if (probe.refusal === undefined) return;
      const { remaining } = probe;
      expect((await take(client, remaining + 1, unitsPerMinute)).refusal).toBeDefined();
      if (remaining > 0) {
        expect(await take(client, remaining, unitsPerMinute)).toMatchObject({ remaining: 0, refusal: undefined });
      }
      const again = await take(client, 1, unitsPerMinute);
      const waitMs = again.refusal!.retryAfterMs;
      await clock.advance(Math.ceil(waitMs) - 1);
      expect((await take(client, 1, unitsPerMinute)).refusal).toBeDefined();
      await clock.advance(1);
      expect((await take(client, 1, unitsPerMinute)).refusal).toBeUndefined();
    }),
  );
});

test('what the limit of a client refuses is not taken from its /48', async () => {
  const { take } = start();
  for (let count = 0; count < 100; count += 1) await take(address('2001:db8:1:1::1'), 20, 20);
  for (let network = 2; network <= CLIENTS_PER_SITE; network += 1) {
    expect((await take(address(`2001:db8:1:${network}::1`), 20, 20)).refusal).toBeUndefined();
  }
});

test('all units are refilled after the reset time', async () => {
  const { clock, counters, take } = start();
  const client = address('2001:db8::1');
  for (let network = 1; network <= 7; network += 1) await take(address(`2001:db8:0:${network}::1`), 20, 20);
  await takeUnits(counters, client, { units: 45, unitsPerMinute: 20, total: 45 }, 'afterwards');
  // 25 units more than there were, and the 20 of a minute.
  const charge = { units: 1, unitsPerMinute: 20, total: 46 };
  const { resetMs, remaining } = await takeUnits(counters, client, charge, 'afterwards');
  expect([resetMs, remaining]).toEqual([138_000, 0]);
  await clock.advance(resetMs);
  expect(await take(client, 20, 20)).toEqual({ resetMs: 60_000, remaining: 0, refusal: undefined });
});

test('IPv4 clients share no limit, in any notation', async () => {
  const { take } = start();
  for (let host = 0; host < 20; host += 1) {
    expect((await take(address(`::ffff:1.2.3.${host}`), 20, 20)).refusal).toBeUndefined();
    expect((await take(address(`[::ffff:1.2.4.${host}]:1`), 20, 20)).refusal).toBeUndefined();
  }
});
