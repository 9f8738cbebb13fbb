import type { WarpValidator } from '../validators/warp-set.ts';
import type { SignatureFailure } from './signature-source.ts';
import type { Standing, Tally } from './tally.ts';

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
  /** Until then, a validator that is not connected may still become so. */
  readonly connectDeadlineMs: number;
}

export type QueryPlan =
  /** Quorum and buffer are reached, or the quorum is and nothing more can come. */
  | { readonly kind: 'enough' }
  /** The quorum is not reached even if everybody signs who still may. */
  | { readonly kind: 'out of reach' }
  /** Ask these now, and decide again when anything changes or at `wakeAtMs` at the latest. */
  | { readonly kind: 'go on'; readonly ask: readonly WarpValidator[]; readonly wakeAtMs: number };

/**
 * Which validators to ask next: the heaviest that may sign, as many as it takes for the weight that has signed and the weight
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
    const standing = tally.standings[validator.index];
    switch (standing?.kind) {
      case undefined:
      case 'signed':
      case 'failed':
        break;
      case 'asking':
        possible += validator.weight;
        asking += 1;
        if (view.nowMs < standing.sinceMs + limits.hedgeAfterMs) {
          countedOn += validator.weight;
          wakeAtMs = Math.min(wakeAtMs, standing.sinceMs + limits.hedgeAfterMs);
        }
        break;
      case 'answered':
        possible += validator.weight;
        countedOn += validator.weight;
        break;
      case 'waiting':
        if (view.nowMs < standing.notBeforeMs) {
          possible += validator.weight;
          wakeAtMs = Math.min(wakeAtMs, standing.notBeforeMs);
        } else if (view.isConnected(validator)) {
          possible += validator.weight;
          candidates.push(validator);
        } else if (view.nowMs < connectByMs(standing, view, limits)) {
          possible += validator.weight;
          wakeAtMs = Math.min(wakeAtMs, connectByMs(standing, view, limits));
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
  { notBeforeMs, lastFailure }: Extract<Standing, { kind: 'waiting' }>,
  view: QueryView,
  limits: QueryLimits,
): number {
  if (lastFailure?.kind !== 'unreachable') return view.connectDeadlineMs;
  return Math.max(view.connectDeadlineMs, notBeforeMs + limits.reconnectGraceMs);
}

/**
 * What follows a failed attempt. `attempts` counts the one that failed.
 *
 * A validator with several nodes is asked through each of them. One that refuses may only lag behind, and is asked again after
 * each of the pauses; a refusal that lag cannot explain is final. After an invalid signature it is not asked again either.
 */
export function afterFailure(
  failure: SignatureFailure,
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
): Standing {
  switch (failure.kind) {
    case 'silent':
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
      if (delayMs === undefined || judgeRefusal(failure.code, isPChainMessage) !== 'may pass') {
        return { kind: 'failed', failure };
      }
      return waiting(nowMs + delayMs);
    }
    case 'invalid_signature':
      return { kind: 'failed', failure };
  }

  function waiting(notBeforeMs: number): Standing {
    return { kind: 'waiting', notBeforeMs, attempts, lastFailure: failure };
  }
}

/** What a refusal's code says of asking the same validator again. */
type RefusalVerdict =
  /** The validator may be a block or two behind, or busy. */
  | 'may pass'
  /** It will refuse again within this request; later it may not. */
  | 'final for now'
  /** No later block changes it: the message will never be signed. */
  | 'for good';

/** Generic codes (avalanchego `network/p2p/error.go`). */
const NO_HANDLER = -2;
/** The node answers validators only; a later block may make one of us. */
const NOT_A_VALIDATOR = -3;
/**
 * Codes of the P-Chain that no later block changes (`vms/platformvm/network/warp.go`): they say that the message or its
 * justification is malformed, that the two do not belong together, or that the message contradicts what is decided for
 * good: a subnet is converted once (7), and the weight that belongs to a nonce stays (17).
 */
const FINAL_P_CHAIN_CODES: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 7, 8, 9, 10, 13, 15, 17]);

function judgeRefusal(code: number, isPChainMessage: boolean): RefusalVerdict {
  if (code === NOT_A_VALIDATOR) return 'final for now';
  // The chain's virtual machine signs nothing at all: that changes with the node's software, and with no block.
  if (code === NO_HANDLER || (isPChainMessage && FINAL_P_CHAIN_CODES.has(code))) return 'for good';
  return 'may pass';
}

/** Weight of the validators that have refused and, whatever happens, will refuse again. */
export function weightRefusedForGood(tally: Tally, isPChainMessage: boolean): bigint {
  return tally.warpSet.validators.reduce((sum, { index, weight }) => {
    const standing = tally.standings[index];
    const isForGood =
      standing?.kind === 'failed' &&
      standing.failure.kind === 'refused' &&
      judgeRefusal(standing.failure.code, isPChainMessage) === 'for good';
    return isForGood ? sum + weight : sum;
  }, 0n);
}
