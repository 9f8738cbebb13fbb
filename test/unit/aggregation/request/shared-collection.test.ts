import { expect, test } from 'vitest';
import { passStages } from '../../../../src/aggregation/request/shared-collection.ts';

test('a request has the stages of its collection since it joined, and waits while a block is executed', () => {
  const passed: [stage: string, durationMs: number][] = [];
  const wait = { untilMs: 0, ends: undefined, spentMs: 5 };
  const waiter = {
    signal: new AbortController().signal,
    onStage: (stage: string, durationMs: number) => void passed.push([stage, durationMs]),
  };
  const stages = [
    { stage: 'connect', sinceMs: 0, untilMs: 10 },
    { stage: 'collect', sinceMs: 10, untilMs: 30 },
    { stage: 'execution', sinceMs: 30, untilMs: 50 },
    { stage: 'verify', sinceMs: 50, untilMs: undefined },
  ] as const;
  passStages(stages, 20, 60, waiter, wait);
  expect(passed).toEqual([
    ['collect', 10],
    ['execution', 20],
    ['verify', 10],
  ]);
  expect(wait.spentMs).toBe(25);
});
