/** How far one validator goes along: what it has signed and refused so far, in seconds of uptime. */
export interface UptimeStanding {
  readonly weight: bigint;
  /** The highest uptime that it signed; undefined before it has signed any. */
  readonly signed: bigint | undefined;
  /** The lowest uptime that it refused, or that it would refuse by its own figure; undefined before it has refused any. */
  readonly refused: bigint | undefined;
  /** Whether it has told its own figure, as subnet-evm does in the text of a refusal. */
  readonly hasStated: boolean;
  /** It cannot be asked, or gave no useful answer: it is not asked again, and signs nothing. */
  readonly isOut: boolean;
}

export type UptimeStep =
  /** Ask these whether they sign this uptime. */
  | { readonly kind: 'ask'; readonly uptime: bigint; readonly indices: readonly number[] }
  /** The quorum signs this uptime, and not a second more. */
  | { readonly kind: 'found'; readonly uptime: bigint }
  /** The quorum signs no uptime at all. */
  | { readonly kind: 'none' };

/** 136 years, more than any validation lasts: everybody refuses it, and most tell their own figure with that. */
export const TOP_UPTIME = 2n ** 32n - 1n;
/**
 * Halving finds a figure below {@link TOP_UPTIME} in 32 questions; before it there are two, and up to eight by figures that were
 * told, which may be wrong.
 */
export const MAX_UPTIME_QUESTIONS = 42;
const MAX_STATED_ROUNDS = 8;

/**
 * What to ask next for the highest uptime that validators with the needed weight sign. A node signs an uptime if its own figure is
 * at least as high, so what it signs and refuses has one border, and the answer is the border of the weakest that is needed.
 *
 * @param rounds questions so far
 */
export function planUptimeSearch(states: readonly UptimeStanding[], neededWeight: bigint, rounds: number): UptimeStep {
  const proven = highestWithWeight(states, neededWeight, ({ signed }) => signed);
  const possible = highestWithWeight(states, neededWeight, highestPossible);
  if (possible === undefined) return { kind: 'none' };
  if (proven === possible || rounds >= MAX_UPTIME_QUESTIONS) {
    return proven === undefined ? { kind: 'none' } : { kind: 'found', uptime: proven };
  }
  const open = states.filter((state) => isOpen(state, proven ?? -1n, possible));
  const uptime = nextUptime(open, { proven, possible, rounds });
  const indices = [...states.entries()].flatMap(([index, state]) => (mayAnswer(state, uptime) ? [index] : []));
  return { kind: 'ask', uptime, indices };
}

function nextUptime(
  open: readonly UptimeStanding[],
  { proven, possible, rounds }: { proven: bigint | undefined; possible: bigint; rounds: number },
): bigint {
  // The top first, for the figures; then by the figures that were told.
  if (rounds === 0) return TOP_UPTIME;
  if (rounds <= MAX_STATED_ROUNDS && open.every(({ hasStated }) => hasStated)) return possible;
  // Nobody may know the validation: that shows here at once.
  if (proven === undefined) return 0n;
  return (proven + possible + 1n) / 2n;
}

/** Whether a state's border may still be between what is proven and what is possible. */
function isOpen(state: UptimeStanding, proven: bigint, possible: bigint): boolean {
  const highest = highestPossible(state);
  return highest !== undefined && highest > proven && (state.signed ?? -1n) < possible;
}

/** Whether its answer is not known yet. */
function mayAnswer(state: UptimeStanding, uptime: bigint): boolean {
  const highest = highestPossible(state);
  return highest !== undefined && highest >= uptime && (state.signed === undefined || state.signed < uptime);
}

/** Undefined where it signs nothing. */
function highestPossible({ refused, isOut }: UptimeStanding): bigint | undefined {
  if (isOut || refused === 0n) return undefined;
  return refused === undefined ? TOP_UPTIME : refused - 1n;
}

/** The highest value that states with the needed weight reach; undefined where too few have any. */
function highestWithWeight(
  states: readonly UptimeStanding[],
  neededWeight: bigint,
  valueOf: (state: UptimeStanding) => bigint | undefined,
): bigint | undefined {
  const values = states.flatMap((state) => {
    const value = state.isOut ? undefined : valueOf(state);
    return value === undefined ? [] : [{ value, weight: state.weight }];
  });
  let weight = 0n;
  for (const each of values.toSorted((a, b) => (a.value < b.value ? 1 : a.value > b.value ? -1 : 0))) {
    weight += each.weight;
    if (weight >= neededWeight) return each.value;
  }
  return undefined;
}
