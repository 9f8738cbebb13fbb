import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { createPenalties } from '../../../src/aggregation/admission/penalties.ts';
import { AggregatorError } from '../../../src/aggregation/aggregator-error.ts';
import { createAggregatorMetrics } from '../../../src/aggregation/aggregator-metrics.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { createHarness, FOUND, outcomesOf, signers, TX } from './aggregator-fixture.ts';
import { ANSWER_MS, drain, NOTHING_LEFT, SteppedClock } from './collection/collection-fixture.ts';

type Harness = ReturnType<typeof createHarness>;

/** Validators refuse until then, and sign afterwards. */
function executeAt({ source, clock }: Pick<Harness, 'source' | 'clock'>, atMs: number): void {
  for (const { nodeID, sign } of signers) {
    source.add(nodeID, ({ message }) => ({
      afterMs: ANSWER_MS,
      outcome:
        clock.monotonicMs() < atMs
          ? { kind: 'refused', code: 3, text: 'unknown message' }
          : { kind: 'signed', signature: sign(message) },
    }));
  }
}

async function advance(clock: SteppedClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 50) {
    await clock.advance(50);
    await drain(20);
  }
}

describe('a message that is executed while its client waits', () => {
  test('is signed soon after, without a point for its client, and its duration leaves out the wait', async () => {
    const charges: number[] = [];
    const clock = new SteppedClock();
    const penalties = createPenalties(clock, createAggregatorMetrics(createMetrics(new Registry())));
    const harness = createHarness(
      {},
      { clock, penalties: { ...penalties, chargeUnsigned: () => void charges.push(clock.monotonicMs()) } },
    );
    executeAt(harness, 8_000);
    const phases: Record<string, number> = {};
    const onPhase = (phase: string, ms: number): void => void (phases[phase] = (phases[phase] ?? 0) + ms);
    await harness.finish(harness.start({}, { client: 'client', waitMs: 10_000, onPhase }));
    expect(clock.monotonicMs()).toBeLessThanOrEqual(8_000 + 400 + 4 * ANSWER_MS);
    expect(charges).toEqual([]);
    expect(phases['execution']).toBeGreaterThan(7_000);
    const text = await harness.registry.metrics();
    const sum = Number(/aggregation_duration_seconds_sum\{outcome="signed"\} (\S+)/.exec(text)?.[1]);
    expect(sum).toBeLessThan(1);
    expect(harness.leftovers()).toEqual(NOTHING_LEFT);
  });

  test('does not hold another client without a wait, who shares its collection', async () => {
    const harness = createHarness();
    const { clock, start, finish } = harness;
    executeAt(harness, 9_000);
    const waiting = start({}, { client: 'a', waitMs: 30_000 });
    await advance(clock, 1_000);
    const other = start({}, { client: 'b' });
    await advance(clock, 4_900);
    expect(await outcomesOf([waiting, other])).toEqual(['open', 'open']);
    await advance(clock, 100);
    expect(await outcomesOf([waiting, other])).toEqual(['open', 'insufficient_weight']);
    await expect(other).rejects.toMatchObject({ retryAfterMs: 1_000, report: { tally: { signedWeight: 0n } } });
    await finish(waiting);
    expect(clock.monotonicMs()).toBeLessThanOrEqual(9_000 + 700);
  });

  test('is not failed by the collection of another client, which would have ended before', async () => {
    const harness = createHarness();
    const { clock, start, finish } = harness;
    executeAt(harness, 9_000);
    const first = start({}, { client: 'a' });
    await advance(clock, 4_000);
    const waiting = start({}, { client: 'b', waitMs: 10_000 });
    await advance(clock, 1_000);
    expect(await outcomesOf([first, waiting])).toEqual(['insufficient_weight', 'open']);
    await finish(waiting);
    expect(clock.monotonicMs()).toBeLessThanOrEqual(9_000 + 700);
  });

  test('is not failed by a recent failure, which others are given', async () => {
    const harness = createHarness();
    const { clock, start, finish, failure } = harness;
    executeAt(harness, 7_000);
    await failure();
    const failedMs = clock.monotonicMs();
    expect(await failure()).toMatchObject({ code: 'insufficient_weight' });
    expect(clock.monotonicMs()).toBe(failedMs);
    await finish(start({}, { waitMs: 5_000 }));
    expect(clock.monotonicMs()).toBeLessThanOrEqual(7_000 + 700);
  });

  test('has the usual time for signatures after the wait', async () => {
    const harness = createHarness();
    executeAt(harness, 1_000_000);
    await expect(harness.finish(harness.start({}, { waitMs: 3_000 }))).rejects.toMatchObject({
      code: 'insufficient_weight',
    });
    expect(harness.clock.monotonicMs()).toBe(3_000 + 5_000);
  });

  test('is not asked for any more once its client has disconnected', async () => {
    const harness = createHarness();
    const { clock, start, source } = harness;
    executeAt(harness, 1_000_000);
    const client = new AbortController();
    const result = start({}, { waitMs: 30_000, signal: client.signal });
    await advance(clock, 2_000);
    client.abort(new Error('gone'));
    await expect(result).rejects.toThrow('gone');
    await drain();
    const asked = source.calls.length;
    await advance(clock, 2_000);
    expect(source.calls).toHaveLength(asked);
    expect(harness.leftovers()).toEqual(NOTHING_LEFT);
  });
});

test('a wait ends when the service stops, and the request has its usual time then', async () => {
  const harness = createHarness();
  const { clock, start, finish, leftovers } = harness;
  executeAt(harness, 1_000_000);
  const stopping = new AbortController();
  const result = start({}, { waitMs: 30_000, waitEnds: stopping.signal });
  await advance(clock, 2_000);
  stopping.abort();
  await expect(finish(result)).rejects.toMatchObject({ code: 'insufficient_weight' });
  expect(clock.monotonicMs()).toBe(2_000 + 5_000);
  expect(leftovers()).toEqual(NOTHING_LEFT);
});

describe('a transaction that is accepted while its client waits', () => {
  const subject = { kind: 'transaction', txID: TX, evm: { chain: 'C', logIndex: undefined } } as const;
  const unknown = (retryAfterMs: number | undefined) =>
    new AggregatorError('unknown_transaction', 'not accepted', { field: 'transaction', retryAfterMs });

  function createWith(acceptedMs: number, miss = unknown(2_000)) {
    const clock = new SteppedClock();
    const asked: number[] = [];
    const l1Messages = {
      async ofTransaction() {
        asked.push(clock.monotonicMs());
        if (clock.monotonicMs() < acceptedMs) throw miss;
        return FOUND;
      },
      ofJustification: () => Promise.reject(new Error('not asked')),
    };
    const charged: string[] = [];
    const penalties = createPenalties(clock, createAggregatorMetrics(createMetrics(new Registry())));
    const counting: typeof penalties = {
      ...penalties,
      async lookUp(client, work) {
        try {
          return await work();
        } catch (error) {
          charged.push(String(client));
          throw error;
        }
      },
    };
    return { asked, charged, ...createHarness({}, { clock, l1Messages, penalties: counting }) };
  }

  test('is signed soon after, by lookups that its clients share', async () => {
    const { asked, charged, clock, start, finish } = createWith(3_000);
    const results = ['a', 'a', 'b', 'c'].map((client) => start({ subject }, { client, waitMs: 10_000 }));
    await finish(Promise.all(results));
    expect(clock.monotonicMs()).toBeLessThanOrEqual(3_000 + 400);
    expect(asked.slice(0, 5)).toEqual([0, 100, 300, 650, 1_000]);
    expect(asked.length).toBeLessThan(15);
    expect(charged).toEqual([]);
  });

  test('is not found by a client whose wait ends before: that costs a point, once', async () => {
    const { charged, clock, start, finish } = createWith(3_000);
    const [short, long, none] = [1_000, 5_000, undefined].map((waitMs) => start({ subject }, { client: 'a', waitMs }));
    await expect(finish(none!)).rejects.toMatchObject({ code: 'unknown_transaction' });
    expect(clock.monotonicMs()).toBe(0);
    await expect(finish(short!)).rejects.toMatchObject({ code: 'unknown_transaction', retryAfterMs: 2_000 });
    expect(clock.monotonicMs()).toBe(1_000);
    await finish(long!);
    expect(charged).toHaveLength(2);
  });

  test('is not awaited where no later block can change the answer', async () => {
    const { clock, start, finish } = createWith(3_000, unknown(undefined));
    await expect(finish(start({ subject }, { waitMs: 10_000 }))).rejects.toMatchObject({ code: 'unknown_transaction' });
    expect(clock.monotonicMs()).toBe(0);
  });

  test('is not awaited any more when the service stops', async () => {
    const { clock, start, finish } = createWith(1_000_000);
    const stopping = new AbortController();
    const result = start({ subject }, { waitMs: 30_000, waitEnds: stopping.signal });
    await advance(clock, 1_000);
    stopping.abort();
    await expect(finish(result)).rejects.toMatchObject({ code: 'unknown_transaction' });
    expect(clock.monotonicMs()).toBe(1_000);
  });

  test('is not looked up any more once its client has disconnected', async () => {
    const { asked, clock, start, leftovers } = createWith(1_000_000);
    const client = new AbortController();
    const result = start({ subject }, { waitMs: 30_000, signal: client.signal });
    await advance(clock, 1_000);
    client.abort(new Error('gone'));
    await expect(result).rejects.toThrow('gone');
    const count = asked.length;
    await advance(clock, 1_000);
    expect(asked).toHaveLength(count);
    expect(leftovers()).toEqual(NOTHING_LEFT);
  });

  test('leaves room for other clients: one has a share of the requests that wait', async () => {
    const { start } = createWith(1_000_000);
    const idOf = (number: number) => ({ ...subject, txID: `${TX}${number}` as typeof TX });
    const wait = (client: string, count: number) =>
      Array.from({ length: count }, (_, number) => start({ subject: idOf(number) }, { client, waitMs: 30_000 }));
    const first = wait('a', 200);
    await drain();
    const outcomes = await outcomesOf(first);
    // Two thirds of 256.
    expect(outcomes.filter((outcome) => outcome === 'open')).toHaveLength(170);
    expect(outcomes.filter((outcome) => outcome === 'overloaded')).toHaveLength(30);
    const [mine, others] = [wait('a', 201).slice(-1), wait('b', 1)];
    await drain();
    expect(await outcomesOf([...mine, ...others])).toEqual(['overloaded', 'open']);
  });
});
