import { createWakeUp, type WakeUp } from '../../lib/concurrency/wake-up.ts';
import type { WarpValidator } from '../../validators/warp-set.ts';
import { type NodeID, P_CHAIN_ID } from '../../warp/ids.ts';
import type { JobPermit } from '../admission/job-permit.ts';
import { StageTimer } from '../aggregator-metrics.ts';
import type { SigningPlan } from '../signers/signing-plan.ts';
import { forecastValidators } from '../validators/validator-forecast.ts';
import { CollectionOver, createCollectedSignatures, yieldForLargeSet } from './collected-signatures.ts';
import type { CollectionContext, CollectionDeps, CollectionParts } from './collection-context.ts';
import { CollectionState } from './collection-state.ts';
import type { Collection, Insufficient, JobEnd } from './job.ts';
import { MAX_ASKED_AT_ONCE, planProbes, planQueries, type QueryPlan, refusalDelayMs } from './query-plan.ts';
import { weightRefusedForGood } from './refusal-verdict.ts';
import { createTally, summarizeTally, type Tally, weighOutcomes } from './tally.ts';
import { createValidatorQueries } from './validator-queries.ts';

export function openCollection(parts: CollectionParts, deps: CollectionDeps): Collection {
  return new MessageCollection(parts, deps);
}

class MessageCollection implements Collection {
  readonly #parts: CollectionParts;
  readonly #deps: CollectionDeps;
  readonly #changes: WakeUp;
  readonly #ending = new AbortController();
  readonly #opened = new DisposableStack();
  #work: Work | undefined;
  #finishing: ((outcome: Insufficient) => void)[] = [];
  #awaiting: ((outcome: Insufficient) => void)[] = [];
  #isAwaitingExecution = false;
  #isShed = false;
  #probes = 0;

  constructor(parts: CollectionParts, deps: CollectionDeps) {
    this.#parts = parts;
    this.#deps = deps;
    this.#changes = this.#opened.use(createWakeUp(deps.clock));
  }

  async collect(permit: JobPermit): Promise<JobEnd> {
    const { signal } = this.#parts;
    await permit.resume(signal);
    const work = this.#work ?? (await this.#begin());
    let isResting = false;
    for (;;) {
      signal.throwIfAborted();
      const plan = this.#plan(work, work.hasSigned());
      if (isResting && isWork(plan)) {
        isResting = false;
        work.stages.enter('collect');
        await permit.resume(signal);
        continue;
      }
      const { tally, signatures, queries } = work;
      const isTimeUp = this.#finishing.length > 0;
      if (plan.kind === 'enough' || (isTimeUp && tally.signedWeight >= tally.neededWeight)) {
        work.stages.enter('verify');
        const verified = await signatures.verify(isTimeUp);
        if (verified === undefined) continue;
        queries.othersSigned(this.#probes === 0);
        const isTargetReached = verified.signedWeight >= tally.targetWeight;
        return { kind: 'signed', ...verified, isTargetReached, weights: weighOutcomes(tally, this.#isConnected) };
      }
      if (isTimeUp) this.#settle(this.#finishing.splice(0));
      if (plan.kind === 'out of reach') return this.#insufficient();
      if (plan.kind === 'not yet') return plan;
      this.#ask(work, plan.ask);
      if (plan.isIdle && !isResting) {
        isResting = true;
        permit.rest();
      }
      await this.#changes.next(plan.wakeAtMs);
    }
  }

  async awaitExecution(permit: JobPermit): Promise<void> {
    const { plan, signal } = this.#parts;
    const { clock, limits } = this.#deps;
    const work = this.#work ?? (await this.#begin());
    this.#isShed = true;
    permit.wait(bytesToWait(plan));
    this.#isShed = false;
    work.stages.enter('execution');
    const { signedWeight } = work.tally;
    this.#isAwaitingExecution = true;
    try {
      for (let probeAtMs = 0; ; ) {
        this.#settle([...this.#awaiting.splice(0), ...this.#finishing.splice(0)]);
        signal.throwIfAborted();
        const plan = this.#plan(work, false);
        const isChanged = plan.kind === 'enough' || plan.kind === 'out of reach' || !isIdle(plan);
        if (isChanged || work.tally.signedWeight !== signedWeight) return;
        const nowMs = clock.monotonicMs();
        const probes = nowMs < probeAtMs ? [] : planProbes(work.tally, work.state);
        if (probes.length > 0) {
          this.#probes += 1;
          probeAtMs = nowMs + refusalDelayMs(limits, this.#probes);
          this.#ask(work, probes);
        }
        await this.#changes.next(
          Math.min(work.state.wakeAtMs, probeAtMs > nowMs ? probeAtMs : Number.POSITIVE_INFINITY),
        );
      }
    } finally {
      this.#isAwaitingExecution = false;
    }
  }

  finish(): Promise<Insufficient> {
    const { promise, resolve } = Promise.withResolvers<Insufficient>();
    this.#finishing.push(resolve);
    const tally = this.#work?.tally;
    if (tally === undefined || tally.signedWeight < tally.neededWeight) this.#settle(this.#finishing.splice(0));
    this.#changes.wake();
    return promise;
  }

  notYet(): Promise<Insufficient> {
    const { promise, resolve } = Promise.withResolvers<Insufficient>();
    this.#awaiting.push(resolve);
    if (this.#isAwaitingExecution) this.#settle(this.#awaiting.splice(0));
    return promise;
  }

  [Symbol.dispose](): void {
    const { plan, client } = this.#parts;
    if (this.#work !== undefined && this.#work.tally.signedWeight === 0n && !this.#isShed) {
      const bytes = plan.message.bytes.length + plan.justification.length;
      this.#deps.penalties.chargeUnsigned(client, plan.message.sourceChainID, this.#work.queries.asked, bytes);
    }
    this.#ending.abort(OVER);
    this.#opened.dispose();
  }

  async #begin(): Promise<Work> {
    const { plan, signal, progress, stages, client } = this.#parts;
    const { source, bls, clock, limits, metrics, histories } = this.#deps;
    const { warpSet } = plan;
    await yieldForLargeSet(warpSet, { ...this.#deps, client });
    signal.throwIfAborted();
    const opened = this.#opened;
    const history = histories.of(plan.sourceSubnetID);
    const facts = { history, isConnected: (nodeID: NodeID) => source.isConnected(nodeID) };
    const tally = createTally(warpSet, {
      ...plan,
      forecasts: forecastValidators(warpSet, { ...plan, ...this.#deps, ...limits, ...facts }),
      onChange: (index, state) => progress.changed(index, state),
    });
    progress.begin(tally);
    const startMs = clock.monotonicMs();
    const nodeIDs = new Set(warpSet.validators.flatMap((validator) => validator.nodeIDs));
    const trackedSinceMs = source.track(plan.signingSubnetID, nodeIDs);
    const context: CollectionContext = {
      ...this.#parts,
      ...this.#deps,
      history,
      tally,
      sum: opened.use(bls.startAggregation(plan.message.bytes, signal)),
      countOutcome: ({ weight }, outcome) =>
        metrics.countOutcome(outcome, {
          weight,
          subnetID: plan.signingSubnetID,
          totalWeight: warpSet.totalWeight,
        }),
      changes: this.#changes,
      isPChainMessage: plan.message.sourceChainID === P_CHAIN_ID,
      over: this.#ending.signal,
    };
    const signatures = createCollectedSignatures(context);
    const work: Work = {
      tally,
      state: new CollectionState(tally),
      stages: opened.use(new StageTimer(clock, metrics, 'connect', stages)),
      signatures,
      queries: createValidatorQueries({ ...context, signatures }),
      isPChainMessage: context.isPChainMessage,
      isCautious: isDoubtful(this.#parts, this.#deps),
      connectionChanges: 0,
      connectDeadlineMs: Math.max(trackedSinceMs + limits.connectTimeoutMs, startMs + limits.reconnectGraceMs),
      hasSigned: () => tally.signedWeight > 0n || work.state.answered > 0,
    };
    this.#work = work;
    opened.defer(
      source.onConnectionChange(() => {
        work.connectionChanges += 1;
        this.#changes.wake();
      }),
    );
    signal.addEventListener('abort', this.#changes.wake, { once: true });
    opened.defer(() => signal.removeEventListener('abort', this.#changes.wake));
    await signatures.takeKnown();
    await yieldForLargeSet(warpSet, { ...this.#deps, client });
    return work;
  }

  #plan(work: Work, mayRepeat: boolean): QueryPlan {
    const view = { ...work, nowMs: this.#deps.clock.monotonicMs(), isConnected: this.#isConnected, mayRepeat };
    return planQueries(work.tally, view, this.#deps.limits, work.state);
  }

  #ask({ queries, stages }: Work, validators: readonly WarpValidator[]): void {
    if (validators.length > 0 && !this.#isAwaitingExecution) stages.enter('collect');
    for (const validator of validators) queries.ask(validator);
    // The rest is asked in a later turn of the event loop.
    if (validators.length === MAX_ASKED_AT_ONCE) this.#deps.clock.afterTurn(this.#changes.wake);
  }

  readonly #isConnected = ({ nodeIDs }: WarpValidator): boolean =>
    nodeIDs.some((nodeID) => this.#deps.source.isConnected(nodeID));

  #settle(waiting: readonly ((outcome: Insufficient) => void)[]): void {
    if (waiting.length === 0) return;
    const outcome = this.#insufficient();
    for (const resolve of waiting) resolve(outcome);
  }

  #insufficient(): Insufficient {
    const { plan } = this.#parts;
    const tally = this.#work?.tally ?? createTally(plan.warpSet, { ...plan, forecasts: [] });
    const whyUnreachable = (validator: WarpValidator): string | undefined =>
      this.#isConnected(validator) ? undefined : this.#deps.source.whyUnreachable(validator.nodeIDs[0] as NodeID);
    return {
      kind: 'insufficient',
      summary: summarizeTally(tally, whyUnreachable),
      refusedForGood: weightRefusedForGood(tally, this.#work?.isPChainMessage === true),
    };
  }
}

interface Work {
  readonly tally: Tally;
  readonly state: CollectionState;
  readonly stages: StageTimer;
  readonly signatures: ReturnType<typeof createCollectedSignatures>;
  readonly queries: ReturnType<typeof createValidatorQueries>;
  readonly isPChainMessage: boolean;
  readonly isCautious: boolean;
  readonly connectDeadlineMs: number;
  connectionChanges: number;
  readonly hasSigned: () => boolean;
}

/** Shared: a new error would capture a stack for each collection. */
const OVER = new CollectionOver();

/** Whether the plan needs a permit for CPU. */
function isWork(plan: QueryPlan): boolean {
  return plan.kind === 'enough' || (plan.kind === 'go on' && plan.ask.length > 0);
}

function isIdle(plan: QueryPlan): boolean {
  return plan.kind === 'not yet' || (plan.kind === 'go on' && plan.ask.length === 0);
}

/** The state of a validator, with the text of its refusal. */
const VALIDATOR_BYTES = 256;

/** What a job keeps while it waits: the message, as bytes and encoded for validators, and the states of these. */
function bytesToWait({ message, justification, warpSet }: SigningPlan): number {
  return 2 * (message.bytes.length + justification.length) + VALIDATOR_BYTES * warpSet.validators.length;
}

/** If more bytes would be sent, a few validators get the message first, because all may refuse it. */
const MANY_BYTES = 1024 * 1024;

/** Returns whether the message is first sent to a few validators: similar ones were refused, or it is large. */
function isDoubtful(
  { plan: { message, justification, warpSet }, client }: CollectionParts,
  { penalties }: Pick<CollectionDeps, 'penalties'>,
): boolean {
  const bytes = (message.bytes.length + justification.length) * warpSet.validators.length;
  return bytes > MANY_BYTES || penalties.isDoubtful(client, message.sourceChainID);
}
