import { expect, test } from 'vitest';
import { RunningJobs } from '../../../../src/aggregation/admission/running-jobs.ts';
import { queue } from '../../../../src/aggregation/stages/queue.ts';
import { settle } from '../../../support/fake-clock.ts';
import { plannedCall, planOf, RESULT, recordedPlace } from './stage-fixture.ts';

const PLAN = planOf();

function create(requireSignable: (client: string | undefined) => void = () => undefined) {
  const jobs = new RunningJobs<string>();
  const passed: string[] = [];
  const handler = queue({ jobs, penalties: { requireSignable } })(async ({ caller }) => {
    passed.push(`${caller.client}`);
    return RESULT;
  });
  return { jobs, passed, handler };
}

/** Waits until a signal aborts. */
function waitForever(...until: readonly AbortSignal[]): Promise<void> {
  return new Promise((_, reject) => {
    for (const signal of until) signal.addEventListener('abort', () => reject(signal.reason));
  });
}

test('goes on with the permits, and leaves the place at the end', async () => {
  const { handler, passed } = create();
  const { events, place } = recordedPlace();
  await handler(plannedCall(PLAN, { client: 'a' }, { place }));
  expect([events, passed]).toEqual([['queued', 'acquired', 'left'], ['a']]);
});

test('goes on without a permit while an equal job runs', async () => {
  const { handler, jobs, passed } = create();
  const { events, place } = recordedPlace();
  jobs.start(PLAN.key, 'job');
  await handler(plannedCall(PLAN, { client: 'a' }, { place }));
  expect([events, passed]).toEqual([['left'], ['a']]);
});

test('leaves the queue when an equal job begins, and not for another one', async () => {
  const { handler, jobs, passed } = create();
  const { events, place } = recordedPlace(waitForever);
  const result = handler(plannedCall(PLAN, { client: 'a' }, { place }));
  await settle();
  jobs.start('another', 'job');
  await settle();
  expect(passed).toEqual([]);
  jobs.start(PLAN.key, 'job');
  await result;
  expect([events, passed]).toEqual([['queued', 'left'], ['a']]);
});

test('waits again where the equal job has ended at once', async () => {
  const { handler, jobs, passed } = create();
  const { events, place } = recordedPlace(waitForever);
  const result = handler(plannedCall(PLAN, { client: 'a' }, { place }));
  await settle();
  jobs.start(PLAN.key, 'job');
  jobs.end(PLAN.key, 'job');
  await settle();
  expect([events, passed]).toEqual([['queued', 'queued'], []]);
  jobs.start(PLAN.key, 'job');
  await result;
  expect(passed).toEqual(['a']);
});

test('refuses a client whose messages were refused too often, when its turn comes', async () => {
  const { handler, passed } = create(() => {
    throw new Error('refused too often');
  });
  const { events, place } = recordedPlace();
  await expect(handler(plannedCall(PLAN, { client: 'a' }, { place }))).rejects.toThrow('refused too often');
  expect([events, passed]).toEqual([['queued', 'acquired', 'left'], []]);
});

test('ends with its caller', async () => {
  const { handler, passed } = create();
  const leaving = new AbortController();
  const { place } = recordedPlace(waitForever);
  const result = handler(plannedCall(PLAN, { signal: leaving.signal }, { place }));
  await settle();
  leaving.abort(new Error('gone'));
  await expect(result).rejects.toThrow('gone');
  expect(passed).toEqual([]);
});
