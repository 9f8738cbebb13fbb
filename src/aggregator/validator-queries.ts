import type { LimitFunction } from 'p-limit';
import type { Clock } from '../primitives/clock.ts';
import type { NodeID } from '../primitives/ids.ts';
import type { WakeUp } from '../primitives/wake-up.ts';
import type { WarpValidator } from '../validators/warp-set.ts';
import type { AggregatorMetrics } from './aggregator-metrics.ts';
import { type CollectedSignatures, CollectionOver } from './collected-signatures.ts';
import { afterFailure, type QueryLimits } from './query-plan.ts';
import type { SignatureFailure, SignatureQuery, SignatureSource } from './signature-source.ts';
import type { Tally } from './tally.ts';

export interface ValidatorQueriesOptions {
  readonly query: SignatureQuery;
  readonly isPChainMessage: boolean;
  readonly tally: Tally;
  readonly signatures: CollectedSignatures;
  readonly source: SignatureSource;
  readonly metrics: AggregatorMetrics;
  readonly clock: Clock;
  readonly limits: QueryLimits & {
    /** Time of one attempt at one node. */
    readonly peerTimeoutMs: number;
  };
  /** Bounds the queries in flight over all requests. */
  readonly querying: LimitFunction;
  /** Woken after every answer. */
  readonly changes: WakeUp;
  /** Aborts when the collection is over, and ends the queries still under way. */
  readonly over: AbortSignal;
}

/** Asks the validators of one collection for their signatures; the tally gets the outcomes. */
export class ValidatorQueries {
  readonly #options: ValidatorQueriesOptions;

  constructor(options: ValidatorQueriesOptions) {
    this.#options = options;
  }

  /** Asks one of the validator's connected nodes: at each attempt the next one. */
  ask(validator: WarpValidator): void {
    const { tally, clock, source, querying, changes } = this.#options;
    const before = tally.standings[validator.index];
    const attempts = (before?.kind === 'waiting' ? before.attempts : 0) + 1;
    tally.set(validator.index, { kind: 'asking', sinceMs: clock.monotonicMs(), attempts });
    const connected = validator.nodeIDs.filter((nodeID) => source.isConnected(nodeID));
    const nodeID = connected[(attempts - 1) % connected.length];
    if (nodeID === undefined) throw new Error(`asked validator ${validator.index}, which is not connected`);
    querying(() => this.#askNode(validator, nodeID, attempts)).catch((error: unknown) => {
      if (!(error instanceof CollectionOver)) changes.fail(error);
    });
  }

  async #askNode(validator: WarpValidator, nodeID: NodeID, attempts: number): Promise<void> {
    const { tally, source, signatures, metrics, limits, query, changes, over } = this.#options;
    over.throwIfAborted();
    metrics.signatureRequests.inc();
    const outcome = await source.requestSignature(nodeID, query, { timeoutMs: limits.peerTimeoutMs, signal: over });
    over.throwIfAborted();
    if (outcome.kind === 'signature') {
      tally.set(validator.index, { kind: 'answered' });
      const problem = await signatures.take(validator, outcome.signature);
      if (problem !== undefined) this.#failed(validator, attempts, { kind: 'invalid_signature', reason: problem });
    } else {
      this.#failed(validator, attempts, outcome);
    }
    changes.wake();
  }

  #failed(validator: WarpValidator, attempts: number, failure: SignatureFailure): void {
    const { tally, clock, limits, isPChainMessage, metrics } = this.#options;
    metrics.countFailure(failure);
    const nodeCount = validator.nodeIDs.length;
    const attempt = { attempts, nodeCount, nowMs: clock.monotonicMs(), isPChainMessage };
    tally.set(validator.index, afterFailure(failure, attempt, limits));
  }
}
