import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ProgressEvent, ProgressState } from '../../../../src/aggregation/collection/progress.ts';
import type { AttemptOutcome } from '../../../../src/aggregation/validators/validator-outcome.ts';
import { MergedProgress } from '../../../../src/api/aggregation/merged-progress.ts';
import type { AggregationEvent } from '../../../../src/api/aggregation/progress-records.ts';
import { nodeIDFromBytes, PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { follow } from './follow-events.ts';

const REQUEST = { network: 'fuji', quorumPercentage: 67, quorumPercentageBuffer: 5 };
const VALIDATORS = 5;

const outcome = fc.constantFrom<AttemptOutcome>(
  { kind: 'signed', signature: new Uint8Array(96) },
  { kind: 'refused', code: 2, text: 'not found' },
  { kind: 'timed_out', reason: 'no_answer' },
  { kind: 'timed_out', reason: 'request_dropped' },
  { kind: 'unreachable', reason: 'closed' },
  { kind: 'not_asked', reason: 'queue_full' },
  { kind: 'invalid_signature', reason: 'no point' },
);
const index = fc.nat(VALIDATORS - 1);
const weight = fc.bigInt({ min: 0n, max: 2n ** 64n });

const state: fc.Arbitrary<ProgressState> = fc
  .record({
    outcomes: fc.array(fc.option(outcome, { nil: undefined }), { minLength: VALIDATORS, maxLength: VALIDATORS }),
    signedWeight: weight,
    totalWeight: weight,
    isVerifying: fc.boolean(),
    isConnected: fc.boolean(),
  })
  .map(({ outcomes, signedWeight, totalWeight, isVerifying, isConnected }) => ({
    signingSubnetID: PRIMARY_NETWORK_ID,
    pChainHeight: 7n,
    signedWeight,
    totalWeight,
    isVerifying,
    neededWeight: 67n,
    targetWeight: 72n,
    validators: outcomes.map((known, at) => ({
      index: at,
      nodeIDs: [nodeIDFromBytes(new Uint8Array(20).fill(at))],
      weight: 10n ** BigInt(at),
      isConnected,
      status: known?.kind ?? 'not_asked',
      ...(known && { outcome: known }),
    })),
  }));

const outcomeEvent = fc.record({ kind: fc.constant('outcome' as const), index, outcome, signedWeight: weight });
const event: fc.Arbitrary<ProgressEvent> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('state' as const), state }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('asked' as const), index }) },
  { weight: 8, arbitrary: outcomeEvent },
  { weight: 1, arbitrary: fc.constant<ProgressEvent>({ kind: 'verifying' }) },
);

test('after any number of merged events the client has the same state as after each single event', () => {
  fc.assert(
    fc.property(state, fc.array(fc.record({ event, isTold: fc.boolean() }), { maxLength: 60 }), (first, events) => {
      const each = new MergedProgress(REQUEST);
      const some = new MergedProgress(REQUEST);
      const toldEach: AggregationEvent[] = [];
      const toldSome: AggregationEvent[] = [];
      const steps = [{ event: { kind: 'state', state: first } as const, isTold: false }, ...events];
      for (const [at, { event: next, isTold }] of steps.entries()) {
        each.add(next);
        some.add(next);
        toldEach.push(...each.take());
        if (!isTold && at < steps.length - 1) continue;
        const told = some.take();
        toldSome.push(...told);
        // One of a kind, whatever happened, and no validator twice.
        expect(new Set(told.map(({ event: kind }) => kind)).size).toBe(told.length);
        for (const { event: kind, data } of told) {
          const named =
            kind === 'asked' ? data.validators : kind === 'answer' ? data.answers.map((one) => one.index) : [];
          expect(new Set(named).size).toBe(named.length);
        }
        expect(follow(toldSome)).toEqual(follow(toldEach));
      }
      expect(some.take()).toEqual([]);
    }),
    { numRuns: 500 },
  );
});
