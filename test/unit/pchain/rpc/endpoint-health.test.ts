import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EndpointHealth } from '../../../../src/pchain/rpc/endpoint-health.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const LIMITS = { asideBaseMs: 1_000, asideMaxMs: 8_000, probeMs: 500 };

function createHealth(count: number): { clock: FakeClock; health: EndpointHealth } {
  const clock = new FakeClock();
  return { clock, health: new EndpointHealth(count, clock, LIMITS) };
}

describe('EndpointHealth', () => {
  it('prefers healthy endpoints in the configured order', () => {
    const { health } = createHealth(3);
    expect(health.order()).toEqual([0, 1, 2]);
    health.onFailure(0);
    expect(health.order()).toEqual([1, 2, 0]);
    health.onFailure(2);
    expect(health.order()).toEqual([1, 0, 2]);
  });

  it('probes an endpoint with one call after its time', async () => {
    const { clock, health } = createHealth(2);
    health.onFailure(0);
    await clock.advance(999);
    expect(health.order()).toEqual([1, 0]);
    await clock.advance(1);
    expect(health.order()).toEqual([0, 1]);
    health.onRequest(0);
    expect(health.order()).toEqual([1, 0]);
    health.onResponse(0);
    expect(health.order()).toEqual([0, 1]);
  });

  it('permits another probe after an abandoned one', async () => {
    const { clock, health } = createHealth(2);
    health.onFailure(0);
    await clock.advance(1_000);
    health.onRequest(0);
    await clock.advance(LIMITS.probeMs);
    expect(health.order()).toEqual([0, 1]);
  });

  it('doubles the time with each failure, up to the bound', async () => {
    const { clock, health } = createHealth(2);
    for (const asideMs of [1_000, 2_000, 4_000, 8_000, 8_000]) {
      health.onRequest(0);
      health.onFailure(0);
      await clock.advance(asideMs - 1);
      expect(health.order()).toEqual([1, 0]);
      await clock.advance(1);
      expect(health.order()).toEqual([0, 1]);
    }
  });

  it('a response resets the failures of an endpoint', async () => {
    const { clock, health } = createHealth(2);
    for (const asideMs of [1_000, 2_000, 4_000]) {
      health.onFailure(0);
      await clock.advance(asideMs);
    }
    health.onResponse(0);
    health.onFailure(0);
    await clock.advance(LIMITS.asideBaseMs);
    expect(health.order()).toEqual([0, 1]);
  });

  it('an endpoint with a response needs no probe', async () => {
    const { clock, health } = createHealth(2);
    health.onFailure(0);
    await clock.advance(LIMITS.asideBaseMs);
    health.onResponse(0);
    health.onRequest(0);
    expect(health.order()).toEqual([0, 1]);
  });

  it('counts calls that fail together as one failure', async () => {
    const { clock, health } = createHealth(2);
    for (let call = 0; call < 50; call += 1) health.onFailure(0);
    await clock.advance(LIMITS.asideBaseMs);
    expect(health.order()).toEqual([0, 1]);
  });

  it('returns all endpoints, and puts none aside longer than the bound', async () => {
    const event = fc.record({
      what: fc.constantFrom('onRequest' as const, 'onResponse' as const, 'onFailure' as const),
      index: fc.nat({ max: 3 }),
      afterMs: fc.nat({ max: 5_000 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 50 }), async (events) => {
        const { clock, health } = createHealth(4);
        for (const { what, index, afterMs } of events) {
          await clock.advance(afterMs);
          health[what](index);
          expect(health.order().toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3]);
        }
        await clock.advance(LIMITS.asideMaxMs);
        expect(health.order()).toEqual([0, 1, 2, 3]);
      }),
      { numRuns: 30 },
    );
  });
});
