import type { BlsBackend, HashedMessage, PublicKey, Signature } from './bls-backend.ts';

/** One signer's part of an aggregate. */
export interface Contribution {
  readonly publicKey: PublicKey;
  readonly signature: Signature;
}

/**
 * Positions of contributions that spoil an aggregate known not to verify, by bisection: k bad ones among n cost about
 * k · log2(n) checks where one each would cost n. A half whose sum verifies is good for this aggregate; it does not prove
 * each of its signatures, since in an unweighted sum the errors of colluders cancel.
 *
 * What is left without the positions returned verifies as an aggregate: each part of it did, and pairings add up (but where
 * two parts' keys are each other's opposites, which takes one owner of both; the next search then finds one of the two).
 *
 * @param contributions at least one
 * @param options.yieldTurn awaited between checks, so that a search does not hold up the event loop
 * @param options.signal ends the search early: hundreds of bad signers would keep it busy for many seconds. Those not cleared
 *   by then are `uncleared`
 */
export async function findBadSigners(
  backend: BlsBackend,
  message: HashedMessage,
  contributions: readonly Contribution[],
  { yieldTurn, signal }: { readonly yieldTurn: () => Promise<void>; readonly signal: AbortSignal },
): Promise<{ readonly bad: readonly number[]; readonly uncleared: readonly number[] }> {
  const bad: number[] = [];
  const uncleared: number[] = [];
  /** Ranges [start, end) that are known to fail. */
  const failing: Array<readonly [number, number]> = [[0, contributions.length]];
  for (let range = failing.pop(); range !== undefined; range = failing.pop()) {
    const [start, end] = range;
    if (signal.aborted && end - start > 1) {
      for (let position = start; position < end; position += 1) uncleared.push(position);
      continue;
    }
    if (end - start === 1) {
      bad.push(start);
      continue;
    }
    const middle = (start + end) >> 1;
    const leftFails = !(await verifies(start, middle));
    // Where the left half is good, the error of the whole is in the right half, and need not be looked for.
    const rightFails = !leftFails || !(await verifies(middle, end));
    if (rightFails) failing.push([middle, end]);
    if (leftFails) failing.push([start, middle]);
  }
  return { bad, uncleared };

  async function verifies(start: number, end: number): Promise<boolean> {
    await yieldTurn();
    const part = contributions.slice(start, end);
    return backend.verify(
      backend.aggregatePublicKeys(part.map(({ publicKey }) => publicKey)),
      message,
      backend.aggregateSignatures(part.map(({ signature }) => signature)),
    );
  }
}
