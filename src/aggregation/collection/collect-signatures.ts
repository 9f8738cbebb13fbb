import type { BlsService } from '../../bls/service/aggregation.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { startDeadline } from '../../lib/concurrency/deadline.ts';
import type { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import { createWakeUp } from '../../lib/concurrency/wake-up.ts';
import type { SignatureStore } from '../../store/local/signature-store.ts';
import type { Span } from '../../telemetry/spans.ts';
import type { WarpSet, WarpValidator } from '../../validators/warp-set.ts';
import { type NodeID, P_CHAIN_ID, type SubnetID } from '../../warp/ids.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import type { ObserveDelay, RunPermit } from '../admission/admission.ts';
import type { Penalties } from '../admission/penalties.ts';
import type { QueryConcurrency } from '../admission/query-concurrency.ts';
import { StageTimer } from '../admission/stage-timer.ts';
import type { AggregatorMetrics, CountOutcome } from '../aggregator-metrics.ts';
import { passOver } from '../long-pass.ts';
import type { AnswerHistories } from '../validators/answer-history.ts';
import { outlooksOf } from '../validators/outlook.ts';
import { CollectedSignatures, CollectionOver, type VerifiedMessage } from './collected-signatures.ts';
import type { InvalidSigners } from './invalid-signers.ts';
import type { ProgressFeed } from './progress.ts';
import { MAX_ASKED_AT_ONCE, planQueries, type QueryLimits, type QueryPlan } from './query-plan.ts';
import { weightRefusedForGood } from './refusal-verdict.ts';
import type { SignatureSource } from './signature-source.ts';
import { Survey } from './survey.ts';
import { createTally, summarizeTally, type TallySummary } from './tally.ts';
import { ValidatorQueries } from './validator-queries.ts';

export interface CollectionLimits extends QueryLimits {
  /** Whole time of one collection. */
  readonly requestTimeoutMs: number;
  /** Time of one attempt at one node. */
  readonly peerTimeoutMs: number;
  /** How long after a subnet was first asked for its validators may still be on their way. */
  readonly connectTimeoutMs: number;
}

export interface CollectionDeps {
  readonly source: SignatureSource;
  readonly store: SignatureStore;
  readonly bls: BlsService;
  /** Over all requests. */
  readonly suspects: InvalidSigners;
  /** Over all requests. */
  readonly histories: AnswerHistories;
  /** Over all requests. */
  readonly penalties: Pick<Penalties, 'isDoubtful' | 'chargeUnsigned'>;
  readonly observeDelay: ObserveDelay;
  readonly clock: Clock;
  readonly metrics: AggregatorMetrics;
  readonly limits: CollectionLimits;
  /** Over all requests. */
  readonly queries: QueryConcurrency;
  /** Over all requests: one pass over a large set in a turn of the event loop. */
  readonly passes: EventLoopScheduler;
}

export interface CollectionJob {
  readonly message: UnsignedMessage;
  readonly justification: Uint8Array;
  readonly signatureKey: string;
  readonly signingSubnetID: SubnetID;
  /** Of the message's source chain. */
  readonly sourceSubnetID: SubnetID;
  readonly warpSet: WarpSet;
  /** Canonical indices of validators that are asked only where the others do not suffice. */
  readonly avoided: ReadonlySet<number>;
  readonly quorumNum: bigint;
  readonly quorumBuffer: bigint;
  readonly progress: ProgressFeed;
  /** By default nothing is traced. */
  readonly span?: Span;
  /** The client whose permit it is; undefined for internal requests. */
  readonly client: string | undefined;
  /** Others have it while this collection only waits. */
  readonly permit: Pick<RunPermit, 'rest' | 'resume'>;
}

export type CollectionOutcome =
  | (VerifiedMessage & {
      readonly kind: 'signed';
      /** Whether the buffer was reached too. */
      readonly isTargetReached: boolean;
    })
  | {
      readonly kind: 'insufficient';
      readonly summary: TallySummary;
      /** Weight of the validators that refused with a code that no later block changes. */
      readonly refusedForGood: bigint;
    };

/**
 * Asks the validators of a set for their signatures, heaviest first, until quorum plus buffer is reached or nothing more can
 * come; aggregates, verifies as a destination would, and puts bad signers aside. At the deadline a result that reaches the
 * quorum is returned; as soon as the quorum is out of reach, and no answer in time can make that final, the failure is.
 *
 * Rejects only with the signal's reason.
 */
export async function collectSignatures(
  job: CollectionJob,
  deps: CollectionDeps,
  signal: AbortSignal,
): Promise<CollectionOutcome> {
  const { source, bls, clock, limits, penalties, metrics } = deps;
  const { warpSet, message, justification, progress, client, permit } = job;
  await passOver(warpSet, { ...deps, client });
  const history = deps.histories.of(job.sourceSubnetID);
  const facts = { history, isConnected: (nodeID: NodeID) => source.isConnected(nodeID) };
  const tally = createTally(warpSet, {
    ...job,
    outlooks: outlooksOf(warpSet, { ...job, ...deps, ...limits, ...facts }),
    onChange: (index, standing) => progress.changed(index, standing),
  });
  progress.begin(tally);
  const isPChainMessage = message.sourceChainID === P_CHAIN_ID;

  using deadline = startDeadline(clock, limits.requestTimeoutMs, 'collecting signatures', signal);
  const startMs = clock.monotonicMs();
  const trackedSinceMs = source.track(
    job.signingSubnetID,
    new Set(warpSet.validators.flatMap(({ nodeIDs }) => nodeIDs)),
  );
  const connectDeadlineMs = Math.max(trackedSinceMs + limits.connectTimeoutMs, startMs + limits.reconnectGraceMs);

  const ending = new AbortController();
  const over = ending.signal;
  using stages = new StageTimer(clock, metrics, 'connect');
  using changes = createWakeUp(clock);
  using sum = bls.startAggregation(message.bytes, signal);
  const countOutcome: CountOutcome = ({ weight }, kind) =>
    metrics.countOutcome({ kind, weight, subnetID: job.signingSubnetID, totalWeight: warpSet.totalWeight });
  const deadlineMs = startMs + limits.requestTimeoutMs;
  const signatures = new CollectedSignatures({
    ...{ ...job, ...deps, tally, sum, countOutcome, changes, deadlineMs, signal, over },
  });
  const query = { sourceChainID: message.sourceChainID, message: message.bytes, justification };
  const queries = new ValidatorQueries({
    ...deps,
    history,
    query,
    span: job.span,
    client,
    isPChainMessage,
    tally,
    signatures,
    countOutcome,
    changes,
    over,
  });
  const isCautious = isDoubtful(job, penalties);
  const isConnected = ({ nodeIDs }: WarpValidator): boolean => nodeIDs.some((nodeID) => source.isConnected(nodeID));
  const survey = new Survey(tally);
  let connectionChanges = 0;
  const stopListening = source.onConnectionChange(() => {
    connectionChanges += 1;
    changes.wake();
  });
  deadline.signal.addEventListener('abort', changes.wake, { once: true });
  let isResting = false;
  try {
    await signatures.takeKnown();
    await passOver(warpSet, { ...deps, client });
    for (;;) {
      signal.throwIfAborted();
      const isTimeUp = deadline.signal.aborted;
      const nowMs = clock.monotonicMs();
      const view = { nowMs, isConnected, connectionChanges, connectDeadlineMs, isCautious, isPChainMessage };
      const plan = planQueries(tally, view, limits, survey);
      if (isResting && isWork(plan)) {
        isResting = false;
        await permit.resume(deadline.signal);
        continue;
      }
      if (plan.kind === 'enough' || (isTimeUp && tally.signedWeight >= tally.neededWeight)) {
        stages.enter('verify');
        const verified = await signatures.verify(isTimeUp);
        if (verified === undefined) continue;
        queries.othersSigned();
        return { kind: 'signed', ...verified, isTargetReached: verified.signedWeight >= tally.targetWeight };
      }
      if (plan.kind === 'out of reach' || isTimeUp) {
        const summary = summarizeTally(tally, (validator) =>
          isConnected(validator) ? undefined : source.whyUnreachable(validator.nodeIDs[0] as NodeID),
        );
        return { kind: 'insufficient', summary, refusedForGood: weightRefusedForGood(tally, isPChainMessage) };
      }
      if (plan.ask.length > 0) stages.enter('collect');
      for (const validator of plan.ask) queries.ask(validator);
      // The next ones after a turn of the event loop.
      if (plan.ask.length === MAX_ASKED_AT_ONCE) clock.afterTurn(changes.wake);
      if (plan.isIdle && !isResting) {
        isResting = true;
        permit.rest();
      }
      await changes.next(plan.wakeAtMs);
    }
  } finally {
    if (tally.signedWeight === 0n) {
      const bytes = message.bytes.length + justification.length;
      penalties.chargeUnsigned(client, message.sourceChainID, queries.asked, bytes);
    }
    stopListening();
    deadline.signal.removeEventListener('abort', changes.wake);
    ending.abort(OVER);
  }
}

/** One for all: it is told at the end of each, and a new one would be made with its stack of calls each time. */
const OVER = new CollectionOver();

/** To ask somebody, or to aggregate and verify. */
function isWork(plan: QueryPlan): boolean {
  return plan.kind === 'enough' || (plan.kind === 'go on' && plan.ask.length > 0);
}

/**
 * A message that many bytes would have to be sent for is shown to a few first: to the one that signs it the round trip more is
 * little beside the time of sending, and the one that nobody signs is not sent to all. All small messages are below, to 1,000
 * validators too.
 */
const MANY_BYTES = 1024 * 1024;

/** Whether a few validators show first that anybody signs it: as others like it were refused, or as it is costly. */
export function isDoubtful(
  { message, justification, warpSet, client }: Pick<CollectionJob, 'message' | 'justification' | 'warpSet' | 'client'>,
  penalties: Pick<Penalties, 'isDoubtful'>,
): boolean {
  const bytes = (message.bytes.length + justification.length) * warpSet.validators.length;
  return bytes > MANY_BYTES || penalties.isDoubtful(client, message.sourceChainID);
}
