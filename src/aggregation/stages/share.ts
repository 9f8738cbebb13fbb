import type { Clock } from '../../lib/concurrency/clock.ts';
import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import type { Handler } from '../../lib/concurrency/stages.ts';
import { inSpan, NO_SPAN, type Span } from '../../telemetry/spans.ts';
import { unlessThreadsOverloaded } from '../admission/overloaded.ts';
import type { RunningJobs } from '../admission/running-jobs.ts';
import type { AggregationLimits } from '../aggregation-limits.ts';
import { AggregatorError } from '../aggregator-error.ts';
import type { StageInterval } from '../aggregator-metrics.ts';
import { openCollection } from '../collection/collection.ts';
import type { CollectionDeps } from '../collection/collection-context.ts';
import type { Collection, CollectionTimes, Insufficient, Job, JobEnd } from '../collection/job.ts';
import { ProgressFeed, type ProgressListener } from '../collection/progress.ts';
import type { AggregationResult } from '../request/aggregation-request.ts';
import { signatureKey } from '../request/result-key.ts';
import { failureAt, type ResultCache, resultAt } from '../results/result-cache.ts';
import type { SigningPlan } from '../signers/signing-plan.ts';
import { type PlannedCall, reportStage } from './calls.ts';

export interface ShareOptions extends CollectionDeps {
  readonly jobs: RunningJobs<RunningJob>;
  readonly results: Pick<ResultCache, 'keep' | 'fail'>;
}

/** A job, as its callers see it. */
export interface RunningJob {
  readonly collection: Collection;
  readonly progress: ProgressFeed;
  readonly stages: readonly StageInterval[];
  readonly callers: JobCallers;
  readonly span: Span;
}

/**
 * Runs one job for equal requests. Each caller has two times of its own: when its `repeatForMs` is over, it fails as soon as only validators
 * that refuse could bring the quorum; when its `requestTimeoutMs` is over, the job ends for all if the quorum is there, else this caller
 * fails alone. The job continues for the others, until the last one has left.
 */
export function share(options: ShareOptions, run: Handler<Job, JobEnd>): Handler<PlannedCall, AggregationResult> {
  const { clock, limits, jobs, results, source } = options;
  const flights = new SingleFlight<string, AggregationResult>();

  async function start(
    { plan, caller, place }: PlannedCall,
    span: Span,
    signal: AbortSignal,
  ): Promise<AggregationResult> {
    const { key } = plan;
    using permit = place.move();
    const progress = new ProgressFeed({ ...plan, isConnected: (nodeID) => source.isConnected(nodeID) });
    const stages: StageInterval[] = [];
    const callers = new JobCallers(clock, limits);
    const { client } = caller;
    const parts = { plan, signatureKey: signatureKey(plan), client, span, progress, stages, times: callers, signal };
    using collection = openCollection(parts, options);
    const running = { collection, progress, stages, callers, span };
    // After the last caller has left, another job may have the key.
    signal.addEventListener('abort', () => jobs.end(key, running), { once: true });
    jobs.start(key, running);
    try {
      const end = await unlessThreadsOverloaded(run({ key, plan, permit, collection, times: callers, signal }));
      switch (end.kind) {
        case 'signed':
          return results.keep(plan, end);
        case 'insufficient':
          throw results.fail(plan, end);
        case 'not yet':
          throw new Error('a job ended before its time');
      }
    } finally {
      jobs.end(key, running);
    }
  }

  return async (call) => {
    const { plan, caller, wait, place } = call;
    const joinedMs = clock.monotonicMs();
    const own = new AbortController();
    const fail = (outcome: Insufficient): void => own.abort(results.fail(plan, outcome));
    const signed = flights.run(
      plan.key,
      (signal) => {
        const span = startSpan(plan, caller.span ?? NO_SPAN);
        return inSpan(span, () => start(call, span, signal));
      },
      AbortSignal.any([caller.signal, own.signal]),
    );
    // The flight has begun, so its job runs, unless it could not begin.
    const job = jobs.get(plan.key);
    // Another caller's permits run it.
    place[Symbol.dispose]();
    using leaving = new DisposableStack();
    if (job !== undefined) {
      const { span = NO_SPAN, onProgress } = caller;
      if (job.span.isRecorded) span.link(job.span);
      leaving.use(job.callers.join({ joinedMs, wait, job, fail }));
      if (onProgress !== undefined) leaving.defer(job.progress.subscribe(listenerAt(plan.pChainHeight, onProgress)));
      leaving.defer(() => reportStages(call, job.stages, joinedMs, clock.monotonicMs()));
    }
    try {
      return resultAt(plan.pChainHeight, await signed);
    } catch (error) {
      throw error instanceof AggregatorError ? failureAt(plan.pChainHeight, error) : error;
    }
  };
}

interface JobCaller {
  readonly joinedMs: number;
  readonly wait: PlannedCall['wait'];
  readonly job: Pick<RunningJob, 'collection'>;
  /** Fails this caller alone. */
  readonly fail: (outcome: Insufficient) => void;
}

/** The callers of a job and their times, which begin when a caller joins or its wait ends, whichever is later. */
export class JobCallers implements CollectionTimes {
  readonly #clock: Clock;
  readonly #limits: Pick<AggregationLimits, 'repeatForMs' | 'requestTimeoutMs'>;
  readonly #callers = new Set<JobCaller>();

  constructor(clock: Clock, limits: Pick<AggregationLimits, 'repeatForMs' | 'requestTimeoutMs'>) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Returns a handle that removes the caller. */
  join(caller: JobCaller): Disposable {
    const { collection } = caller.job;
    this.#callers.add(caller);
    let timers: (() => void)[] = [];
    const cancel = (): void => {
      for (const cancelTimer of timers) cancelTimer();
    };
    const schedule = (): void => {
      cancel();
      const inMs = beginOf(caller) - this.#clock.monotonicMs();
      const at = (durationMs: number, outcome: () => Promise<Insufficient>) =>
        this.#clock.after(Math.max(0, inMs + durationMs), () => void outcome().then(caller.fail));
      timers = [
        at(this.#limits.repeatForMs, () => collection.notYet()),
        at(this.#limits.requestTimeoutMs, () => collection.finish()),
      ];
    };
    schedule();
    const { ends } = caller.wait;
    ends?.addEventListener('abort', schedule, { once: true });
    return {
      [Symbol.dispose]: () => {
        cancel();
        ends?.removeEventListener('abort', schedule);
        this.#callers.delete(caller);
      },
    };
  }

  deadlineMs(): number {
    const begins = Array.from(this.#callers, beginOf);
    const beginMs = begins.length === 0 ? this.#clock.monotonicMs() : Math.min(...begins);
    return beginMs + this.#limits.requestTimeoutMs;
  }

  isWaiting(): boolean {
    const nowMs = this.#clock.monotonicMs();
    return Array.from(this.#callers).some((caller) => nowMs < beginOf(caller));
  }
}

function beginOf({ joinedMs, wait }: JobCaller): number {
  return Math.max(joinedMs, wait.untilMs);
}

/** A child of the span of the request that begins a job; other requests link to it. */
function startSpan({ signingSubnetID, pChainHeight, warpSet }: SigningPlan, parent: Span): Span {
  const span = parent.child('collect signatures');
  if (!span.isRecorded) return NO_SPAN;
  span.set('signing.subnet_id', signingSubnetID);
  span.set('p_chain.height', String(pChainHeight));
  span.set('validators', warpSet.validators.length);
  return span;
}

/** Reports to a caller the stages of its job, each since the caller has joined. */
function reportStages(call: PlannedCall, stages: readonly StageInterval[], joinedMs: number, nowMs: number): void {
  for (const { stage, sinceMs, untilMs = nowMs } of stages) {
    // The job may have begun before this caller joined.
    if (untilMs >= joinedMs) reportStage(call, stage, untilMs - Math.max(sinceMs, joinedMs));
  }
}

/**
 * Returns a listener that rewrites the height: requests at different heights share a job if the set is the same. Events at the same
 * height stay one object, because encoding one takes 300 KB for 2,000 validators.
 */
function listenerAt(pChainHeight: bigint, listener: ProgressListener): ProgressListener {
  return (event) =>
    listener(
      event.kind === 'state' && event.state.pChainHeight !== pChainHeight
        ? { ...event, state: { ...event.state, pChainHeight } }
        : event,
    );
}
