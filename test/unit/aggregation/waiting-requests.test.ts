import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { type Admission, createAdmission } from '../../../src/aggregation/admission/admission.ts';
import type { JobPermit } from '../../../src/aggregation/admission/job-permit.ts';
import { createPenalties } from '../../../src/aggregation/admission/penalties.ts';
import { createAggregatorMetrics } from '../../../src/aggregation/aggregator-metrics.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { createHarness, messageOf, NO_POLICY, outcomesOf, SUBNET, signers } from './aggregator-fixture.ts';
import { ANSWER_MS, drain, NOTHING_LEFT, SteppedClock } from './collection/collection-fixture.ts';

/** Validators that refuse until that time has passed, and sign then. */
function signAfter({ source, clock }: ReturnType<typeof createHarness>, lagMs: number): void {
  for (const { nodeID, sign } of signers) {
    source.add(nodeID, ({ message }) => ({
      afterMs: ANSWER_MS,
      outcome:
        clock.monotonicMs() < lagMs
          ? { kind: 'refused', code: 3, text: 'unknown message' }
          : { kind: 'signed', signature: sign(message) },
    }));
  }
}

const gauge = async (registry: Registry, name: string): Promise<number | undefined> => {
  const metric = await registry.getSingleMetric(`signature_aggregator_${name}`)?.get();
  return metric?.values[0]?.value;
};

describe('requests for messages that no validator has executed yet', () => {
  test('hold no permit between the tries, so that more of them than permits are signed', async () => {
    const harness = createHarness({ maxAggregationsInFlight: 9 });
    const { startFor, finish, registry, leftovers, clock } = harness;
    signAfter(harness, 2_000);
    const waiting: Promise<unknown>[] = [];
    for (let number = 0; number < 12; number += 1) {
      waiting.push(startFor('client', { message: messageOf(number) }));
      await clock.advance(20);
      await drain();
    }
    expect(await outcomesOf(waiting)).toEqual(Array(12).fill('open'));
    // Some are being tried at this moment.
    expect(await gauge(registry, 'aggregations_waiting')).toBeGreaterThanOrEqual(9);
    await finish(Promise.all(waiting));
    expect(clock.monotonicMs()).toBeLessThanOrEqual(2_000 + 700);
    for (const name of ['waiting', 'admitted', 'at_work'])
      expect(await gauge(registry, `aggregations_${name}`)).toBe(0);
    expect(leftovers()).toEqual(NOTHING_LEFT);
  });

  test('cost the client points once, at the end, and are cached for a second then', async () => {
    const charges: number[] = [];
    const clock = new SteppedClock();
    const penalties = createPenalties(clock, createAggregatorMetrics(createMetrics(new Registry())));
    const harness = createHarness(
      {},
      { clock, penalties: { ...penalties, chargeUnsigned: () => void charges.push(clock.monotonicMs()) } },
    );
    signAfter(harness, 1_000_000);
    const { startFor, finish, source } = harness;
    await expect(finish(startFor('client', {}))).rejects.toMatchObject({ code: 'insufficient_weight' });
    expect(charges).toEqual([5_000]);
    const asked = source.calls.length;
    await expect(finish(startFor('client', {}))).rejects.toMatchObject({ retryAfterMs: 1_000 });
    expect(source.calls).toHaveLength(asked);
  });
});

describe('permits to wait', () => {
  const MIB = 2 ** 20;
  const NEVER = new AbortController().signal;

  function createPermits(maxAggregationsInFlight = 256) {
    const clock = new FakeClock();
    const metrics = createAggregatorMetrics(createMetrics(new Registry()));
    const limits = { maxAggregationsInFlight, requestTimeoutMs: 1_000 };
    const options = { clock, metrics, subnets: NO_POLICY, limits };
    return { clock, ...createAdmission(options) };
  }

  const acquire = async ({ placeFor }: Pick<Admission, 'placeFor'>, client: string): Promise<JobPermit> => {
    const place = placeFor({ client, subnetID: SUBNET }, 0);
    await place.acquire(NEVER);
    return place.move();
  };

  test('are bounded by bytes, for one client and for all', async () => {
    const admission = createPermits();
    const waitAll = async (client: string): Promise<number> => {
      for (let count = 0; ; count += 1) {
        const permit = await acquire(admission, client);
        try {
          permit.suspend(MIB);
        } catch (error) {
          expect(error).toMatchObject({ code: 'overloaded', retryAfterMs: 1_000 });
          permit[Symbol.dispose]();
          return count;
        }
      }
    };
    const [first, second] = [await waitAll('a'), await waitAll('b')];
    // Two thirds of 1,024, and two thirds of the rest, by the weight of 5.
    expect(first).toBe(136);
    expect(second).toBe(46);
  });

  test('are exchanged for a permit in turn, beside new requests', async () => {
    const admission = createPermits(1);
    const first = await acquire(admission, 'a');
    first.suspend(0);
    const second = await acquire(admission, 'a');
    const others = ['a', 'a', 'a'].map((client) => acquire(admission, client));
    const resumed = first.resume(NEVER);
    second[Symbol.dispose]();
    const [next] = await Promise.all(others.slice(0, 1));
    next?.[Symbol.dispose]();
    await resumed;
    expect(await outcomesOf(others)).toEqual(['done', 'open', 'open']);
  });
});
