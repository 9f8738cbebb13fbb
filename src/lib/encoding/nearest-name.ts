/**
 * Returns the known name with the smallest edit distance, ignoring case: letters added, left out, changed or swapped with their neighbour.
 * Undefined if more than a third of the letters differ.
 */
export function nearestName(written: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let least = Math.max(1, Math.floor(written.length / 3));
  for (const name of known) {
    // Also bounds the table for a long text.
    if (Math.abs(name.length - written.length) > least) continue;
    const distance = editDistance(written.toLowerCase(), name.toLowerCase());
    if (distance > least || (nearest !== undefined && distance === least)) continue;
    [nearest, least] = [name, distance];
  }
  return nearest;
}

/** Returns the optimal string alignment distance. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        isSwap ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
