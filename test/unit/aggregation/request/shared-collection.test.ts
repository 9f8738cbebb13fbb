import { expect, test } from 'vitest';
import type { RunPermit } from '../../../../src/aggregation/admission/admission.ts';
import { passStages, SharedRun } from '../../../../src/aggregation/request/shared-collection.ts';
import { FairSemaphore } from '../../../../src/lib/concurrency/fair-semaphore.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { SUBNET } from '../aggregator-fixture.ts';

const never = new AbortController().signal;
const allow = (): void => undefined;

function create() {
  const semaphore = new FairSemaphore({ clock: new FakeClock(), limit: 1, keyShare: 1, maxQueued: 100 });
  const admission = {
    async run({ client }: { readonly client: string | undefined }, signal: AbortSignal): Promise<RunPermit> {
      const { release } = await semaphore.acquire({ key: client }, signal);
      return { client, rest: release, resume: async () => undefined, [Symbol.dispose]: release };
    },
  };
  return { semaphore, admission };
}

test('a client that may not run it leaves it to the others, and gets the reason if there are none', async () => {
  const { semaphore, admission } = create();
  const refuse = (client: string | undefined): void => {
    if (client === 'bad') throw new Error(`not ${client}`);
  };
  const shared = new SharedRun(admission, 'bad');
  for (const client of ['good', 'good', 'other']) shared.join(client);
  using permit = await shared.acquire(SUBNET, refuse, never);
  expect(permit.client).toBe('good');
  await settle();
  // The others have left the queue.
  expect([semaphore.held, semaphore.queued]).toEqual([1, 0]);
  permit[Symbol.dispose]();
  await expect(new SharedRun(admission, 'bad').acquire(SUBNET, refuse, never)).rejects.toThrow('not bad');
  await settle();
  expect([semaphore.held, semaphore.queued]).toEqual([0, 0]);
});

test('leaves the queue when no client waits, also in the tick in which it gets a permit', async () => {
  const { semaphore, admission } = create();
  const running = semaphore.tryAcquire({ key: 'x' });
  const leave = new AbortController();
  const acquired = new SharedRun(admission, 'a').acquire(SUBNET, allow, leave.signal);
  await settle();
  running?.release();
  leave.abort(new Error('gone'));
  await expect(acquired).rejects.toThrow('gone');
  await settle();
  expect([semaphore.held, semaphore.queued]).toEqual([0, 0]);
});

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
