import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { summarizeTally, weighOutcomes } from '../../../../src/aggregation/collection/tally.ts';
import {
  UNTRIED,
  type ValidatorEvent,
  type ValidatorState,
} from '../../../../src/aggregation/collection/validator-state.ts';
import { type AttemptFailure, weightsOf } from '../../../../src/aggregation/validators/validator-outcome.ts';
import { createPlainTally, happen, setOf, stateOf } from './tally-fixture.ts';

const SIGNED = stateOf({ kind: 'signed', signature: new Uint8Array(96) });

function refusalIn(failure: AttemptFailure): AttemptFailure | undefined {
  return failure.kind === 'refused' ? failure : undefined;
}

describe('summarizeTally', () => {
  const failure = fc.oneof(
    fc.constantFrom<AttemptFailure>(
      { kind: 'timed_out', reason: 'no_answer' },
      { kind: 'timed_out', reason: 'request_dropped' },
    ),
    fc.constantFrom('a', 'b').map((reason): AttemptFailure => ({ kind: 'unreachable', reason })),
    fc.constant<AttemptFailure>({ kind: 'invalid_signature', reason: 'x' }),
    fc.constant<AttemptFailure>({ kind: 'not_asked', reason: 'queue_full' }),
    {
      weight: 20,
      arbitrary: fc
        .tuple(fc.integer({ min: -4, max: 4 }), fc.constantFrom('x', 'y', 'z'))
        .map(([code, text]): AttemptFailure => ({ kind: 'refused', code, text })),
    },
  );
  const state = fc.oneof(
    fc.constant(SIGNED),
    fc.constant(stateOf({ kind: 'answered' })),
    fc.constant(stateOf({ kind: 'asking', lateAtMs: 0 })),
    fc.constant<ValidatorState>(UNTRIED),
    failure.map((failure) => stateOf({ kind: 'waiting', notBeforeMs: 9, failure, refusal: refusalIn(failure) })),
    failure.map((failure) => stateOf({ kind: 'failed', failure, refusal: refusalIn(failure), isForGood: false })),
  );

  test('puts every validator into one outcome, and names those that did not sign, the heaviest first and at most 32', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.bigInt(1n, 50n), state, fc.boolean()), { maxLength: 60 }),
        fc.bigInt(0n, 100n),
        (validators, keyless) => {
          const warpSet = setOf(
            validators.map(([weight]) => weight),
            keyless,
          );
          const tally = createPlainTally(warpSet, { quorumNum: 67n, quorumBuffer: 0n });
          for (const [index, [, state]] of validators.entries()) tally.set(index, state);
          const whyUnreachable = ({ index }: { index: number }) => (validators[index]?.[2] ? undefined : 'no address');
          const summary = summarizeTally(tally, whyUnreachable);
          const { missing, missingOmitted, outcomes } = summary;
          expect(weighOutcomes(tally, ({ index }) => validators[index]?.[2] === true)).toEqual(weightsOf(summary));

          const all = Object.values(outcomes);
          expect(all.reduce((sum, { weight }) => sum + weight, 0n)).toBe(warpSet.totalWeight);
          expect(all.reduce((sum, { count }) => sum + count, 0)).toBe(validators.length + (keyless > 0n ? 1 : 0));
          expect(outcomes.signed.weight).toBe(tally.signedWeight);
          for (const { reasons, weight } of [outcomes.unreachable, outcomes.refused]) {
            expect(reasons.length).toBeLessThanOrEqual(8);
            const listed = reasons.reduce((sum, reason) => sum + reason.weight, 0n);
            expect(reasons.length < 8 ? listed === weight : listed <= weight).toBe(true);
            const ofReasons = reasons.map((reason) => reason.weight);
            expect(ofReasons).toEqual(ofReasons.toSorted((a, b) => Number(b - a)));
          }

          // Equal weights in canonical order.
          const expected = [
            ...warpSet.validators
              .filter(({ index }) => validators[index]?.[1].kind !== 'signed')
              .map(({ nodeIDs: [nodeID], weight }) => ({ nodeID, weight })),
            ...warpSet.keyless.validators,
          ].toSorted((a, b) => Number(b.weight - a.weight));
          expect(missing.map(({ nodeID, weight }) => [nodeID, weight])).toEqual(
            expected.slice(0, 32).map(({ nodeID, weight }) => [nodeID, weight]),
          );
          expect(missingOmitted).toBe(expected.length - missing.length);
          if (missingOmitted > 0) return;
          for (const [kind, { weight }] of Object.entries(outcomes)) {
            if (kind === 'signed') continue;
            const named = missing.filter(({ outcome }) => outcome.kind === kind);
            expect(named.reduce((sum, each) => sum + each.weight, 0n)).toBe(weight);
          }
        },
      ),
    );
  });

  describe('a validator that has refused', () => {
    const refusal: AttemptFailure = { kind: 'refused', code: 1, text: 'unknown' };
    const failed = (failure: AttemptFailure): ValidatorEvent => ({ kind: 'failed', failure, nowMs: 0 });
    const outcomeAfter = (...events: readonly ValidatorEvent[]) => {
      const tally = createPlainTally(setOf([1n]), { quorumNum: 67n, quorumBuffer: 0n });
      happen(tally, 0, { kind: 'queued' }, ...events);
      return summarizeTally(tally, () => 'no address').missing[0];
    };

    test.each<[string, ValidatorEvent]>([
      ['is asked again', { kind: 'asked', lateAtMs: 0 }],
      ['is silent when asked again', failed({ kind: 'timed_out', reason: 'no_answer' })],
      ['lost its connection', failed({ kind: 'unreachable', reason: 'closed' })],
    ])('has refused, though it %s', (_, later) => {
      expect(outcomeAfter(failed(refusal), { kind: 'queued' }, later)).toMatchObject({ outcome: refusal });
    });

    test.each<[string, string, readonly ValidatorEvent[]]>([
      ['another refusal', 'refused', [failed({ ...refusal, code: 2 })]],
      ['a signature to be decoded', 'timed_out', [{ kind: 'answered' }]],
      ['a bad signature', 'invalid_signature', [failed({ kind: 'invalid_signature', reason: 'x' })]],
    ])('has not any more after %s', (_, outcome, later) => {
      const missing = outcomeAfter(failed(refusal), { kind: 'queued' }, ...later);
      expect(missing?.outcome.kind).toBe(outcome);
      expect(missing?.outcome).not.toMatchObject({ code: 1 });
    });
  });
});
