import type { BlsAggregation } from '../../bls/service/aggregation.ts';
import type { BlsService } from '../../bls/service/bls-service.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import type { WakeUp } from '../../lib/concurrency/wake-up.ts';
import type { SignatureStore } from '../../store/local/signature-store.ts';
import type { Span } from '../../telemetry/spans.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import type { ObserveDelay } from '../admission/admission.ts';
import type { Penalties } from '../admission/penalties.ts';
import type { QueryConcurrency } from '../admission/query-concurrency.ts';
import type { AggregationLimits } from '../aggregation-limits.ts';
import type { AggregatorMetrics, CountOutcome } from '../aggregator-metrics.ts';
import type { PhaseInterval } from '../phase-timer.ts';
import type { SigningPlan } from '../signers/signing-plan.ts';
import type { AnswerHistories, AnswerHistory } from '../validators/answer-history.ts';
import type { InvalidSigners } from '../validators/invalid-signers.ts';
import type { SignatureSource } from '../validators/signature-source.ts';
import type { CollectionTimes } from './job.ts';
import type { ProgressFeed } from './progress.ts';
import type { Tally } from './tally.ts';
import type { CollectionObserver } from './validator-answers.ts';
import type { ValidatorEvent, ValidatorState } from './validator-state.ts';

export interface CollectionDeps {
  readonly source: SignatureSource;
  readonly store: SignatureStore;
  readonly bls: BlsService;
  readonly invalidSigners: InvalidSigners;
  readonly histories: AnswerHistories;
  readonly penalties: Pick<Penalties, 'isDoubtful' | 'chargeUnsigned'>;
  readonly observeDelay: ObserveDelay;
  readonly clock: Clock;
  readonly metrics: AggregatorMetrics;
  readonly limits: AggregationLimits;
  readonly queries: QueryConcurrency;
  readonly scheduler: EventLoopScheduler;
  readonly observer?: CollectionObserver | undefined;
}

export interface CollectionParts {
  readonly plan: SigningPlan;
  readonly signatureKey: string;
  /** The client of the caller that began the job. */
  readonly client: string | undefined;
  readonly span: Span;
  readonly progress: ProgressFeed;
  /** Receives the phases of the job. */
  readonly phases: PhaseInterval[];
  readonly times: CollectionTimes;
  readonly signal: AbortSignal;
}

/** What the parts of a collection share. */
export interface CollectionContext extends CollectionParts, CollectionDeps {
  readonly tally: Tally;
  readonly history: AnswerHistory;
  readonly sum: BlsAggregation;
  readonly countOutcome: CountOutcome;
  readonly changes: WakeUp;
  /** Changes the state of a validator by what happened to it, and returns the new state. */
  readonly apply: (index: number, event: ValidatorEvent) => ValidatorState;
  /** Aborts when the collection is disposed of, and ends pending requests except trials. */
  readonly over: AbortSignal;
}

/** Reason of the abort when a collection ends. */
export class CollectionOver extends Error {
  override readonly name = 'CollectionOver';
}

/** A pass over this many validators takes some milliseconds. */
const MANY_VALIDATORS = 500;

/** Waits for a separate tick of the event loop before a pass over a large set, fairly over clients. */
export function yieldForLargeSet(
  { validators }: WarpSet,
  { scheduler, client = '' }: Pick<CollectionContext, 'scheduler' | 'client'>,
): Promise<void> | undefined {
  if (validators.length <= MANY_VALIDATORS) return undefined;
  return new Promise((resolve) => scheduler.runLater(client, resolve));
}
