import { describe, expect, test } from 'vitest';
import { createAnswerHistories } from '../../../../src/aggregation/validators/answer-history.ts';
import { idFromBytes, type NodeID, PRIMARY_NETWORK_ID, type SubnetID } from '../../../../src/warp/ids.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const NODE = 'NodeID-a' as NodeID;
const SIGNED = { kind: 'signed' as const, signature: new Uint8Array(96) };

test('the past of a node is what came of its last question, its last refusal and its times', async () => {
  const clock = new FakeClock();
  const history = createAnswerHistories(clock, 500).of(PRIMARY_NETWORK_ID);
  expect(history.pastOf(NODE)).toBeUndefined();

  history.learn(NODE, { kind: 'refused', code: 7, text: 'not yet' }, 30);
  await clock.advance(1_000);
  history.learn(NODE, SIGNED, 10);
  await clock.advance(500);
  expect(history.pastOf(NODE)).toEqual({
    last: { outcome: 'signed', ageMs: 500 },
    lastRefusal: { code: 7, text: 'not yet', ageMs: 1_500 },
    latency: { count: 2, medianMs: 10, p99Ms: 30 },
  });

  // A timeout has no latency, and a request that was not sent says nothing about the node.
  history.learn(NODE, { kind: 'timed_out', reason: 'no_answer' }, 5_000);
  history.learn(NODE, { kind: 'not_asked', reason: 'queue_full' }, 0);
  expect(history.pastOf(NODE)).toMatchObject({
    last: { outcome: 'timed_out', reason: 'no_answer' },
    latency: { count: 2 },
  });
});

test('the past is kept when what it says of the future is forgotten', async () => {
  const clock = new FakeClock();
  const history = createAnswerHistories(clock, 500).of(PRIMARY_NETWORK_ID);
  history.learn(NODE, SIGNED, 10);
  await clock.advance(60 * 60_000);
  expect(history.recordOf(NODE)).toBeUndefined();
  expect(history.pastOf(NODE)).toMatchObject({
    last: { outcome: 'signed', ageMs: 60 * 60_000 },
    latency: { medianMs: 10 },
  });
});

test('a node that never answers is tried again once a minute', async () => {
  const clock = new FakeClock();
  const history = createAnswerHistories(clock, 500).of(PRIMARY_NETWORK_ID);
  for (let failures = 0; failures < 40; failures += 1) history.failed(NODE);
  await clock.advance(59_999);
  expect(history.recordOf(NODE)?.isTrialDue).toBe(false);
  await clock.advance(1);
  expect(history.recordOf(NODE)?.isTrialDue).toBe(true);
});

describe('a node that validates several subnets', () => {
  const L1 = idFromBytes<SubnetID>(new Uint8Array(32).fill(1), 'subnet');
  const setUp = () => {
    const clock = new FakeClock();
    const histories = createAnswerHistories(clock, 500);
    return { clock, ofPrimary: histories.of(PRIMARY_NETWORK_ID), ofL1: histories.of(L1) };
  };

  test('is doubted only for the chains that it does not answer about, until it does', async () => {
    const { clock, ofPrimary, ofL1 } = setUp();
    ofPrimary.learn(NODE, SIGNED, 10);
    ofL1.failed(NODE);
    expect([ofPrimary, ofL1].map((history) => history.recordOf(NODE)?.isDoubtful)).toEqual([false, true]);
    await clock.advance(2_000);
    expect(ofL1.recordOf(NODE)).toMatchObject({ isDoubtful: true, isTrialDue: true, usualLatency: { meanMs: 10 } });
    ofL1.beginTrial(NODE);
    expect(ofL1.recordOf(NODE)?.isTrialDue).toBe(false);
    ofL1.learn(NODE, SIGNED, 10);
    expect(ofL1.recordOf(NODE)?.isDoubtful).toBe(false);
    ofL1.learn(NODE, SIGNED, 501);
    expect([ofPrimary, ofL1].map((history) => history.recordOf(NODE)?.isDoubtful)).toEqual([false, true]);
  });

  test('is doubted for all of them where it is silent altogether', async () => {
    const { clock, ofPrimary, ofL1 } = setUp();
    ofL1.failed(NODE);
    await clock.advance(1_000);
    ofL1.learn(NODE, { kind: 'timed_out', reason: 'no_answer' }, 3_000);
    expect([ofPrimary, ofL1].map((history) => history.recordOf(NODE)?.isDoubtful)).toEqual([true, true]);
    await clock.advance(1_500);
    expect([ofPrimary, ofL1].map((history) => history.recordOf(NODE)?.isTrialDue)).toEqual([false, false]);
    await clock.advance(500);
    expect([ofPrimary, ofL1].map((history) => history.recordOf(NODE)?.isTrialDue)).toEqual([true, true]);
    ofPrimary.learn(NODE, SIGNED, 10);
    expect([ofPrimary, ofL1].map((history) => history.recordOf(NODE)?.isDoubtful)).toEqual([false, true]);
  });

  test('has in its past of one subnet nothing that it drops or refuses of another', async () => {
    const { clock, ofPrimary, ofL1 } = setUp();
    ofPrimary.learn(NODE, SIGNED, 10);
    await clock.advance(100);
    ofL1.learn(NODE, { kind: 'timed_out', reason: 'request_dropped' }, 3_000);
    expect(ofPrimary.pastOf(NODE)?.last).toEqual({ outcome: 'signed', ageMs: 100 });
    expect(ofL1.pastOf(NODE)).toMatchObject({
      last: { outcome: 'timed_out', reason: 'request_dropped', ageMs: 0 },
      latency: { count: 1 },
    });
    ofPrimary.learn(NODE, SIGNED, 10);
    expect(ofL1.pastOf(NODE)?.last.reason).toBe('request_dropped');
    ofL1.learn(NODE, { kind: 'refused', code: -3, text: 'not a validator' }, 10);
    expect(ofL1.pastOf(NODE)).toMatchObject({ last: { outcome: 'refused' }, lastRefusal: { code: -3 } });
    expect(ofPrimary.pastOf(NODE)?.lastRefusal).toBeUndefined();
    ofL1.learn(NODE, { kind: 'refused', code: 1, text: 'unknown' }, 10);
    expect(ofL1.pastOf(NODE)).toMatchObject({ last: { outcome: 'refused' }, lastRefusal: { code: 1 } });
  });

  test('is evicted by records of untracked subnets', () => {
    const { ofPrimary, ofL1 } = setUp();
    ofPrimary.failed(NODE);
    for (let number = 0; number < 20_000; number += 1) ofL1.failed(`NodeID-${number}` as NodeID);
    expect(ofPrimary.recordOf(NODE)).toBeUndefined();
    ofPrimary.failed(NODE);
    expect(ofPrimary.recordOf(NODE)?.isDoubtful).toBe(true);
  });
});
