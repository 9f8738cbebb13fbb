import { expect, test } from 'vitest';
import type { RunPermit } from '../../../../src/aggregation/admission/admission.ts';
import { SharedRun } from '../../../../src/aggregation/request/shared-run.ts';
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

test('whichever client is served first runs it for all, and the others leave the queue', async () => {
  const { semaphore, admission } = create();
  const running = semaphore.tryAcquire({ key: 'x' });
  for (let count = 0; count < 10; count += 1) void semaphore.acquire({ key: 'flood' });
  const shared = new SharedRun(admission, 'flood');
  const acquired = shared.acquire(SUBNET, allow, never);
  shared.join('good');
  shared.join('good');
  await settle();
  expect(semaphore.queued).toBe(12);
  running?.release();
  await settle();
  expect(semaphore.queued).toBe(11);
  // The flood's first one has run; then it is the good client's turn.
  expect(semaphore.heldBy('flood')).toBe(1);
  void acquired;
});

test('a client that may not run it leaves it to the others, and gets the reason if there are none', async () => {
  const { semaphore, admission } = create();
  const refuse = (client: string | undefined): void => {
    if (client === 'bad') throw new Error(`not ${client}`);
  };
  const shared = new SharedRun(admission, 'bad');
  shared.join('good');
  using permit = await shared.acquire(SUBNET, refuse, never);
  expect(permit.client).toBe('good');
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
