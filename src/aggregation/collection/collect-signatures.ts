import { startDeadline } from '../../lib/concurrency/deadline.ts';
import { createWakeUp } from '../../lib/concurrency/wake-up.ts';
import type { WarpValidator } from '../../validators/warp-set.ts';
import { type NodeID, P_CHAIN_ID } from '../../warp/ids.ts';
import type { Penalties } from '../admission/penalties.ts';
import { type CountOutcome, StageTimer } from '../aggregator-metrics.ts';
import { forecastValidators } from '../validators/validator-forecast.ts';
import type { OutcomeWeights } from '../validators/validator-outcome.ts';
import {
  CollectionOver,
  createCollectedSignatures,
  type VerifiedMessage,
  yieldForLargeSet,
} from './collected-signatures.ts';
import type { Insufficient } from './collection-callers.ts';
import type { CollectionDeps, CollectionJob } from './collection-job.ts';
import { CollectionState } from './collection-state.ts';
import { MAX_ASKED_AT_ONCE, planQueries, type QueryPlan, refusalDelayMs } from './query-plan.ts';
import { weightRefusedForGood } from './refusal-verdict.ts';
import { createTally, summarizeTally, weighOutcomes } from './tally.ts';
import { createValidatorQueries } from './validator-queries.ts';

export type CollectionOutcome =
  | (VerifiedMessage & {
      readonly kind: 'signed';
      readonly isTargetReached: boolean;
      readonly weights: OutcomeWeights;
    })
  | Insufficient;

/**
 * Asks the validators of a set for their signatures, heaviest first, until quorum plus buffer is reached or out of reach;
 * aggregates the signatures, verifies the aggregate, and excludes invalid ones. At the first caller's deadline it returns a result
 * that reaches the quorum, or fails that caller and continues for the others. It fails as soon as the quorum is out of reach, unless pending answers can still decide between a final
 * and a temporary failure. Validators whose refusal may pass are asked again for some seconds, and until one signs, the collection holds no
 * permit.
 *
 * @throws the signal's reason, or {@link AggregatorError} if too many requests wait for validators that refused
 */
export async function collectSignatures(
  job: CollectionJob,
  deps: CollectionDeps,
  signal: AbortSignal,
): Promise<CollectionOutcome> {
  const { source, bls, clock, limits, penalties, metrics } = deps;
  const { warpSet, message, justification, progress, client, permit, callers } = job;
  await yieldForLargeSet(warpSet, { ...deps, client });
  const history = deps.histories.of(job.sourceSubnetID);
  const facts = { history, isConnected: (nodeID: NodeID) => source.isConnected(nodeID) };
  const tally = createTally(warpSet, {
    ...job,
    forecasts: forecastValidators(warpSet, { ...job, ...deps, ...limits, ...facts }),
    onChange: (index, state) => progress.changed(index, state),
  });
  progress.begin(tally);
  const isPChainMessage = message.sourceChainID === P_CHAIN_ID;

  const startMs = clock.monotonicMs();
  const trackedSinceMs = source.track(
    job.signingSubnetID,
    new Set(warpSet.validators.flatMap(({ nodeIDs }) => nodeIDs)),
  );
  const connectDeadlineMs = Math.max(trackedSinceMs + limits.connectTimeoutMs, startMs + limits.reconnectGraceMs);

  const ending = new AbortController();
  const over = ending.signal;
  using stages = new StageTimer(clock, metrics, 'connect', job.stages);
  using changes = createWakeUp(clock);
  using sum = bls.startAggregation(message.bytes, signal);
  const countOutcome: CountOutcome = ({ weight }, outcome) =>
    metrics.countOutcome(outcome, { weight, subnetID: job.signingSubnetID, totalWeight: warpSet.totalWeight });
  const { requestTimeoutMs } = limits;
  const context = {
    ...job,
    ...deps,
    history,
    tally,
    sum,
    countOutcome,
    changes,
    isPChainMessage,
    startMs,
    deadlineMs: () => callers.first(startMs) + requestTimeoutMs,
    signal,
    over,
  };
  const signatures = createCollectedSignatures(context);
  const queries = createValidatorQueries({ ...context, signatures });
  const isCautious = isDoubtful(job, penalties);
  const isConnected = ({ nodeIDs }: WarpValidator): boolean => nodeIDs.some((nodeID) => source.isConnected(nodeID));
  const collection = new CollectionState(tally);
  let connectionChanges = 0;
  const stopListening = source.onConnectionChange(() => {
    connectionChanges += 1;
    changes.wake();
  });
  signal.addEventListener('abort', changes.wake, { once: true });
  callers.onChange = changes.wake;
  const insufficient = (): Insufficient => ({
    kind: 'insufficient',
    summary: summarizeTally(tally, (validator) =>
      isConnected(validator) ? undefined : source.whyUnreachable(validator.nodeIDs[0] as NodeID),
    ),
    refusedForGood: weightRefusedForGood(tally, isPChainMessage),
  });
  let isShed = false;
  let holds: 'permit' | 'admission' | 'nothing' = 'permit';
  /** Time spent in the queue for a permit: validators cannot be asked then. */
  let queuedMs = 0;
  let repeats = 0;
  let repeatAtMs = startMs;
  try {
    await signatures.takeKnown();
    await yieldForLargeSet(warpSet, { ...deps, client });
    for (;;) {
      signal.throwIfAborted();
      const nowMs = clock.monotonicMs();
      const [firstMs, lastMs] = [callers.first(startMs), callers.last(startMs)];
      const isTimeUp = nowMs >= firstMs + requestTimeoutMs;
      const repeatForMs = limits.repeatForMs + queuedMs;
      const repeatUntilMs = lastMs + repeatForMs;
      const connections = { isConnected, connectionChanges, connectDeadlineMs };
      const view = { nowMs, ...connections, isCautious, isPChainMessage, repeatAtMs, repeatUntilMs };
      const plan = planQueries(tally, view, limits, collection);
      if (holds !== 'permit' && isWork(plan)) {
        holds = 'permit';
        stages.enter('collect');
        using deadline = startDeadline(clock, firstMs + requestTimeoutMs - nowMs, 'waiting for a permit', signal);
        await permit.resume(deadline.signal);
        queuedMs += clock.monotonicMs() - nowMs;
        continue;
      }
      if (plan.kind === 'enough' || (isTimeUp && tally.signedWeight >= tally.neededWeight)) {
        stages.enter('verify');
        const verified = await signatures.verify(isTimeUp);
        if (verified === undefined) continue;
        queries.othersSigned(repeats === 0);
        const isTargetReached = verified.signedWeight >= tally.targetWeight;
        return { kind: 'signed', ...verified, isTargetReached, weights: weighOutcomes(tally, isConnected) };
      }
      if (plan.kind === 'out of reach' || nowMs >= lastMs + requestTimeoutMs) return insufficient();
      if (isTimeUp) callers.failAfter(requestTimeoutMs, nowMs, startMs, insufficient);
      if (tally.signedWeight + collection.possible - collection.repeatable < tally.neededWeight) {
        callers.failAfter(repeatForMs, nowMs, startMs, insufficient);
      }
      if (plan.ask.length > 0 && holds !== 'nothing') stages.enter('collect');
      for (const validator of plan.ask) queries.ask(validator);
      // Ask the rest in a later tick of the event loop.
      if (plan.ask.length === MAX_ASKED_AT_ONCE) clock.afterTurn(changes.wake);
      if (plan.isRepeat) {
        repeats += 1;
        repeatAtMs = nowMs + refusalDelayMs(limits, repeats);
      }
      if (plan.idle === 'repeat' && holds !== 'nothing') {
        isShed = true;
        permit.wait();
        isShed = false;
        holds = 'nothing';
        stages.enter('execution');
      } else if (plan.idle === 'other' && holds === 'permit') {
        permit.rest();
        holds = 'admission';
      }
      const callersMs = [repeatForMs, requestTimeoutMs].map((ms) => firstMs + ms).filter((atMs) => atMs > nowMs);
      await changes.next(Math.min(plan.wakeAtMs, ...callersMs));
    }
  } finally {
    if (tally.signedWeight === 0n && !isShed) {
      const bytes = message.bytes.length + justification.length;
      penalties.chargeUnsigned(client, message.sourceChainID, queries.asked, bytes);
    }
    stopListening();
    signal.removeEventListener('abort', changes.wake);
    ending.abort(OVER);
  }
}

/** Shared: a new error would capture a stack for each collection. */
const OVER = new CollectionOver();

/** Whether the plan needs a permit. Asking two validators again does not: requests that wait have a bound of their own. */
function isWork(plan: QueryPlan): boolean {
  return plan.kind === 'enough' || (plan.kind === 'go on' && plan.ask.length > 0 && !plan.isRepeat);
}

/** If more bytes would be sent, a few validators get the message first, because all may refuse it. */
const MANY_BYTES = 1024 * 1024;

/** Returns whether the message is first sent to a few validators: similar ones were refused, or it is large. */
function isDoubtful(
  { message, justification, warpSet, client }: Pick<CollectionJob, 'message' | 'justification' | 'warpSet' | 'client'>,
  penalties: Pick<Penalties, 'isDoubtful'>,
): boolean {
  const bytes = (message.bytes.length + justification.length) * warpSet.validators.length;
  return bytes > MANY_BYTES || penalties.isDoubtful(client, message.sourceChainID);
}
