import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Handler } from '../../lib/concurrency/stages.ts';
import { inSpan, NO_SPAN, type Span } from '../../telemetry/spans.ts';
import { unlessThreadsOverloaded } from '../admission/overloaded.ts';
import type { RunningJobs } from '../admission/running-jobs.ts';
import type { AggregationLimits } from '../aggregation-limits.ts';
import { AggregatorError } from '../aggregator-error.ts';
import { openCollection } from '../collection/collection.ts';
import type { CollectionDeps } from '../collection/collection-context.ts';
import type { Collection, CollectionTimes, Insufficient, Job, JobEnd } from '../collection/job.ts';
import { ProgressFeed, type ProgressListener } from '../collection/progress.ts';
import type { PhaseInterval } from '../phase-timer.ts';
import type { AggregationResult } from '../request/aggregation-request.ts';
import { signatureKey } from '../request/result-key.ts';
import { failureAt, type ResultCache, resultAt } from '../results/result-cache.ts';
import type { SigningPlan } from '../signers/signing-plan.ts';
import { type PlannedCall, reportPhase } from './calls.ts';

export interface ShareOptions extends CollectionDeps {
  readonly jobs: RunningJobs<RunningJob>;
  readonly results: Pick<ResultCache, 'keep' | 'fail'>;
}

/** A job, as its callers see it. */
export interface RunningJob {
  readonly collection: Collection;
  readonly progress: ProgressFeed;
  readonly phases: readonly PhaseInterval[];
  readonly callers: JobCallers;
  readonly span: Span;
  readonly result: Promise<AggregationResult>;
}

/**
 * Runs one job for equal requests. Each caller has two times of its own: when its `repeatForMs` is over, it fails as soon as only validators
 * that refuse could bring the quorum; when its `requestTimeoutMs` is over, the job ends for all if the quorum is there, else this caller
 * fails alone. The job continues for the others, until the last one has left.
 */
export function share(options: ShareOptions, run: Handler<Job, JobEnd>): Handler<PlannedCall, AggregationResult> {
  const { clock, limits, jobs, results, source } = options;

  function start({ plan, caller, place }: PlannedCall): RunningJob {
    const { key } = plan;
    using opening = new DisposableStack();
    const permit = opening.use(place.move());
    const span = startSpan(plan, caller.span ?? NO_SPAN);
    const progress = new ProgressFeed({ ...plan, isConnected: (nodeID) => source.isConnected(nodeID) });
    const phases: PhaseInterval[] = [];
    const callers = new JobCallers(clock, limits);
    const { signal } = callers;
    const { client } = caller;
    const parts = { plan, signatureKey: signatureKey(plan), client, span, progress, phases, times: callers, signal };
    const collection = opening.use(openCollection(parts, options));
    const opened = opening.move();

    async function runToEnd(): Promise<AggregationResult> {
      using _opened = opened;
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
        jobs.end(key, job);
      }
    }

    const { promise: result, resolve } = Promise.withResolvers<AggregationResult>();
    // All of its callers may have left.
    result.catch(() => undefined);
    const job: RunningJob = { collection, progress, phases, callers, span, result };
    jobs.start(key, job);
    // After the last caller has left, another job may have the key.
    signal.addEventListener('abort', () => jobs.end(key, job), { once: true });
    resolve(inSpan(span, runToEnd));
    return job;
  }

  return async (call) => {
    const { plan, caller, wait, place } = call;
    const { signal, span = NO_SPAN, onProgress } = caller;
    signal.throwIfAborted();
    const joinedMs = clock.monotonicMs();
    const job = jobs.get(plan.key) ?? start(call);
    // Another caller's permits run it.
    place[Symbol.dispose]();
    if (job.span.isRecorded) span.link(job.span);
    const toError = (outcome: Insufficient): AggregatorError => results.fail(plan, outcome);
    using joined = job.callers.join({ joinedMs, wait, signal, toError }, job.collection);
    using leaving = new DisposableStack();
    if (onProgress !== undefined) leaving.defer(job.progress.subscribe(listenerAt(plan.pChainHeight, onProgress)));
    leaving.defer(() => reportPhases(call, job.phases, joinedMs, clock.monotonicMs()));
    try {
      return resultAt(plan.pChainHeight, await Promise.race([job.result, joined.left]));
    } catch (error) {
      throw error instanceof AggregatorError ? failureAt(plan.pChainHeight, error) : error;
    }
  };
}

interface JobCaller {
  readonly joinedMs: number;
  readonly wait: PlannedCall['wait'];
  readonly signal: AbortSignal;
  /** Makes the failure of this caller alone. */
  readonly toError: (outcome: Insufficient) => Error;
}

/** Disposing of it removes the caller. */
interface JoinedCaller extends Disposable {
  /** Rejects when this caller's signal aborts, or when one of its times is over and the quorum is not there. */
  readonly left: Promise<never>;
}

/** The callers of a job and their times, which begin when a caller joins or its wait ends, whichever is later. */
export class JobCallers implements CollectionTimes {
  readonly #clock: Clock;
  readonly #limits: Pick<AggregationLimits, 'repeatForMs' | 'requestTimeoutMs'>;
  readonly #callers = new Set<JobCaller>();
  readonly #ending = new AbortController();

  constructor(clock: Clock, limits: Pick<AggregationLimits, 'repeatForMs' | 'requestTimeoutMs'>) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Aborts when the last caller has left, with the reason of its signal or its failure. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  join(caller: JobCaller, collection: Pick<Collection, 'notYet' | 'finish'>): JoinedCaller {
    const { signal, wait, toError } = caller;
    this.#callers.add(caller);
    const { promise: left, reject } = Promise.withResolvers<never>();
    let reason: unknown = LEFT;
    const leave = (why: unknown): void => {
      reason = why;
      reject(why);
    };
    const onAbort = (): void => leave(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    let timers: (() => void)[] = [];
    const cancel = (): void => {
      for (const cancelTimer of timers) cancelTimer();
    };
    const schedule = (): void => {
      cancel();
      const inMs = beginOf(caller) - this.#clock.monotonicMs();
      const at = (durationMs: number, outcome: () => Promise<Insufficient>) =>
        this.#clock.after(
          Math.max(0, inMs + durationMs),
          () => void outcome().then((insufficient) => leave(toError(insufficient))),
        );
      timers = [
        at(this.#limits.repeatForMs, () => collection.notYet()),
        at(this.#limits.requestTimeoutMs, () => collection.finish()),
      ];
    };
    schedule();
    wait.ends?.addEventListener('abort', schedule, { once: true });
    return {
      left,
      [Symbol.dispose]: () => {
        cancel();
        signal.removeEventListener('abort', onAbort);
        wait.ends?.removeEventListener('abort', schedule);
        this.#callers.delete(caller);
        if (this.#callers.size === 0) this.#ending.abort(reason);
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

/** Shared: a new error would capture a stack for each job. */
const LEFT = new DOMException('no caller waits for this job any more', 'AbortError');

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

/** Reports to a caller the phases of its job, each since the caller has joined. */
function reportPhases(call: PlannedCall, phases: readonly PhaseInterval[], joinedMs: number, nowMs: number): void {
  for (const { phase, sinceMs, untilMs = nowMs } of phases) {
    // The job may have begun before this caller joined.
    if (untilMs >= joinedMs) reportPhase(call, phase, untilMs - Math.max(sinceMs, joinedMs));
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
