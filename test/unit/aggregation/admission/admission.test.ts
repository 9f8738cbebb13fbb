import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { Admission } from '../../../../src/aggregation/admission/admission.ts';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import { createAggregatorMetrics } from '../../../../src/aggregation/aggregator-metrics.ts';
import type { SignatureOutcome } from '../../../../src/aggregation/validators/validator-outcome.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { type BlockchainID, idFromBytes } from '../../../../src/warp/ids.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { createModelSigner } from '../../bls/backends/model-backend.ts';
import { CHAIN, createHarness, NETWORK_ID, NO_POLICY, nodeOf, OTHER_SUBNET, SUBNET } from '../aggregator-fixture.ts';
import { drain, NOTHING_LEFT } from '../collection/collection-fixture.ts';

function messageOf(number: number, chainID: BlockchainID = CHAIN) {
  return createUnsignedMessage(NETWORK_ID, chainID, Uint8Array.of(number >> 8, number & 0xff));
}

function unknownChain(number: number): BlockchainID {
  return idFromBytes(
    new Uint8Array(32)
      .fill(200)
      .with(0, number >> 8)
      .with(1, number & 0xff),
    'chain',
  );
}

/** What has become of promises by now. */
async function outcomes(results: readonly Promise<unknown>[]): Promise<readonly unknown[]> {
  await settle();
  const open = Symbol('open');
  return Promise.all(
    results.map((result) =>
      Promise.race([result, Promise.resolve(open)]).then(
        (value) => (value === open ? 'open' : 'done'),
        (error: unknown) => (error instanceof AggregatorError ? error.code : error),
      ),
    ),
  );
}

function count(all: readonly unknown[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const one of all) counts[String(one)] = (counts[String(one)] ?? 0) + 1;
  return counts;
}

describe('while the P-Chain API hangs', () => {
  test('no more requests are held than may be under way, and the others are refused at once', async () => {
    const { api, start, leftovers, clock, registry } = createHarness({ maxAggregationsInFlight: 8 });
    api.hangs = true;
    const results = Array.from({ length: 3_000 }, (_, number) => start({ message: messageOf(number) }));
    // No time has passed, and no timer has run: what is refused waits for nothing.
    expect(count(await outcomes(results))).toEqual({ open: 4, overloaded: 2_996 });
    await expect(results.at(-1)).rejects.toMatchObject({ code: 'overloaded', retryAfterMs: 1_000 });
    expect(await registry.metrics()).toContain('signature_aggregator_aggregations_admitted 4');
    expect(await registry.metrics()).toContain('signature_aggregator_admission_refusals_total{reason="share"} 2996');
    await clock.advance(5_000);
    expect(count(await outcomes(results))).toEqual({ p_chain_unavailable: 4, overloaded: 2_996 });
    expect(leftovers()).toEqual(NOTHING_LEFT);
  });

  test('requests of known chains wait for the height without a permit', async () => {
    const { api, start, finish, clock, registry } = createHarness({ maxAggregationsInFlight: 6 });
    for (let number = 0; number < 20; number += 1) await finish(start({ message: messageOf(number) }));
    await clock.advance(1_000);
    api.hangs = true;
    const known = Array.from({ length: 20 }, (_, number) => start({ message: messageOf(number) }));
    expect(count(await outcomes(known))).toEqual({ open: 20 });
    expect(await registry.metrics()).toContain('signature_aggregator_aggregations_admitted 0');
    expect(count(await outcomes([start({ message: messageOf(99) })]))).toEqual({ open: 1 });
  });

  test('equal requests share one permit and one lookup', async () => {
    const { api, start, clock, leftovers } = createHarness({ maxAggregationsInFlight: 2 });
    api.hangs = true;
    const results = Array.from({ length: 50 }, () => start());
    expect(count(await outcomes(results))).toEqual({ open: 50 });
    expect(api.calls).toEqual(['validatedBy']);
    await clock.advance(5_000);
    expect(count(await outcomes(results))).toEqual({ p_chain_unavailable: 50 });
    expect(leftovers()).toEqual(NOTHING_LEFT);
  });
});

describe('while all permits are taken', () => {
  async function full() {
    const harness = createHarness({ maxAggregationsInFlight: 3 });
    const { start, finish, silence } = harness;
    const known = await finish(start({ message: messageOf(100) }));
    silence(1, 2, 3, 4);
    const running = [1, 2].map((number) => start({ message: messageOf(number) }));
    running.push(start({ message: messageOf(3), signingSubnetID: OTHER_SUBNET }));
    await drain();
    expect(count(await outcomes([start({ message: messageOf(4) })]))).toEqual({ overloaded: 1 });
    return { ...harness, known, running };
  }

  test('known results are given, and failures a short while ago', async () => {
    const { start, finish, known, running, failure } = await full();
    expect(await finish(start({ message: messageOf(100) }))).toEqual(known);
    for (const result of running) await finish(result.catch(() => undefined));
    expect(await failure({ message: messageOf(1) })).toMatchObject({ code: 'insufficient_weight' });
    const again = [11, 12].map((number) => start({ message: messageOf(number) }));
    again.push(start({ message: messageOf(13), signingSubnetID: OTHER_SUBNET }));
    await drain();
    expect(await failure({ message: messageOf(14) })).toMatchObject({ code: 'overloaded' });
    expect(await failure({ message: messageOf(1) })).toMatchObject({ code: 'insufficient_weight' });
  });

  test('a caller that leaves returns its permit at once', async () => {
    const { start, api } = createHarness({ maxAggregationsInFlight: 1 });
    api.hangs = true;
    const leaver = new AbortController();
    const first = start({}, leaver.signal);
    expect(await outcomes([start({ message: messageOf(1) })])).toEqual(['overloaded']);
    leaver.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    expect(await outcomes([start({ message: messageOf(2) })])).toEqual(['open']);
  });
});

describe('a flood', () => {
  test('of equal requests of one client, which take one permit, leaves permits to others', async () => {
    const { startFor, silence, finish, start, leftovers } = createHarness({ maxAggregationsInFlight: 8 });
    await finish(start());
    silence(1, 2, 3, 4);
    const flood = Array.from({ length: 500 }, () => startFor('flood', { message: messageOf(1) }));
    const { open = 0, overloaded = 0 } = count(await outcomes(flood));
    expect(open + overloaded).toBe(500);
    expect(open).toBeGreaterThan(64);
    const others = [2, 3].map((number) => startFor('other', { message: messageOf(number) }));
    expect(await outcomes(others)).toEqual(['open', 'open']);
    await finish(Promise.allSettled([...flood, ...others]));
    expect(leftovers()).toEqual(NOTHING_LEFT);
  });

  test('of one client leaves permits to others', async () => {
    const { startFor, finish, start, silence } = createHarness({ maxAggregationsInFlight: 30 });
    await finish(start());
    silence(1, 2, 3, 4);
    const flood = Array.from({ length: 100 }, (_, number) =>
      startFor('flood', { message: messageOf(number), signingSubnetID: number % 2 === 0 ? SUBNET : OTHER_SUBNET }),
    );
    expect((await outcomes(flood)).filter((outcome) => outcome === 'overloaded').length).toBeGreaterThanOrEqual(80);
    const others = [1, 2, 3].map((number) => startFor('other', { message: messageOf(200 + number) }));
    expect(count(await outcomes(others))).toEqual({ open: 3 });
  });

  test('of unknown chains by many clients gets half of all permits, and asks for each chain once in a while', async () => {
    const { startFor, finish, start, api, silence } = createHarness({ maxAggregationsInFlight: 30 });
    await finish(start());
    silence(1, 2, 3, 4);
    api.calls.length = 0;
    const flood = Array.from({ length: 100 }, (_, number) =>
      startFor(`${number}`, { message: messageOf(number, unknownChain(number)) }),
    );
    const good = startFor('good', { message: messageOf(1) });
    expect(count(await outcomes(flood))).toEqual({ overloaded: 85, unknown_source_chain: 15 });
    expect(await outcomes([good])).toEqual(['open']);
    expect(api.calls.filter((method) => method === 'validatedBy')).toHaveLength(15);
    for (let number = 0; number < 15; number += 1) {
      const again = startFor('again', { message: messageOf(500 + number, unknownChain(number)) });
      await expect(again).rejects.toMatchObject({ code: 'unknown_source_chain' });
    }
    expect(api.calls.filter((method) => method === 'validatedBy')).toHaveLength(15);
  });

  test('of unknown chains by one client, one after the other, is looked up for 64 of them, and for 32 in each second from then on', async () => {
    const { startFor, finish, api, clock } = createHarness();
    let last = 0;
    const ask = async (client: string): Promise<unknown> => {
      last += 1;
      return (await outcomes([startFor(client, { message: messageOf(last, unknownChain(last)) })]))[0];
    };
    const askOften = async (client: string, times: number): Promise<Record<string, number>> => {
      const all: unknown[] = [];
      for (let time = 0; time < times; time += 1) all.push(await ask(client));
      return count(all);
    };
    expect(await askOften('flood', 100)).toEqual({ unknown_source_chain: 64, overloaded: 36 });
    expect(api.calls.filter((method) => method === 'validatedBy')).toHaveLength(64);
    expect(await ask('other')).toBe('unknown_source_chain');
    await clock.advance(500);
    expect(await askOften('flood', 100)).toEqual({ unknown_source_chain: 16, overloaded: 84 });
    await clock.advance(60_000);
    expect(await askOften('flood', 100)).toEqual({ unknown_source_chain: 64, overloaded: 36 });
    for (const client of ['other', 'flood']) {
      last += 1;
      await finish(startFor(client, { message: messageOf(last) }));
    }
  });

  test('of unknown destinations by one client is looked up for 64 of them', async () => {
    const { startFor, finish, api } = createHarness();
    await finish(startFor('flood', { message: messageOf(0) }));
    const codes: unknown[] = [];
    for (let number = 1; number <= 100; number += 1) {
      const asked = { message: messageOf(number), destinationChainID: unknownChain(number) };
      codes.push(...(await outcomes([startFor('flood', asked)])));
    }
    expect(count(codes)).toEqual({ invalid_request: 64, overloaded: 36 });
    expect(api.calls.filter((method) => method === 'validatedBy')).toHaveLength(1 + 64);
    await finish(startFor('other', { message: messageOf(200), destinationChainID: CHAIN }));
  });

  /** 200 validators of one weight. */
  function harnessOf200() {
    const harness = createHarness({
      ...{ maxAggregationsInFlight: 400, maxQueriesInFlight: 50_000, maxConcurrentQueries: 2_048 },
    });
    const { api, source, startFor, finish } = harness;
    const many = Array.from({ length: 200 }, (_, index) => createModelSigner(BigInt(index + 2) ** 7n));
    api.sets.set(SUBNET, () =>
      many.map(({ publicKey }, index) => ({ nodeID: nodeOf(index + 1), publicKey, weight: 1n })),
    );
    const behave = (outcome: (sign: (message: Uint8Array) => Uint8Array, message: Uint8Array) => SignatureOutcome) => {
      for (const [index, { sign }] of many.entries()) {
        source.add(nodeOf(index + 1), ({ message }) => ({ afterMs: 10, outcome: outcome(sign, message) }));
      }
    };
    let last = 0;
    const ask = (client: string, times: number) =>
      Array.from({ length: times }, () => {
        last += 1;
        return startFor(client, { message: messageOf(last) });
      });
    const askOften = async (client: string, times: number) => {
      const results = ask(client, times);
      await finish(Promise.allSettled(results));
      return count(await outcomes(results));
    };
    return { ...harness, behave, ask, askOften };
  }

  test('of messages that 200 validators refuse is not shown to them when one client had too many of them refused, until some seconds have passed', async () => {
    const { source, askOften, behave, registry, clock } = harnessOf200();
    behave(() => ({ kind: 'refused', code: 2, text: 'not found' }));
    // A round takes 1.3 s, as a sample is asked again.
    await askOften('flood', 100);
    await askOften('flood', 100);
    const asked = source.calls.length;
    const { insufficient_weight: shown = 0, overloaded = 0 } = await askOften('flood', 100);
    expect(shown + overloaded).toBe(100);
    expect(source.calls.length - asked).toBeLessThan(2 * 1_500);
    expect(await registry.metrics()).toMatch(/admission_refusals_total\{reason="refused"\} \d+/);
    // Others may show theirs, and a client whose messages are signed again is trusted again.
    expect(await askOften('other', 1)).toEqual({ insufficient_weight: 1 });
    behave((sign, message) => ({ kind: 'signature', signature: sign(message) }));
    await clock.advance(10_000);
    expect(await askOften('flood', 20)).toEqual({ done: 20 });
  });
});

test('a client whose message was first asked for by a flood does not wait behind it', async () => {
  const { startFor, finish, start } = createHarness({ maxAggregationsInFlight: 256 });
  await finish(start({ message: messageOf(0) }));
  const flood = Array.from({ length: 60 }, (_, number) => startFor('flood', { message: messageOf(number + 1) }));
  await finish(startFor('good', { message: messageOf(60) }));
  const { done = 0 } = count(await outcomes(flood));
  expect(done).toBeLessThan(30);
  await finish(Promise.all(flood));
});

describe('a machine', () => {
  function createAdmission(max = 64) {
    const clock = new FakeClock();
    let lateMs = 0;
    const late = Object.assign(Object.create(clock), {
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs: number, callback: () => void) => clock.after(delayMs + lateMs, callback),
    }) as FakeClock;
    const registry = new Registry();
    const admission = new Admission({
      ...{ clock: late, subnets: NO_POLICY, maxAggregationsInFlight: max, queueTimeoutMs: 1_000 },
      metrics: createAggregatorMetrics(createMetrics(registry)),
    });
    const limit = async () => Number(/aggregations_at_work_limit (\d+)/.exec(await registry.metrics())?.[1]);
    const beLate = (ms: number): void => {
      lateMs = ms;
    };
    return { clock, admission, limit, beLate };
  }

  test('that is late runs fewer aggregations, and more again when it is not', async () => {
    const { clock, admission, limit, beLate } = createAdmission();
    using _permit = admission.admit({ client: 'c', subnetID: SUBNET });
    expect(await limit()).toBe(8);
    beLate(40);
    await clock.advance(5_000);
    expect(await limit()).toBe(4);
    beLate(0);
    await clock.advance(4_000);
    expect(await limit()).toBe(8);
  });

  test('queues no more of one client or subnet than it can run soon, and serves others first', async () => {
    const { admission } = createAdmission(256);
    const { signal } = new AbortController();
    const run = (client: string, subnetID = SUBNET) => {
      const result = admission.run({ client, subnetID }, signal);
      result.catch(() => undefined);
      return result;
    };
    const flood = Array.from({ length: 200 }, () => run('flood'));
    expect(count(await outcomes(flood))).toEqual({ done: 4, open: 64, overloaded: 132 });
    expect(await outcomes([run('good', OTHER_SUBNET), run('good', OTHER_SUBNET)])).toEqual(['done', 'done']);
  });

  test('lets a resting aggregation wait to resume, however many of its client are queued', async () => {
    const { admission } = createAdmission(1);
    const { signal } = new AbortController();
    const run = () => {
      const result = admission.run({ client: 'flood', subnetID: SUBNET }, signal);
      result.catch(() => undefined);
      return result;
    };
    const first = await run();
    first.rest();
    const others = Array.from({ length: 100 }, run);
    expect(count(await outcomes(others))).toEqual({ done: 1, open: 32, overloaded: 67 });
    const resumed = first.resume(signal);
    expect(await outcomes([resumed])).toEqual(['open']);
  });
});
