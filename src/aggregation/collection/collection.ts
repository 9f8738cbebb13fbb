import { createWakeUp, type WakeUp } from '../../lib/concurrency/wake-up.ts';
import type { WarpValidator } from '../../validators/warp-set.ts';
import { type NodeID, P_CHAIN_ID } from '../../warp/ids.ts';
import { isExpired } from '../../warp/l1-message.ts';
import type { JobPermit } from '../admission/job-permit.ts';
import { PhaseTimer } from '../phase-timer.ts';
import type { SigningPlan } from '../signers/signing-plan.ts';
import { endedRegistration } from '../transactions/l1-justification.ts';
import { forecastValidators } from '../validators/validator-forecast.ts';
import { type CollectedSignatures, createCollectedSignatures } from './collected-signatures.ts';
import {
  type CollectionContext,
  type CollectionDeps,
  CollectionOver,
  type CollectionParts,
  yieldForLargeSet,
} from './collection-context.ts';
import { type CollectionPlan, planCollection, planProbes } from './collection-plan.ts';
import type { Collection, Insufficient, JobEnd, SignedEnd } from './job.ts';
import { createTally, summarizeTally, type Tally, weighFinalRefusals, weighOutcomes } from './tally.ts';
import { createValidatorQueries, type ValidatorQueries } from './validator-queries.ts';
import { refusalDelayMs, transition, type ValidatorState } from './validator-state.ts';

export function openCollection(parts: CollectionParts, deps: CollectionDeps): Collection {
  return new MessageCollection(parts, deps);
}

class MessageCollection implements Collection {
  readonly #parts: CollectionParts;
  readonly #deps: CollectionDeps;
  readonly #changes: WakeUp;
  readonly #ending = new AbortController();
  readonly #opened = new DisposableStack();
  /** Ends the wait for permits of a job whose quorum is there, when the time of a caller is over. */
  #timeUp = new AbortController();
  #work: Work | undefined;
  /** By canonical index, until a connection changes. A look at each node takes as long as the rest of a plan. */
  #connected: Uint8Array | undefined;
  #finishing: ((outcome: Insufficient) => void)[] = [];
  #awaiting: ((outcome: Insufficient) => void)[] = [];
  #isAwaitingExecution = false;
  /** Whether too many jobs wait: then the message costs its client no points. */
  #isShed = false;
  #probes = 0;

  constructor(parts: CollectionParts, deps: CollectionDeps) {
    this.#parts = parts;
    this.#deps = deps;
    this.#changes = this.#opened.use(createWakeUp(deps.clock));
  }

  async collect(permit: JobPermit): Promise<JobEnd> {
    const { signal } = this.#parts;
    this.#work?.phases.enter('collect');
    await this.#resume(permit);
    const work = this.#work ?? (await this.#begin());
    const { tally, phases } = work;
    let isResting = false;
    for (;;) {
      signal.throwIfAborted();
      const plan = this.#plan(work, hasSigned(tally));
      const isTimeUp = this.#finishing.length > 0;
      const isEnough = plan.kind === 'enough' || (isTimeUp && tally.signedWeight >= tally.neededWeight);
      if (isResting && (isEnough || plan.kind === 'ask')) {
        await this.#resume(permit);
        isResting = false;
        // More may have signed meanwhile.
        continue;
      }
      if (isEnough) {
        phases.enter('verify');
        const signed = await this.#verify(work, isTimeUp);
        if (signed !== undefined) return signed;
        continue;
      }
      if (isTimeUp) this.#settleFinishing();
      switch (plan.kind) {
        case 'out of reach':
          return this.#insufficient();
        case 'not yet':
          return { kind: 'not yet' };
        case 'ask':
          phases.enter('collect');
          for (const validator of plan.validators) this.#ask(work, validator);
          break;
        case 'pending':
          if (!plan.isIdle) break;
          permit.rest();
          isResting = true;
      }
      await this.#changes.nextTurn(plan.wakeAtMs);
    }
  }

  async awaitExecution(permit: JobPermit): Promise<void> {
    const { plan, signal } = this.#parts;
    const { clock, limits } = this.#deps;
    const work = this.#work ?? (await this.#begin());
    const { tally, phases } = work;
    this.#isShed = true;
    permit.suspend(bytesOf(plan));
    this.#isShed = false;
    phases.enter('execution');
    const { signedWeight } = tally;
    let probeAtMs = clock.monotonicMs();
    this.#isAwaitingExecution = true;
    try {
      for (;;) {
        this.#settle(this.#awaiting.splice(0));
        if (tally.signedWeight < tally.neededWeight) this.#settleFinishing();
        signal.throwIfAborted();
        const next = this.#plan(work, false);
        const isStill = next.kind === 'not yet' || next.kind === 'pending';
        if (!isStill || tally.signedWeight !== signedWeight) return;
        const nowMs = clock.monotonicMs();
        const probes = nowMs < probeAtMs ? [] : planProbes(tally, this.#view(false));
        if (probes.length > 0) {
          this.#probes += 1;
          probeAtMs = nowMs + refusalDelayMs(limits, this.#probes);
          for (const validator of probes) this.#ask(work, validator);
        }
        await this.#changes.nextTurn(probeAtMs > nowMs ? Math.min(next.wakeAtMs, probeAtMs) : next.wakeAtMs);
      }
    } finally {
      this.#isAwaitingExecution = false;
    }
  }

  finish(): Promise<Insufficient> {
    const { promise, resolve } = Promise.withResolvers<Insufficient>();
    this.#finishing.push(resolve);
    const tally = this.#work?.tally;
    if (tally === undefined || tally.signedWeight < tally.neededWeight) this.#settleFinishing();
    else this.#timeUp.abort();
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
    const { plan, signal, progress, phases, client } = this.#parts;
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
    const isPChainMessage = plan.message.sourceChainID === P_CHAIN_ID;
    const ended = endedRegistration(plan);
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
      apply(index, event) {
        const nodeCount = warpSet.validators[index]?.nodeIDs.length ?? 0;
        const isRegistrable = ended !== undefined && !isExpired(ended, clock.now());
        const rules = { nodeCount, isPChainMessage, isRegistrable, limits };
        const state = transition(tally.states[index] as ValidatorState, event, rules);
        tally.set(index, state);
        return state;
      },
      over: this.#ending.signal,
    };
    const signatures = createCollectedSignatures(context);
    const work: Work = {
      tally,
      phases: opened.use(new PhaseTimer(clock, metrics, 'connect', phases)),
      signatures,
      queries: createValidatorQueries({ ...context, signatures }),
      isCautious: isDoubtful(this.#parts, this.#deps),
      connectDeadlineMs: Math.max(trackedSinceMs + limits.connectTimeoutMs, startMs + limits.reconnectGraceMs),
    };
    this.#work = work;
    const onConnectionChange = (): void => {
      this.#connected = undefined;
      this.#changes.wake();
    };
    opened.defer(source.onConnectionChange(onConnectionChange));
    signal.addEventListener('abort', this.#changes.wake, { once: true });
    opened.defer(() => signal.removeEventListener('abort', this.#changes.wake));
    await signatures.takeStored();
    await yieldForLargeSet(warpSet, { ...this.#deps, client });
    return work;
  }

  async #resume(permit: JobPermit): Promise<void> {
    await permit.resume(AbortSignal.any([this.#parts.signal, this.#timeUp.signal]));
  }

  #ask({ queries }: Work, validator: WarpValidator): void {
    // It may have disconnected since the plan.
    if (this.#isConnected(validator)) queries.ask(validator);
  }

  #settleFinishing(): void {
    this.#settle(this.#finishing.splice(0));
    if (this.#timeUp.signal.aborted) this.#timeUp = new AbortController();
  }

  #plan({ tally }: Work, mayRepeat: boolean): CollectionPlan {
    return planCollection(tally, this.#view(mayRepeat));
  }

  #view(mayRepeat: boolean) {
    const { clock, limits } = this.#deps;
    const { isCautious = false, connectDeadlineMs = 0 } = this.#work ?? {};
    this.#connected ??= Uint8Array.from(this.#parts.plan.warpSet.validators, (one) => Number(this.#isConnected(one)));
    const connected = this.#connected;
    const isConnected = ({ index }: WarpValidator): boolean => connected[index] === 1;
    return { nowMs: clock.monotonicMs(), isConnected, connectDeadlineMs, isCautious, mayRepeat, limits };
  }

  async #verify({ tally, signatures, queries }: Work, isTimeUp: boolean): Promise<SignedEnd | undefined> {
    const verified = await signatures.verify(isTimeUp);
    if (verified === undefined) return undefined;
    const wasSignedAtFirst = this.#probes === 0;
    queries.othersSigned(wasSignedAtFirst);
    const { observer } = this.#deps;
    observer?.onSigned(this.#parts.plan.signingSubnetID, () => queries.answers(wasSignedAtFirst, this.#isConnected));
    const isTargetReached = verified.signedWeight >= tally.targetWeight;
    return { kind: 'signed', ...verified, isTargetReached, weights: weighOutcomes(tally, this.#isConnected) };
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
      ...weighFinalRefusals(tally),
    };
  }
}

interface Work {
  readonly tally: Tally;
  readonly phases: PhaseTimer;
  readonly signatures: CollectedSignatures;
  readonly queries: ValidatorQueries;
  readonly isCautious: boolean;
  readonly connectDeadlineMs: number;
}

function hasSigned({ signedWeight, states }: Tally): boolean {
  return signedWeight > 0n || states.some(({ kind }) => kind === 'answered');
}

/** Shared: a new error would capture a stack for each collection. */
const OVER = new CollectionOver();

/** The state of a validator, with the text of its refusal. */
const VALIDATOR_BYTES = 256;

/** What a job keeps while it waits: the message, as bytes and encoded for validators, and the states of these. */
function bytesOf({ message, justification, warpSet }: SigningPlan): number {
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
