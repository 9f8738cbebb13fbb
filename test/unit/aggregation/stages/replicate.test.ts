import { expect, test } from 'vitest';
import type { Job, JobEnd } from '../../../../src/aggregation/collection/job.ts';
import { replicate } from '../../../../src/aggregation/stages/replicate.ts';
import type {
  DistributedSingleFlight,
  SingleFlightTask,
} from '../../../../src/store/redis/distributed-single-flight.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { modelBackend } from '../../bls/backends/model-backend.ts';
import { createInlineBls } from '../../bls/service/inline-bls.ts';
import { planOf, recordedPlace, SIGNED } from './stage-fixture.ts';

function create(run?: DistributedSingleFlight['run']) {
  const clock = new FakeClock();
  const { events, permit } = recordedPlace();
  const stage = replicate({
    distributedFlights: run && { run },
    bls: createInlineBls(modelBackend),
    clock,
    limits: { requestTimeoutMs: 10_000 },
  });
  const times = { deadlineMs: () => 12_000, isWaiting: () => false };
  const job = { key: 'key', plan: planOf(), permit, times, signal: new AbortController().signal } as unknown as Job;
  return { clock, events, stage, job };
}

test('goes on at once without a store', async () => {
  const { events, stage, job } = create();
  expect(await stage(async () => SIGNED)(job)).toBe(SIGNED);
  expect(events).toEqual([]);
});

test('holds the lease over the work, and no CPU while it waits for it', async () => {
  const { events, stage, job } = create(async (key, task) => {
    events.push(key);
    const end = await task.work();
    events.push('shared');
    return end;
  });
  const end = await stage(async () => {
    events.push('work');
    return SIGNED;
  })(job);
  expect([end, events]).toEqual([SIGNED, ['rest', 'work:key', 'work', 'shared']]);
});

test('shares signed messages alone, those below the target for seconds, and keeps a quarter of the time for itself', async () => {
  let task: SingleFlightTask<JobEnd> | undefined;
  const { clock, stage, job } = create((_, given) => {
    task = given as unknown as SingleFlightTask<JobEnd>;
    return given.work();
  });
  await clock.advance(1_000);
  await stage(async () => SIGNED)(job);
  expect(task?.share(SIGNED)).toEqual({ bytes: SIGNED.signedMessage, ttlMs: 600_000 });
  expect(task?.share({ ...SIGNED, isTargetReached: false })?.ttlMs).toBe(3_000);
  expect(task?.share({ kind: 'not yet' })).toBeUndefined();
  expect(task?.patienceMs()).toBe(12_000 - 1_000 - 2_500);
  expect(await task?.accept(Uint8Array.of(1, 2, 3))).toBeUndefined();
});
