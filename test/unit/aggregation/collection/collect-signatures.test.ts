import { describe, expect, test } from 'vitest';
import type { CollectionDeps } from '../../../../src/aggregation/collection/collection-context.ts';
import { describeFailure } from '../../../../src/aggregation/collection/collection-failure.ts';
import type { Collection, JobEnd } from '../../../../src/aggregation/collection/job.ts';
import type { ProgressEvent } from '../../../../src/aggregation/collection/progress.ts';
import { NO_FINAL_REFUSALS } from '../../../../src/aggregation/collection/tally.ts';
import { signatureKey } from '../../../../src/aggregation/request/result-key.ts';
import type { AttemptOutcome, TallySummary } from '../../../../src/aggregation/validators/validator-outcome.ts';
import { METRIC_PREFIX } from '../../../../src/telemetry/metrics.ts';
import { modelBackend } from '../../bls/backends/model-backend.ts';
import { createInlineBls } from '../../bls/service/inline-bls.ts';
import {
  ANSWER_MS,
  answers,
  createFixture,
  drain,
  type Fixture,
  LIMITS,
  NOTHING_LEFT,
  SUBNET_ID,
} from './collection-fixture.ts';

function summaryOf(outcome: JobEnd): TallySummary {
  if (outcome.kind !== 'insufficient') throw new Error('expected too little weight, got a signed message');
  return outcome.summary;
}

test('as many validators are asked as the quorum needs, the heaviest first', async () => {
  const fixture = createFixture({ weights: [10, 40, 20, 30] });
  const { value, atMs } = await fixture.run({ quorum: 67 });
  expect(fixture.asked()).toEqual([1, 3]);
  expect(fixture.signersOf(value, 67)).toEqual([1, 3]);
  expect(value).toMatchObject({ signedWeight: 70n, isTargetReached: true });
  expect(atMs).toBe(ANSWER_MS);
});

test('slow validators are hedged by the next heaviest, and left when those are enough', async () => {
  const fixture = createFixture({ weights: [30, 30, 20, 20] });
  fixture.script(0, 'silent');
  const { value, atMs } = await fixture.run({ quorum: 67 });
  expect(fixture.asked()).toEqual([0, 1, 2, 3]);
  expect(fixture.source.calls.map(({ atMs }) => atMs)).toEqual([0, 0, 0, 500]);
  expect(fixture.signersOf(value, 67)).toEqual([1, 2, 3]);
  expect(atMs).toBe(500 + ANSWER_MS);
  expect(fixture.source.abortedCalls).toBe(1);
});

test('a late signature that makes the quorum while a job waits for its permit leaves the next validator unasked', async () => {
  const fixture = createFixture({ weights: [40, 30, 30] });
  const { clock, source } = fixture;
  const [last = expect.fail()] = fixture.at(2).nodeIDs;
  fixture.script(1, fixture.acts(1, 'signs', 800));
  source.disconnect(last);
  clock.after(700, () => source.connect(last));
  const permit = {
    rest: () => undefined,
    suspend: () => expect.fail('nobody refused'),
    resume: () => new Promise<void>((resolve) => clock.after(200, resolve)),
  };
  const { value, atMs } = await fixture.run({ quorum: 67, permit });
  expect(fixture.signersOf(value, 67)).toEqual([0, 1]);
  expect(fixture.asked()).toEqual([0, 1]);
  expect(atMs).toBe(900);
});

describe('validators that refuse', () => {
  test('release the permit until one signs, and acquire it before all are asked again', async () => {
    const fixture = createFixture({ weights: [50, 30, 20] });
    const events: string[] = [];
    for (const position of [0, 1, 2]) {
      fixture.script(position, (...of) => {
        if (events.at(-1) !== 'asked') events.push('asked');
        return fixture.acts(position, fixture.clock.monotonicMs() < 1_000 ? 'refuses' : 'signs')(...of);
      });
    }
    const permit = {
      rest: () => void events.push('rest'),
      suspend: () => void events.push('suspend'),
      resume: async () => {
        events.push('resume');
        await drain();
        events.push('resumed');
      },
    };
    await fixture.run({ quorum: 90, permit });
    // Two are asked again and again without a permit, and the third one with it.
    expect(events).toEqual(['asked', 'suspend', 'asked', 'resume', 'resumed', 'asked']);
  });

  test('are asked again though the permit comes after the time for that', async () => {
    const fixture = createFixture({ weights: [50, 30, 20] });
    for (const position of [0, 1, 2]) fixture.script(position, 'refuses', 'signs');
    const permit = {
      rest: () => undefined,
      suspend: () => undefined,
      resume: () => new Promise<void>((resolve) => fixture.clock.after(LIMITS.repeatForMs, resolve)),
    };
    const { value } = await fixture.run({ quorum: 90, permit });
    expect(fixture.signersOf(value, 90)).toEqual([0, 1, 2]);
  });

  test('are reported at the deadline, though no permit is left for the rest', async () => {
    const fixture = createFixture({ weights: [50, 30, 20] });
    for (const position of [0, 1, 2]) fixture.script(position, 'refuses', 'signs');
    const permit = {
      rest: () => undefined,
      suspend: () => undefined,
      resume: (until: AbortSignal) => new Promise<void>((resolve) => until.addEventListener('abort', () => resolve())),
    };
    const { value, atMs } = await fixture.run({ quorum: 90, permit });
    expect(atMs).toBe(LIMITS.requestTimeoutMs);
    expect(summaryOf(value).signedWeight).toBe(80n);
  });

  test('are left out at the deadline, though no permit is left to verify the quorum', async () => {
    const fixture = createFixture({ weights: [50, 30, 20] });
    for (const position of [0, 1, 2]) fixture.script(position, 'refuses', 'signs');
    const permit = {
      rest: () => undefined,
      suspend: () => undefined,
      resume: (until: AbortSignal) => new Promise<void>((resolve) => until.addEventListener('abort', () => resolve())),
    };
    const { value, atMs } = await fixture.run({ quorum: 67, buffer: 33, permit });
    expect(fixture.signersOf(value, 67)).toEqual([0, 1]);
    expect(atMs).toBe(LIMITS.requestTimeoutMs);
  });

  test('fail no caller whose time is over just as one of them brings the quorum', async () => {
    const fixture = createFixture({ weights: [60, 40] });
    for (const position of [0, 1]) fixture.script(position, 'refuses', 'refuses', 'signs');
    const progress = fixture.createFeed();
    let opened: Collection | undefined;
    let failures = 0;
    const onOpen = (collection: Collection): void => {
      opened = collection;
    };
    progress.subscribe((event) => {
      if (event.kind !== 'outcome' || event.outcome.kind !== 'signed') return;
      void opened?.finish().then(() => {
        failures += 1;
      });
    });
    const { value } = await fixture.run({ quorum: 30, progress, onOpen });
    expect(value.kind).toBe('signed');
    expect(failures).toBe(0);
  });
});

describe('at the deadline', () => {
  const limits = { requestTimeoutMs: 1_000 };

  test('below the quorum it fails, and says who has not answered', async () => {
    const fixture = createFixture({ weights: [40, 60], limits });
    fixture.script(1, 'silent');
    const { value, atMs } = await fixture.run({ quorum: 67 });
    expect(atMs).toBe(1_000);
    expect(summaryOf(value).outcomes).toMatchObject({
      timed_out: { weight: 60n, count: 1, reasons: [{ reason: 'request_ended' }] },
      signed: { weight: 40n, count: 1 },
    });
  });

  test('a result that reaches the quorum is returned without the buffer, and without a bad signature found only then', async () => {
    const fixture = createFixture({ weights: [40, 30, 30], limits });
    fixture.script(0, 'forges');
    fixture.script(2, 'silent');
    const { value, atMs } = await fixture.run({ quorum: 30, buffer: 70 });
    expect(fixture.signersOf(value, 30)).toEqual([1]);
    expect(value).toMatchObject({ isTargetReached: false });
    expect(atMs).toBe(1_000);
  });

  test('it starts before the store is asked', async () => {
    const fixture = createFixture({ weights: [40, 60], limits });
    const slow = {
      ...fixture.store,
      getMany: () =>
        new Promise<ReadonlyMap<string, Uint8Array>>((resolve) => fixture.clock.after(1_500, () => resolve(new Map()))),
    };
    const { value, atMs } = await fixture.finish(fixture.collect({ quorum: 67, deps: { store: slow } }));
    expect(atMs).toBe(1_000);
    expect(fixture.asked()).toEqual([]);
    expect(summaryOf(value).outcomes.not_asked).toEqual({ weight: 100n, count: 2, reasons: [] });
  });
});

describe('bad signatures', () => {
  const key = ({ message }: Fixture) => signatureKey({ message, justification: new Uint8Array() });
  const stored = async (fixture: Fixture) => {
    const all = fixture.validators.map(({ publicKeyHex }) => publicKeyHex);
    const known = await fixture.store.getMany(key(fixture), all);
    return all.flatMap((publicKeyHex, position) => (known.has(publicKeyHex) ? [position] : []));
  };
  const store = async (fixture: Fixture, position: number, by: 'sign' | 'forge') => {
    const { publicKeyHex, [by]: create } = fixture.at(position);
    await fixture.store.putMany(key(fixture), new Map([[publicKeyHex, create(fixture.message.bytes)]]));
  };

  test('are isolated, their signers put aside, and the next ones asked', async () => {
    const fixture = createFixture({ weights: [40, 30, 20, 20, 10] });
    fixture.script(1, 'forges');
    const { value, atMs } = await fixture.run({ quorum: 67 });
    expect(fixture.signersOf(value, 67)).toEqual([0, 2, 3, 4]);
    expect(atMs).toBe(2 * ANSWER_MS);
    expect(await stored(fixture)).toEqual([0, 2, 3, 4]);
    // It counts as signed until the aggregate fails.
    const outcome = (name: string) =>
      `signature_aggregator_validator_outcomes_total{subnet_id="${SUBNET_ID}",weight_class="heavy",outcome="${name}",reason=""}`;
    const shown = await fixture.registry.metrics();
    expect(shown).toContain(`${outcome('invalid_signature')} 1`);
    expect(shown).toContain(`${outcome('signed')} 4`);
  });

  test('make their signers invalid signers: they are asked last, verified alone, and spoil no aggregate', async () => {
    const fixture = createFixture({ weights: [40, 30, 20, 20, 10] });
    const checks: number[] = [];
    const verify: typeof modelBackend.verify = (...check) => {
      checks.push(fixture.clock.monotonicMs());
      return modelBackend.verify(...check);
    };
    const bls = createInlineBls({ ...modelBackend, verify });
    fixture.script(1, 'forges');
    const first = await fixture.run({ quorum: 67, deps: { bls } });
    expect(fixture.signersOf(first.value, 67)).toEqual([0, 2, 3, 4]);
    // Its aggregate, the search, and the aggregate without it.
    expect(checks.length).toBeGreaterThan(2);
    checks.length = 0;
    const justification = Uint8Array.of(1);
    const second = await fixture.run({ quorum: 67, justification, deps: { bls } });
    expect(fixture.signersOf(second.value, 67)).toEqual([0, 2, 3, 4]);
    expect(checks.length).toBe(1);
    // For a quorum that cannot be had without it, it is asked after all others.
    checks.length = 0;
    const all = await fixture.run({ quorum: 90, justification: Uint8Array.of(2), deps: { bls } });
    expect(summaryOf(all.value).outcomes.invalid_signature).toMatchObject({ weight: 30n, count: 1 });
    expect(checks.length).toBe(1);
    expect(fixture.asked().at(-1)).toBe(1);
    expect(await fixture.registry.metrics()).toContain('signature_aggregator_bad_signers_total 2');
    // It is tried out some minutes later, and verified alone. Once it signs well, it is as good as any other.
    fixture.script(1, 'signs');
    await fixture.clock.advance(10 * 60_000);
    for (const count of [2, 1]) {
      checks.length = 0;
      const again = Uint8Array.of(3, count);
      const { value } = await fixture.run({ quorum: 67, justification: again, deps: { bls } });
      // Answers of one turn of the event loop count together.
      expect(fixture.signersOf(value, 67)).toEqual(expect.arrayContaining([0, 1, 2]));
      expect(checks.length).toBe(count);
    }
  });

  test('stored signatures of invalid signers come last as well', async () => {
    const fixture = createFixture({ weights: [40, 30, 20, 20, 10] });
    await store(fixture, 1, 'sign');
    fixture.deps.invalidSigners.add(fixture.at(1).publicKeyHex);
    const { value } = await fixture.run({ quorum: 67 });
    expect(fixture.signersOf(value, 67)).toEqual([0, 2, 3, 4]);
  });

  test('that are no points exclude the signer without a search', async () => {
    const fixture = createFixture({ weights: [40, 30, 20, 20] });
    fixture.script(0, answers({ kind: 'signed', signature: new Uint8Array(96).fill(0xff) }));
    fixture.script(1, answers({ kind: 'invalid_signature', reason: 'has 95 bytes' }));
    const verify = (): boolean => {
      throw new Error('nothing to verify');
    };
    const { value } = await fixture.run({ quorum: 67, deps: { bls: createInlineBls({ ...modelBackend, verify }) } });
    expect(summaryOf(value).outcomes.invalid_signature).toMatchObject({ weight: 70n, count: 2 });
  });

  test('in the store are found, removed, and replaced by asking those whose they are not', async () => {
    const fixture = createFixture({ weights: [40, 30, 20, 20] });
    await store(fixture, 0, 'sign');
    await store(fixture, 1, 'forge');
    const { value } = await fixture.run({ quorum: 60 });
    expect(fixture.asked()).toEqual([1]);
    expect(fixture.signersOf(value, 60)).toEqual([0, 1]);
    expect(await stored(fixture)).toEqual([0, 1]);
    // The validator did not write it.
    expect(await fixture.registry.metrics()).toContain('signature_aggregator_bad_signers_total 0');
  });

  test('in the store that are no points are removed, and their validators asked', async () => {
    const fixture = createFixture({ weights: [40, 30, 30] });
    const { publicKeyHex } = fixture.at(0);
    await fixture.store.putMany(key(fixture), new Map([[publicKeyHex, new Uint8Array(96).fill(0xff)]]));
    fixture.script(0, 'refuses for good');
    const { value } = await fixture.run({ quorum: 60 });
    expect(fixture.signersOf(value, 60)).toEqual([1, 2]);
    expect([fixture.asked()[0], await stored(fixture)]).toEqual([0, [1, 2]]);
  });

  test('in the store are looked for only among as many signatures as the quorum needs', async () => {
    const fixture = createFixture({ weights: [40, 30, 20, 20] });
    for (const position of [0, 1, 2]) await store(fixture, position, 'sign');
    await store(fixture, 3, 'forge');
    const { value } = await fixture.run({ quorum: 60 });
    expect(fixture.signersOf(value, 60)).toEqual([0, 1]);
    expect([fixture.asked(), await stored(fixture)]).toEqual([[], [0, 1, 2, 3]]);
  });

  test('so many that the search runs out of time: returns what was cleared', async () => {
    const fixture = createFixture({ weights: Array(12).fill(10) });
    for (const position of [8, 9, 10, 11]) fixture.script(position, 'forges');
    let checks = 0;
    const verify: typeof modelBackend.verify = (...check) => {
      checks += 1;
      // The deadline passes during the third check.
      if (checks === 3) void fixture.clock.advance(10_000);
      return modelBackend.verify(...check);
    };
    const bls = createInlineBls({ ...modelBackend, verify });
    const { value } = await fixture.run({ quorum: 34, buffer: 66, deps: { bls } });
    expect(fixture.signersOf(value, 34).every((position) => position < 8)).toBe(true);
  });

  describe('of which a search finds none in half of the time that is left: all are verified alone, the heaviest first', () => {
    const weights = [9, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10];
    const bad = [3, 6, 10];

    /** A search that clears no signature and ends at its timeout, like on an overloaded machine. */
    async function collect(aloneMs: number, planted: readonly number[] = []) {
      const fixture = createFixture({ weights });
      for (const position of planted) await store(fixture, position, 'forge');
      for (const position of bad) fixture.script(position, 'forges');
      const { clock, validators } = fixture;
      const alone: number[] = [];
      let searchedMs: number | undefined;
      const inline = createInlineBls(modelBackend);
      const bls: typeof inline = {
        ...inline,
        startAggregation(...of) {
          const sum = inline.startAggregation(...of);
          const verifyAlone = sum.verifyAlone.bind(sum);
          return Object.assign(sum, {
            async findBadSigners(signal: AbortSignal) {
              const startMs = clock.monotonicMs();
              await new Promise((resolve) => signal.addEventListener('abort', resolve));
              searchedMs ??= clock.monotonicMs() - startMs;
              return { bad: [], uncleared: [...(await sum.aggregate()).signers] };
            },
            async verifyAlone(...[signer, signature]: Parameters<typeof verifyAlone>) {
              alone.push(validators.findIndex(({ publicKeyHex }) => publicKeyHex === signer.publicKeyHex));
              await new Promise<void>((resolve) => clock.after(aloneMs, resolve));
              return await verifyAlone(signer, signature);
            },
          });
        },
      };
      const { value, atMs } = await fixture.finish(fixture.collect({ quorum: 70, buffer: 30, deps: { bls } }));
      // What is under way at the end comes to nothing.
      await clock.advance(aloneMs);
      await drain();
      expect(fixture.leftovers()).toEqual(NOTHING_LEFT);
      expect(searchedMs).toBe((LIMITS.requestTimeoutMs - ANSWER_MS) / 2);
      const invalidSigners = validators.flatMap(({ publicKeyHex }, position) =>
        fixture.deps.invalidSigners.has(publicKeyHex) ? [position] : [],
      );
      return { fixture, value, atMs, alone, invalidSigners };
    }

    test('in time, but those in the store, whose validators are asked themselves', async () => {
      const { fixture, value, atMs, alone, invalidSigners } = await collect(100, [1, 3]);
      expect(fixture.signersOf(value, 70)).toEqual([0, 1, 2, 4, 5, 7, 8, 9, 11]);
      expect(alone).toEqual([2, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 3]);
      expect(fixture.asked().slice(-2)).toEqual([1, 3]);
      expect(invalidSigners).toEqual(bad);
      expect(atMs).toBeLessThan(LIMITS.requestTimeoutMs);
    });

    test('too late, only those are blamed that were proven bad', async () => {
      const { value, atMs, alone, invalidSigners } = await collect(1_100);
      expect(alone).toEqual([1, 2, 3, 4, 5]);
      expect(invalidSigners).toEqual([3]);
      expect(summaryOf(value).outcomes).toMatchObject({
        signed: { count: 3 },
        invalid_signature: { count: 1 },
        timed_out: { count: 8, reasons: [{ reason: 'request_ended' }] },
      });
      expect(atMs).toBe(LIMITS.requestTimeoutMs);
    });
  });
});

test('a connection that breaks under a request may come back, and the request is sent again', async () => {
  const fixture = createFixture({ weights: [60, 40] });
  await fixture.clock.advance(60_000);
  const outcome: AttemptOutcome = { kind: 'unreachable', reason: 'closed by the peer' };
  fixture.script(0, () => ({ afterMs: 2_000, outcome, disconnects: true }), 'signs');
  fixture.clock.after(3_200, () => fixture.source.connect(fixture.at(0).nodeIDs[0]!));
  const { value, atMs } = await fixture.run({ quorum: 67 });
  expect(fixture.signersOf(value, 67)).toEqual([0, 1]);
  expect(atMs).toBe(63_200 + ANSWER_MS);
});

test.each([
  ['another subnet was just tracked', 0, LIMITS.connectTimeoutMs],
  ['its subnet is tracked for long', 60_000, LIMITS.reconnectGraceMs],
])('a validator without a connection is waited for if %s', async (_, trackedForMs, waitMs) => {
  for (const [connectsMs, isSigned] of [
    [waitMs - 100, true],
    [waitMs + 100, false],
  ] as const) {
    const fixture = createFixture({ weights: [60, 40] });
    const [nodeID] = fixture.at(0).nodeIDs;
    fixture.source.disconnect(nodeID!);
    await fixture.clock.advance(trackedForMs);
    fixture.clock.after(connectsMs, () => fixture.source.connect(nodeID!));
    const { value } = await fixture.finish(fixture.collect({ quorum: 67 }));
    expect(value.kind).toBe(isSigned ? 'signed' : 'insufficient');
  }
});

test('a message that a validator has signed costs its client no points', async () => {
  const charged: (readonly unknown[])[] = [];
  const penalties = {
    isDoubtful: () => false,
    chargeUnsigned: (...charge: readonly unknown[]) => void charged.push(charge),
  };
  for (const act of ['signs', 'refuses for good'] as const) {
    const fixture = createFixture({ weights: [60, 40] });
    fixture.script(0, act);
    fixture.script(1, fixture.acts(1, 'refuses for good', 3 * ANSWER_MS));
    const { value } = await fixture.run({ quorum: 67, deps: { penalties } });
    summaryOf(value);
  }
  expect(charged).toEqual([['client', expect.any(String), 2, expect.any(Number)]]);
});

describe('validators that timed out', () => {
  test('are asked once more if the quorum needs them', async () => {
    const fixture = createFixture({ weights: [20, 20, 20, 20, 20] });
    for (const position of [0, 1]) fixture.script(position, 'silent', 'signs');
    const { value, atMs } = await fixture.run({ quorum: 67 });
    expect(fixture.signersOf(value, 67)).toHaveLength(4);
    expect(atMs).toBe(LIMITS.peerTimeoutMs + ANSWER_MS);
  });

  test('are asked no more than once more', async () => {
    const fixture = createFixture({ weights: [20, 20, 20, 20, 20] });
    for (const position of [0, 1]) fixture.script(position, 'silent');
    const { value, atMs } = await fixture.run({ quorum: 67 });
    expect(summaryOf(value).outcomes.timed_out).toMatchObject({ count: 2, reasons: [{ reason: 'no_answer' }] });
    expect(fixture.asked().filter((position) => position < 2)).toHaveLength(4);
    // One is asked at once, and the other one when the first is late.
    expect(atMs).toBe(2 * LIMITS.peerTimeoutMs + LIMITS.hedgeAfterMs);
  });

  test('are not asked again for the buffer', async () => {
    const fixture = createFixture({ weights: [20, 20, 20, 20, 20] });
    fixture.script(0, 'silent');
    const { value, atMs } = await fixture.run({ quorum: 67, buffer: 33 });
    expect(fixture.signersOf(value, 67)).toEqual([1, 2, 3, 4]);
    expect(fixture.asked().filter((position) => position === 0)).toHaveLength(1);
    expect(atMs).toBe(LIMITS.peerTimeoutMs);
  });
});

test('the buffer waits for a validator that refuses as long as its first delays', async () => {
  const fixture = createFixture({ weights: [20, 20, 20, 20, 20] });
  fixture.script(0, 'refuses');
  const { value, atMs } = await fixture.run({ quorum: 67, buffer: 33 });
  expect(fixture.signersOf(value, 67)).toEqual([1, 2, 3, 4]);
  expect(atMs).toBe(50 + 100 + 250 + 4 * ANSWER_MS);
});

describe('requests that exceed a queue', () => {
  const full: AttemptOutcome = { kind: 'not_asked', reason: 'queue_full' };

  test('in the queue of a connection are tried again, and are no fault of the connection', async () => {
    const fixture = createFixture({ weights: [60, 40] });
    fixture.script(0, answers(full, 0));
    const { value } = await fixture.run({ quorum: 67 });
    expect(summaryOf(value).outcomes).toMatchObject({
      not_asked: { weight: 60n, count: 1, reasons: [{ reason: 'queue_full' }] },
      unreachable: { count: 0 },
    });
    expect(fixture.asked().filter((position) => position === 0)).toHaveLength(3);
    const failure = describeFailure({
      summary: summaryOf(value),
      quorumNum: 67n,
      isOfL1: false,
      registration: undefined,
      ...NO_FINAL_REFUSALS,
    });
    expect(failure.code).toBe('overloaded');
  });

  test('over all collections wait for a permit, and count as not asked without one', async () => {
    const fixture = createFixture({ weights: [60, 40], limits: { requestTimeoutMs: 1_000 } });
    fixture.script(0, 'silent');
    const { value } = await fixture.run({ quorum: 67, deps: { queries: fixture.queriesFor(1) } });
    expect(summaryOf(value).outcomes).toMatchObject({
      timed_out: { weight: 60n, reasons: [{ reason: 'request_ended' }] },
      not_asked: { weight: 40n, count: 1, reasons: [{ reason: 'queue_full' }] },
    });
  });

  test('do not make validators late: their time begins when they are asked', async () => {
    const fixture = createFixture({ weights: [20, 20, 20, 20, 20] });
    for (const position of fixture.validators.keys()) fixture.script(position, fixture.acts(position, 'signs', 400));
    const { value, atMs } = await fixture.run({ quorum: 67, deps: { queries: fixture.queriesFor(2) } });
    expect(fixture.signersOf(value, 67)).toEqual([0, 1, 2, 3]);
    expect(fixture.asked()).toEqual([0, 1, 2, 3]);
    expect(atMs).toBe(800);
  });
});

test.each([
  ['silent', 3_000],
  ['refuses', ANSWER_MS + 50],
] as const)(
  'of nodes that share a key one is %s: another is asked, whose answer is the whole weight',
  async (act, askedAtMs) => {
    const fixture = createFixture({ weights: [60, 40], nodeCounts: [2, 1] });
    fixture.source.add(fixture.at(0).nodeIDs[0]!, fixture.acts(0, act));
    const { value, atMs } = await fixture.run({ quorum: 67 });
    expect(fixture.signersOf(value, 67)).toEqual([0, 1]);
    expect(fixture.source.calls.map(({ nodeID, atMs }) => [nodeID, atMs])).toEqual([
      [fixture.at(0).nodeIDs[0]!, 0],
      [fixture.at(1).nodeIDs[0]!, 0],
      [fixture.at(0).nodeIDs[1]!, askedAtMs],
    ]);
    expect(atMs).toBe(askedAtMs + ANSWER_MS);
  },
);

describe('in the tick in which the collection ends', () => {
  /** Two of three make the quorum; the third one is asked too, for the buffer, and is held back until the end. */
  async function expectNothingAfter(
    late: (fixture: Fixture) => { readonly deps?: Partial<CollectionDeps>; arrive(): void },
  ) {
    const fixture = createFixture({ weights: [40, 30, 30] });
    const { deps = {}, arrive } = late(fixture);
    const { source } = fixture;
    const listen = source.onConnectionChange.bind(source);
    // The first thing that a collection does at its end.
    source.onConnectionChange = (listener) => {
      const stop = listen(listener);
      return () => {
        arrive();
        stop();
      };
    };
    const progress = fixture.createFeed();
    const events: ProgressEvent[] = [];
    progress.subscribe((event) => events.push(event));
    const { value } = await fixture.run({ quorum: 60, buffer: 40, progress, deps });
    await drain();
    expect(fixture.signersOf(value, 60)).toEqual([0, 1]);
    expect(value).toMatchObject({ signedWeight: 70n, isTargetReached: false });
    expect(events.at(-1)).toEqual({ kind: 'verifying' });
    const counted = await fixture.registry.getSingleMetric(`${METRIC_PREFIX}validator_outcomes_total`)?.get();
    expect(counted?.values.reduce((sum, each) => sum + each.value, 0)).toBe(2);
  }

  test.each(['signature', 'refusal'])('a %s changes nothing any more', async (kind) => {
    await expectNothingAfter(({ source, at, message }) => {
      const third = at(2);
      const answer = Promise.withResolvers<AttemptOutcome>();
      const ask = source.requestSignature.bind(source);
      source.requestSignature = (nodeID, ...rest) =>
        nodeID === third.nodeIDs[0] ? answer.promise : ask(nodeID, ...rest);
      const outcome: AttemptOutcome =
        kind === 'refusal'
          ? { kind: 'refused', code: 2, text: 'not found' }
          : { kind: 'signed', signature: third.sign(message.bytes) };
      return { arrive: () => answer.resolve(outcome) };
    });
  });

  test('a signature that has just been decoded changes nothing any more', async () => {
    await expectNothingAfter(({ deps: { bls }, at }) => {
      const { publicKeyHex: third } = at(2);
      const decoded = Promise.withResolvers<void>();
      return {
        arrive: () => decoded.resolve(),
        deps: {
          bls: {
            ...bls,
            startAggregation(...options) {
              const sum = bls.startAggregation(...options);
              const add = sum.add.bind(sum);
              return Object.assign(sum, {
                add: (...[signer, signature]: Parameters<typeof add>) =>
                  signer.publicKeyHex === third ? decoded.promise.then(() => 'added' as const) : add(signer, signature),
              });
            },
          },
        },
      };
    });
  });
});

describe('signatures already known', () => {
  test('are used without asking, also for another quorum', async () => {
    const fixture = createFixture({ weights: [40, 30, 20, 10] });
    await fixture.run({ quorum: 67 });
    expect(fixture.asked()).toEqual([0, 1]);
    const { value: again } = await fixture.run({ quorum: 50 });
    expect(fixture.signersOf(again, 50)).toEqual([0, 1]);
    expect(fixture.asked()).toEqual([0, 1]);
    const { value: more } = await fixture.run({ quorum: 90 });
    expect(fixture.signersOf(more, 90)).toEqual([0, 1, 2]);
    expect(fixture.asked()).toEqual([0, 1, 2]);
    const metrics = await fixture.registry.metrics();
    expect(metrics).toContain('signature_aggregator_signature_cache_hits_total 4');
    expect(metrics).toContain('signature_aggregator_signature_requests_total 3');
  });

  test('are not kept where no quorum came together: they are not verified', async () => {
    const fixture = createFixture({ weights: [40, 30, 30] });
    fixture.script(0, 'refuses for good');
    await fixture.run({ quorum: 67 });
    fixture.script(0, 'signs');
    await fixture.run({ quorum: 67 });
    expect(fixture.asked()).toEqual([0, 1, 0, 1]);
  });
});
