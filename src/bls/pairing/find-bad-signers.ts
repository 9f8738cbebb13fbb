/** Contributions [start, end). */
export interface Part {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the positions of contributions that make an aggregate invalid. The search bisects: k invalid ones among n cost about k · log2(n)
 * checks, where checking each would cost n. Only one half of a failing part is checked. If it is valid, the other half must be invalid; if
 * not, the other half is set aside until the end, when all those are checked at once: usually there is one invalid signature, and they are
 * valid.
 *
 * A part whose sum verifies is valid for this aggregate. That does not prove each of its signatures, because the errors of colluders cancel
 * in a plain sum.
 *
 * Without the positions returned, the rest verifies as an aggregate, because each part of it did and pairings add up. The one exception is
 * two parts whose keys are each other's opposites, which takes one owner of both; the next search then finds one of the two.
 *
 * @param whole at least one contribution; their sum does not verify
 * @param verify returns whether the sum of all these parts verifies
 * @param signal ends the search early, because hundreds of invalid signers take many seconds. Contributions not cleared by then are
 * `uncleared`
 */
export async function findBadSigners(
  whole: Part,
  verify: (parts: readonly Part[]) => Promise<boolean>,
  signal: AbortSignal,
): Promise<{ readonly bad: readonly number[]; readonly uncleared: readonly number[] }> {
  const bad: number[] = [];
  const uncleared: number[] = [];
  const failing: Part[] = [whole];
  const unknown: Part[] = [];
  for (;;) {
    await search();
    if (unknown.length === 0) return { bad: bad.toSorted((a, b) => a - b), uncleared };
    if (signal.aborted) for (const part of unknown.splice(0)) leave(part);
    else await checkUnknown(unknown.splice(0));
  }

  /** Works through the parts that are known to fail. */
  async function search(): Promise<void> {
    for (let part = failing.pop(); part !== undefined; part = failing.pop()) {
      const { start, end } = part;
      if (end - start === 1) {
        bad.push(start);
        continue;
      }
      if (signal.aborted) {
        leave(part);
        continue;
      }
      const middle = (start + end) >> 1;
      const [left, right] = [
        { start, end: middle },
        { start: middle, end },
      ];
      if (await verify([left])) {
        failing.push(right);
      } else {
        unknown.push(right);
        failing.push(left);
      }
    }
  }

  async function checkUnknown(parts: readonly Part[]): Promise<void> {
    if (await verify(parts)) return;
    let areOthersValid = true;
    for (const [position, part] of parts.entries()) {
      const isOnlyOneLeft = areOthersValid && position === parts.length - 1;
      if (signal.aborted && !isOnlyOneLeft) {
        leave(part);
        areOthersValid = false;
        continue;
      }
      if (!isOnlyOneLeft && (await verify([part]))) continue;
      areOthersValid = false;
      failing.push(part);
    }
  }

  function leave({ start, end }: Part): void {
    for (let position = start; position < end; position += 1) uncleared.push(position);
  }
}
