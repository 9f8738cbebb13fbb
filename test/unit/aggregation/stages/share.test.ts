import { describe, expect, test } from 'vitest';
import { createPenalties } from '../../../../src/aggregation/admission/penalties.ts';
import { QueryConcurrency } from '../../../../src/aggregation/admission/query-concurrency.ts';
import { RunningJobs } from '../../../../src/aggregation/admission/running-jobs.ts';
import type { Job, JobEnd } from '../../../../src/aggregation/collection/job.ts';
import type { PhaseInterval } from '../../../../src/aggregation/phase-timer.ts';
import { createResultCache } from '../../../../src/aggregation/results/result-cache.ts';
import type { PlannedCall } from '../../../../src/aggregation/stages/calls.ts';
import { type RunningJob, share } from '../../../../src/aggregation/stages/share.ts';
import { createAnswerHistories } from '../../../../src/aggregation/validators/answer-history.ts';
import { createInvalidSigners } from '../../../../src/aggregation/validators/invalid-signers.ts';
import { EventLoopScheduler } from '../../../../src/lib/concurrency/event-loop-scheduler.ts';
import { createMemorySignatureStore } from '../../../../src/store/local/signature-store.ts';
import { settle } from '../../../support/fake-clock.ts';
import { modelBackend } from '../../bls/backends/model-backend.ts';
import { createInlineBls } from '../../bls/service/inline-bls.ts';
import { LIMITS } from '../aggregator-fixture.ts';
import { SteppedClock } from '../collection/collection-fixture.ts';
import { ScriptedSource } from '../scripted-source.ts';
import { createStageMetrics, plannedCall, planOf, recordedPlace, SIGNED, wait } from './stage-fixture.ts';

const PLAN = planOf();

/** Jobs that end when the test says so. */
function create() {
  const clock = new SteppedClock();
  const { metrics } = createStageMetrics();
  const source = new ScriptedSource(clock);
  const jobs: { readonly job: Job; readonly end: (end: JobEnd) => void }[] = [];
  const deps = {
    source,
    store: createMemorySignatureStore({ clock, maxSignatures: 100, maxPerSigner: 100 }),
    bls: createInlineBls(modelBackend),
    invalidSigners: createInvalidSigners(clock),
    histories: createAnswerHistories(clock, LIMITS.hedgeAfterMs),
    penalties: createPenalties(clock, metrics),
    observeDelay: () => undefined,
    clock,
    metrics,
    limits: LIMITS,
    queries: new QueryConcurrency({ clock, maxQueries: 100 }),
    scheduler: new EventLoopScheduler(clock, 1),
  };
  const results = createResultCache({ clock, metrics, limits: LIMITS, source });
  const running = new RunningJobs<RunningJob>();
  const handler = share({ ...deps, jobs: running, results }, (job) => {
    const { promise, resolve, reject } = Promise.withResolvers<JobEnd>();
    job.signal.addEventListener('abort', () => reject(job.signal.reason));
    jobs.push({ job, end: resolve });
    return promise;
  });
  const start = (call: PlannedCall) => {
    const result = handler(call);
    result.catch(() => undefined);
    return result;
  };
  return { clock, jobs, running, start, leftovers: () => clock.pendingTimers };
}

describe('equal requests', () => {
  test('share one job, which has the permits of the first, and each has its own height', async () => {
    const { jobs, start, leftovers } = create();
    const [first, second] = [recordedPlace(), recordedPlace()];
    const results = [
      start(plannedCall(PLAN, {}, { place: first.place })),
      start(plannedCall(planOf({ pChainHeight: 99n }), {}, { place: second.place })),
    ];
    expect(jobs).toHaveLength(1);
    jobs[0]?.end(SIGNED);
    expect((await Promise.all(results)).map(({ pChainHeight }) => pChainHeight)).toEqual([98n, 99n]);
    expect(first.events).toEqual(['moved', 'left', 'released']);
    expect(second.events).toEqual(['left']);
    expect(leftovers()).toBe(0);
  });

  test('continue when one of them leaves, and the job ends with the last', async () => {
    const { jobs, start, leftovers } = create();
    const [a, b] = [new AbortController(), new AbortController()];
    const results = [a, b].map(({ signal }) => start(plannedCall(PLAN, { signal })));
    a.abort(new Error('a has gone'));
    await expect(results[0]).rejects.toThrow('a has gone');
    expect(jobs[0]?.job.signal.aborted).toBe(false);
    b.abort(new Error('b has gone'));
    await expect(results[1]).rejects.toThrow('b has gone');
    expect(jobs[0]?.job.signal.aborted).toBe(true);
    expect(leftovers()).toBe(0);
  });

  test('get a job of their own after all others have left one that has not ended', async () => {
    const { jobs, start } = create();
    const leaving = new AbortController();
    const left = start(plannedCall(PLAN, { signal: leaving.signal }));
    leaving.abort(new Error('gone'));
    await settle();
    const next = start(plannedCall(PLAN));
    expect(jobs).toHaveLength(2);
    jobs[1]?.end(SIGNED);
    await next;
    await expect(left).rejects.toThrow('gone');
  });
});

describe('a caller whose time is over', () => {
  test('fails alone with the tally of the moment, and the others have the rest of theirs', async () => {
    const { clock, jobs, start } = create();
    const first = start(plannedCall(PLAN));
    await clock.advance(4_000);
    const second = start(plannedCall(PLAN));
    await clock.advance(LIMITS.requestTimeoutMs - 4_000);
    await expect(first).rejects.toMatchObject({ report: { tally: { signedWeight: 0n, neededWeight: 67n } } });
    expect(jobs[0]?.job.signal.aborted).toBe(false);
    jobs[0]?.end(SIGNED);
    expect(await second).toMatchObject({ signedWeight: 70n });
  });

  test('has all of it after its wait, and after the wait was ended early', async () => {
    const { clock, jobs, start, leftovers } = create();
    const ends = new AbortController();
    const waiting = { ...wait(20_000), ends: ends.signal };
    const result = start(plannedCall(PLAN, {}, { wait: waiting }));
    await clock.advance(15_000);
    expect(jobs[0]?.job.signal.aborted).toBe(false);
    waiting.untilMs = clock.monotonicMs();
    ends.abort();
    await clock.advance(LIMITS.requestTimeoutMs - 1);
    await settle();
    expect(jobs[0]?.job.signal.aborted).toBe(false);
    await clock.advance(1);
    await expect(result).rejects.toMatchObject({ report: {} });
    expect(leftovers()).toBe(0);
  });
});

test('the times of a job are those of its callers', async () => {
  const { clock, jobs, start } = create();
  void start(plannedCall(PLAN, {}, { wait: wait(3_000) }));
  const { times } = jobs[0]!.job;
  expect([times.deadlineMs(), times.isWaiting()]).toEqual([3_000 + LIMITS.requestTimeoutMs, true]);
  void start(plannedCall(PLAN));
  expect([times.deadlineMs(), times.isWaiting()]).toEqual([LIMITS.requestTimeoutMs, true]);
  await clock.advance(3_000);
  expect(times.isWaiting()).toBe(false);
});

test('a failure of the job is a failure for all, at the height of each', async () => {
  const { jobs, start } = create();
  const results = [start(plannedCall(PLAN)), start(plannedCall(planOf({ pChainHeight: 99n })))];
  const summary = await jobs[0]!.job.collection.finish();
  jobs[0]?.end(summary);
  await expect(results[0]).rejects.toMatchObject({ report: { pChainHeight: 98n } });
  await expect(results[1]).rejects.toMatchObject({ report: { pChainHeight: 99n } });
});

test('a caller has the phases of its job since it joined, and waits while a block is executed', async () => {
  const { clock, jobs, running, start } = create();
  const first = start(plannedCall(PLAN));
  const phases = running.get(PLAN.key)!.phases as PhaseInterval[];
  phases.push(
    { phase: 'connect', sinceMs: 0, untilMs: 10 },
    { phase: 'collect', sinceMs: 10, untilMs: 30 },
    { phase: 'execution', sinceMs: 30, untilMs: 50 },
    { phase: 'verify', sinceMs: 50, untilMs: undefined },
  );
  await clock.advance(20);
  const passed: [phase: string, durationMs: number][] = [];
  const call = plannedCall(PLAN, { onPhase: (...phase) => void passed.push(phase) });
  const second = start(call);
  await clock.advance(40);
  jobs[0]?.end(SIGNED);
  await Promise.all([first, second]);
  expect(passed).toEqual([
    ['collect', 10],
    ['execution', 20],
    ['verify', 10],
  ]);
  expect(call.wait.spentMs).toBe(20);
});
