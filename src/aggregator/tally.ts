import type { NodeID } from '../primitives/ids.ts';
import { quorumWeight } from '../validators/quorum.ts';
import type { WarpSet, WarpValidator } from '../validators/warp-set.ts';
import type { PeerFailure } from './signature-source.ts';

/** Where one validator stands in one request. */
export type Progress =
  /** May be asked from `notBeforeMs` on; `lastFailure` is why an earlier attempt gave nothing. */
  | {
      readonly kind: 'waiting';
      readonly notBeforeMs: number;
      readonly attempts: number;
      readonly lastFailure?: PeerFailure;
    }
  | { readonly kind: 'asking'; readonly sinceMs: number; readonly attempts: number }
  /** Its signature has come and is being decoded. */
  | { readonly kind: 'answered' }
  | { readonly kind: 'signed'; readonly signature: Uint8Array }
  /** Will not be asked again in this request. */
  | { readonly kind: 'failed'; readonly failure: PeerFailure };

/** The state of one request: who has signed, who is being asked, who failed and why. */
export interface Tally {
  readonly warpSet: WarpSet;
  /** Least weight of the asked quorum, and of the quorum with its buffer. */
  readonly neededWeight: bigint;
  readonly targetWeight: bigint;
  /** By canonical index. */
  readonly progress: readonly Progress[];
  readonly signedWeight: bigint;
  /** Canonical validators, heaviest first; those to be avoided come after all others. */
  readonly heaviestFirst: readonly WarpValidator[];
  set(index: number, progress: Progress): void;
}

const UNTRIED: Progress = { kind: 'waiting', notBeforeMs: 0, attempts: 0 };

/** @param avoided canonical indices of validators whose signatures may soon be worth nothing */
export function createTally(
  warpSet: WarpSet,
  quorumNum: bigint,
  quorumBuffer: bigint,
  avoided: ReadonlySet<number> = new Set(),
): Tally {
  const progress: Progress[] = warpSet.validators.map(() => UNTRIED);
  let signedWeight = 0n;
  return {
    warpSet,
    // A quorum of 0 still needs somebody's signature: nothing can be the signature of nobody.
    neededWeight: atLeastOne(quorumWeight(quorumNum, warpSet.totalWeight)),
    targetWeight: atLeastOne(quorumWeight(quorumNum + quorumBuffer, warpSet.totalWeight)),
    progress,
    get signedWeight() {
      return signedWeight;
    },
    heaviestFirst: warpSet.validators.toSorted(
      (a, b) => Number(avoided.has(a.index)) - Number(avoided.has(b.index)) || byWeightDescending(a, b),
    ),
    set(index, next) {
      const validator = warpSet.validators[index];
      if (validator === undefined) throw new RangeError(`no validator ${index}`);
      if (progress[index]?.kind === 'signed') signedWeight -= validator.weight;
      if (next.kind === 'signed') signedWeight += validator.weight;
      progress[index] = next;
    },
  };
}

function atLeastOne(weight: bigint): bigint {
  return weight > 0n ? weight : 1n;
}

export interface WeightCount {
  readonly weight: bigint;
  readonly count: number;
}

/** What the validators did, for the client that got no signed message, and for logs. */
export interface FlatSummary {
  readonly neededWeight: bigint;
  readonly signedWeight: bigint;
  readonly totalWeight: bigint;
  readonly signed: WeightCount;
  readonly unreachable: WeightCount & { readonly reasons: readonly (WeightCount & { readonly reason: string })[] };
  readonly timedOut: WeightCount;
  /** Connected and alive, and silent about this blockchain. */
  readonly ignored: WeightCount;
  readonly refused: WeightCount & {
    readonly reasons: readonly (WeightCount & { readonly code: number; readonly text: string })[];
  };
  readonly invalidSignature: WeightCount;
  /** Asked, with no answer, or one not yet decoded, when the request ended. */
  readonly unanswered: WeightCount;
  /** Connected, and not asked: the quorum was out of reach even with them. */
  readonly notAsked: WeightCount;
  /** Validators without a BLS key and inactive ones: in the total, unable to sign. */
  readonly withoutKey: WeightCount;
}

export interface TallySummary extends Pick<FlatSummary, 'neededWeight' | 'signedWeight' | 'totalWeight'> {
  readonly outcomes: {
    readonly [Kind in
      | 'signed'
      | 'silent'
      | 'ignored'
      | 'invalid_signature'
      | 'unanswered'
      | 'not_asked'
      | 'without_key']: WeightCount;
  } & Pick<FlatSummary, 'refused' | 'unreachable'>;
  readonly missing: readonly MissingValidator[];
  readonly missingOmitted: number;
}

export interface MissingValidator {
  readonly nodeID: NodeID;
  readonly weight: bigint;
  readonly outcome: string;
  readonly code?: number;
  readonly text?: string;
  readonly reason?: string;
}

/** Most distinct reasons listed for one outcome: peers choose the texts, so there may be as many as peers. */
const MAX_REASONS = 8;

/** @param whyUnreachable of a validator that may still be asked: why it was not, or undefined where it is connected */
export function summarizeTally(
  tally: Tally,
  whyUnreachable: (validator: WarpValidator) => string | undefined,
): TallySummary & FlatSummary {
  const none = (): { weight: bigint; count: number } => ({ weight: 0n, count: 0 });
  const outcomes = {
    signed: none(),
    unreachable: none(),
    timedOut: none(),
    ignored: none(),
    refused: none(),
    invalidSignature: none(),
    unanswered: none(),
    notAsked: none(),
  };
  const unreachableReasons = new Map<string, { reason: string; weight: bigint; count: number }>();
  const refusedReasons = new Map<string, { code: number; text: string; weight: bigint; count: number }>();

  for (const validator of tally.warpSet.validators) {
    const { weight } = validator;
    const outcome = outcomeOf(tally.progress[validator.index] ?? UNTRIED, () => whyUnreachable(validator));
    addTo(outcomes[outcome.kind], weight);
    if (outcome.kind === 'unreachable') {
      addTo(
        entry(unreachableReasons, outcome.reason, () => ({ reason: outcome.reason, ...none() })),
        weight,
      );
    } else if (outcome.kind === 'refused') {
      const { code, text } = outcome;
      addTo(
        entry(refusedReasons, `${code} ${text}`, () => ({ code, text, ...none() })),
        weight,
      );
    }
  }
  const flat: FlatSummary = {
    neededWeight: tally.neededWeight,
    signedWeight: tally.signedWeight,
    totalWeight: tally.warpSet.totalWeight,
    ...outcomes,
    unreachable: { ...outcomes.unreachable, reasons: heaviest(unreachableReasons) },
    refused: { ...outcomes.refused, reasons: heaviest(refusedReasons) },
    withoutKey: tally.warpSet.keyless,
  };
  return {
    ...flat,
    outcomes: {
      signed: flat.signed,
      refused: flat.refused,
      silent: flat.timedOut,
      ignored: flat.ignored,
      unreachable: flat.unreachable,
      invalid_signature: flat.invalidSignature,
      unanswered: flat.unanswered,
      not_asked: flat.notAsked,
      without_key: flat.withoutKey,
    },
    missing: [],
    missingOmitted: 0,
  };
}

type Outcome =
  | { kind: 'signed' | 'timedOut' | 'ignored' | 'invalidSignature' | 'unanswered' | 'notAsked' }
  | { kind: 'unreachable'; reason: string }
  | { kind: 'refused'; code: number; text: string };

function outcomeOf(progress: Progress, whyUnreachable: () => string | undefined): Outcome {
  switch (progress.kind) {
    case 'signed':
      return { kind: 'signed' };
    case 'asking':
    case 'answered':
      return { kind: 'unanswered' };
    case 'failed':
      return failureOutcome(progress.failure);
    case 'waiting': {
      if (progress.lastFailure !== undefined) return failureOutcome(progress.lastFailure);
      const reason = whyUnreachable();
      return reason === undefined ? { kind: 'notAsked' } : { kind: 'unreachable', reason };
    }
  }
}

function failureOutcome(failure: PeerFailure): Outcome {
  switch (failure.kind) {
    case 'refused':
      return failure;
    case 'unreachable':
      return failure;
    case 'timed out':
      return { kind: 'timedOut' };
    case 'ignored':
      return { kind: 'ignored' };
    case 'invalid signature':
      return { kind: 'invalidSignature' };
  }
}

function addTo(total: { weight: bigint; count: number }, weight: bigint): void {
  total.weight += weight;
  total.count += 1;
}

function entry<V>(map: Map<string, V>, key: string, create: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const created = create();
  map.set(key, created);
  return created;
}

function heaviest<V extends WeightCount>(reasons: Map<string, V>): V[] {
  return [...reasons.values()].toSorted(byWeightDescending).slice(0, MAX_REASONS);
}

function byWeightDescending(a: { readonly weight: bigint }, b: { readonly weight: bigint }): number {
  return a.weight < b.weight ? 1 : a.weight > b.weight ? -1 : 0;
}
