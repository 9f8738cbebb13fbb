import type { SignatureError } from './bls-backend.ts';
import type { AggregateVerdict } from './bls-jobs.ts';

/** Contributions [start, end). */
export interface Part {
  readonly start: number;
  readonly end: number;
}

/** One whose sum does not verify. */
export interface FailedPart extends Part {
  /** Where the backend could tell it. */
  readonly error?: SignatureError;
}

export interface PartChecks {
  /** Whether the sum of all these verifies. */
  verify(parts: readonly Part[]): Promise<AggregateVerdict>;
  /** Whether [start, middle) and [middle, end) verify; of the second only what follows from the first. */
  halves(part: FailedPart, middle: number): Promise<readonly [AggregateVerdict, AggregateVerdict | undefined]>;
  /** The position of the bad contribution where one alone is bad; undefined where there are more. Only with a known error. */
  locate(part: FailedPart): Promise<number | undefined>;
}

/** Below it, halving finds a single bad signature with as few pairings. */
const LEAST_TO_LOCATE = 16;
/** So many failures in a row say that bad signatures are too many to be met one by one. */
const MAX_MISSES = 3;

/**
 * Positions of contributions that spoil an aggregate known not to verify. Where the backend gives errors, one bad signature
 * is located outright; else by bisection: k bad ones among n cost about k · log2(n) checks where one each would cost n. Of a
 * failing part one half is checked, and the other inferred where it can be: it fails if the first is good. Where it cannot, it
 * is left for later, when all that were left are checked at once: mostly there is one bad signature, and they are good.
 *
 * A part whose sum verifies is good for this aggregate; it does not prove each of its signatures, since in a plain sum the
 * errors of colluders cancel.
 *
 * What is left without the positions returned verifies as an aggregate: each part of it did, and pairings add up (but where
 * two parts' keys are each other's opposites, which takes one owner of both; the next search then finds one of the two).
 *
 * @param whole at least one contribution
 * @param signal ends the search early: hundreds of bad signers would keep it busy for many seconds. Those not cleared by
 *   then are `uncleared`
 */
export async function findBadSigners(
  whole: FailedPart,
  checks: PartChecks,
  signal: AbortSignal,
): Promise<{ readonly bad: readonly number[]; readonly uncleared: readonly number[] }> {
  const bad: number[] = [];
  const uncleared: number[] = [];
  /** `mayHaveOne`: nothing says yet that more than one is bad. */
  const failing: (FailedPart & { readonly mayHaveOne: boolean })[] = [{ ...whole, mayHaveOne: true }];
  const unknown: Part[] = [];
  let misses = 0;
  for (;;) {
    await search();
    if (unknown.length === 0) return { bad: bad.toSorted((a, b) => a - b), uncleared };
    if (signal.aborted) for (const part of unknown.splice(0)) leave(part);
    else await checkUnknown(unknown.splice(0));
  }

  /** Works off what is known to fail. */
  async function search(): Promise<void> {
    for (let part = failing.pop(); part !== undefined; part = failing.pop()) {
      const { start, end, error } = part;
      if (end - start === 1) {
        bad.push(start);
        continue;
      }
      if (signal.aborted) {
        leave(part);
        continue;
      }
      const isToLocate =
        part.mayHaveOne && error !== undefined && end - start >= LEAST_TO_LOCATE && misses < MAX_MISSES;
      if (isToLocate) {
        const position = await checks.locate(part);
        if (position !== undefined) {
          bad.push(position);
          misses = 0;
          continue;
        }
        misses += 1;
      }
      const middle = (start + end) >> 1;
      const [left, right] = await checks.halves(part, middle);
      // A half that has the whole error has as many bad ones as the whole.
      const mayHaveOne = left.kind === 'invalid' && right?.kind === 'invalid' ? true : part.mayHaveOne && !isToLocate;
      if (right === undefined) unknown.push({ start: middle, end });
      else if (right.kind === 'invalid') failing.push({ ...right, start: middle, end, mayHaveOne });
      if (left.kind === 'invalid') failing.push({ ...left, start, end: middle, mayHaveOne });
    }
  }

  async function checkUnknown(parts: readonly Part[]): Promise<void> {
    const all = await checks.verify(parts);
    if (all.kind === 'valid') return;
    let areOthersGood = true;
    for (const [position, part] of parts.entries()) {
      const isLast = position === parts.length - 1;
      if (signal.aborted && !(isLast && areOthersGood)) {
        leave(part);
        areOthersGood = false;
        continue;
      }
      const verdict = isLast && areOthersGood ? all : await checks.verify([part]);
      if (verdict.kind === 'valid') continue;
      areOthersGood = false;
      failing.push({ ...part, ...verdict, mayHaveOne: true });
    }
  }

  function leave({ start, end }: Part): void {
    for (let position = start; position < end; position += 1) uncleared.push(position);
  }
}
