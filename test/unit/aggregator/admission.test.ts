import fc from 'fast-check';
import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { Admission, type Place } from '../../../src/aggregator/admission.ts';
import { AggregatorError } from '../../../src/aggregator/aggregator-error.ts';
import { createAggregatorMetrics } from '../../../src/aggregator/aggregator-metrics.ts';
import type { SignatureOutcome } from '../../../src/aggregator/signature-source.ts';
import type { BlsAggregation, Signer } from '../../../src/bls/aggregation.ts';
import { sleep } from '../../../src/primitives/clock.ts';
import { type BlockchainID, idFromBytes, type SubnetID } from '../../../src/primitives/ids.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { createUnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { FakeClock, settle } from '../../fake-clock.ts';
import { createModelSigner } from '../bls/model-backend.ts';
import { CHAIN, createHarness, NETWORK_ID, NO_POLICY, nodeOf, OTHER_SUBNET, SUBNET, TX } from './aggregator-fixture.ts';
import { drain, NOTHING_LEFT } from './collection-fixture.ts';

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
    expect(await registry.metrics()).toContain(
      'signature_aggregator_admission_refusals_total{reason="unresolved"} 2996',
    );
    await clock.advance(5_000);
    expect(count(await outcomes(results))).toEqual({ p_chain_unavailable: 4, overloaded: 2_996 });
    expect(leftovers()).toEqual(NOTHING_LEFT);
  });

  test('the same holds for requests by transaction, and for chains that are known', async () => {
    const { api, start, finish, l1Messages } = createHarness({ maxAggregationsInFlight: 9 });
    await finish(start());
    api.hangs = true;
    l1Messages.ofTransaction = (_, signal) =>
      new Promise((_resolve, reject) => signal?.addEventListener('abort', reject));
    const byTransaction = Array.from({ length: 100 }, (_, number) =>
      start({ subject: { kind: 'transaction', txID: TX }, quorumNum: BigInt(number) }),
    );
    const known = Array.from({ length: 100 }, (_, number) => start({ message: messageOf(number), pChainHeight: 50n }));
    expect(count(await outcomes(byTransaction))).toEqual({ open: 5, overloaded: 95 });
    expect(count(await outcomes(known))).toEqual({ open: 4, overloaded: 96 });
  });

  test('requests whose answer was known pass, but no more of them wait than may be under way', async () => {
    const { api, start, finish, clock, registry } = createHarness({ maxAggregationsInFlight: 6 });
    for (let number = 0; number < 20; number += 1) await finish(start({ message: messageOf(number) }));
    await clock.advance(1_000);
    api.hangs = true;
    const known = Array.from({ length: 20 }, (_, number) => start({ message: messageOf(number) }));
    expect(count(await outcomes(known))).toEqual({ open: 6, overloaded: 14 });
    expect(await registry.metrics()).toContain('signature_aggregator_aggregations_admitted 0');
    expect(count(await outcomes([start({ message: messageOf(99) })]))).toEqual({ open: 1 });
  });

  test('equal requests wait together, up to a bound', async () => {
    const { api, start, clock, leftovers } = createHarness({ maxAggregationsInFlight: 2 });
    api.hangs = true;
    const results = Array.from({ length: 50 }, () => start());
    expect(count(await outcomes(results))).toEqual({ open: 32, overloaded: 18 });
    expect(api.calls).toEqual(['validatedBy']);
    await clock.advance(5_000);
    expect(count(await outcomes(results))).toEqual({ p_chain_unavailable: 32, overloaded: 18 });
    expect(leftovers()).toEqual(NOTHING_LEFT);
  });
});

describe('while all places are taken', () => {
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

  test('a result that is known no more, as the validators have changed, needs a place like any other', async () => {
    const { finish, api, clock, failure, running } = await full();
    api.proposed = 99n;
    api.sets.set(SUBNET, () => []);
    await clock.advance(1_000);
    expect(await failure({ message: messageOf(100) })).not.toMatchObject({ code: 'overloaded' });
    api.proposed = 100n;
    api.sets.set(SUBNET, (height) => api.sets.get(OTHER_SUBNET)?.(height) ?? []);
    await clock.advance(1_000);
    expect(await failure({ message: messageOf(100) })).toMatchObject({ code: 'overloaded' });
    for (const result of running) await finish(result.catch(() => undefined));
  });

  test('who leaves makes room at once', async () => {
    const { start, api } = createHarness({ maxAggregationsInFlight: 1 });
    api.hangs = true;
    const leaver = new AbortController();
    const first = start({}, leaver.signal);
    expect(await outcomes([start({ message: messageOf(1) })])).toEqual(['overloaded']);
    leaver.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    expect(await outcomes([start({ message: messageOf(2) })])).toEqual(['open']);
  });

  test('a request that makes no sense is told so', async () => {
    const { failure, running, finish } = await full();
    expect(await failure({ message: messageOf(5), quorumNum: 101n })).toMatchObject({ code: 'invalid_request' });
    for (const result of running) await finish(result.catch(() => undefined));
  });
});

/** Of one client alone, at the start. */
const START_AT_WORK = 4;

describe('a flood', () => {
  test('of equal requests of one client, which take one seat, leaves others room to wait', async () => {
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

  test('of requests of one client whose answers are known leaves others theirs, while the P-Chain API hangs', async () => {
    const { api, startFor, finish, clock } = createHarness({ maxAggregationsInFlight: 9 });
    for (let number = 0; number < 20; number += 1) await finish(startFor('flood', { message: messageOf(number) }));
    await clock.advance(1_000);
    api.hangs = true;
    const flood = Array.from({ length: 20 }, (_, number) => startFor('flood', { message: messageOf(number) }));
    expect(count(await outcomes(flood))).toEqual({ open: 6, overloaded: 14 });
    expect(await outcomes([startFor('other', { message: messageOf(19) })])).toEqual(['open']);
  });

  test('of one client leaves places to others', async () => {
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

  test('of one subnet by a crowd of clients leaves places for others', async () => {
    const { startFor, finish, start, silence } = createHarness({ maxAggregationsInFlight: 30 });
    await finish(start());
    await finish(start({ signingSubnetID: OTHER_SUBNET }));
    silence(1, 2, 3, 4);
    const flood = Array.from({ length: 100 }, (_, number) => startFor(`${number}`, { message: messageOf(number) }));
    expect(count(await outcomes(flood))).toEqual({ open: 24, overloaded: 76 });
    const other = { message: messageOf(200), signingSubnetID: OTHER_SUBNET };
    expect(await outcomes([startFor('100', other)])).toEqual(['open']);
  });

  test('of unknown chains by a crowd of clients gets half of all places, and asks for each chain once in a while', async () => {
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

  test('of a chain that had to be looked up counts for its subnet from then on', async () => {
    const { start, silence } = createHarness({ maxAggregationsInFlight: 30 });
    silence(1, 2, 3, 4);
    const burst = Array.from({ length: 20 }, (_, number) => start({ message: messageOf(number) }));
    await drain();
    expect(count(await outcomes(burst))).toEqual({ open: 15, overloaded: 5 });
    const more = Array.from({ length: 20 }, (_, number) => start({ message: messageOf(100 + number) }));
    expect(count(await outcomes(more))).toEqual({ open: 9, overloaded: 11 });
    // Half of what is free is there for chains yet unknown.
    const unknown = [1, 2].map((number) => start({ message: messageOf(number, unknownChain(number)) }));
    expect(count(await outcomes(unknown))).toEqual({ unknown_source_chain: 2 });
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
    // Others may ask for what is missing, and who asked for too much of that may ask for what is known.
    expect(await ask('other')).toBe('unknown_source_chain');
    await finish(startFor('other', { message: messageOf(1_000) }));
    await finish(startFor('flood', { message: messageOf(1_001) }));
    await clock.advance(500);
    expect(await askOften('flood', 100)).toEqual({ unknown_source_chain: 16, overloaded: 84 });
    await clock.advance(60_000);
    expect(await askOften('flood', 100)).toEqual({ unknown_source_chain: 64, overloaded: 36 });
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
    expect(shown).toBeGreaterThan(15);
    expect(await registry.metrics()).toMatch(/admission_refusals_total\{reason="refused"\} \d+/);
    // Others may show theirs, and a client whose messages are signed again is trusted again.
    expect(await askOften('other', 1)).toEqual({ insufficient_weight: 1 });
    behave((sign, message) => ({ kind: 'signature', signature: sign(message) }));
    await clock.advance(10_000);
    expect(await askOften('flood', 20)).toEqual({ done: 20 });
  });

  test('of messages that validators refuse is refused at once where its client has no credit left, and not when its turn comes', async () => {
    const { ask, askOften, behave, finish, clock } = harnessOf200();
    behave(() => ({ kind: 'refused', code: 2, text: 'not found' }));
    await askOften('flood', 100);
    await askOften('flood', 100);
    await clock.advance(100);
    const first = ask('flood', 100);
    const { overloaded = 0, open = 0 } = count(await outcomes(first));
    expect(overloaded + open).toBe(100);
    expect(overloaded).toBeGreaterThan(0);
    expect(open).toBeGreaterThan(START_AT_WORK);
    await finish(Promise.allSettled(first));
    // Who was let in has been shown to validators: none of them was refused late.
    expect(count(await outcomes(first))).toEqual({ overloaded, insufficient_weight: open });
  });

  test('of subnets that do not exist reads no validator set', async () => {
    const { start, finish, api } = createHarness({ maxAggregationsInFlight: 30 });
    await finish(start());
    api.calls.length = 0;
    for (let number = 0; number < 10; number += 1) {
      const signingSubnetID = unknownChain(number) as unknown as SubnetID;
      await expect(finish(start({ signingSubnetID }))).rejects.toMatchObject({ code: 'unknown_subnet' });
    }
    expect(new Set(api.calls)).toEqual(new Set(['getSubnet']));
  });
});

describe('the machine', () => {
  test('that is late lets in less, and all again when it is not', async () => {
    const clock = new FakeClock();
    let lateMs = 0;
    const late = Object.assign(Object.create(clock), {
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs: number, callback: () => void) => clock.after(delayMs + lateMs, callback),
    }) as FakeClock;
    const registry = new Registry();
    const metrics = createAggregatorMetrics(createMetrics(registry));
    const admission = new Admission({
      clock: late,
      metrics,
      maxAggregationsInFlight: 64,
      turnTimeoutMs: 1_000,
      subnets: NO_POLICY,
    });
    const limit = async () => Number(/aggregations_limit (\d+)/.exec(await registry.metrics())?.[1]);
    using _ = admission.enter({ key: 'k', client: 'c', subnetID: SUBNET });
    expect(await limit()).toBe(64);
    lateMs = 40;
    await clock.advance(5_000);
    expect(await limit()).toBe(32);
    lateMs = 0;
    await clock.advance(4_000);
    expect(await limit()).toBe(64);
  });

  test('whose BLS threads keep signatures waiting lets in less', async () => {
    const clock = new FakeClock();
    const registry = new Registry();
    const metrics = createAggregatorMetrics(createMetrics(registry));
    const admission = new Admission({
      clock,
      metrics,
      maxAggregationsInFlight: 64,
      turnTimeoutMs: 1_000,
      subnets: NO_POLICY,
    });
    const sum = { add: () => sleep(clock, 400) } as unknown as BlsAggregation;
    const bls = admission.watch({
      startAggregation: () => sum,
      hashAhead: () => undefined,
      verifySigned: async () => 'valid',
    });
    const adding = bls
      .startAggregation(new Uint8Array(), new AbortController().signal)
      .add({} as Signer, new Uint8Array());
    await clock.advance(400);
    await adding;
    expect(await registry.metrics()).toContain('signature_aggregator_aggregations_limit 32');
  });

  test('whose BLS threads are busy lets in less', async () => {
    const { clock, start, finish, registry, bls } = createHarness({ maxAggregationsInFlight: 64 });
    bls.delayMs = 400;
    for (let number = 0; number < 6; number += 1) {
      await finish(Promise.all([1, 2].map((half) => start({ message: messageOf(2 * number + half) }))));
      await clock.advance(10);
    }
    expect(Number(/aggregations_limit (\d+)/.exec(await registry.metrics())?.[1])).toBeLessThan(64);
  });
});

test('in any order of events, every place is given back exactly once', () => {
  const step = fc.record({
    kind: fc.constantFrom('enter', 'enter', 'leave', 'belong', 'require', 'remember'),
    key: fc.integer({ min: 0, max: 5 }),
    pick: fc.nat(),
  });
  const subnets = [SUBNET, OTHER_SUBNET];
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      const clock = new FakeClock();
      const read: { admitted: () => number } = { admitted: () => Number.NaN };
      const admission = new Admission({
        subnets: NO_POLICY,
        clock,
        maxAggregationsInFlight: 3,
        turnTimeoutMs: 1_000,
        metrics: {
          admissionRefusals: { inc: () => undefined, at: () => ({ inc: () => undefined }) },
          showAdmission: (given) => Object.assign(read, given),
        },
      });
      const places: Place[] = [];
      const attempt = (work: () => void): void => {
        try {
          work();
        } catch (error) {
          expect(error).toMatchObject({ code: 'overloaded' });
        }
      };
      for (const { kind, key, pick } of steps) {
        const place = places[pick % Math.max(1, places.length)];
        const request = { key: `k${key}`, client: `c${pick % 3}`, subnetID: subnets[pick % 3] };
        if (kind === 'enter') attempt(() => void places.push(admission.enter(request)));
        else if (kind === 'remember') admission.remember(request.key);
        else if (place === undefined) continue;
        else if (kind === 'belong') attempt(() => place.belongTo(subnets[pick % 2] as SubnetID));
        else if (kind === 'require') attempt(() => place.requireSeat());
        else {
          // Twice does nothing more.
          place[Symbol.dispose]();
          place[Symbol.dispose]();
          places.splice(places.indexOf(place), 1);
        }
        expect(read.admitted()).toBeLessThanOrEqual(3);
      }
      for (const place of places) place[Symbol.dispose]();
      expect([read.admitted(), clock.pendingTimers]).toEqual([0, 0]);
      // Requests held, with a seat and without, are all forgotten: as many come in as at first.
      const enter = (client: string) => admission.enter({ key: 'new', client, subnetID: SUBNET });
      // Of one client two thirds of them, each client's being forgotten as well.
      const anew = Array.from({ length: 32 }, () => enter('c0'));
      expect(() => enter('c0')).toThrow('of this client');
      for (let other = 1; other <= 16; other += 1) anew.push(enter(`c${other}`));
      expect(() => enter('c17')).toThrow('48 requests wait');
      for (const place of anew) place[Symbol.dispose]();
      expect(read.admitted()).toBe(0);
    }),
    { numRuns: 300 },
  );
});
