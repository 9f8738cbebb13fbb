import { NO_SPAN, type Span } from '../../telemetry/spans.ts';
import type { SubnetID } from '../../warp/ids.ts';
import type { Admission, AdmissionPermit, RunPermit } from '../admission/admission.ts';
import type { AggregationStage, StageInterval } from '../aggregator-metrics.ts';
import type { CollectionCaller, CollectionCallers } from '../collection/collection-callers.ts';
import type { CollectionPermit } from '../collection/collection-job.ts';
import type { ProgressFeed, ProgressListener } from '../collection/progress.ts';

export interface Waiter {
  /** Ends only this caller's wait. Ignored if the answer is cached. */
  readonly signal: AbortSignal;
  /** Client ID for fair queueing; undefined for internal requests. */
  readonly client?: string | undefined;
  readonly span?: Span;
  /** Receives the state of the collection, then each event; nothing if no validator is asked. */
  readonly onProgress?: ProgressListener | undefined;
  /** Called at the end of each stage, or when this caller's wait ends; a stage may occur several times. */
  onStage?(stage: AggregationStage, durationMs: number): void;
}

/** The time in which a request's transaction may be accepted and executed. */
export interface Wait {
  untilMs: number;
  /** Aborts if the wait ends early. */
  readonly ends: AbortSignal | undefined;
  /** Time spent waiting so far, which is not slowness. */
  spentMs: number;
}

/** State of a flight that its requests share. */
export interface Collection {
  readonly progress: ProgressFeed;
  readonly stages: StageInterval[];
  readonly run: SharedRun;
  readonly admitted: AdmissionPermit;
  readonly callers: CollectionCallers;
  readonly span: Span;
}

/** One request that shares a collection. */
export interface SharingCall {
  readonly joinedMs: number;
  readonly pChainHeight: bigint;
  readonly waiter: Waiter;
  readonly wait: Wait;
  readonly fail: CollectionCaller['fail'];
}

/** @returns a function to be called when the request leaves the collection */
export function joinCollection(
  { callers, progress, run, span: collecting }: Collection,
  { joinedMs, pChainHeight, waiter, wait, fail }: SharingCall,
): () => void {
  const { client, onProgress, span = NO_SPAN } = waiter;
  if (collecting.isRecorded) span.link(collecting);
  run.join(client);
  const onWaitEnd = (): void => callers.onChange();
  wait.ends?.addEventListener('abort', onWaitEnd, { once: true });
  const leave = callers.join({
    joinedMs,
    get waitUntilMs() {
      return wait.untilMs;
    },
    fail,
  });
  const unsubscribe = onProgress && progress.subscribe(listenerAt(pChainHeight, onProgress));
  return () => {
    leave();
    wait.ends?.removeEventListener('abort', onWaitEnd);
    unsubscribe?.();
  };
}

/** Reports to a request the stages of its collection, each since the request has joined. */
export function passStages(
  stages: readonly StageInterval[],
  joinedMs: number,
  nowMs: number,
  waiter: Waiter,
  wait: Wait,
): void {
  for (const { stage, sinceMs, untilMs = nowMs } of stages) {
    // The collection may have begun before this request.
    if (untilMs < joinedMs) continue;
    const spentMs = untilMs - Math.max(sinceMs, joinedMs);
    if (stage === 'execution') wait.spentMs += spentMs;
    waiter.onStage?.(stage, spentMs);
  }
}

/** @param waitBytes what the aggregation keeps in memory while it waits for the execution of a block */
export function collectionPermit(running: RunPermit, admitted: AdmissionPermit, waitBytes: number): CollectionPermit {
  return {
    rest: () => running.rest(),
    wait() {
      admitted.wait(running.client, waitBytes);
      running.rest();
    },
    async resume(until) {
      await admitted.resume(until);
      await running.resume(until);
    },
  };
}

/**
 * Returns a listener that rewrites the height: requests at different heights share a collection if the set is the same. Events at the
 * same height stay one object, because encoding one takes 300 KB for 2,000 validators.
 */
function listenerAt(pChainHeight: bigint, listener: ProgressListener): ProgressListener {
  return (event) =>
    listener(
      event.kind === 'state' && event.state.pChainHeight !== pChainHeight
        ? { ...event, state: { ...event.state, pChainHeight } }
        : event,
    );
}

/** Clients of one aggregation. The first to get a permit runs it for all, so none waits behind the queue of another. */
export class SharedRun {
  readonly #admission: Pick<Admission, 'run'>;
  readonly #clients = new Set<string | undefined>();
  #wait: ((client: string | undefined) => Promise<void>) | undefined;

  constructor(admission: Pick<Admission, 'run'>, first: string | undefined) {
    this.#admission = admission;
    this.#clients.add(first);
  }

  join(client: string | undefined): void {
    if (this.#clients.has(client)) return;
    this.#clients.add(client);
    void this.#wait?.(client);
  }

  async acquire(
    subnetID: SubnetID,
    check: (client: string | undefined) => void,
    signal: AbortSignal,
  ): Promise<RunPermit> {
    const { promise, resolve, reject } = Promise.withResolvers<RunPermit>();
    const over = new AbortController();
    const onAbort = (): void => over.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    let waiting = 0;
    this.#wait = async (client) => {
      waiting += 1;
      try {
        using stack = new DisposableStack();
        const permit = stack.use(await this.#admission.run({ client, subnetID }, over.signal));
        over.signal.throwIfAborted();
        check(client);
        stack.move();
        over.abort(SERVED);
        resolve(permit);
      } catch (error) {
        waiting -= 1;
        if (waiting === 0) reject(error);
      }
    };
    for (const client of this.#clients) void this.#wait(client);
    try {
      return await promise;
    } finally {
      this.#wait = undefined;
      signal.removeEventListener('abort', onAbort);
    }
  }
}

const SERVED = new DOMException('another client was served first', 'AbortError');
