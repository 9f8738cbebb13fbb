import type { SignatureDefect } from '../backends/bls-backend.ts';
import type { AggregateVerdict } from '../service/bls-jobs.ts';

/** Contributions [start, end). */
export interface Part {
  readonly start: number;
  readonly end: number;
}

/** A part whose sum does not verify. */
export interface FailedPart extends Part {
  /** Where the backend can tell it. */
  readonly defect?: SignatureDefect;
}

export interface PartChecks {
  /** Whether the sum of all these verifies. */
  verify(parts: readonly Part[]): Promise<AggregateVerdict>;
  /** Whether [start, middle) verifies, and [middle, end) as far as it follows from that; else undefined. */
  halves(part: FailedPart, middle: number): Promise<readonly [AggregateVerdict, AggregateVerdict | undefined]>;
  /** The position of the bad contribution of a part with this defect; undefined where more than one is bad. */
  locate(part: Part, defect: SignatureDefect): Promise<number | undefined>;
}

/** In smaller parts, halving finds a single bad signature with as few pairings. */
const MIN_TO_LOCATE = 16;
/** After so many failed attempts in a row there are too many bad signatures for locating single ones. */
const MAX_MISSES = 3;

/**
 * Positions of contributions that spoil an aggregate which is known not to verify. A single bad signature is located directly
 * where the backend knows defects. Otherwise the search bisects: k bad ones among n cost about k · log2(n) checks, where
 * checking each would cost n. Only one half of a failing part is checked. If it is good, the other half must be bad; if not,
 * the other half is set aside until the end, when all those are checked at once: mostly there is one bad signature, and
 * they are good.
 *
 * A part whose sum verifies is good for this aggregate. That does not prove each of its signatures, as the defects of colluders
 * cancel in a plain sum.
 *
 * Without the positions returned, the rest verifies as an aggregate, because each part of it did and pairings add up. The one
 * exception is two parts whose keys are each other's opposites, which takes one owner of both; the next search then finds one
 * of the two.
 *
 * @param whole at least one contribution
 * @param signal ends the search early, as hundreds of invalid signers would keep it busy for many seconds. Those that it has not
 *   cleared by then are `uncleared`
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

  /** Works through the parts that are known to fail. */
  async function search(): Promise<void> {
    for (let part = failing.pop(); part !== undefined; part = failing.pop()) {
      const { start, end, defect } = part;
      if (end - start === 1) {
        bad.push(start);
        continue;
      }
      if (signal.aborted) {
        leave(part);
        continue;
      }
      const isWorthLocating = part.mayHaveOne && end - start >= MIN_TO_LOCATE && misses < MAX_MISSES;
      const defectToLocate = isWorthLocating ? defect : undefined;
      if (defectToLocate !== undefined) {
        const position = await checks.locate(part, defectToLocate);
        if (position !== undefined) {
          bad.push(position);
          misses = 0;
          continue;
        }
        misses += 1;
      }
      const middle = (start + end) >> 1;
      const [left, right] = await checks.halves(part, middle);
      const areBothBad = left.kind === 'invalid' && right?.kind === 'invalid';
      // If both halves are bad, each may have just one bad signature. If only one is, it has as many as the whole.
      const mayHaveOne = areBothBad || (part.mayHaveOne && defectToLocate === undefined);
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
