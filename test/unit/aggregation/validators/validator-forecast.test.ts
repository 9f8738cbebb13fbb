import { describe, expect, test } from 'vitest';
import { createAnswerHistories } from '../../../../src/aggregation/validators/answer-history.ts';
import { createInvalidSigners } from '../../../../src/aggregation/validators/invalid-signers.ts';
import { forecastValidators } from '../../../../src/aggregation/validators/validator-forecast.ts';
import { type NodeID, PRIMARY_NETWORK_ID } from '../../../../src/warp/ids.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createFixture } from '../collection/collection-fixture.ts';

function createHarness(count: number, nodeCounts: readonly number[] = []) {
  const { warpSet } = createFixture({ weights: Array(count).fill(1), nodeCounts });
  const clock = new FakeClock();
  const history = createAnswerHistories(clock, 500).of(PRIMARY_NETWORK_ID);
  const invalidSigners = createInvalidSigners(clock);
  const validators = warpSet.validators.map(({ nodeIDs, publicKeyHex }) => ({ nodeIDs, publicKeyHex }));
  const nodeAt = (index: number, node = 0) => validators[index]?.nodeIDs[node] as (typeof validators)[0]['nodeIDs'][0];
  const keyAt = (index: number) => validators[index]?.publicKeyHex ?? '';
  const isConnected: (nodeID: NodeID) => boolean = () => true;
  const facts = { history, invalidSigners, avoided: new Set<number>(), hedgeAfterMs: 500, isConnected };
  const forecasts = (more: Partial<typeof facts> = {}) => forecastValidators(warpSet, { ...facts, ...more });
  const answered = (nodeID: NodeID, afterMs: number) =>
    history.learn(nodeID, { kind: 'signed', signature: new Uint8Array(96) }, afterMs);
  return { clock, history, answered, invalidSigners, nodeAt, keyAt, forecasts };
}

/** Indices in the order of asking. */
function order(forecasts: ReturnType<typeof forecastValidators>): number[] {
  return forecasts.map((_, index) => index).sort((a, b) => (forecasts[a]?.rank ?? 0) - (forecasts[b]?.rank ?? 0));
}

describe('what to expect of validators', () => {
  test('the expected first, then the slow, the doubtful, invalid signers, and those to be avoided last', () => {
    const { history, answered, invalidSigners, nodeAt, keyAt, forecasts } = createHarness(6);
    for (const index of [3, 4, 5]) answered(nodeAt(index), 20);
    answered(nodeAt(2), 300);
    history.failed(nodeAt(1));
    invalidSigners.add(keyAt(0));
    expect(order(forecasts({ avoided: new Set([3]) }))).toEqual([4, 5, 2, 1, 0, 3]);
    expect(order(forecasts({ avoided: new Set([0, 1, 3]) }))).toEqual([4, 5, 2, 3, 1, 0]);
    expect(forecasts().map(({ kind }) => kind)).toEqual(['invalid signer', 'doubtful', ...Array(4).fill('expected')]);
  });

  test('a validator as fast as the others, or within a pause of this process, is not slow', () => {
    const { answered, nodeAt, forecasts } = createHarness(4);
    for (const [index, ms] of [5, 5, 5, 90].entries()) answered(nodeAt(index), ms);
    expect(new Set(forecasts().map(({ rank }) => rank)).size).toBe(1);
    for (const [index, ms] of [400, 380, 450, 300].entries()) answered(nodeAt(index), ms);
    expect(new Set(forecasts().map(({ rank }) => rank)).size).toBe(1);
  });

  test('late is later than usual, within a floor and a ceiling', () => {
    const { answered, nodeAt, forecasts } = createHarness(4);
    for (let i = 0; i < 50; i += 1) {
      answered(nodeAt(0), 10);
      answered(nodeAt(1), 200);
      answered(nodeAt(2), i % 2 === 0 ? 100 : 400);
    }
    const [steady, far, erratic, unknown] = forecasts().map(({ hedgeAfterMs }) => hedgeAfterMs);
    expect([steady, erratic, unknown]).toEqual([100, 500, 500]);
    expect(far).toBeGreaterThanOrEqual(200);
    expect(far).toBeLessThan(210);
  });

  test('one at a time is on trial, later and later as long as it fails, and not again at once', async () => {
    const { clock, history, answered, invalidSigners, nodeAt, keyAt, forecasts } = createHarness(3);
    const onTrial = () => forecasts().flatMap(({ kind }, index) => (kind === 'on trial' ? [index] : []));
    history.failed(nodeAt(1));
    history.failed(nodeAt(2));
    invalidSigners.add(keyAt(0));
    expect(onTrial()).toEqual([]);
    await clock.advance(2_000);
    expect(onTrial()).toEqual([1]);
    expect(forecasts({ avoided: new Set([1]) }).map(({ kind }) => kind)).toEqual([
      'invalid signer',
      'avoided',
      'on trial',
    ]);
    history.beginTrial(nodeAt(1));
    expect(onTrial()).toEqual([2]);
    history.beginTrial(nodeAt(2));
    expect(onTrial()).toEqual([]);
    answered(nodeAt(1), 10);
    history.failed(nodeAt(2));
    await clock.advance(2_000);
    expect(onTrial()).toEqual([]);
    await clock.advance(2_000);
    expect(onTrial()).toEqual([2]);
    await clock.advance(10 * 60_000);
    // What is long ago is forgotten; a bad signature is not.
    expect(onTrial()).toEqual([0]);
  });

  test('an answer that comes too late for any request is none', () => {
    const { answered, nodeAt, forecasts } = createHarness(1);
    answered(nodeAt(0), 501);
    expect(forecasts()[0]?.kind).toBe('doubtful');
    answered(nodeAt(0), 500);
    expect(forecasts()[0]?.kind).toBe('expected');
  });

  test('a validator with several nodes is as good as the best that is connected', () => {
    const { history, nodeAt, forecasts } = createHarness(1, [2]);
    history.failed(nodeAt(0, 0));
    expect(forecasts()[0]?.kind).toBe('expected');
    const isConnected = (nodeID: NodeID): boolean => nodeID === nodeAt(0, 0);
    expect(forecasts({ isConnected })[0]?.kind).toBe('doubtful');
  });
});
