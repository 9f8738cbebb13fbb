import { expect, test } from 'vitest';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import { observe } from '../../../../src/aggregation/stages/observe.ts';
import { HttpError } from '../../../../src/http/errors/http-error.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { MESSAGE } from '../aggregator-fixture.ts';
import { askedCall, createStageMetrics, RESULT } from './stage-fixture.ts';

const REQUEST = { subject: { kind: 'message', message: MESSAGE, justification: new Uint8Array() } } as const;

function create() {
  const clock = new FakeClock();
  const { registry, metrics } = createStageMetrics();
  const counted = async (): Promise<string[]> => {
    const text = await registry.metrics();
    return Array.from(
      text.matchAll(/aggregation_duration_seconds_count\{outcome="(\w+)"\} 1/g),
      ([, word]) => `${word}`,
    );
  };
  return { clock, registry, stage: observe({ clock, metrics }), counted };
}

test('counts a request by its outcome, and its time without the wait for the execution', async () => {
  const { clock, registry, stage, counted } = create();
  const handler = stage(async ({ wait }) => {
    await clock.advance(3_000);
    wait.spentMs = 2_000;
    return RESULT;
  });
  expect(await handler(askedCall(REQUEST))).toBe(RESULT);
  expect(await counted()).toEqual(['signed']);
  expect(await registry.metrics()).toContain('aggregation_duration_seconds_sum{outcome="signed"} 1\n');
  expect(await registry.metrics()).toContain('aggregations_in_flight 0');
});

test.each([
  ['an error with its code', new AggregatorError('overloaded', 'no'), ['overloaded']],
  ['a bug as an internal error', new TypeError('bug'), ['internal_error']],
  ["a refusal of the caller's own not at all", new HttpError('rate_limited', 'no'), []],
])('counts %s', async (_, error, outcomes) => {
  const { stage, counted } = create();
  await expect(stage(() => Promise.reject(error))(askedCall(REQUEST))).rejects.toBe(error);
  expect(await counted()).toEqual(outcomes);
});

test('counts what its caller gave up, and nothing of work that no client has asked for', async () => {
  const { stage, counted } = create();
  const caller = new AbortController();
  caller.abort(new Error('gone'));
  const fail = stage(() => Promise.reject(caller.signal.reason));
  await expect(fail(askedCall(REQUEST, { signal: caller.signal, isBackground: true }))).rejects.toThrow('gone');
  expect(await counted()).toEqual([]);
  await expect(fail(askedCall(REQUEST, { signal: caller.signal }))).rejects.toThrow('gone');
  expect(await counted()).toEqual(['aborted']);
});
