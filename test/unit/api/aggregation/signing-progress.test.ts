import { expect, test } from 'vitest';
import type { AggregationEvent, ValidatorRecord } from '../../../../src/api/aggregation/progress-records.ts';
import { SigningProgress } from '../../../../src/api/aggregation/signing-progress.ts';
import { countOutcomes } from '../../../../src/console/page/sign/outcomes.ts';

const validator = (index: number, weight: number, status: ValidatorRecord['status'] = 'not_asked') => ({
  index,
  nodeIds: [`NodeID-${index}`],
  weight: String(weight),
  isConnected: true,
  status,
});
const resolved = (validators: ValidatorRecord[], more: object = {}): AggregationEvent => ({
  event: 'resolved',
  data: {
    network: 'local',
    signingSubnetId: 's',
    pChainHeight: 7,
    quorumPercentage: 67,
    quorumPercentageBuffer: 3,
    totalWeight: '100',
    quorumWeight: '67',
    targetWeight: '70',
    signedWeight: '0',
    isVerifying: false,
    validators,
    ...more,
  },
});
const answer = (...answers: Extract<AggregationEvent, { event: 'answer' }>['data']['answers']): AggregationEvent => ({
  event: 'answer',
  data: { answers },
});
const sumsOf = (progress: SigningProgress) =>
  Object.fromEntries(countOutcomes(progress).map(({ outcome, count, weight }) => [outcome, [count, weight]]));

function folded(...events: AggregationEvent[]): SigningProgress {
  const progress = new SigningProgress();
  for (const [at, event] of events.entries()) progress.apply(event, at);
  return progress;
}

const start = resolved([validator(0, 40), validator(1, 30), validator(2, 30)]);

test('counts validators and weight by what they did', () => {
  const progress = folded(
    start,
    { event: 'asked', data: { validators: [0, 1] } },
    answer(
      { index: 0, weight: '40', outcome: 'signed' },
      { index: 1, weight: '30', outcome: 'refused', code: 3, text: 'no' },
    ),
    { event: 'progress', data: { signedWeight: '40', quorumWeight: '67', targetWeight: '70', totalWeight: '100' } },
  );
  expect(sumsOf(progress)).toEqual({ signed: [1, 40n], refused: [1, 30n], not_asked: [1, 30n] });
  const weights = { signedWeight: 40n, quorumWeight: 67n, targetWeight: 70n, totalWeight: 100n };
  expect(progress).toMatchObject({ phase: 'collecting', ...weights });
  expect(progress.validators[1]).toMatchObject({ status: 'refused', code: 3, text: 'no', sinceMs: 2 });
});

test('a validator that failed may be asked again', () => {
  const progress = folded(
    start,
    answer({ index: 0, weight: '40', outcome: 'timed_out', reason: 'no_answer' }),
    { event: 'verifying', data: {} },
    { event: 'asked', data: { validators: [0] } },
    answer({ index: 0, weight: '40', outcome: 'signed' }),
  );
  expect(progress.phase).toBe('collecting');
  expect(sumsOf(progress)).toEqual({ signed: [1, 40n], not_asked: [2, 60n] });
});

test('the reason of a failure stands for its text', () => {
  const progress = folded(start, answer({ index: 0, weight: '40', outcome: 'timed_out', reason: 'no_answer' }));
  expect(progress.validators[0]).toMatchObject({ status: 'timed_out', text: 'no_answer' });
});

test('another resolved takes the place of all before it', () => {
  const progress = folded(
    start,
    answer({ index: 0, weight: '40', outcome: 'signed' }),
    resolved([validator(0, 9, 'signed')], { totalWeight: '9', signedWeight: '9', isVerifying: true }),
  );
  expect(sumsOf(progress)).toEqual({ signed: [1, 9n] });
  expect(progress).toMatchObject({ phase: 'verifying', totalWeight: 9n, signedWeight: 9n });
});

test('an answer of nobody that is known changes nothing', () => {
  expect(sumsOf(folded(start, answer({ index: 9, weight: '1', outcome: 'signed' })))).toEqual({
    not_asked: [3, 100n],
  });
});

test('weight without a validator in the list has no key', () => {
  expect(sumsOf(folded(resolved([validator(0, 90)])))).toEqual({ not_asked: [1, 90n], no_key: [0, 10n] });
});
