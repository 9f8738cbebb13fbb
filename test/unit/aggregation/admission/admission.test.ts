import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { createAdmission } from '../../../../src/aggregation/admission/admission.ts';
import type { JobPermit } from '../../../../src/aggregation/admission/job-permit.ts';
import { createAggregatorMetrics } from '../../../../src/aggregation/aggregator-metrics.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { type BlockchainID, idFromBytes, type SubnetID } from '../../../../src/warp/ids.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { createModelSigner } from '../../bls/backends/model-backend.ts';
import {
  createHarness,
  messageOf,
  NO_POLICY,
  nodeOf,
  OTHER_SUBNET,
  outcomesOf,
  type RequestOptions,
  SUBNET,
} from '../aggregator-fixture.ts';
import { drain, NOTHING_LEFT } from '../collection/collection-fixture.ts';

function unknownChain(number: number): BlockchainID {
  return idFromBytes(
    new Uint8Array(32)
      .fill(200)
      .with(0, number >> 8)
      .with(1, number & 0xff),
    'chain',
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
    expect(count(await outcomesOf(results))).toEqual({ open: 4, overloaded: 2_996 });
    await expect(results.at(-1)).rejects.toMatchObject({ code: 'overloaded', retryAfterMs: 1_000 });
    expect(await registry.metrics()).toContain('signature_aggregator_aggregations_admitted 4');
    expect(await registry.metrics()).toContain('signature_aggregator_admission_refusals_total{reason="share"} 2996');
    await clock.advance(5_000);
    expect(count(await outcomesOf(results))).toEqual({ p_chain_unavailable: 4, overloaded: 2_996 });
    expect(leftovers()).toEqual(NOTHING_LEFT);
  });

  test('requests of known chains wait for the height without a permit', async () => {
    const { api, start, finish, clock, registry } = createHarness({ maxAggregationsInFlight: 6 });
    for (let number = 0; number < 20; number += 1) await finish(start({ message: messageOf(number) }));
    await clock.advance(1_000);
    api.hangs = true;
    const known = Array.from({ length: 20 }, (_, number) => start({ message: messageOf(number) }));
    expect(count(await outcomesOf(known))).toEqual({ open: 20 });
    expect(await registry.metrics()).toContain('signature_aggregator_aggregations_admitted 0');
    expect(count(await outcomesOf([start({ message: messageOf(99) })]))).toEqual({ open: 1 });
  });
});

test('while all permits are taken, requests wait in a queue, and known results and recent failures are given', async () => {
  const { start, finish, failure, silence } = createHarness({ maxAggregationsInFlight: 3 });
  const known = await finish(start({ message: messageOf(100) }));
  silence(1, 2, 3, 4);
  expect(await failure({ message: messageOf(5) })).toMatchObject({ code: 'insufficient_weight' });
  for (const number of [1, 2]) void start({ message: messageOf(number) });
  void start({ message: messageOf(3), signingSubnetID: OTHER_SUBNET });
  await drain();
  const [equal, other] = [start({ message: messageOf(1) }), start({ message: messageOf(4) })];
  expect(await outcomesOf([equal, other])).toEqual(['open', 'open']);
  expect(await finish(start({ message: messageOf(100) }))).toEqual(known);
  expect(await failure({ message: messageOf(5) })).toMatchObject({ code: 'insufficient_weight' });
});

test('a caller that leaves returns its permit at once', async () => {
  const { start, api } = createHarness({ maxAggregationsInFlight: 1 });
  api.hangs = true;
  const leaver = new AbortController();
  const first = start({}, { signal: leaver.signal });
  expect(await outcomesOf([start({ message: messageOf(1) })])).toEqual(['overloaded']);
  leaver.abort(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  expect(await outcomesOf([start({ message: messageOf(2) })])).toEqual(['open']);
});

describe('a flood', () => {
  test('of unknown chains by many clients gets half of all permits, and asks for each chain once in a while', async () => {
    const { startFor, finish, start, api, silence } = createHarness({ maxAggregationsInFlight: 30 });
    await finish(start());
    silence(1, 2, 3, 4);
    api.calls.length = 0;
    const flood = Array.from({ length: 100 }, (_, number) =>
      startFor(`${number}`, { message: messageOf(number, unknownChain(number)) }),
    );
    const good = startFor('good', { message: messageOf(1) });
    expect(count(await outcomesOf(flood))).toEqual({ overloaded: 85, unknown_source_chain: 15 });
    expect(await outcomesOf([good])).toEqual(['open']);
    expect(api.calls.filter((method) => method === 'validatedBy')).toHaveLength(15);
    for (let number = 0; number < 15; number += 1) {
      const again = startFor('again', { message: messageOf(500 + number, unknownChain(number)) });
      await expect(again).rejects.toMatchObject({ code: 'unknown_source_chain' });
    }
    expect(api.calls.filter((method) => method === 'validatedBy')).toHaveLength(15);
  });

  test.each<[string, string, (number: number) => RequestOptions]>([
    ['chains', 'unknown_source_chain', (number) => ({ message: messageOf(number, unknownChain(number)) })],
    [
      'destinations',
      'invalid_request',
      (number) => ({ message: messageOf(number), destinationChainID: unknownChain(number) }),
    ],
  ])(
    'of unknown %s by one client is looked up for 64 of them, and for 32 in each second from then on',
    async (_, code, requestOf) => {
      const { startFor, finish, api, clock } = createHarness();
      await finish(startFor('flood', { message: messageOf(0) }));
      api.calls.length = 0;
      let last = 0;
      const askOften = async (client: string, times: number): Promise<Record<string, number>> => {
        const all: unknown[] = [];
        for (let time = 0; time < times; time += 1) {
          last += 1;
          all.push(...(await outcomesOf([startFor(client, requestOf(last))])));
        }
        return count(all);
      };
      expect(await askOften('flood', 100)).toEqual({ [code]: 64, overloaded: 36 });
      expect(api.calls.filter((method) => method === 'validatedBy')).toHaveLength(64);
      expect(await askOften('other', 1)).toEqual({ [code]: 1 });
      await clock.advance(500);
      expect(await askOften('flood', 100)).toEqual({ [code]: 16, overloaded: 84 });
      await clock.advance(60_000);
      expect(await askOften('flood', 100)).toEqual({ [code]: 64, overloaded: 36 });
      for (const client of ['other', 'flood']) await finish(startFor(client, { message: messageOf(last) }));
    },
  );

  test('of messages that all validators refuse is not shown to them any more, until some seconds have passed', async () => {
    const { api, source, clock, finish, registry, startFor } = createHarness({
      maxAggregationsInFlight: 400,
      maxQueriesInFlight: 50_000,
      maxConcurrentQueries: 2_048,
    });
    const many = Array.from({ length: 60 }, (_, index) => ({
      nodeID: nodeOf(index + 1),
      weight: 1n,
      ...createModelSigner(BigInt(index + 2) ** 7n),
    }));
    api.sets.set(SUBNET, () => many);
    for (const { nodeID } of many) {
      source.add(nodeID, () => ({ afterMs: 10, outcome: { kind: 'refused', code: 2, text: 'not found' } }));
    }
    let last = 0;
    const askOften = async (client: string, times: number) => {
      const before = source.calls.length;
      const results = Array.from({ length: times }, () => startFor(client, { message: messageOf((last += 1)) }));
      await finish(Promise.allSettled(results));
      return { codes: count(await outcomesOf(results)), queries: source.calls.length - before };
    };
    await askOften('flood', 100);
    expect(await askOften('flood', 100)).toEqual({ codes: { overloaded: 100 }, queries: 0 });
    expect(await registry.metrics()).toMatch(/admission_refusals_total\{reason="refused"\} \d+/);
    // Others may show theirs, and a client whose messages are signed again is trusted again.
    expect((await askOften('other', 1)).codes).toEqual({ insufficient_weight: 1 });
    for (const { nodeID, sign } of many) {
      source.add(nodeID, ({ message }) => ({ afterMs: 10, outcome: { kind: 'signed', signature: sign(message) } }));
    }
    await clock.advance(10_000);
    expect((await askOften('flood', 20)).codes).toEqual({ done: 20 });
  });
});

test('a client whose message was first asked for by a flood does not wait behind it', async () => {
  const { startFor, finish, start } = createHarness({ maxAggregationsInFlight: 256 });
  await finish(start({ message: messageOf(0) }));
  const flood = Array.from({ length: 60 }, (_, number) => startFor('flood', { message: messageOf(number + 1) }));
  await finish(startFor('good', { message: messageOf(60) }));
  const { done = 0 } = count(await outcomesOf(flood));
  expect(done).toBeLessThan(30);
  await finish(Promise.all(flood));
});

describe('a machine', () => {
  function setUpAdmission(max = 64, subnets: Pick<typeof NO_POLICY, 'tracked'> = NO_POLICY) {
    const clock = new FakeClock();
    let lateMs = 0;
    const late = Object.assign(Object.create(clock), {
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs: number, callback: () => void) => clock.after(delayMs + lateMs, callback),
    }) as FakeClock;
    const registry = new Registry();
    const admission = createAdmission({
      clock: late,
      subnets,
      limits: { maxAggregationsInFlight: max, requestTimeoutMs: 1_000 },
      metrics: createAggregatorMetrics(createMetrics(registry)),
    });
    const limit = async () => Number(/aggregations_at_work_limit (\d+)/.exec(await registry.metrics())?.[1]);
    const beLate = (ms: number): void => {
      lateMs = ms;
    };
    const { signal } = new AbortController();
    /** Waits for the permits of a job. */
    const run = async (client: string, subnetID = SUBNET, bytes = 0): Promise<JobPermit> => {
      const place = admission.placeFor({ client, subnetID }, bytes);
      await place.acquire(signal);
      return place.move();
    };
    const start = (client: string, subnetID = SUBNET, bytes = 0): Promise<JobPermit> => {
      const result = run(client, subnetID, bytes);
      result.catch(() => undefined);
      return result;
    };
    return { clock, admission, limit, beLate, start, signal };
  }

  test('that is late runs fewer aggregations, and more again when it is not', async () => {
    const { clock, start, limit, beLate } = setUpAdmission();
    using _permit = await start('c');
    expect(await limit()).toBe(8);
    beLate(40);
    await clock.advance(5_000);
    expect(await limit()).toBe(4);
    beLate(0);
    await clock.advance(4_000);
    expect(await limit()).toBe(8);
  });

  test('is not observed any more once nothing is admitted, whichever permit is released last', async () => {
    const { clock, admission, start } = setUpAdmission();
    const job = await start('a');
    const lookup = admission.lookUp({ client: 'a', subnetID: SUBNET });
    expect(clock.pendingTimers).toBe(1);
    job[Symbol.dispose]();
    lookup.release();
    expect(clock.pendingTimers).toBe(0);
  });

  test('admits two thirds for one client, and others after it', () => {
    const { admission } = setUpAdmission(30);
    const lookUp = (client: string, subnetID: SubnetID) => admission.lookUp({ client, subnetID });
    for (let number = 0; number < 20; number += 1) lookUp('flood', number % 2 === 0 ? SUBNET : OTHER_SUBNET);
    expect(() => lookUp('flood', SUBNET)).toThrow('too many requests of this client');
    lookUp('other', SUBNET);
  });

  test('admits three quarters for all subnets that are not tracked, and tracked ones after them', () => {
    const { admission } = setUpAdmission(40, { tracked: new Set([SUBNET]) });
    const subnetOf = (number: number) => idFromBytes<SubnetID>(new Uint8Array(32).fill(100 + number), 'subnet');
    const lookUp = (number: number) => admission.lookUp({ client: `${number}`, subnetID: subnetOf(number) });
    for (let number = 0; number < 30; number += 1) lookUp(number);
    expect(() => lookUp(30)).toThrow('subnets that are not tracked');
    // It may be of any subnet.
    expect(() => admission.lookUp({ client: 'lookup', subnetID: undefined })).toThrow('subnets that are not tracked');
    admission.lookUp({ client: 'other', subnetID: SUBNET });
  });

  test('queues jobs of one client, whose bytes have a bound, and serves others first', async () => {
    const { start } = setUpAdmission(256);
    const flood = Array.from({ length: 200 }, () => start('flood'));
    expect(count(await outcomesOf(flood))).toEqual({ done: 4, open: 196 });
    expect(await outcomesOf([start('good', OTHER_SUBNET), start('good', OTHER_SUBNET)])).toEqual(['done', 'done']);
    const large = Array.from({ length: 100 }, () => start('large', SUBNET, 1024 * 1024));
    // Two thirds of what is free of 64 MiB.
    expect(count(await outcomesOf(large))).toEqual({ done: 1, open: 40, overloaded: 59 });
    await expect(large.at(-1)).rejects.toMatchObject({
      message: 'too many bytes of this client, or of all, wait in the queue',
    });
    const [last] = await outcomesOf([start('last', SUBNET, 1024 * 1024)]);
    expect(last).toBe('open');
  });

  test('refuses a job that has waited until its deadline, and no other', async () => {
    const { clock, start } = setUpAdmission(1);
    using _first = await start('a');
    const second = start('b');
    await clock.advance(500);
    const third = start('b');
    await clock.advance(500);
    expect(await outcomesOf([second, third])).toEqual(['overloaded', 'open']);
    await expect(second).rejects.toThrow('the request waited too long in the queue');
  });

  test('resumes work that has begun before the queue of its client is served', async () => {
    const { start, signal } = setUpAdmission(2);
    const first = await start('flood');
    first.rest();
    const others = Array.from({ length: 100 }, () => start('flood'));
    await settle();
    const resumed = first.resume(signal);
    expect(count(await outcomesOf(others))).toEqual({ done: 1, open: 99 });
    const [other] = await Promise.all(others.slice(0, 1));
    other?.[Symbol.dispose]();
    expect(await outcomesOf([resumed])).toEqual(['done']);
  });

  test('lets the jobs of one client that have begun take no more than its share', async () => {
    const { start, signal } = setUpAdmission(256);
    const begin = async () => {
      const jobs = await Promise.all(Array.from({ length: 4 }, () => start('flood')));
      for (const job of jobs) job.rest();
      return jobs;
    };
    const jobs = [...(await begin()), ...(await begin())];
    const resumed = jobs.map((job) => job.resume(signal));
    expect(count(await outcomesOf(resumed))).toEqual({ done: 4, open: 4 });
    expect(await outcomesOf([start('good', OTHER_SUBNET)])).toEqual(['done']);
  });
});
