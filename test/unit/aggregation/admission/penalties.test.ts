import { expect, test } from 'vitest';
import { createPenalties } from '../../../../src/aggregation/admission/penalties.ts';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import { createAggregatorMetrics } from '../../../../src/aggregation/aggregator-metrics.ts';
import { createUnreadMetrics } from '../../../../src/telemetry/metrics.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { CHAIN, UNKNOWN_CHAIN } from '../aggregator-fixture.ts';

function create() {
  const clock = new FakeClock();
  return { clock, penalties: createPenalties(clock, createAggregatorMetrics(createUnreadMetrics())) };
}

test('lookups that fail for another reason, and those of internal work, are free', async () => {
  const { penalties } = create();
  const fail = (client: string | undefined, code: 'p_chain_unavailable' | 'unknown_subnet') =>
    penalties.lookUp(client, async () => {
      throw new AggregatorError(code, 'why');
    });
  for (let count = 0; count < 200; count += 1) {
    await expect(fail('client', 'p_chain_unavailable')).rejects.toMatchObject({ code: 'p_chain_unavailable' });
    await expect(fail(undefined, 'unknown_subnet')).rejects.toMatchObject({ code: 'unknown_subnet' });
  }
  expect(await penalties.lookUp('client', async () => 'found')).toBe('found');
});

test.each([
  'unknown_source_chain',
  'unknown_subnet',
  'unknown_transaction',
  'unknown_validation',
  'chain_rpc_invalid',
] as const)('a client whose lookups fail as %s is refused after 64 of them', async (code) => {
  const { penalties } = create();
  const fail = () => penalties.lookUp('client', () => Promise.reject(new AggregatorError(code, 'why')));
  for (let count = 0; count < 64; count += 1) await expect(fail()).rejects.toMatchObject({ code });
  await expect(fail()).rejects.toMatchObject({ code: 'overloaded' });
});

test('messages of one chain that no validator signs first make the next ones doubtful, then bar the chain, and last the client', async () => {
  const { penalties, clock } = create();
  const isBarred = (client: string, chain = CHAIN): boolean => {
    try {
      penalties.requireSignable(client, chain);
      return false;
    } catch (error) {
      expect(error).toMatchObject({ code: 'overloaded' });
      return true;
    }
  };
  penalties.chargeUnsigned('relayer', CHAIN, 150, 300);
  expect(penalties.isDoubtful('relayer', CHAIN)).toBe(false);
  for (let count = 0; count < 4; count += 1) penalties.chargeUnsigned('relayer', CHAIN, 150, 300);
  expect([penalties.isDoubtful('relayer', CHAIN), isBarred('relayer')]).toEqual([true, false]);
  for (let count = 0; count < 20; count += 1) penalties.chargeUnsigned('relayer', CHAIN, 150, 300);
  expect([isBarred('relayer'), isBarred('relayer', UNKNOWN_CHAIN), isBarred('other')]).toEqual([true, false, false]);
  expect(penalties.isDoubtful('other', CHAIN)).toBe(false);
  for (let count = 0; count < 100; count += 1) penalties.chargeUnsigned('relayer', CHAIN, 150, 300);
  expect(isBarred('relayer', UNKNOWN_CHAIN)).toBe(true);
  await clock.advance(4_000);
  expect([isBarred('relayer'), penalties.isDoubtful('relayer', CHAIN)]).toEqual([false, false]);
});

test('a few large messages that no validator signs bar a client', () => {
  const { penalties } = create();
  let shown = 0;
  const tryOne = (): void => {
    penalties.requireSignable('flood', CHAIN);
    penalties.chargeUnsigned('flood', CHAIN, 112, 200_000);
    shown += 1;
  };
  expect(() => {
    for (;;) tryOne();
  }).toThrow('refused too many');
  expect(shown).toBe(3);
});
