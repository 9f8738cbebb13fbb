import type { WarpValidator } from '../../validators/warp-set.ts';
import type { JobPermit } from '../admission/job-permit.ts';
import type { SigningPlan } from '../signers/signing-plan.ts';
import type { OutcomeWeights, TallySummary } from '../validators/validator-outcome.ts';
import type { FinalRefusals } from './tally.ts';

/** What equal requests share. */
export interface Job {
  /** Equal for equal requests, in every replica. */
  readonly key: string;
  readonly plan: SigningPlan;
  readonly permit: JobPermit;
  readonly collection: Collection;
  readonly times: CollectionTimes;
  /** Aborts when the last caller has left. */
  readonly signal: AbortSignal;
}

/** What is known of one message while a job runs: the states of its validators and the sum of their signatures. */
export interface Collection extends Disposable {
  /**
   * Asks validators, heaviest first, until quorum plus buffer is reached or out of reach, or only refusals that may pass could bring the
   * quorum; adds up the signatures, verifies the sum, and excludes invalid ones. Rests while it only waits for validators.
   *
   * @throws the signal's reason
   */
  collect(permit: JobPermit): Promise<JobEnd>;
  /**
   * Asks two of the validators that refused at a time, without a permit, until something changes for a collection.
   *
   * @throws {AggregatorError} if too many jobs wait; or the signal's reason
   */
  awaitExecution(permit: JobPermit): Promise<void>;
  /**
   * Ends the collection if the quorum is there: then the promise never resolves. Otherwise it resolves with the tally, now or when the
   * signatures proved invalid.
   */
  finish(): Promise<Insufficient>;
  /** Resolves with the tally as soon as only refusals that may pass could bring the quorum. */
  notYet(): Promise<Insufficient>;
}

export type JobEnd = SignedEnd | Insufficient | NotYet;

export interface VerifiedMessage {
  readonly signedMessage: Uint8Array;
  readonly signedWeight: bigint;
  readonly signers: readonly WarpValidator[];
}

export interface SignedEnd extends VerifiedMessage {
  readonly kind: 'signed';
  /** Whether quorum plus buffer is reached. */
  readonly isTargetReached: boolean;
  readonly weights: OutcomeWeights;
}

/** Too little weight signed: of a job whose quorum is out of reach, or of a caller whose time is over. */
export interface Insufficient extends FinalRefusals {
  readonly kind: 'insufficient';
  readonly summary: TallySummary;
}

/** Only refusals that may pass could bring the quorum, and no answer is due. It never leaves the stage that awaits the execution. */
export interface NotYet {
  readonly kind: 'not yet';
}

/** The times of a job's callers. */
export interface CollectionTimes {
  /** The time by which the first caller needs an answer. */
  deadlineMs(): number;
  /** Whether a caller still waits for its transaction to be executed. */
  isWaiting(): boolean;
}
