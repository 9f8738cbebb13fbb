import type { AppOutcome } from '../../p2p/connection/app-requests.ts';
import type { NodeID } from '../../warp/ids.ts';

/** What a validator did with a signature request: the same words in code, metrics, events, error details and documents. */
export const VALIDATOR_OUTCOMES = [
  'signed',
  'refused',
  'timed_out',
  'unreachable',
  'invalid_signature',
  'not_asked',
  'no_key',
] as const;
export type OutcomeKind = (typeof VALIDATOR_OUTCOMES)[number];

/**
 * What a validator did: the answer of one of its nodes, or what is known of it at the end of a request. `reason` is the finer cause: a word from
 * a closed set, or a text.
 */
export type ValidatorOutcome =
  /** 96 bytes. As a node's answer not yet decoded or verified. */
  | { readonly kind: 'signed'; readonly signature: Uint8Array }
  | { readonly kind: 'invalid_signature'; readonly reason: string }
  /** Nodes answer pings and drop requests (`request_dropped`) if they do not run the chain, or run it for listed peers only. */
  | Exclude<AppOutcome, { kind: 'response' }>
  /** The request ended before its answer. */
  | { readonly kind: 'timed_out'; readonly reason: 'request_ended' }
  /** Connected, and not needed, or not reached before the quorum was out of reach. */
  | { readonly kind: 'not_asked'; readonly reason?: undefined }
  /** It cannot sign: it has no BLS key, or it is an L1 validator without balance. */
  | { readonly kind: 'no_key'; readonly reason: 'no_key' | 'inactive' };

/** The outcome of one request to one node. */
export type AttemptOutcome = Exclude<
  ValidatorOutcome,
  | { readonly kind: 'timed_out'; readonly reason: 'request_ended' }
  | { readonly kind: 'not_asked'; readonly reason?: undefined }
  | { readonly kind: 'no_key' }
>;

export type AttemptFailure = Exclude<AttemptOutcome, { kind: 'signed' }>;

/** Words for people, in the order of {@link VALIDATOR_OUTCOMES}. */
export const OUTCOME_MEANINGS: Readonly<Record<OutcomeKind, string>> = {
  signed: 'its signature is good',
  refused: 'its last answer was an error, with its own code and text; it may have been asked again since',
  timed_out:
    'it was asked and did not answer in time. Reason `no_answer`: nothing came; `request_dropped`: it answers pings, but drops ' +
    'requests for this blockchain; `request_ended`: the request ended first',
  unreachable: 'there is no connection; the reason says why',
  invalid_signature: 'it sent no valid signature of this message; the reason says what is wrong',
  not_asked: 'it was not asked. Reason `queue_full`: too many requests wait to be sent',
  no_key:
    'its weight counts in the total, and it cannot sign. Reason `no_key`: it has no BLS key; `inactive`: the inactive L1 validators, whose ' +
    'balance has run out, as one entry under the NodeID of zero bytes',
};

export interface WeightCount {
  readonly weight: bigint;
  readonly count: number;
}

export interface OutcomeReason extends WeightCount {
  readonly reason: string;
}

export interface TallySummary {
  readonly neededWeight: bigint;
  readonly signedWeight: bigint;
  readonly totalWeight: bigint;
  readonly outcomes: {
    readonly signed: WeightCount;
    readonly refused: WeightCount & {
      readonly reasons: readonly (WeightCount & { readonly code: number; readonly text: string })[];
    };
  } & Readonly<Record<ReasonedOutcome, WeightCount & { readonly reasons: readonly OutcomeReason[] }>>;
  /** Validators that did not sign, heaviest first. */
  readonly missing: readonly MissingValidator[];
  readonly missingOmitted: number;
}

/** The weight of each outcome: together the weight of the whole set. */
export type OutcomeWeights = Readonly<Record<OutcomeKind, bigint>>;

export const NO_WEIGHTS = byOutcome(() => 0n);

export function weightsOf({ outcomes }: TallySummary): OutcomeWeights {
  return byOutcome((outcome) => outcomes[outcome].weight);
}

export function byOutcome<T>(valueOf: (outcome: OutcomeKind) => T): Readonly<Record<OutcomeKind, T>> {
  return Object.fromEntries(VALIDATOR_OUTCOMES.map((outcome) => [outcome, valueOf(outcome)])) as Record<OutcomeKind, T>;
}

type ReasonedOutcome = Exclude<OutcomeKind, 'signed' | 'refused'>;

/** A validator that did not sign. */
export interface MissingValidator {
  /** The first of several nodes with one key, in text order. */
  readonly nodeID: NodeID;
  readonly weight: bigint;
  readonly outcome: Exclude<ValidatorOutcome, { kind: 'signed' }>;
}
