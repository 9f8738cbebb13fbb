import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RefusalCredit } from '../../../src/aggregator/refusal-credit.ts';
import { VainWork } from '../../../src/aggregator/vain-work.ts';
import { FakeClock } from '../../fake-clock.ts';
import { CHAIN, UNKNOWN_CHAIN } from './aggregator-fixture.ts';

test('what came to nothing is forgiven at an even rate, each client its own', async () => {
  const step = fc.record({
    client: fc.constantFrom('a', 'b'),
    amount: fc.integer({ min: 1, max: 40 }),
    waitMs: fc.integer({ min: 0, max: 3_000 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const clock = new FakeClock();
      const vain = new VainWork(clock, { atOnce: 100, perSecond: 20 });
      const owed = new Map([
        ['a', 0],
        ['b', 0],
      ]);
      for (const { client, amount, waitMs } of steps) {
        await clock.advance(waitMs);
        for (const [each, amountOwed] of owed) owed.set(each, Math.max(0, amountOwed - (20 * waitMs) / 1_000));
        vain.count(client, amount);
        owed.set(client, (owed.get(client) ?? 0) + amount);
        for (const [each, amountOwed] of owed) expect(vain.usedPart(each)).toBeCloseTo(amountOwed / 100, 6);
      }
    }),
  );
});

describe('the credit of a client', () => {
  const createCredit = (clock = new FakeClock()) => new RefusalCredit(clock, () => new Error('used up'));

  function spendAll(credit: RefusalCredit, client = 'client', chain = CHAIN): void {
    while (credit.has(client, chain)) {
      using one = credit.take(client, chain, 100);
      one.begin();
      one.settle(100);
    }
  }

  test('for a chain ends with its refusals, and others have theirs', async () => {
    const clock = new FakeClock();
    const credit = createCredit(clock);
    spendAll(credit);
    expect(credit.has('client', UNKNOWN_CHAIN)).toBe(true);
    expect(credit.has('other', CHAIN)).toBe(true);
    await clock.advance(100);
    expect(credit.has('client', CHAIN)).toBe(true);
  });

  test('for all chains ends with those of four', () => {
    const credit = createCredit();
    for (const client of ['client 1', 'client 2']) {
      for (let number = 0; number < 4; number += 1) spendAll(credit, client, `${CHAIN}${number}` as typeof CHAIN);
      expect(credit.has(client, UNKNOWN_CHAIN)).toBe(false);
    }
  });

  test('is spent beforehand by whoever had much refused, and given back for what is signed', () => {
    const credit = createCredit();
    const atOnce = (): number => {
      using underWay = new DisposableStack();
      let count = 0;
      for (; count < 1_000 && credit.has('client', CHAIN); count += 1) {
        const one = underWay.use(credit.take('client', CHAIN, 90));
        one.begin();
        one.settle(0);
      }
      return count;
    };
    expect(atOnce()).toBe(1_000);
    for (let number = 0; number < 20; number += 1) {
      using one = credit.take('client', CHAIN, 100);
      one.begin();
      one.settle(100);
    }
    expect(atOnce()).toBe(45);
    expect(atOnce()).toBe(45);
  });

  test('is spent by whoever leaves when validators have been asked, and by nobody who only waited', () => {
    const credit = createCredit();
    for (let number = 0; number < 1_000; number += 1) credit.take('client', CHAIN, 90)[Symbol.dispose]();
    let begun = 0;
    for (; credit.has('client', CHAIN); begun += 1) {
      using one = credit.take('client', CHAIN, 90);
      one.begin();
    }
    expect(begun).toBe(67);
  });

  test('is asked for again by whoever has not spent any when its turn comes', () => {
    const credit = createCredit();
    const waiting = credit.take('client', CHAIN, 90);
    spendAll(credit);
    expect(() => waiting.begin()).toThrow('used up');
    expect(() => credit.take('client', CHAIN, 90)).toThrow('used up');
  });
});
