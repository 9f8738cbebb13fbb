import type { BlsService } from '../../bls/service/bls-service.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import type { WakeUp } from '../../lib/concurrency/wake-up.ts';
import type { SignatureStore } from '../../store/local/signature-store.ts';
import type { Span } from '../../telemetry/spans.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import type { SubnetID } from '../../warp/ids.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import type { ObserveDelay } from '../admission/admission.ts';
import type { Penalties } from '../admission/penalties.ts';
import type { QueryConcurrency } from '../admission/query-concurrency.ts';
import type { AggregationLimits } from '../aggregation-limits.ts';
import type { AggregatorMetrics, CountOutcome, StageInterval } from '../aggregator-metrics.ts';
import type { AnswerHistories, AnswerHistory } from '../validators/answer-history.ts';
import type { InvalidSigners } from '../validators/invalid-signers.ts';
import type { SignatureSource } from '../validators/signature-source.ts';
import type { CollectionCallers } from './collection-callers.ts';
import type { ProgressFeed } from './progress.ts';
import type { Tally } from './tally.ts';

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
}

export interface CollectionJob {
  readonly message: UnsignedMessage;
  readonly justification: Uint8Array;
  readonly signatureKey: string;
  readonly signingSubnetID: SubnetID;
  readonly sourceSubnetID: SubnetID;
  readonly warpSet: WarpSet;
  readonly avoided: ReadonlySet<number>;
  readonly quorumNum: bigint;
  readonly quorumBuffer: bigint;
  readonly progress: ProgressFeed;
  /** Receives the stages of the collection. */
  readonly stages: StageInterval[];
  readonly span?: Span | undefined;
  readonly client: string | undefined;
  readonly permit: CollectionPermit;
  readonly callers: CollectionCallers;
}

/** The permits of a collection. */
export interface CollectionPermit {
  /** Releases the permit to run while the collection only waits for answers. */
  rest(): void;
  /**
   * Releases all permits until one of the validators that refused signs.
   *
   * @throws {AggregatorError} if too many requests wait
   */
  wait(): void;
  /** Acquires them again. Returns without them when the signal aborts. */
  resume(until: AbortSignal): Promise<void>;
}

/** What the parts of one running collection share. */
export interface CollectionContext extends CollectionJob, CollectionDeps {
  readonly tally: Tally;
  readonly history: AnswerHistory;
  readonly sum: ReturnType<BlsService['startAggregation']>;
  readonly countOutcome: CountOutcome;
  readonly changes: WakeUp;
  readonly isPChainMessage: boolean;
  readonly startMs: number;
  /** Of the first caller. */
  readonly deadlineMs: () => number;
  readonly signal: AbortSignal;
  /** Aborts when the collection ends, and ends pending requests except trials. */
  readonly over: AbortSignal;
}
