import { expect, test } from 'vitest';
import { countFailures, outcomesOfRecord, stagesOf } from '../../../../../src/console/page/activity/request-summary.ts';

test('what the stages leave of a duration is waiting', () => {
  expect(stagesOf({ stages: { resolve: 1, collect: 20 }, durationMs: 31 })).toEqual([
    { name: 'resolve', ms: 1 },
    { name: 'collect', ms: 20 },
    { name: 'waiting', ms: 10 },
  ]);
  expect(stagesOf({ stages: { verify: 5 }, durationMs: 4.9 })).toEqual([{ name: 'verify', ms: 5 }]);
});

test('failures are counted by subnet and code, the most frequent first', () => {
  const request = (outcome: string, signingSubnetId?: string) => ({ outcome, signingSubnetId }) as never;
  expect(
    countFailures([
      request('signed', 'a'),
      request('not_connected', 'b'),
      request('insufficient_weight', 'a'),
      request('insufficient_weight', 'b'),
      request('insufficient_weight', 'b'),
      request('invalid_request'),
    ]),
  ).toEqual([
    { subnetId: 'b', outcome: 'insufficient_weight', count: 2 },
    { subnetId: 'b', outcome: 'not_connected', count: 1 },
    { subnetId: 'a', outcome: 'insufficient_weight', count: 1 },
    { subnetId: undefined, outcome: 'invalid_request', count: 1 },
  ]);
});

test('the weights of a record are the whole set', () => {
  const weights = { signed: '60', refused: '30', timed_out: '0', unreachable: '0', invalid_signature: '0' };
  const { outcomes, totalWeight } = outcomesOfRecord({ ...weights, not_asked: '0', no_key: '10' });
  expect(totalWeight).toBe(100n);
  expect(outcomes.map(({ outcome, weight }) => [outcome, weight])).toEqual([
    ['signed', 60n],
    ['refused', 30n],
    ['no_key', 10n],
  ]);
});
