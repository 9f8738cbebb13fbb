import { bls12_381 } from '@noble/curves/bls12-381.js';
import { describe, expect, test } from 'vitest';
import type { CollectionOutcome } from '../../../../src/aggregation/collection/collect-signatures.ts';
import { describeFailure, reachableWeight } from '../../../../src/aggregation/collection/collection-failure.ts';
import type { CollectionDeps } from '../../../../src/aggregation/collection/collection-job.ts';
import type { ProgressEvent } from '../../../../src/aggregation/collection/progress.ts';
import { signatureKey } from '../../../../src/aggregation/request/result-key.ts';
import type { SignatureOutcome, TallySummary } from '../../../../src/aggregation/validators/validator-outcome.ts';
import { SIGNATURE_DST } from '../../../../src/bls/backends/bls-backend.ts';
import { nobleBackend } from '../../../../src/bls/backends/noble-backend.ts';
import { METRIC_PREFIX } from '../../../../src/telemetry/metrics.ts';
import { createModelSigner, modelBackend } from '../../bls/backends/model-backend.ts';
import { createInlineBls } from '../../bls/service/inline-bls.ts';
import type { Behaviour } from '../scripted-source.ts';
import {
  ANSWER_MS,
  answers,
  createFixture,
  drain,
  type Fixture,
  LIMITS,
  NOTHING_LEFT,
  type Signer,
  SUBNET_ID,
  type TestValidator,
} from './collection-fixture.ts';

function refuses(code: number, text = 'not now'): Behaviour {
  return answers({ kind: 'refused', code, text });
}

function summaryOf(outcome: CollectionOutcome): TallySummary {
  if (outcome.kind !== 'insufficient') throw new Error('expected too little weight, got a signed message');
  return outcome.summary;
}

describe('whom it asks', () => {
  test('only as many as the quorum needs, heaviest first', async () => {
    const fixture = createFixture({ weights: [10, 40, 20, 30] });
    const { value, atMs } = await fixture.run({ quorum: 67 });
    expect(fixture.asked()).toEqual([1, 3]);
    expect(fixture.signersOf(value, 67)).toEqual([1, 3]);
    expect(value).toMatchObject({ signedWeight: 70n, isTargetReached: true });
    expect(atMs).toBe(ANSWER_MS);
  });

  test('never more at once than allowed, in one request and over all', async () => {
    const own = createFixture({ weights: Array(9).fill(10), limits: { maxConcurrentQueries: 2 } });
    const { value, atMs } = await own.finish(own.collect({ quorum: 67 }));
    expect(own.signersOf(value, 67)).toHaveLength(7);
    expect(own.source.mostInFlight).toBe(2);
    expect(atMs).toBe(4 * ANSWER_MS);
    const shared = createFixture({ weights: Array(9).fill(10) });
    await shared.finish(shared.collect({ quorum: 67, deps: { queries: shared.queriesFor(4) } }));
    expect(shared.source.mostInFlight).toBe(3);
    expect(shared.leftovers()).toEqual(NOTHING_LEFT);
  });
});

describe('slow validators', () => {
  test('are hedged by the next heaviest, and left when those are enough', async () => {
    const fixture = createFixture({ weights: [30, 30, 20, 20] });
    fixture.script(0, 'silent');
    const { value, atMs } = await fixture.run({ quorum: 67 });
    expect(fixture.asked()).toEqual([0, 1, 2, 3]);
    expect(fixture.source.calls.map(({ atMs }) => atMs)).toEqual([0, 0, 0, 500]);
    expect(fixture.signersOf(value, 67)).toEqual([1, 2, 3]);
    expect(atMs).toBe(500 + ANSWER_MS);
    expect(fixture.source.abortedCalls).toBe(1);
  });

  test('time out, and the request fails as soon as the last that matters has', async () => {
    const fixture = createFixture({ weights: [60, 40] });
    fixture.script(0, 'silent');
    const { value, atMs } = await fixture.run({ quorum: 67 });
    expect(summaryOf(value)).toMatchObject({
      outcomes: {
        timed_out: { weight: 60n, count: 1, reasons: [{ reason: 'no_answer' }] },
        signed: { weight: 40n, count: 1 },
      },
      signedWeight: 40n,
      neededWeight: 67n,
    });
    expect(atMs).toBe(3_000);
  });
});

describe('validators that refuse', () => {
  test('are asked again after each pause, since they may lag', async () => {
    const fixture = createFixture({ weights: [60, 40] });
    fixture.script(0, 'refuses', 'refuses', 'signs');
    const { value, atMs } = await fixture.run({ quorum: 67 });
    expect(fixture.signersOf(value, 67)).toEqual([0, 1]);
    const times = fixture.source.calls
      .filter(({ nodeID }) => nodeID === fixture.at(0).nodeIDs[0]!)
      .map(({ atMs }) => atMs);
    expect(times).toEqual([0, ANSWER_MS + 300, 2 * ANSWER_MS + 1_200]);
    expect(atMs).toBe(3 * ANSWER_MS + 1_200);
  });

  test('release the permit during the delays, and acquire it before they are asked again', async () => {
    const fixture = createFixture({ weights: [50, 30, 20] });
    const events: string[] = [];
    for (const position of [0, 1, 2]) {
      fixture.script(position, (...of) => {
        if (events.at(-1) !== 'asked') events.push('asked');
        return refuses(2)(...of);
      });
    }
    const permit = {
      rest: () => void events.push('rest'),
      resume: async () => {
        events.push('resume');
        await drain();
        events.push('resumed');
      },
    };
    await fixture.run({ quorum: 67, permit });
    const again = ['rest', 'resume', 'resumed', 'asked'];
    expect(events).toEqual(['asked', ...again, ...again]);
  });

  test('are reported at the deadline, though no permit is left for the rest', async () => {
    const fixture = createFixture({ weights: [50, 30, 20] });
    for (const position of [0, 1, 2]) fixture.script(position, refuses(2));
    const permit = {
      rest: () => undefined,
      resume: (until: AbortSignal) => new Promise<void>((resolve) => until.addEventListener('abort', () => resolve())),
    };
    const { value, atMs } = await fixture.run({ quorum: 67, permit });
    expect(atMs).toBe(LIMITS.requestTimeoutMs);
    expect(summaryOf(value).signedWeight).toBe(0n);
  });
});

describe('when the quorum is out of reach', () => {
  test('fails at once, and does not wait for those still asked', async () => {
    const fixture = createFixture({ weights: [40, 60] });
    fixture.script(0, 'silent');
    fixture.script(1, refuses(-2, 'unregistered handler'));
    const { value, atMs } = await fixture.run({ quorum: 67 });
    expect(atMs).toBe(ANSWER_MS);
    expect(summaryOf(value).outcomes).toMatchObject({
      refused: { weight: 60n, count: 1, reasons: [{ code: -2, text: 'unregistered handler' }] },
      timed_out: { weight: 40n, count: 1, reasons: [{ reason: 'request_ended' }] },
    });
    expect(fixture.source.abortedCalls).toBe(1);
  });

  test('only the buffer: returns what there is as soon as no more can come', async () => {
    const fixture = createFixture({ weights: [40, 30, 30] });
    fixture.script(2, refuses(-2));
    const { value, atMs } = await fixture.run({ quorum: 67, buffer: 33 });
    expect(fixture.signersOf(value, 67)).toEqual([0, 1]);
    expect(value).toMatchObject({ isTargetReached: false, signedWeight: 70n });
    expect(atMs).toBe(ANSWER_MS);
  });
});

describe('at the deadline', () => {
  const limits = { requestTimeoutMs: 1_000 };

  test('a result that reaches the quorum is returned, without the buffer', async () => {
    const fixture = createFixture({ weights: [40, 30, 30], limits });
    fixture.script(2, 'silent');
    const { value, atMs } = await fixture.run({ quorum: 67, buffer: 33 });
    expect(fixture.signersOf(value, 67)).toEqual([0, 1]);
    expect(value).toMatchObject({ isTargetReached: false });
    expect(atMs).toBe(1_000);
  });

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

  test('a bad signature that is found only then costs its own signer, not the quorum of the others', async () => {
    const fixture = createFixture({ weights: [40, 30, 30], limits });
    fixture.script(0, 'forges');
    fixture.script(2, 'silent');
    const { value, atMs } = await fixture.run({ quorum: 30, buffer: 70 });
    expect(fixture.signersOf(value, 30)).toEqual([1]);
    expect(atMs).toBe(1_000);
  });

  test('it starts before the store is asked', async () => {
    const fixture = createFixture({ weights: [40, 60], limits });
    const slow = {
      ...fixture.store,
      getMany: () =>
        new Promise<ReadonlyMap<string, Uint8Array>>((resolve) => fixture.clock.after(1_500, () => resolve(new Map()))),
    };
    const { value } = await fixture.run({ quorum: 67, deps: { store: slow } });
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
    // It is tried out some minutes later. Once it signs well, it is as good as any other.
    fixture.script(1, 'signs');
    await fixture.clock.advance(10 * 60_000);
    for (const { signers, count } of [
      { signers: [0, 2, 3, 4], count: 2 },
      { signers: [0, 1, 2], count: 1 },
    ]) {
      checks.length = 0;
      const again = Uint8Array.of(3, count);
      const { value } = await fixture.run({ quorum: 67, justification: again, deps: { bls } });
      expect(fixture.signersOf(value, 67)).toEqual(signers);
      expect(checks.length).toBe(count);
    }
  });

  test('stored signatures of invalid signers come last as well', async () => {
    const fixture = createFixture({ weights: [40, 30, 20, 20, 10] });
    const { publicKeyHex, sign } = fixture.at(1);
    await fixture.store.putMany(key(fixture), new Map([[publicKeyHex, sign(fixture.message.bytes)]]));
    fixture.deps.invalidSigners.add(publicKeyHex);
    const { value } = await fixture.run({ quorum: 67 });
    expect(fixture.signersOf(value, 67)).toEqual([0, 2, 3, 4]);
  });

  test('of real points likewise', async () => {
    const signers = [7, 11, 13].map((secret): Signer => {
      const secretKey = Uint8Array.of(...new Uint8Array(31), secret);
      const { longSignatures } = bls12_381;
      return {
        publicKey: longSignatures.getPublicKey(secretKey).toBytes(true),
        sign: (message) => longSignatures.sign(longSignatures.hash(message, SIGNATURE_DST), secretKey).toBytes(true),
      };
    });
    const fixture = createFixture({ weights: [40, 40, 40], signers, backend: nobleBackend });
    fixture.script(0, 'forges');
    const { value } = await fixture.run({ quorum: 60 });
    expect(fixture.signersOf(value, 60)).toEqual([1, 2]);
  });

  test('that are no points exclude the signer without a search', async () => {
    const fixture = createFixture({ weights: [40, 30, 20, 20] });
    fixture.script(0, answers({ kind: 'signature', signature: new Uint8Array(96).fill(0xff) }));
    fixture.script(1, answers({ kind: 'invalid_signature', reason: 'has 95 bytes' }));
    const verify = (): boolean => {
      throw new Error('nothing to verify');
    };
    const { value } = await fixture.run({ quorum: 67, deps: { bls: createInlineBls({ ...modelBackend, verify }) } });
    expect(summaryOf(value).outcomes.invalid_signature).toMatchObject({ weight: 70n, count: 2 });
  });

  test('below the quorum without them: fails, and blames only them', async () => {
    const fixture = createFixture({ weights: [40, 30, 30] });
    fixture.script(0, 'forges');
    const { value } = await fixture.run({ quorum: 67 });
    expect(summaryOf(value).outcomes).toMatchObject({
      invalid_signature: { weight: 40n, count: 1 },
      signed: { weight: 30n, count: 1 },
      not_asked: { weight: 30n, count: 1 },
    });
  });

  test('that cancel out to infinity are found too', async () => {
    const fixture = createFixture({ weights: [40, 40, 30] });
    const [one, other] = [createModelSigner(2n ** 3n), createModelSigner(-(2n ** 3n))];
    for (const [position, signer] of [one, other].entries()) {
      fixture.script(position, ({ message }) => ({
        ...{ afterMs: ANSWER_MS, outcome: { kind: 'signature', signature: signer.sign(message) } },
      }));
    }
    // The first one's own signature, and the second's that makes the sum vanish.
    const { value } = await fixture.run({ quorum: 60 });
    expect(fixture.signersOf(value, 60)).toEqual([0, 2]);
  });

  test('in the store are found, removed, and replaced by asking those whose they are not', async () => {
    const fixture = createFixture({ weights: [40, 30, 20, 20] });
    for (const [position, validator] of fixture.validators.entries()) {
      const bytes = fixture.message.bytes;
      const signature = position === 1 ? validator.forge(bytes) : validator.sign(bytes);
      if (position < 2) await fixture.store.putMany(key(fixture), new Map([[validator.publicKeyHex, signature]]));
    }
    const { value } = await fixture.run({ quorum: 60 });
    expect(fixture.asked()).toEqual([1]);
    expect(fixture.signersOf(value, 60)).toEqual([0, 1]);
    expect(await stored(fixture)).toEqual([0, 1]);
    // The validator did not write it.
    expect(fixture.deps.invalidSigners.has(fixture.validators[1]!.publicKeyHex)).toBe(false);
  });

  test('so many that the search runs out of time: returns what was cleared where it is a quorum, else fails', async () => {
    for (const [good, expected] of [
      [8, 'signed'],
      [4, 'insufficient'],
    ] as const) {
      const fixture = createFixture({ weights: Array(12).fill(10) });
      for (let position = good; position < 12; position += 1) fixture.script(position, 'forges');
      let checks = 0;
      const backend = {
        ...modelBackend,
        verify: (...args: Parameters<typeof modelBackend.verify>) => {
          checks += 1;
          // The deadline passes during the third check.
          if (checks === 3) void fixture.clock.advance(10_000);
          return modelBackend.verify(...args);
        },
      };
      const { value } = await fixture.run({ quorum: 34, buffer: 66, deps: { bls: createInlineBls(backend) } });
      expect(value.kind).toBe(expected);
      if (value.kind === 'signed') {
        expect(fixture.signersOf(value, 34).every((position) => position < good)).toBe(true);
      } else {
        // Only what is proven bad counts as bad.
        const { signed, invalid_signature: bad, timed_out: pending } = summaryOf(value).outcomes;
        expect(bad.count).toBeLessThanOrEqual(12 - good);
        expect(signed.count + bad.count + pending.count).toBe(12);
        expect(pending.reasons).toMatchObject([{ reason: 'request_ended' }]);
      }
    }
  });

  describe('of which a search finds none in half of the time that is left: all are verified alone, the heaviest first', () => {
    const weights = [9, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10];
    const bad = [3, 6, 10];

    /** A search that clears no signature and ends at its timeout, like on an overloaded machine. */
    async function collect(aloneMs: number, planted: readonly number[] = []) {
      const fixture = createFixture({ weights });
      for (const position of planted) {
        const { publicKeyHex, forge } = fixture.validators[position] as TestValidator;
        await fixture.store.putMany(key(fixture), new Map([[publicKeyHex, forge(fixture.message.bytes)]]));
      }
      for (const position of bad) fixture.script(position, 'forges');
      const { clock, validators } = fixture;
      const alone: number[] = [];
      let searchedMs: number | undefined;
      const inline = createInlineBls(modelBackend);
      const bls: typeof inline = {
        ...inline,
        startAggregation(...of) {
          const sum = inline.startAggregation(...of);
          return {
            ...sum,
            async findBadSigners(signal) {
              const startMs = clock.monotonicMs();
              await new Promise((resolve) => signal.addEventListener('abort', resolve));
              searchedMs ??= clock.monotonicMs() - startMs;
              return { bad: [], uncleared: [...(await sum.aggregate()).signers] };
            },
            async verifyAlone(signer, signature) {
              alone.push(validators.findIndex(({ publicKeyHex }) => publicKeyHex === signer.publicKeyHex));
              await new Promise<void>((resolve) => clock.after(aloneMs, resolve));
              return await sum.verifyAlone(signer, signature);
            },
            [Symbol.dispose]: () => sum[Symbol.dispose](),
          };
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

    test('in time, the good ones make up the quorum', async () => {
      const { fixture, value, atMs, alone, invalidSigners } = await collect(100);
      expect(fixture.signersOf(value, 70)).toEqual([0, 1, 2, 4, 5, 7, 8, 9, 11]);
      expect(alone).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0]);
      expect(invalidSigners).toEqual(bad);
      expect(atMs).toBeLessThan(LIMITS.requestTimeoutMs);
    });

    test('but those in the store, whose validators are asked themselves', async () => {
      const { fixture, value, alone, invalidSigners } = await collect(100, [1, 3]);
      expect(fixture.signersOf(value, 70)).toEqual([0, 1, 2, 4, 5, 7, 8, 9, 11]);
      expect(alone).toEqual([2, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 3]);
      expect(fixture.asked().slice(-2)).toEqual([1, 3]);
      expect(invalidSigners).toEqual([3, 6, 10]);
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

describe('connections', () => {
  test('that never come are waited for as long as a new subnet may take, and then named', async () => {
    const fixture = createFixture({ weights: [60, 40] });
    fixture.source.disconnect(fixture.at(0).nodeIDs[0]!);
    const { value, atMs } = await fixture.run({ quorum: 67 });
    expect(atMs).toBe(5_000);
    expect(summaryOf(value).outcomes.unreachable).toEqual({
      weight: 60n,
      count: 1,
      reasons: [{ reason: 'no address known', weight: 60n, count: 1 }],
    });
    expect(reachableWeight(summaryOf(value))).toBe(40n);
  });

  test('that break under the request may come back, and the request is sent again', async () => {
    const fixture = createFixture({ weights: [60, 40] });
    await fixture.clock.advance(60_000);
    const outcome: SignatureOutcome = { kind: 'unreachable', reason: 'closed by the peer' };
    fixture.script(0, () => ({ afterMs: 2_000, outcome, disconnects: true }), 'signs');
    fixture.clock.after(3_200, () => fixture.source.connect(fixture.at(0).nodeIDs[0]!));
    const { value, atMs } = await fixture.run({ quorum: 67 });
    expect(fixture.signersOf(value, 67)).toEqual([0, 1]);
    expect(atMs).toBe(63_200 + ANSWER_MS);
  });
});

describe('requests that exceed a queue', () => {
  const full: SignatureOutcome = { kind: 'not_asked', reason: 'queue_full' };

  test('in the queue of a connection are tried again, and are no fault of the connection', async () => {
    const fixture = createFixture({ weights: [60, 40] });
    fixture.script(0, answers(full, 0));
    const { value } = await fixture.run({ quorum: 67 });
    expect(summaryOf(value).outcomes).toMatchObject({
      not_asked: { weight: 60n, count: 1, reasons: [{ reason: 'queue_full' }] },
      unreachable: { count: 0 },
    });
    expect(fixture.asked().filter((position) => position === 0)).toHaveLength(3);
    const failure = describeFailure({ summary: summaryOf(value), quorumNum: 67n, isOfL1: false, refusedForGood: 0n });
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

describe('nodes that share a key', () => {
  test('are asked one after the other, and one answer is the whole weight', async () => {
    const fixture = createFixture({ weights: [60, 40], nodeCounts: [2, 1] });
    fixture.source.add(fixture.at(0).nodeIDs[0]!, fixture.acts(0, 'silent'));
    const { value, atMs } = await fixture.run({ quorum: 67 });
    expect(fixture.signersOf(value, 67)).toEqual([0, 1]);
    expect(fixture.source.calls.map(({ nodeID, atMs }) => [nodeID, atMs])).toEqual([
      [fixture.at(0).nodeIDs[0]!, 0],
      [fixture.at(1).nodeIDs[0]!, 0],
      [fixture.at(0).nodeIDs[1]!, 3_000],
    ]);
    expect(atMs).toBe(3_000 + ANSWER_MS);
  });
});

describe("the caller's abort", () => {
  test('ends the collection with its reason, and every query', async () => {
    const fixture = createFixture({ weights: [40, 30, 30] });
    for (const position of [0, 1, 2]) fixture.script(position, 'silent');
    const caller = new AbortController();
    const reason = new Error('client went away');
    const result = fixture.collect({ quorum: 67, signal: caller.signal });
    await drain();
    expect(fixture.source.inFlight).toBe(2);
    caller.abort(reason);
    await expect(result).rejects.toBe(reason);
    await drain();
    expect(fixture.source.abortedCalls).toBe(2);
  });
});

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
    await expectNothingAfter(({ source, validators, message }) => {
      const [, , third] = validators as [TestValidator, TestValidator, TestValidator];
      const answer = Promise.withResolvers<SignatureOutcome>();
      const ask = source.requestSignature.bind(source);
      source.requestSignature = (nodeID, ...rest) =>
        nodeID === third.nodeIDs[0] ? answer.promise : ask(nodeID, ...rest);
      const outcome: SignatureOutcome =
        kind === 'refusal'
          ? { kind: 'refused', code: 2, text: 'not found' }
          : { kind: 'signature', signature: third.sign(message.bytes) };
      return { arrive: () => answer.resolve(outcome) };
    });
  });

  test('a signature that has just been decoded changes nothing any more', async () => {
    await expectNothingAfter(({ deps: { bls }, validators, warpSet }) => {
      const third = warpSet.validators.find(({ publicKeyHex }) => publicKeyHex === validators[2]?.publicKeyHex);
      const decoded = Promise.withResolvers<void>();
      return {
        arrive: () => decoded.resolve(),
        deps: {
          bls: {
            ...bls,
            startAggregation(...options) {
              const sum = bls.startAggregation(...options);
              return {
                ...sum,
                add: (signer, ...more) =>
                  signer.index === third?.index ? decoded.promise.then(() => 'added') : sum.add(signer, ...more),
                [Symbol.dispose]: () => sum[Symbol.dispose](),
              };
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
    fixture.script(0, refuses(-2));
    await fixture.run({ quorum: 67 });
    fixture.script(0, 'signs');
    await fixture.run({ quorum: 67 });
    expect(fixture.asked()).toEqual([0, 1, 0, 1]);
  });
});

test('a bug of the source surfaces in the request', async () => {
  const fixture = createFixture({ weights: [40, 60] });
  const bug = new TypeError('a bug');
  fixture.script(0, () => {
    throw bug;
  });
  await expect(fixture.finish(fixture.collect({ quorum: 67 }))).rejects.toBe(bug);
  await drain();
});
