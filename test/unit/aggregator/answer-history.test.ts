import { expect, test } from 'vitest';
import { createAnswerHistory } from '../../../src/aggregator/answer-history.ts';
import type { NodeID } from '../../../src/primitives/ids.ts';
import { FakeClock } from '../../fake-clock.ts';

const NODE = 'NodeID-a' as NodeID;
const SIGNED = { kind: 'signature' as const, signature: new Uint8Array(96) };

test('the past of a node is what came of its last question, its last refusal and its times', async () => {
  const clock = new FakeClock();
  const history = createAnswerHistory(clock, 500);
  expect(history.pastOf(NODE)).toBeUndefined();

  history.observed(NODE, { kind: 'refused', code: 7, text: 'not yet' }, 30);
  await clock.advance(1_000);
  history.observed(NODE, SIGNED, 10);
  await clock.advance(500);
  expect(history.pastOf(NODE)).toEqual({
    last: { outcome: 'signed', ageMs: 500 },
    lastRefusal: { code: 7, text: 'not yet', ageMs: 1_500 },
    latency: { count: 2, medianMs: 10, p99Ms: 30 },
  });

  // Silence has no time of its own, and a request that was never sent says nothing of the node.
  history.observed(NODE, { kind: 'silent' }, 5_000);
  history.observed(NODE, { kind: 'not_sent', reason: 'no room' }, 0);
  expect(history.pastOf(NODE)).toMatchObject({ last: { outcome: 'silent' }, latency: { count: 2 } });
});

test('the past is kept when what it says of the future is forgotten', async () => {
  const clock = new FakeClock();
  const history = createAnswerHistory(clock, 500);
  history.answered(NODE, 10);
  history.observed(NODE, SIGNED, 10);
  await clock.advance(60 * 60_000);
  expect(history.recordOf(NODE)).toBeUndefined();
  expect(history.pastOf(NODE)).toMatchObject({
    last: { outcome: 'signed', ageMs: 60 * 60_000 },
    latency: { medianMs: 10 },
  });
});
