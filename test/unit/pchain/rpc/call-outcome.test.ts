import { expect, test } from 'vitest';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import { type AttemptFailure, type AttemptRejection, decideNext } from '../../../../src/pchain/rpc/call-outcome.ts';

const failed = (code: AttemptFailure['code'], more: Partial<AttemptFailure> = {}): AttemptFailure => ({
  status: 'failed',
  code,
  reason: 'http_status',
  message: code,
  ...more,
});
const rejected = (subject: AttemptRejection['subject']): AttemptRejection => ({
  status: 'rejected',
  subject,
  rejection: { code: -32_000, message: subject },
});
const limited = (retryAfterMs: number): AttemptFailure => failed('unavailable', { retryAfterMs });

function decide(outcomes: readonly (AttemptFailure | AttemptRejection)[], round = 1) {
  const byEndpoint = new Map(outcomes.map((outcome, index) => [{ host: `host${index}` }, outcome] as const));
  return decideNext('getX', byEndpoint, { round, maxRounds: 3, random: () => 0.5 });
}

test.each<[string, readonly (AttemptFailure | AttemptRejection)[], number, object]>([
  ['a failure that may pass is repeated', [failed('unavailable')], 1, { pauseMs: 75 }],
  ['each pause is longer', [failed('invalid_response'), failed('unavailable')], 2, { pauseMs: 150 }],
  ['a short wait is kept to', [limited(900)], 1, { pauseMs: 900 }],
  ['an endpoint without a wait is asked again', [limited(30_000), failed('unavailable')], 1, { pauseMs: 75 }],
])('%s', (_what, outcomes, round, expected) => {
  expect(decide(outcomes, round)).toEqual(expected);
});

test.each<[string, readonly (AttemptFailure | AttemptRejection)[], number, Partial<ApiError>]>([
  ['the last round fails', [failed('unavailable')], 3, { code: 'unavailable', retryAfterMs: undefined }],
  ['a long wait ends the call', [limited(30_000), limited(20_000)], 1, { code: 'unavailable', retryAfterMs: 20_000 }],
  ['an unknown error is the answer', [rejected('unknown'), failed('unavailable')], 1, { code: 'rejected' }],
  ['a method refused by all', [failed('method_refused'), failed('invalid_response')], 1, { code: 'method_refused' }],
  [
    'no usable response',
    [failed('invalid_response')],
    1,
    { code: 'invalid_response', message: 'getX: invalid_response' },
  ],
  [
    'heights are not served',
    [failed('method_refused'), failed('height_not_served')],
    1,
    { message: 'height_not_served' },
  ],
  [
    'a height that may be reached',
    [failed('height_not_served'), failed('height_not_reached')],
    1,
    { code: 'height_not_reached' },
  ],
])('%s', (_what, outcomes, round, expected) => {
  const error = decide(outcomes, round);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject(expected);
});

test('of several errors of a node, the one about the question is the answer, else the first', () => {
  const codes = [
    [rejected('unknown'), rejected('question')],
    [rejected('heights'), rejected('unknown')],
  ].map((outcomes) => (decide(outcomes) as ApiError).rejection?.message);
  expect(codes).toEqual(['question', 'heights']);
});

test('the message names no host, and the detail each', () => {
  const detailed = failed('unavailable', { message: 'no', detail: 'connect 10.0.0.1' });
  expect(decide([detailed, failed('unavailable', { message: 'no' })], 3)).toMatchObject({
    message: 'getX: no',
    detail: 'getX: host0: connect 10.0.0.1; host1: no',
  });
});
