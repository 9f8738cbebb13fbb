import { describe, expect, test } from 'vitest';
import { AggregatorError, type AggregatorErrorCode } from '../../../../src/aggregation/aggregator-error.ts';
import { charge, remembered } from '../../../../src/aggregation/stages/remembered.ts';
import { createWarpSet } from '../../../../src/validators/warp-set.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { validatorSet } from '../aggregator-fixture.ts';
import { createStageMetrics, plannedCall, planOf, RESULT, wait } from './stage-fixture.ts';

interface Memory {
  readonly result?: typeof RESULT | undefined;
  readonly failure?: AggregatorError | undefined;
}

function create({ result, failure }: Memory = {}) {
  const passed: string[] = [];
  const stage = remembered({
    results: { result: () => result, failure: () => failure, pendingRegistration: () => undefined },
    source: { isConnected: () => true, whyUnreachable: () => '' },
    resolver: { knownTarget: () => undefined },
    clock: new FakeClock(),
    metrics: createStageMetrics().metrics,
  });
  const handler = stage(async () => {
    passed.push('next');
    return RESULT;
  });
  return { handler, passed };
}

test('answers with a result or a failure in memory', async () => {
  const withResult = create({ result: RESULT });
  expect(await withResult.handler(plannedCall(planOf()))).toBe(RESULT);
  const failure = new AggregatorError('signing_refused', 'refused');
  const withFailure = create({ failure });
  await expect(withFailure.handler(plannedCall(planOf()))).rejects.toBe(failure);
  expect([withResult.passed, withFailure.passed]).toEqual([[], []]);
});

test.each<[AggregatorErrorCode, string[]]>([
  ['insufficient_weight', ['next']],
  ['not_connected', ['next']],
  ['signing_refused', []],
])('a caller that waits is given the failure %s only if no block changes it', async (code, expected) => {
  const { handler, passed } = create({ failure: new AggregatorError(code, 'failed') });
  await handler(plannedCall(planOf(), {}, { wait: wait(1_000) })).catch(() => undefined);
  expect(passed).toEqual(expected);
});

test('refuses a quorum that the validators with keys cannot reach', async () => {
  const { handler, passed } = create();
  const [first, ...others] = validatorSet(40n, 30n, 30n);
  const warpSet = createWarpSet([{ ...first!, publicKey: undefined }, ...others]);
  await expect(handler(plannedCall(planOf({ warpSet })))).rejects.toMatchObject({ code: 'quorum_unreachable' });
  expect(passed).toEqual([]);
});

describe('charge', () => {
  test('is paid before the work, for the validators and the bytes of the message', async () => {
    const passed: unknown[] = [];
    const handler = charge()(async () => {
      passed.push('next');
      return RESULT;
    });
    const onSigners = async (...work: readonly number[]): Promise<void> => void passed.push(work);
    const plan = planOf();
    await handler(plannedCall(plan, { onSigners }));
    expect(passed).toEqual([[4, plan.message.bytes.length], 'next']);
    const refused = plannedCall(plan, { onSigners: () => Promise.reject(new Error('too many')) });
    await expect(handler(refused)).rejects.toThrow('too many');
    expect(passed).toHaveLength(2);
  });
});
