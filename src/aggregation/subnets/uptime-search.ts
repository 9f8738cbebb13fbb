/** What one validator has signed and refused so far, in seconds of uptime. */
export interface UptimeStanding {
  readonly weight: bigint;
  /** The highest uptime that it signed; undefined before. */
  readonly signed: bigint | undefined;
  /** The lowest uptime that it refused, or would refuse by its own figure; undefined before. */
  readonly refused: bigint | undefined;
  /** Whether it reported its figure, as subnet-evm does in the text of a refusal. */
  readonly hasStated: boolean;
  /** It gave no useful answer, and is not asked again. */
  readonly isOut: boolean;
}

export type UptimeStep =
  | { readonly kind: 'ask'; readonly uptime: bigint; readonly indices: readonly number[] }
  /** The quorum signs this uptime, and no higher one; undefined if it signs none. */
  | { readonly kind: 'over'; readonly uptime: bigint | undefined };

/** 136 years, more than any validation lasts: all validators refuse it, and most report their figure. */
export const TOP_UPTIME = 2n ** 32n - 1n;
/** Halving needs 32 rounds; two come before, and up to eight by reported figures, which may be wrong. */
export const MAX_UPTIME_QUESTIONS = 42;
const MAX_STATED_ROUNDS = 8;

/** A node signs an uptime up to its own figure; the result is the bound of the weakest validator that is needed. */
export function planUptimeSearch(states: readonly UptimeStanding[], neededWeight: bigint, rounds: number): UptimeStep {
  const proven = highestWithWeight(states, neededWeight, ({ signed }) => signed);
  const possible = highestWithWeight(states, neededWeight, highestPossible);
  if (possible === undefined || proven === possible || rounds >= MAX_UPTIME_QUESTIONS) {
    return { kind: 'over', uptime: possible === undefined ? undefined : proven };
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
  // The top first, to learn figures; then by the reported figures.
  if (rounds === 0) return TOP_UPTIME;
  if (rounds <= MAX_STATED_ROUNDS && open.every(({ hasStated }) => hasStated)) return possible;
  // Finds out early whether the validators know the validation.
  if (proven === undefined) return 0n;
  return (proven + possible + 1n) / 2n;
}

/** Whether a state's bound may lie between what is proven and what is possible. */
function isOpen(state: UptimeStanding, proven: bigint, possible: bigint): boolean {
  const highest = highestPossible(state);
  return highest !== undefined && highest > proven && (state.signed ?? -1n) < possible;
}

/** Whether its answer is pending. */
function mayAnswer(state: UptimeStanding, uptime: bigint): boolean {
  const highest = highestPossible(state);
  return highest !== undefined && highest >= uptime && (state.signed === undefined || state.signed < uptime);
}

function highestPossible({ refused, isOut }: UptimeStanding): bigint | undefined {
  if (isOut || refused === 0n) return undefined;
  return refused === undefined ? TOP_UPTIME : refused - 1n;
}

/** The highest value that states with the needed weight reach; undefined if too few have one. */
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
