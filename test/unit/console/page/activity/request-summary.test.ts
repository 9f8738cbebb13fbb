import { expect, test } from 'vitest';
import { searchesOf } from '../../../../../src/console/page/activity/request-search.ts';
import {
  countFailures,
  failureOfRecord,
  outcomesOfRecord,
  stagesOf,
} from '../../../../../src/console/page/activity/request-summary.ts';

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
  const outcomes = outcomesOfRecord({ ...weights, not_asked: '0', no_key: '10' });
  expect(outcomes.map(({ outcome, weight }) => [outcome, weight])).toEqual([
    ['signed', 60n],
    ['refused', 30n],
    ['no_key', 10n],
  ]);
  expect(outcomes.map(({ share }) => share.replace('\u00a0', ' '))).toEqual(['60.0 %', '30.0 %', '10.0 %']);
});

test('a record has the failure that its client saw; a signed or aborted one has none', () => {
  const record = (outcome: string, more: object = {}) => failureOfRecord({ outcome, ...more } as never);
  const details = { outcomes: {} };
  expect(record('not_connected', { errorMessage: 'too few', status: 503, details })).toEqual({
    code: 'not_connected',
    message: 'too few',
    statusCode: 503,
    details,
  });
  const messages = [{ logIndex: 1 }];
  expect(record('several_messages', { details: { messages } })).toMatchObject({ messages });
  expect([record('signed'), record('aborted')]).toEqual([undefined, undefined]);
});

const CB58 = '2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC';
const HASH = `0x${'Ab'.repeat(32)}`;
const ofId = (id: string) => [{ requestId: id }, { messageId: id }, { transaction: id }, { subnetId: id }];

test.each([
  [' ', []],
  ['85a4c82e-cde9-4236', [{ requestId: '85a4c82e-cde9-4236' }, { client: 'key:85a4c82e-cde9-4236' }]],
  ['two words', [{ client: 'key:two words' }]],
  ['key:two words', [{ client: 'key:two words' }]],
  ['address:10.0.0.1', [{ client: 'address:10.0.0.1' }]],
  ['10.0.0.1', [{ requestId: '10.0.0.1' }, { client: 'address:10.0.0.1' }]],
  ['2001:db8:1:2::/64', [{ requestId: '2001:db8:1:2::/64' }, { client: 'address:2001:db8:1:2::/64' }]],
  [` ${CB58}`, ofId(CB58)],
  [HASH, [{ requestId: HASH }, ...ofId(HASH.toLowerCase()).slice(1)]],
  ['00000000053900ff', [{ requestId: '00000000053900ff' }, { bytes: '00000000053900ff' }]],
  [
    `https://snowtrace.io/tx/${HASH}`,
    [{ requestId: `https://snowtrace.io/tx/${HASH}` }, ...ofId(HASH.toLowerCase()).slice(1)],
  ],
  ['http://127.0.0.1:8080/#/activity/an-id', [{ requestId: 'an-id' }]],
  [`http://127.0.0.1:8080/#/messages/${CB58}`, ofId(CB58).slice(1)],
  ['11111111111111111111111111111111LpoYY', ofId('11111111111111111111111111111111LpoYY')],
])('the search for %j asks for all that it may name', (text, searches) => {
  expect(searchesOf(text)).toEqual(searches);
});
