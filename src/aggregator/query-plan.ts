import type { WarpValidator } from '../validators/warp-set.ts';
import type { PeerFailure } from './signature-source.ts';
import type { Progress, Tally } from './tally.ts';

export interface QueryLimits {
  /** A validator that has not answered for so long is slow: it is no longer counted on, and the next ones are asked too. */
  readonly hedgeAfterMs: number;
  /**
   * Pauses before a validator is asked again that refused, as it may lag behind its peers by a block or two, or whose
   * connection broke.
   */
  readonly retryDelaysMs: readonly number[];
  /** How long a validator that is known already may take to be connected again. */
  readonly reconnectGraceMs: number;
  /** Most validators of one request asked at the same time. */
  readonly maxConcurrentQueries: number;
}

export interface QueryView {
  readonly nowMs: number;
  isConnected(validator: WarpValidator): boolean;
  /** Until then a validator that is not connected may yet be. */
  readonly connectDeadlineMs: number;
}

export type QueryPlan =
  /** Quorum and buffer are reached, or the quorum is and nothing more can come. */
  | { readonly kind: 'enough' }
  /** Even if all who may still sign do, the quorum is not reached. */
  | { readonly kind: 'out of reach' }
  /** Ask these now, and decide again when anything changes or at `wakeAtMs` at the latest. */
  | { readonly kind: 'go on'; readonly ask: readonly WarpValidator[]; readonly wakeAtMs: number };

/**
 * Whom to ask next: the heaviest validators that may sign, as many as it takes for the weight in hand and the weight
 * counted on to reach quorum plus buffer. Pure: the same state gives the same plan.
 */
export function planQueries(tally: Tally, view: QueryView, limits: QueryLimits): QueryPlan {
  const { signedWeight, neededWeight, targetWeight } = tally;
  if (signedWeight >= targetWeight) return { kind: 'enough' };

  let countedOn = signedWeight;
  let possible = signedWeight;
  let asking = 0;
  let wakeAtMs = Number.POSITIVE_INFINITY;
  const candidates: WarpValidator[] = [];

  for (const validator of tally.heaviestFirst) {
    const progress = tally.progress[validator.index];
    switch (progress?.kind) {
      case undefined:
      case 'signed':
      case 'failed':
        break;
      case 'asking':
        possible += validator.weight;
        asking += 1;
        if (view.nowMs < progress.sinceMs + limits.hedgeAfterMs) {
          countedOn += validator.weight;
          wakeAtMs = Math.min(wakeAtMs, progress.sinceMs + limits.hedgeAfterMs);
        }
        break;
      case 'answered':
        possible += validator.weight;
        countedOn += validator.weight;
        break;
      case 'waiting':
        if (view.nowMs < progress.notBeforeMs) {
          possible += validator.weight;
          wakeAtMs = Math.min(wakeAtMs, progress.notBeforeMs);
        } else if (view.isConnected(validator)) {
          possible += validator.weight;
          candidates.push(validator);
        } else if (view.nowMs < connectByMs(progress, view, limits)) {
          possible += validator.weight;
          wakeAtMs = Math.min(wakeAtMs, connectByMs(progress, view, limits));
        }
        break;
    }
  }

  if (possible < neededWeight) return { kind: 'out of reach' };
  if (possible === signedWeight) return { kind: 'enough' };

  const ask: WarpValidator[] = [];
  for (const validator of candidates) {
    if (countedOn >= targetWeight || asking + ask.length >= limits.maxConcurrentQueries) break;
    ask.push(validator);
    countedOn += validator.weight;
  }
  if (ask.length > 0) wakeAtMs = Math.min(wakeAtMs, view.nowMs + limits.hedgeAfterMs);
  return { kind: 'go on', ask, wakeAtMs };
}

/** A connection that broke under the request has its own grace. */
function connectByMs(
  { notBeforeMs, lastFailure }: Progress & { kind: 'waiting' },
  view: QueryView,
  limits: QueryLimits,
): number {
  if (lastFailure?.kind !== 'unreachable') return view.connectDeadlineMs;
  return Math.max(view.connectDeadlineMs, notBeforeMs + limits.reconnectGraceMs);
}

/**
 * What follows a failed attempt. `attempts` counts the one that failed.
 *
 * A validator with several nodes is asked through each of them. A refusal may be lag, and is tried again after each of the
 * pauses; one that lag cannot explain is final. A signature that is no good says nothing will be.
 */
export function afterFailure(
  failure: PeerFailure,
  {
    attempts,
    nodeCount,
    nowMs,
    isPChainMessage,
  }: {
    attempts: number;
    nodeCount: number;
    nowMs: number;
    isPChainMessage: boolean;
  },
  limits: QueryLimits,
): Progress {
  switch (failure.kind) {
    case 'timed out':
    case 'ignored':
      return attempts < nodeCount ? waiting(nowMs) : { kind: 'failed', failure };
    case 'unreachable': {
      if (attempts < nodeCount) return waiting(nowMs);
      // A broken connection needs a moment to come back, and a full queue to drain.
      const delayMs = limits.retryDelaysMs[attempts - nodeCount];
      return delayMs === undefined ? { kind: 'failed', failure } : waiting(nowMs + delayMs);
    }
    case 'refused': {
      const delayMs = limits.retryDelaysMs[attempts - 1];
      if (delayMs === undefined || isRefusalFinal(failure.code, isPChainMessage)) return { kind: 'failed', failure };
      return waiting(nowMs + delayMs);
    }
    case 'invalid signature':
      return { kind: 'failed', failure };
  }

  function waiting(notBeforeMs: number): Progress {
    return { kind: 'waiting', notBeforeMs, attempts, lastFailure: failure };
  }
}

/** Generic codes (avalanchego `network/p2p/error.go`) that another try cannot change: no handler, and not a validator. */
const FINAL_CODES: ReadonlySet<number> = new Set([-2, -3]);
/**
 * Codes of the P-Chain that no later block changes (`vms/platformvm/network/warp.go`): they say that the message or its
 * justification is malformed, that the two do not belong together, or that the message contradicts what is decided for
 * good: a subnet is converted once (7), and the weight that belongs to a nonce stays (17).
 */
const FINAL_P_CHAIN_CODES: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 7, 8, 9, 10, 13, 15, 17]);

function isRefusalFinal(code: number, isPChainMessage: boolean): boolean {
  return FINAL_CODES.has(code) || (isPChainMessage && FINAL_P_CHAIN_CODES.has(code));
}
